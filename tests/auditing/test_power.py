"""Detection power: what is planted, which trials run, what is reported; and without a leak, no alarm."""

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from supplies.populations import population, split

from tabveil.auditing import power
from tabveil.auditing.audit import audit
from tabveil.auditing.detection import PlantedTrial, Power
from tabveil.auditing.power import LEAKS, measure
from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels, Result
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split
from tabveil.core.workers import tell, working
from tabveil.datasets import hospital, letters
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks import Linkability, MembershipDistance
from tabveil.metrics.indicators import INDICATORS, IdenticalMatchShare
from tabveil.metrics.properties.replay import PiiReplay, TextReplay
from tabveil.protocols import Metric
from tabveil.tables.reading import load_split

BY_DISTANCE = Labels(pillar="attack", wp29="propensity", mechanism="distance")
NUMBERS = Schema((Numeric(name="x", low=0, high=1e6),))


def tables(n_train=1000, n_control=400, n_synthetic=1000):
    """People are numbers, all different, and no synthetic row equals one: what matches was planted."""
    people = np.arange(n_train + n_control, dtype=float)
    return split(NUMBERS, people[:n_train], people[n_train:], 5e5 + np.arange(n_synthetic))


def asked(metrics, tables, *, seed=3, repetitions=20, **options):
    named = [(metric.name, metric) for metric in metrics]
    return measure(named, tables, rng=stream(seed, "power"), repetitions=repetitions, **options)


def planted(tables):
    return np.isin(tables.synthetic.values, tables.train.values)


@dataclass(frozen=True, kw_only=True)
class Seer(Metric):
    """See leaks from a known share on, but for the calls at which it is told to look away."""

    least: float
    blind: frozenset[int] = frozenset()
    name: str = "seer"
    labels: Labels = BY_DISTANCE
    weaker_when_larger: bool = False
    calls: list = field(default_factory=list)

    def __call__(self, split, *, rng):
        tell("looking", 0.5)
        share = planted(split).mean()
        sees = share >= self.least - 1e-9 and len(self.calls) not in self.blind
        self.calls.append((round(share, 3), split.synthetic.values.sum(), rng.random()))
        return self.result(Estimate(value=0.1, low=0.01 if sees else 0.0, high=0.2, n=1))

    def result(self, risk):
        return Result(metric=self.name, labels=self.labels, risk=risk)


@dataclass(frozen=True, kw_only=True)
class Speechless(Seer):
    """Have no answer: a refusal, or a result without a risk; at the first call or always."""

    refuses: bool
    always: bool = True

    def __call__(self, split, *, rng):
        found = super().__call__(split, rng=rng)
        if len(self.calls) > 1 and not self.always:
            return found
        if self.refuses:
            raise NotApplicable("seer: needs at least 500 train rows, got 200.")
        return self.result(None)


def size_of(tables):
    size = power._Size.of(tables)
    return size.people, size.release_rows


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((1000, 400, 1000), (200, 200)),  # half of control, and the release in proportion
        ((1000, 401, 500), (200, 100)),
        ((1000, 400, 777), (200, 155)),
        ((100, 400, 100), (100, 100)),  # no more people than train has
        ((20_000, 8000, 20_000), (3000, 3000)),  # no more than can be afforded
        ((1000, 400, 32_000), (200, 400)),  # a huge release is thinned out
        ((20, 40, 5), (20, 5)),  # the least of everything: one row of five is 20 %
    ],
)
def test_trials_are_the_audit_made_smaller(rows, expected):
    assert size_of(tables(*rows)) == expected


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((100, 39, 100), "at least 40 control rows .* got 39"),
        ((100, 0, 100), "at least 40 control rows .* got 0"),
        ((19, 40, 100), "at least 20 train rows, got 19"),
        ((20, 40, 4), "has 4 rows in proportion"),
        ((1000, 40, 100), "has 2 rows in proportion"),
    ],
)
def test_where_nothing_can_be_said_it_says_why(rows, reason):
    with pytest.raises(NotApplicable, match=reason):
        asked([Seer(least=0)], tables(*rows))


