"""A pipeline with the audit in the loop: planted truths, promises confirmed, nothing leaked."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import tabveil
from tabveil.auditing import plan
from tabveil.core.table import Numeric
from tabveil.datasets import hospital
from tabveil.errors import TabveilError
from tabveil.synthesis.anonymize.privacy_models import Closeness, KAnonymity
from tabveil.synthesis.generators.hybrid.synthesizer import Hybrid
from tabveil.tables.reading import load_table
from tabveil.workflows.pipeline import AnonymizedTable, running
from tabveil.workflows.pipeline import settings as configuration
from tabveil.workflows.pipeline.report import UNCLEAR, UNINFORMATIVE, PipelineChange
from tabveil.workflows.pipeline.running import UNREPEATABLE

HIERARCHIES = {
    "age": {"intervals": [5, 10, 20, 40]},
    "sex": {"tree": {"any": ["female", "male", "diverse"]}},
    "region": {"mask": "right", "steps": [1, 2]},
    "admitted": {"dates": ["month", "quarter", "year"]},
}
MODELS = [{"k": 10}, {"l": 2, "column": "outcome"}]
ANONYMIZED = {"hierarchies": HIERARCHIES, "models": MODELS}
METRICS = ["identical_match_share", "distance_to_closest"]


def asked(**settings):
    return {"generator": "hybrid", "settings": settings}


def run(data=None, *, metrics=METRICS, seed=0, more=None, **settings):
    data = hospital(300, seed=1) if data is None else data
    given = {"utility": False, **(more or {})}
    return tabveil.pipeline(data, asked(**settings), metrics=metrics, seed=seed, **given)


@pytest.fixture(scope="module")
def made():
    """A whole pipeline: generalized, drawn by a generator that copies, with values drawn afterwards."""
    metrics = [*METRICS, "inference", "membership_distance"]
    given = {**ANONYMIZED, "placement": "post", "generator": "copy"}
    return run(hospital(600, seed=1), metrics=metrics, more={"utility": True}, **given)


def measured(report, metric="identical_match_share"):
    return [stage.report[metric].measure.value for stage in report.stages]


def test_the_stages_come_in_their_order_with_their_rows(made):
    assert [stage.name for stage in made.stages] == ["original", "anonymized", "final", "generator"]
    n_train = made["final"].inputs["train"].rows
    assert (n_train, made["final"].inputs["control"].rows) == (420, 180)
    kept = made.anonymized.anonymized.n_rows
    assert [stage.n_rows for stage in made.stages] == [n_train, kept, n_train, n_train]
    for stage in made.stages:
        assert stage.report.inputs["train"] == made["original"].inputs["train"]
        assert stage.report.inputs["control"] == made["original"].inputs["control"]


def test_numbers_of_all_stages_stand_on_one_scale_and_the_control_is_checked_once(monkeypatch):
    stages, checks = [], []
    conduct, check = running.conduct, plan.check_control

    def conducted(request, *, loaded, **more):
        stages.append(loaded.split)
        return conduct(request, loaded=loaded, **more)

    def checked(*given, **more):
        checks.append(check(*given, **more))
        return checks[-1]

    monkeypatch.setattr(running, "conduct", conducted)
    monkeypatch.setattr(plan, "check_control", checked)
    means = {**ANONYMIZED, "transition": "single"}  # where the middle of an interval is no whole number
    found = run(**means, generator="trees")
    numbers = [[column for column in split.schema.columns if isinstance(column, Numeric)] for split in stages]
    assert len(stages) == len(found.stages) == 4
    assert numbers == [numbers[0]] * 4
    for column in numbers[0]:
        cells = np.concatenate(
            [
                getattr(split, role).column(column.name)
                for split in stages
                for role in ("train", "control", "synthetic")
            ]
        )
        assert (column.low, column.high) == (np.nanmin(cells), np.nanmax(cells))
    assert [stage.report.control for stage in found.stages] == checks * 4


def test_original_rows_are_their_own_copies_and_anonymized_ones_are_none(made):
    original, anonymized, final, alone = measured(made)
    assert original == 1
    assert anonymized < 0.1
    assert final < 0.1
    assert alone > 0.7  # but for labels that were pooled


def test_where_nothing_is_done_the_rows_leave_as_they_came():
    found = run(generator="none", more={"rare_labels": "keep", "identifiers": "learn"})
    assert [stage.name for stage in found.stages] == ["original", "anonymized", "final"]
    assert measured(found) == [1, 1, 1]
    assert found.changes == ()
    assert found.verdict.state == "above threshold"
    assert found.anonymized is None
    assert "210 anonymized rows, as they are" in found.kept[0]
    assert any("Nothing was anonymized" in text for text in found.promises.sentences())


def test_a_generator_that_does_not_leak_gives_no_ratio():
    found = run(**ANONYMIZED, generator="marginals")
    privacy = [change for change in found.changes if change.kind == "privacy"]
    assert {change.key for change in privacy} == set(METRICS)
    assert {change.reason for change in privacy} == {UNCLEAR}
    assert all(change.change is None for change in privacy)


def test_a_generator_that_copies_leaks_more_alone(made):
    by_key = {change.key: change for change in made.changes}
    copied = by_key["identical_match_share"]
    assert copied.change.low <= copied.change.value <= copied.change.high < -0.5
    assert copied.change.value == pytest.approx(copied.pipeline.value / copied.generator.value - 1)
    assert by_key["membership_distance"].change.high < 0
    assert by_key["discriminator"].kind == "utility"
    assert by_key["discriminator"].change.value > 0  # rows that were generalized are told apart more easily


def test_an_attack_that_only_guesses_gives_no_ratio(made, monkeypatch):
    alone = made["generator"]
    blind = dataclasses.replace(alone["inference"], beats_baseline=False)
    others = [result for result in alone.results if result.key != "inference"]
    changed = dataclasses.replace(alone, results=(*others, blind))
    stages = (*made.stages[:3], dataclasses.replace(made.stages[3], report=changed))
    again = dataclasses.replace(made, stages=stages)
    (change,) = (change for change in again.changes if change.key == "inference")
    assert (change.change, change.reason) == (None, UNINFORMATIVE)


def test_a_change_without_one_of_its_numbers_says_so():
    about = {"key": "x", "title": "x", "kind": "privacy"}
    assert PipelineChange.between(None, None, **about).reason == "not measured for both"


def test_promises_about_classes_are_measured_again(made):
    table, own = made.anonymized, made.anonymized.anonymized
    assert [item.kept for item in table.confirmations] == [True, True]
    assert [item.measured for item in table.confirmations] == [own.k, own.sensitive[0].distinct]
    assert own.k >= 10
    assert table.original.k == 1
    assert own.n_rows == table.original.n_rows - table.summary.n_suppressed
    assert made.promises.k == own.k


@pytest.mark.parametrize(
    "model",
    [
        {"l": 1.5, "kind": "entropy"},
        {"l": 2, "kind": "recursive", "c": 8},
        {"t": 0.4},
        {"t": 0.4, "distance": "hierarchical", "hierarchy": "auto"},
    ],
)
def test_every_model_is_measured(model):
    models = [{"k": 3}, {**model, "column": "outcome"}]
    hybrid = Hybrid(hierarchies=HIERARCHIES, models=models, generator="none")
    loaded = load_table(hospital(300, seed=1))
    stages = hybrid.stages(loaded.table, rng=np.random.default_rng(0), layout=loaded.layout)
    found = AnonymizedTable.of(hybrid, stages, loaded.layout)
    assert [item.kept for item in found.confirmations] == [True, True]
    assert found.confirmations[1].measured is not None


def test_a_promise_that_is_broken_is_said_to_be():
    hybrid = Hybrid(
        hierarchies=HIERARCHIES, models=[{"k": 3}, {"t": 0.6, "column": "outcome"}], generator="none"
    )
    loaded = load_table(hospital(300, seed=1))
    stages = hybrid.stages(loaded.table, rng=np.random.default_rng(0), layout=loaded.layout)
    stricter = (KAnonymity(k=299), Closeness(column="outcome", t=0.0))
    claimed = dataclasses.replace(stages.anonymization, models=stricter)
    found = AnonymizedTable.of(hybrid, dataclasses.replace(stages, anonymization=claimed), loaded.layout)
    assert [item.kept for item in found.confirmations] == [False, False]


def test_sampled_rows_are_measured_beside_all_anonymized_ones():
    found = run(**ANONYMIZED, sampling=0.3, generator="none").anonymized
    assert found.learned.n_rows < 0.5 * found.anonymized.n_rows
    assert found.learned.k < found.anonymized.k


def test_the_rows_are_those_that_synthesize_makes():
    people = hospital(300, seed=1)
    control = hospital(100, seed=2)
    given = {**ANONYMIZED, "generator": "trees", "transition": "conditional"}
    found = run(people, **given, seed=3, more={"control": control, "rows": 50})
    expected = tabveil.synthesize(people, generator="hybrid", settings=given, rows=50, seed=3)
    pd.testing.assert_frame_equal(found.native(), expected)


def test_nothing_is_learned_from_the_rows_held_back():
    people = hospital(300, seed=1)
    one, other = (
        run(people, **ANONYMIZED, generator="trees", more={"control": hospital(90, seed=seed)})
        for seed in (2, 3)
    )
    pd.testing.assert_frame_equal(one.native(), other.native())


def test_held_back_rows_are_those_of_split():
    people = hospital(200, seed=1)
    train, control = tabveil.split(people, control=0.25, seed=4)
    held = run(people, generator="marginals", seed=4, more={"holdout": 0.25})
    given = run(train, generator="marginals", seed=4, more={"control": control})
    assert held["final"].inputs["train"] == given["final"].inputs["train"]
    assert held["final"].inputs["control"] == given["final"].inputs["control"]
    pd.testing.assert_frame_equal(held.native(), given.native())


def test_rows_of_one_person_stay_together():
    people = hospital(100, seed=1)
    visits = pd.concat([people, people], ignore_index=True).assign(person=[*range(100), *range(100)])
    found = run(
        visits, generator="none", more={"by": "person", "identifiers": "learn", "rare_labels": "keep"}
    )
    left = set(found.native()["person"])
    assert len(left) == 70
    assert len(found.native()) == 140


def test_identifiers_take_part_in_no_audit_and_leave_as_fresh_ones():
    people = hospital(300, seed=1)
    people.insert(0, "case", [f"AB-{number * 7919 % 100_000:05d}" for number in range(300)])
    train, control = tabveil.split(people, seed=0)
    found = run(train, generator="marginals", more={"control": control})
    for stage in found.stages:
        assert [column.name for column in stage.report.dropped] == ["case"]
    assert set(found.native()["case"]).isdisjoint(train["case"])


def test_a_text_file_is_read_and_written_in_its_own_form(tmp_path):
    people = hospital(300, seed=1)
    people["admitted"] = pd.to_datetime(people["admitted"]).dt.strftime("%d.%m.%Y")
    people["cost"] = [
        f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in 1000 + people["age"] * 3.5
    ]
    people.to_csv(tmp_path / "p.csv", index=False, sep=";")
    by_date = {"hierarchies": {"admitted": HIERARCHIES["admitted"]}, "models": [{"k": 5}]}
    found = run(tmp_path / "p.csv", **by_date, generator="marginals")
    found.write(tmp_path / "out.csv")
    written = pd.read_csv(tmp_path / "out.csv", sep=";", dtype=str)
    assert list(written.columns) == list(people.columns)
    assert written["admitted"].str.fullmatch(r"\d\d\.\d\d\.\d{4}").all()
    assert written["cost"].str.fullmatch(r"\d\.\d{3},\d\d").all()
    assert measured(found)[0] == 1  # train, read as text, equals itself


def test_the_same_seed_gives_the_same_numbers_and_another_does_not():
    def told(report):
        data = json.loads(report.to_json())
        return json.dumps(without_times(data))

    one, again, other = (run(**ANONYMIZED, generator="marginals", seed=seed) for seed in (1, 1, 2))
    assert told(one) == told(again)
    assert told(one) != told(other)


def without_times(data):
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key != "seconds"}
    return [without_times(item) for item in data] if isinstance(data, list) else data


def test_json_holds_a_whole_report_for_every_stage(made):
    data = json.loads(made.to_json())
    assert list(data["stages"]) == [stage.name for stage in made.stages]
    stage = tabveil.Report.from_json(json.dumps(data["stages"]["final"]))
    assert stage.verdict.state == data["verdict"]["state"] == made.verdict.state
    assert data["anonymized"]["confirmations"][0]["kept"] is True
    assert data["changes"][0]["change"]["value"] == made.changes[0].change.value


def test_what_is_told_of_hierarchies_names_no_label(made):
    assert made.settings["hierarchies"]["sex"] == ["tree"]
    assert "diverse" not in made.to_json()


def test_a_report_cannot_be_changed(made):
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.seed = 1
    with pytest.raises(KeyError):
        made["halfway"]


def test_the_model_is_stored_and_draws_the_same_rows(made, tmp_path):
    made.save(tmp_path / "model")
    drawn = tabveil.sample(tmp_path / "model", len(made.native()), seed=0)
    assert len(drawn) == 420
    assert drawn["age"].tolist() == made.native()["age"].tolist()


def test_what_a_stored_model_holds_is_said():
    def kept(**settings):
        return run(**ANONYMIZED, **settings).kept

    assert kept(generator="marginals") == ("what marginals learned from rows with concrete values",)
    post = kept(generator="marginals", placement="post", transition="conditional")
    assert post[0] == "what marginals learned from generalized rows"
    assert post[1] == Hybrid(transition="conditional").way().keeps
    by_hierarchy = kept(generator="marginals", placement="post")[1]
    assert by_hierarchy == "what each generalized value may stand for, by the hierarchies"


def test_progress_rises_to_the_end_and_names_the_stages():
    heard = []
    run(generator="marginals", more={"progress": lambda doing, share: heard.append((doing, share))})
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    stages = {doing.split(":")[0] for doing, _ in heard}
    assert stages >= {"pipeline", "marginals alone", "original", "anonymized", "final", "generator alone"}


def test_a_promise_that_a_known_seed_would_void_is_kept_by_a_secret_one():
    noisy = {**ANONYMIZED, "generator": "marginals", "transition": {"name": "noisy_conditional"}}
    secret, other = (run(**noisy, seed=None) for _ in range(2))
    assert UNREPEATABLE in secret.notes
    assert secret["final"].inputs["synthetic"] != other["final"].inputs["synthetic"]
    known = run(**noisy, seed=1)
    assert UNREPEATABLE not in known.notes
    assert UNREPEATABLE not in run(**ANONYMIZED, generator="marginals", seed=None).notes


def test_a_file_says_rows_and_seed_and_what_is_given_comes_first(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({**asked(generator="marginals"), "rows": 7, "seed": 5}))
    given = {"metrics": METRICS, "utility": False}
    by_file = tabveil.pipeline(hospital(60, seed=1), tmp_path / "p.json", **given)
    assert (len(by_file.native()), by_file.seed) == (7, 5)
    by_name = tabveil.pipeline(hospital(60, seed=1), tmp_path / "p.json", **given, rows=9, seed=6)
    assert (len(by_name.native()), by_name.seed) == (9, 6)


def test_a_pipeline_may_be_an_object():
    hybrid = Hybrid(generator="marginals")
    assert configuration.read(hybrid).hybrid is hybrid
    found = tabveil.pipeline(hospital(60, seed=1), hybrid, metrics=METRICS, utility=False)
    assert found.settings == {"generator": "marginals"}


@pytest.mark.parametrize(
    ("config", "given", "message"),
    [
        ({"generator": "trees"}, {}, "configuration: a pipeline needs generator: hybrid, and its settings."),
        ({}, {}, "configuration: a pipeline needs generator: hybrid, and its settings."),
        (asked(generater="trees"), {}, "configuration: no setting 'generater'"),
        (asked(generator="nobody"), {}, "configuration: generator: no generator 'nobody'"),
        (asked(models=[{"k": 5}]), {}, "configuration: models: they need hierarchies"),
        (asked(hierarchies={"height": "auto"}, models=[{"k": 5}]), {}, "'height'"),
        (asked(), {"metrics": "nothing"}, "nothing"),
        (asked(), {"secrets": ["wealth"]}, "audit: no column 'wealth'"),
        (asked(), {"target": "wealth"}, "audit: no column 'wealth'"),
        (asked(), {"rows": 0}, "rows must be >= 1"),
        (asked(), {"seed": -1}, "seed must be >= 0"),
        (asked(), {"holdout": 1.5}, "pipeline: holdout must lie between 0 and 1"),
        (asked(), {"by": "whose"}, "no column 'whose'"),
        (asked(), {"control": hospital(20, seed=2), "holdout": 0.5}, "holdout says how to hold rows back"),
        (asked(), {"control": hospital(20, seed=2), "by": "age"}, "by says how to hold rows back"),
        (asked(), {"identifiers": "hide"}, "identifiers must be one of"),
        (asked(), {"policy": {"thresholds": {"inference": 7}}}, "policy"),
    ],
)
def test_faults_are_told_in_one_line(config, given, message):
    with pytest.raises(TabveilError) as told:
        tabveil.pipeline(hospital(60, seed=1), config, **{"utility": "target" in given, **given})
    assert message in str(told.value)
    assert "\n" not in str(told.value)
