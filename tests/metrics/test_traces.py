"""Letters, names and numbers of training people in a release, judged beside those of people never seen."""

import numpy as np
import pytest

import tabveil
from tabveil.auditing.report import Report
from tabveil.core.estimate.risk import exact_chance
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.datasets import hospital, letters
from tabveil.metrics.properties.replay import case_numbers, numbered_apart

ABOVE = "above threshold"


def trace_of(report, name):
    (found,) = [item for item in report.traces.found if item.name == name]
    return found


def state_of(report, name):
    (found,) = [item for item in report.verdict.traces if item.found.name == name]
    return found.state


def audited(train, release, control, **asked):
    return tabveil.audit(
        train, release, control, metrics=["pii_replay", "text_replay"], advice=False, **asked
    )


@pytest.fixture(scope="module")
def written():
    return letters(400, seed=1), letters(300, seed=2), letters(400, seed=3)


@pytest.fixture(scope="module")
def numbered():
    """Cases whose numbers say nothing of who was trained on; those of the release come later."""
    train, control, release = (hospital(400, seed=seed) for seed in (1, 2, 3))
    numbers = 10_000 + np.random.default_rng(0).permutation(800)
    return train.assign(case_id=numbers[:400]), control.assign(case_id=numbers[400:]), release


class TestWords:
    def test_fresh_letters_are_none(self, written):
        train, control, release = written
        report = audited(train, release, control, drop_identifiers=True)
        assert {item.name for item in report.traces.found} == {
            "order",
            "identifiers",
            "identifying values",
            "texts",
        }
        assert min(item.p_value for item in report.traces.found) > 0.05
        assert ABOVE not in {item.state for item in report.verdict.traces}

    def test_every_letter_word_for_word_is_above(self, written):
        train, control, release = written
        shuffled = train["letter"].sample(frac=1, random_state=0).to_numpy()
        report = audited(train, release.assign(letter=shuffled), control, drop_identifiers=True)
        trace = trace_of(report, "texts")
        assert (trace.people, trace.n_people, trace.people_control) == (400, 400, 0)
        assert trace.gain.value == 1
        assert state_of(report, "texts") == report.verdict.state == ABOVE

    @pytest.mark.parametrize("column", ["email", "name"])
    def test_names_and_addresses_inside_letters_are_above(self, written, column):
        train, control, release = written
        inside = train[column].sample(frac=1, random_state=0)
        told = [
            f"{letter} Ask {who} about it." for letter, who in zip(release["letter"], inside, strict=True)
        ]
        report = audited(train, release.assign(letter=told), control, drop_identifiers=True)
        assert trace_of(report, "identifying values").people == 400
        assert state_of(report, "identifying values") == report.verdict.state == ABOVE

    def test_what_is_told_shows_nobody(self, written):
        train, control, release = written
        report = audited(train, release.assign(email=train["email"]), control)
        for item in report.traces.found:
            assert not any(value in item.sentence for value in [*train["email"], *train["name"]])
        assert Report.from_json(report.to_json()).to_json() == report.to_json()

    def test_metrics_that_did_not_run_leave_none(self, written):
        train, control, release = written
        report = tabveil.audit(train, release, control, metrics="identical_match_share", advice=False)
        assert {item.name for item in report.traces.found} == {"order", "identifiers", "nearly copied"}

    def test_a_p_value_pays_for_all_that_was_tried(self, written):
        train, control, release = written
        leaky = release.copy()
        leaky.loc[:7, "letter"] = train.loc[:7, "letter"]
        report = audited(train, leaky, control, drop_identifiers=True)
        tried = report["text_replay"].configurations
        chances = [
            exact_chance(item.facts["train_people"], 400, item.facts["control_people"], 300) for item in tried
        ]
        assert len(tried) == 3
        assert trace_of(report, "texts").p_value == pytest.approx(3 * min(chances))

    def test_without_a_control_nothing_is_told_from_chance(self, written):
        train, _, release = written
        assert {item.name for item in audited(train, release, None).traces.found} == {"order"}


def named(train, control, synthetic, labels=None, people=(None, None)):
    column = Numeric(name="case", low=0, high=1e9, decimals=0)
    if labels is not None:
        column = Categorical(name="case", labels=tuple(labels))
    schema = Schema((column,))
    tables = [
        Table(schema=schema, values=np.asarray(own, float)[:, None], people=whose)
        for own, whose in zip((train, control, synthetic), (*people, None), strict=True)
    ]
    return Split(train=tables[0], control=tables[1], synthetic=tables[2])