def test_repetitions_are_checked():
    with pytest.raises(ParameterError, match="repetitions must be >= 1"):
        asked([Seer(least=0)], tables(), repetitions=0)


def plant(leak, repetition=0, rows=(1000, 400, 1000), seed=1):
    given = tables(*rows)
    return power._Pool.of(given, seed=seed).plant(leak, repetition, power._Size.of(given))


def test_a_trial_plants_different_people_of_one_half_of_control():
    made = plant(0.1)
    people, fresh = set(made.train.values.ravel()), set(made.control.values.ravel())
    assert len(people) == len(fresh) == 200
    assert people | fresh == set(tables().control.values.ravel())
    assert planted(made).sum() == 20
    assert len(np.unique(made.synthetic.values)) == 200  # the others are different synthetic rows
    assert set(made.synthetic.values[~planted(made)]) <= set(tables().synthetic.values.ravel())


@pytest.mark.parametrize(("leak", "copies"), [(0.0, 0), (0.01, 1), (0.02, 3), (0.05, 7), (0.2, 31)])
def test_no_more_is_planted_than_the_leak_says(leak, copies):
    assert planted(plant(leak, rows=(1000, 400, 777))).sum() == copies  # of 155 rows


def test_a_larger_leak_adds_to_a_smaller_one():
    small, large = plant(0.05), plant(0.2)
    same = planted(small)
    assert np.array_equal(small.train.values, large.train.values)
    assert np.array_equal(small.synthetic.values[same], large.synthetic.values[same])
    left = ~planted(large)
    assert np.array_equal(small.synthetic.values[left], large.synthetic.values[left])


def test_people_come_again_where_the_leak_asks_for_more_of_them():
    made = plant(1.0, rows=(1000, 400, 2000))
    assert planted(made).all()
    assert np.array_equal(np.unique(made.synthetic.values, return_counts=True)[1], np.full(200, 2))


def test_every_repetition_draws_anew():
    first, second = plant(0.05, 0), plant(0.05, 1)
    for role in ("train", "control", "synthetic"):
        one, other = (set(getattr(made, role).values.ravel()) for made in (first, second))
        assert one != other
    copied = [set(made.synthetic.values[planted(made)]) for made in (first, second)]
    assert copied[0] != copied[1]


@pytest.mark.parametrize(
    ("least", "smallest", "trials"),
    [
        (0.0, 0.01, [(0.01, 20, 20)]),
        (0.02, 0.02, [(0.01, 0, 2), (0.02, 20, 20)]),
        (0.03, 0.05, [(0.01, 0, 2), (0.02, 0, 2), (0.05, 20, 20)]),
        (0.2, 0.2, [(0.01, 0, 2), (0.02, 0, 2), (0.05, 0, 2), (0.1, 0, 2), (0.2, 20, 20)]),
        (0.3, None, [(0.01, 0, 2), (0.02, 0, 2), (0.05, 0, 2), (0.1, 0, 2), (0.2, 0, 2)]),
    ],
)
def test_the_smallest_leak_seen_is_found_and_tried_in_full(least, smallest, trials):
    seer = Seer(least=least)
    (found,) = asked([seer], tables()).detections
    assert found.smallest == smallest
    assert [(trial.leak, trial.seen, trial.of) for trial in found.trials] == trials
    assert found.reason is None
    assert [call[0] for call in seer.calls] == [leak for leak, _, of in trials for _ in range(of)]


@pytest.mark.parametrize(
    ("blind", "trials", "smallest"),
    [
        ({7}, [(0.01, 19, 20)], 0.01),  # one miss in 20 is 95 %
        ({19}, [(0.01, 19, 20)], 0.01),
        ({7, 11}, [(0.01, 10, 12), (0.02, 20, 20)], 0.02),  # two are not, and end the matter
        ({0, 19}, [(0.01, 18, 20), (0.02, 20, 20)], 0.02),
    ],
)
def test_two_misses_end_a_leak(blind, trials, smallest):
    (found,) = asked([Seer(least=0, blind=frozenset(blind))], tables()).detections
    assert [(trial.leak, trial.seen, trial.of) for trial in found.trials] == trials
    assert found.smallest == smallest


def test_of_the_usual_ten_repetitions_every_one_must_see_the_leak():
    seer = Seer(least=0, blind=frozenset({0, 5}))
    found = measure([("seer", seer)], tables(), rng=stream(3, "power"))
    trials = (
        PlantedTrial(leak=0.01, seen=0, of=1),
        PlantedTrial(leak=0.02, seen=4, of=5),
        PlantedTrial(leak=0.05, seen=10, of=10),
    )
    assert found.repetitions == 10
    assert found.detections[0].trials == trials


def test_a_trial_knows_no_labels_but_its_own():
    towns = Categorical(name="town", labels=tuple(f"town {i}" for i in range(500)), ordered=True)
    people = np.arange(500.0)
    given = split(Schema((towns,)), people[:200], people[200:300], people[300:400])
    made = power._Pool.of(given, seed=1).plant(0.1, 0, power._Size(people=20, release_rows=20))
    own = {
        towns.labels[int(code)] for table in (given.control, given.synthetic) for code in table.column("town")
    }
    labels = made.schema["town"].labels
    assert len(labels) == 58  # 20 and 20 people, and of 20 synthetic rows the 18 that are not planted
    assert set(labels) <= own
    assert labels == tuple(sorted(labels, key=towns.labels.index))


def test_own_labels_leave_missing_cells_and_numbers_as_they_are():
    schema = Schema((Categorical(name="c", labels=tuple("abcd")), Numeric(name="x", low=0, high=9)))
    given = split(schema, [[3, 1], [np.nan, 2]], [[1, np.nan]], [[3, 4]])
    own = given.with_own_labels()
    assert own.schema["c"].labels == ("b", "d")
    assert own.schema["x"] == schema["x"]
    np.testing.assert_array_equal(own.train.values, [[1, 1], [np.nan, 2]])
    np.testing.assert_array_equal(own.control.values, [[0, np.nan]])
    np.testing.assert_array_equal(own.synthetic.values, [[1, 4]])
    assert split(schema, [[np.nan, 1]], [], [[np.nan, 1]]).with_own_labels().schema["c"].labels == ()


def test_metrics_that_learn_are_left_out_where_nobody_asked_for_them():
    learner = Seer(least=0, name="learner", labels=replace(BY_DISTANCE, mechanism="ML"))
    other = Seer(least=0)
    found = asked([learner, other], tables(), learners=False)
    assert [item.metric for item in found.detections] == ["learner", "seer"]
    left_out, tried = found.detections
    assert (left_out.smallest, left_out.trials, learner.calls) == (None, (), [])
    assert left_out.reason.endswith("ask for it with --power.")
    assert tried.smallest == 0.01
    assert not any("learner" in note for note in found.notes)


@pytest.mark.parametrize(("wanted", "tried"), [(True, True), ("affordable", False)])
def test_a_page_leaves_learners_out_and_who_asks_for_power_has_them(monkeypatch, wanted, tried):
    heard = []
    monkeypatch.setattr(power, "measure", lambda *_, learners, **__: heard.append(learners))
    rows = hospital(60, seed=1)
    audit(rows, rows, rows, metrics="mmd", power=True if wanted is True else None)
    assert heard == [tried]