class TestNumbers:
    def test_four_people_by_hand(self):
        """All of three training numbers and none of three others: one way of twenty."""
        found = case_numbers(named([11, 35, 52], [17, 33, 70], [52, 11, 35, 99]))
        assert (found.people, found.n_people, found.people_control, found.n_control) == (3, 3, 0, 3)
        assert found.p_value == pytest.approx(1 / 20)
        assert (found.rows, found.rows_expected, found.n_rows) == (3, 0, 4)

    def test_numbers_that_both_tables_have_are_nobodys(self):
        found = case_numbers(named([1, 2, 3, 4], [3, 4, 5, 6], [3, 4, 3, 4]))
        assert (found.people, found.people_control) == (0, 0)

    def test_people_count_once_with_all_their_numbers(self):
        split = named([1, 4, 2], [3, 5], [1, 4], people=(np.array([0, 0, 1]), np.array([2, 3])))
        found = case_numbers(split)
        assert (found.people, found.n_people) == (1, 2)

    def test_without_numbers_to_compare_there_is_no_answer(self):
        assert case_numbers(named([1, 2], [np.nan, np.nan], [1, 2])) is None
        assert case_numbers(named([1, 2, 3], [1, 2], [1, 2, 3])) is None  # each table counts its rows

    @pytest.mark.parametrize("gaps", [False, True])
    def test_rows_that_count_themselves_are_no_leak_where_tables_were_numbered_apart(self, gaps):
        release = np.arange(1, 1001)
        if gaps:
            release = release[np.random.default_rng(0).random(1000) < 0.9]
        split = named(np.arange(1, 1001), np.arange(1001, 1501), release)
        assert numbered_apart(split) == {"case"}
        assert case_numbers(split).p_value > 0.05

    def test_labels_are_numbered_apart_too(self):
        labels = [f"P-{number}" for number in range(1, 1501)]
        split = named(np.arange(1000), np.arange(1000, 1500), np.arange(1000), labels)
        assert case_numbers(split).p_value > 0.05

    def test_an_older_train_is_no_leak(self):
        """The share of train falls along the numbers, and the release counts from one."""
        rng = np.random.default_rng(0)
        of_train = rng.random(4000) < np.linspace(0.95, 0.4, 4000)
        numbers = np.arange(4000)
        split = named(numbers[of_train], numbers[~of_train], np.arange(1500))
        assert case_numbers(split).p_value > 0.01

    def test_real_numbers_are_seen_where_train_is_older(self):
        rng = np.random.default_rng(0)
        of_train = rng.random(4000) < np.linspace(0.95, 0.4, 4000)
        numbers = np.arange(4000)
        found = case_numbers(named(numbers[of_train], numbers[~of_train], numbers[of_train]))
        assert found.p_value < 1e-9
        assert found.gain.value == 1

    def test_clean_releases_are_seen_no_more_often_than_chance(self):
        seen = []
        for seed in range(200):
            rng = np.random.default_rng(seed)
            numbers = rng.permutation(900)
            fresh = np.arange(400) if seed % 2 else rng.integers(0, 900, 400)
            seen.append(case_numbers(named(numbers[:500], numbers[500:800], fresh)).p_value <= 0.05)
        assert np.mean(seen) <= 0.09

    def test_a_leak_of_a_few_is_seen(self):
        numbers = np.random.default_rng(0).permutation(90_000)
        release = np.concatenate([numbers[:20], 200_000 + np.arange(980)])
        found = case_numbers(named(numbers[:1000], numbers[1000:2000], release))
        assert found.p_value < 1e-4
        assert found.gain.value == pytest.approx(0.02)


class TestNumbersInAnAudit:
    @pytest.mark.parametrize("asked", [{"drop_identifiers": True}, {"person": "case_id"}, {}])
    def test_real_numbers_on_fresh_rows_are_above(self, numbered, asked):
        train, control, release = numbered
        drawn = np.random.default_rng(1).permutation(train["case_id"])
        report = audited(train, release.assign(case_id=drawn), control, **asked)
        trace = trace_of(report, "identifiers")
        assert (trace.people, trace.people_control, trace.columns) == (400, 0, ("case_id",))
        assert state_of(report, "identifiers") == report.verdict.state == ABOVE

    @pytest.mark.parametrize("asked", [{"drop_identifiers": True}, {"person": "case_id"}])
    @pytest.mark.parametrize("apart", [False, True])
    def test_rows_that_are_numbered_anew_are_not(self, numbered, asked, apart):
        train, control, release = numbered
        if apart:
            train = train.assign(case_id=10_000 + np.arange(400))
            control = control.assign(case_id=10_400 + np.arange(400))
        report = audited(train, release.assign(case_id=10_000 + np.arange(400)), control, **asked)
        assert min(item.p_value for item in report.traces.found) > 0.05

    def test_a_release_without_the_column_holds_none(self, numbered):
        train, control, release = numbered
        report = audited(train, release, control, drop_identifiers=True)
        assert {item.name for item in report.traces.found} == {"nearly copied", "order"}