def test_metrics_share_the_tables_and_leave_each_other_alone():
    alone, first, second = Seer(least=0.05), Seer(least=0.05), Seer(least=0.01, name="other")
    single = asked([alone], tables())
    both = asked([second, first], tables())
    assert both.detections[1] == single.detections[0]
    assert first.calls == alone.calls
    shared = [call[:2] for call in second.calls[:2]]
    assert shared == [call[:2] for call in first.calls[:2]]  # the same releases
    drawn = {call[2] for call in (*first.calls, *second.calls)}
    assert len(drawn) == len(first.calls) + len(second.calls)  # each call has its own stream


def test_the_seed_decides_and_the_order_of_rows_does_not():
    given = population("mixed", (200, 160, 200), seed=2)
    rng = np.random.default_rng(0)
    mixed = Split(
        **{
            role: (table := getattr(given, role))
            .take(rng.permutation(len(table)))
            .select(given.schema.names[::-1])
            for role in ("train", "control", "synthetic")
        }
    )
    metrics = [MembershipDistance(), IdenticalMatchShare(), Linkability()]
    found = asked(metrics, given, repetitions=4)
    assert asked(metrics, mixed, repetitions=4) == found
    seers = [Seer(least=1), Seer(least=1), Seer(least=1)]
    for seer, seed in zip(seers, (3, 3, 4), strict=True):
        asked([seer], tables(), seed=seed)
    assert seers[0].calls == seers[1].calls != seers[2].calls


@pytest.mark.parametrize("refuses", [True, False])
def test_a_metric_without_an_answer_says_why(refuses):
    (found,) = asked([Speechless(least=0, refuses=refuses)], tables()).detections
    why = "seer: needs at least 500 train rows, got 200." if refuses else "the metric gives no risk."
    assert found.reason == f"No answer on trials of 200 people and 200 synthetic rows: {why}"
    assert (found.smallest, found.trials) == (None, ())


@pytest.mark.parametrize("refuses", [True, False])
def test_a_single_refusal_is_a_miss(refuses):
    (found,) = asked([Speechless(least=0, refuses=refuses, always=False)], tables()).detections
    assert found.trials == (PlantedTrial(leak=0.01, seen=19, of=20),)
    assert found.reason is None


def test_metrics_that_learn_are_tried_on_fewer_people(monkeypatch):
    monkeypatch.setattr(power, "LEARNERS_PART", 60)  # of 3,000
    learner = Seer(least=0, name="learner", labels=replace(BY_DISTANCE, mechanism="ML"))
    found = asked([Seer(least=0), learner], tables())
    assert [item.people for item in found.detections] == [200, 50]
    assert (found.people, found.release_rows) == (200, 200)
    assert found.detections[1].trials == (
        PlantedTrial(leak=0.02, seen=20, of=20),
    )  # 1 % of 50 is less than a row
    assert any("Tried on 50 people" in note and note.endswith("learner.") for note in found.notes)


def test_a_learner_whose_release_is_too_small_says_so(monkeypatch):
    monkeypatch.setattr(power, "LEARNERS_PART", 60)
    learner = Seer(least=0, labels=replace(BY_DISTANCE, mechanism="ML"))
    (found,) = asked([learner], tables(1000, 400, 80)).detections
    assert found.reason is not None
    assert found.reason.endswith("4 synthetic rows: 20% of the release are less than one row.")


def test_wide_tables_are_tried_on_fewer_people():
    wide = Schema(tuple(Numeric(name=f"x{i}", low=0, high=1) for i in range(300)))
    cells = np.zeros((1000, 300))
    assert size_of(split(wide, cells, cells, cells)) == (200, 200)


def test_leaks_below_one_row_are_not_tried_and_the_report_says_so():
    found = asked([Seer(least=0)], tables(1000, 80, 1000))
    assert found.release_rows == 40
    assert found.detections[0].trials == (PlantedTrial(leak=0.05, seen=20, of=20),)
    assert "Not tried: a leak of 1% or 2%, which is less than one of 40 synthetic rows." in found.notes


def test_a_thinned_out_release_is_noted():
    assert any("more than 2 rows for each" in note for note in asked([], tables(1000, 400, 5000)).notes)
    assert not any("more than 2 rows for each" in note for note in asked([], tables()).notes)


def test_a_metric_that_sees_less_in_larger_tables_is_noted():
    weaker = Seer(least=0, weaker_when_larger=True)
    assert any(note.endswith("trials only: seer.") for note in asked([weaker], tables()).notes)
    assert not any("trials only" in note for note in asked([Seer(least=0)], tables()).notes)


def test_json_and_back():
    metrics = [Seer(least=0.05), Seer(least=1, name="blind"), Speechless(least=0, refuses=True, name="none")]
    found = asked(metrics, tables())
    text = json.dumps(found.to_json(), allow_nan=False)
    assert Power.from_json(json.loads(text)) == found
    assert replace(found, seconds=found.seconds + 1) == found
    assert [item.smallest for item in Power.from_json(json.loads(text)).detections] == [0.05, None, None]


def test_progress_grows_and_the_metrics_keep_quiet():
    heard = []
    with working(threads=1, listener=lambda doing, share: heard.append((doing, share))):
        asked([Seer(least=0.05)], tables(), repetitions=3)
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert heard[0] == ("planting 1%, 1 of 3: seer", 0.0)
    assert heard[-1] == ("done", 1.0)
    assert not any("looking" in doing for doing, _ in heard)


def test_progress_is_that_of_all_metrics_on_their_way():
    heard = []
    with working(threads=1, listener=lambda doing, share: heard.append((doing, share))):
        asked([Seer(least=0), Seer(least=0.02, name="late")], tables(), repetitions=2)
    # The first sees 1 % twice. The other misses it once, which ends that leak for it, and sees 2 % twice.
    expected = [0.0, 0.25, 0.5, 0.75, 0.75, 1.0]
    assert [share for _, share in heard] == expected
    assert heard[3][0] == "planting 2%, 1 of 2: late"


def admissions(release):
    train, control = hospital(1200, seed=1), hospital(1000, seed=2)
    synthetic = {"fresh": hospital(1200, seed=3), "train": train, "control": control}[release]
    return load_split(train, synthetic, control).split


@pytest.mark.parametrize("release", ["fresh", "train"])
def test_real_metrics_see_small_leaks_whatever_the_release_itself_does(release):
    found = asked([IdenticalMatchShare(), MembershipDistance()], admissions(release))
    assert found.people == 500
    # 1 % are five copies: of five matches, all fall to train by chance once in 32, too often at 95 %.
    assert [item.smallest for item in found.detections] == [0.02, 0.05]


@pytest.mark.parametrize("release", ["fresh", "train", "control"])
@pytest.mark.parametrize("metric", [IdenticalMatchShare(), MembershipDistance()], ids=lambda m: m.name)
def test_where_nothing_is_planted_nothing_is_seen(metric, release):
    given = admissions(release)
    if release == "train":
        assert metric(given, rng=stream(0, "audit")).risk.low > 0.9  # the release itself is a catastrophe
    pool, size = power._Pool.of(given, seed=5), power._Size.of(given)
    alarms = [
        metric(pool.plant(0.0, repetition, size), rng=stream(repetition, "null")).risk.low > 0
        for repetition in range(60)
    ]
    assert sum(alarms) <= 6  # one in 40 is meant; more than 6 of 60 happen once in 1,000


@pytest.mark.parametrize("sizes", [(60, 40, 25), (25, 90, 200)])
@pytest.mark.parametrize("kind", ["mixed", "levels"])
def test_small_unequal_tables_with_missing_values_have_an_answer(kind, sizes):
    metrics = [metric() for metric in INDICATORS if getattr(metric, "extra", None) is None]
    found = asked([*metrics, MembershipDistance()], population(kind, sizes, seed=6), repetitions=2)
    assert len(found.detections) == len(metrics) + 1
    for item in found.detections:
        assert (item.reason is None) == bool(item.trials)
        assert all(trial.leak in LEAKS and 0 <= trial.seen <= trial.of <= 2 for trial in item.trials)


def test_one_column_where_all_is_missing_shows_nothing():
    empty = np.full(100, np.nan)
    found = asked([IdenticalMatchShare(), MembershipDistance()], split(NUMBERS, empty, empty, empty))
    assert all(item.smallest is None for item in found.detections)


# Metrics that read words


def people_with_letters(n=200):
    """Train, a release and control, all of different people."""
    return [letters(n, seed=seed) for seed in range(3)]


def words_asked(train, synthetic, control, **reading):
    loaded = load_split(train, synthetic, control, **reading)
    metrics = [PiiReplay(), TextReplay(), IdenticalMatchShare()]
    return asked(metrics, loaded.split, written=loaded.written, repetitions=10)


def test_rows_that_leak_carry_their_names_and_texts_along():
    found = {item.metric: item for item in words_asked(*people_with_letters(400)).detections}
    assert list(found) == ["pii_replay", "text_replay", "identical_match_share"]
    assert found["pii_replay"].smallest is not None
    assert found["text_replay"].smallest is not None
    assert found["pii_replay"].people == 200


def test_who_reads_words_changes_no_other_metrics_trials():
    tables = people_with_letters()
    loaded = load_split(*tables)
    alone = asked([IdenticalMatchShare()], loaded.split, repetitions=10)
    assert words_asked(*tables).detections[-1] == alone.detections[0]


def test_what_the_release_has_no_column_for_cannot_leak():
    """Names and addresses are in columns that the release lacks, and its texts hold none."""
    train, synthetic, control = people_with_letters(400)
    found = words_asked(train, synthetic.drop(columns=["name", "email"]), control, drop_identifiers=True)
    pii, text, _ = found.detections
    assert pii.smallest is None
    assert all(trial.seen == 0 for trial in pii.trials)
    assert text.smallest is not None


def test_where_no_words_name_people_nothing_is_said_of_those_who_read_them():
    rows = [hospital(100, seed=seed) for seed in range(3)]
    assert [item.metric for item in words_asked(*rows).detections] == ["identical_match_share"]
    numbers = tables()
    assert [item.metric for item in asked([PiiReplay(), IdenticalMatchShare()], numbers).detections] == [
        "identical_match_share"
    ]


def test_long_texts_are_tried_on_fewer_people_or_not_at_all(monkeypatch):
    tables = people_with_letters(200)
    monkeypatch.setattr(power, "MOST_CHARACTERS", 50 * 450)
    found = words_asked(*tables)
    assert 20 <= found.detections[0].people < 100 == found.people
    assert any("all their words are read: Identifying values repeated" in note for note in found.notes)
    monkeypatch.setattr(power, "MOST_CHARACTERS", 1000)
    untried = words_asked(*tables).detections[0]
    assert untried.trials == ()
    assert untried.reason == "Not tried, as the texts are too long to be read again and again."


@pytest.mark.parametrize("metric", [PiiReplay(), TextReplay()], ids=lambda m: m.name)
def test_where_nothing_is_planted_no_word_is_seen(metric):
    loaded = load_split(*people_with_letters(200))
    pool, size = power._Pool.of_words(loaded.written, seed=5), power._Size.of(loaded.split)
    alarms = [
        metric(pool.plant(0.0, repetition, size), rng=stream(repetition, "null")).risk.low > 0
        for repetition in range(40)
    ]
    assert sum(alarms) <= 4  # one in 40 is meant; more than 4 of 40 happen once in 300


def test_an_audit_with_power_tells_of_words():
    train, synthetic, control = people_with_letters(150)
    report = audit(train, synthetic, control, metrics=["pii_replay", "identical_match_share"], power=True)
    assert [item.metric for item in report.power.detections] == ["pii_replay", "identical_match_share"]
