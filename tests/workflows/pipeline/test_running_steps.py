"""Steps around the generator of a pipeline: what each does to which rows, what is said, and what is void."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from supplies.html_documents import FORBIDDEN, Document, says
from typer.testing import CliRunner

import tabveil
from tabveil.cli import app
from tabveil.datasets import hospital
from tabveil.errors import TabveilError
from tabveil.render.pipeline.page import page
from tabveil.workflows.perturbing import NOTHING_PROMISED
from tabveil.workflows.pipeline.running import FILTERED
from tabveil.workflows.pipeline.settings import KEY_MADE, SAME_CONTROL
from tabveil.workflows.pseudonyms import STILL_PERSONAL, UNRECOGNIZED, read_key
from tabveil.workflows.steps import HOLE, VOIDS_PROMISE

METRICS = ["identical_match_share"]
NOISY = {"name": "copy", "noise": 0.5}
AS_THEY_ARE = {"rare_labels": "keep", "identifiers": "learn"}


def asked(generator="copy", **steps):
    return {"generator": "hybrid", "settings": {"generator": generator}, **AS_THEY_ARE, **steps}


def run(data, config, **more):
    return tabveil.pipeline(data, config, **{"metrics": METRICS, "utility": False, **more})


def visits(n=120, *, seed=1, people=40):
    table = hospital(n, seed=seed)
    names = np.random.default_rng(seed).integers(people, size=n)
    table.insert(0, "patient", [f"Patient Nr-{number + 100 * seed:04d}" for number in names])
    return table


def nearness(report, stage):
    return report[stage]["distance_to_closest"].measure.value


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return tmp_path_factory.mktemp("keys") / "a.key"


@pytest.fixture(scope="module")
def whole(key):
    """All three steps around a generator that copies."""
    table = visits(400)
    steps = {
        "deduplicate": {"person": "patient", "most": 5},
        "pseudonymize": {"columns": ["patient"], "key": str(key)},
        "filter": {"near": 0.05},
    }
    data = pd.concat([table, table[:50]], ignore_index=True)
    metrics = [*METRICS, "distance_to_closest"]
    return run(data, asked(NOISY, **steps), metrics=metrics, utility=True, seed=2), data


def test_rows_are_dropped_before_they_are_held_back(whole):
    report, data = whole
    expected = tabveil.deduplicate(data, person="patient", most=5, seed=2)
    (step,) = (step for step in report.steps if step.step == "deduplicate")
    assert step.table == "data"
    assert step.counts["rows"] == 450
    assert step.counts["equal"] == 50
    assert step.counts["kept"] == len(expected.kept)
    assert step.counts["beyond"] == 400 - len(expected.kept)
    inputs = report["original"].inputs
    assert inputs["train"].rows + inputs["control"].rows == len(expected.kept)


def test_rows_of_a_person_that_deduplicate_names_stay_together(whole):
    report, data = whole
    held_back = {step.table: step.counts["patient"] for step in report.steps if step.step == "pseudonymize"}
    assert held_back["train"] + held_back["control"] == data["patient"].nunique()
    inputs = report["final"].inputs  # and the audit counts people
    assert {role: inputs[role].people for role in ("train", "control")} == held_back


def test_a_control_of_ones_own_is_treated_alike():
    table = visits(60)
    twice = pd.concat([table, table], ignore_index=True)
    other = pd.concat([visits(50, seed=2)] * 3, ignore_index=True)
    report = run(twice, asked(deduplicate={}), control=other)
    assert [step.table for step in report.steps] == ["data", "control"]
    assert report["final"].inputs["train"].rows == 60
    assert report["final"].inputs["control"].rows == 50


def test_near_copies_are_dropped_before_the_audit_and_the_rows_before_are_audited_too(whole):
    report, _ = whole
    assert [stage.name for stage in report.stages] == [
        "original",
        "anonymized",
        "unfiltered",
        "final",
        "generator",
    ]
    (step,) = (step for step in report.steps if step.step == "filter")
    assert step.counts["rows"] == report.stages[2].n_rows
    assert step.counts["kept"] == report.stages[3].n_rows == len(report.native())
    assert step.counts["near"] > 0
    assert nearness(report, "unfiltered") > 0.1
    assert nearness(report, "final") < 0.05
    assert report["unfiltered"].utility is not None
    assert report["final"].utility is not None
    assert step.warnings == (VOIDS_PROMISE, HOLE, SAME_CONTROL)


def test_the_rows_are_those_that_filter_leaves():
    """The step does what the command does: planted copies go, and nothing else is touched."""
    people, control = hospital(300, seed=1), hospital(300, seed=2)
    unfiltered = run(people, asked("marginals"), control=control).native()
    report = run(people, asked("marginals", filter={"near": 0.2, "outliers": 0.05}), control=control)
    found = tabveil.filter(people, unfiltered, control, near=0.2, outliers=0.05, measure_utility=False)
    (step,) = report.steps
    assert (step.counts["near"], step.counts["outliers"]) == (found.n_near, found.n_outliers)
    assert found.n_near > 10
    pd.testing.assert_frame_equal(
        report.native().reset_index(drop=True), found.rows.reset_index(drop=True), check_dtype=False
    )


def test_whose_row_it_is_does_not_hide_how_near_it_is(key):
    """Rows are compared without the pseudonyms, which the release has only by chance."""
    people, control = visits(300), visits(300, seed=2)
    steps = {"pseudonymize": {"columns": "patient", "key": str(key)}, "filter": {"near": 0.1}}
    report = run(people, asked(NOISY, **steps), control=control)
    without = [table.drop(columns="patient") for table in (people, control)]
    unfiltered = run(people, asked(NOISY, pseudonymize=steps["pseudonymize"]), control=control).native()
    found = tabveil.filter(
        without[0], unfiltered.drop(columns="patient"), without[1], near=0.1, measure_utility=False
    )
    assert report.steps[-1].counts["near"] == found.n_near > 30
    assert "patient" in report.native()


def test_a_schema_may_name_the_person_as_well():
    steps = {"deduplicate": {"person": "patient", "most": 2}, "filter": {"near": 0.1}}
    report = run(visits(200), asked(NOISY, **steps), schema={"person": "patient"})
    assert report.steps[-1].counts["near"] > 0
    assert report["final"].inputs["train"].people < report["final"].inputs["train"].rows


def test_texts_that_are_made_anew_do_not_hide_near_copies():
    """The release writes other texts than people have: as far from all of them, which says nothing."""
    train, control = (tabveil.datasets.letters(150, seed=seed) for seed in (1, 2))
    train["cost"], control["cost"] = (np.random.default_rng(seed).normal(size=150) for seed in (1, 2))
    config = {"generator": "hybrid", "settings": {"generator": {"name": "copy", "noise": 0.01}}}
    report = run(train, {**config, "filter": {"near": 0.5, "outliers": 0}}, control=control)
    assert report.native()["letter"].str.fullmatch(r"letter_\d+").all()
    assert report.steps[0].counts["near"] > 50


@pytest.mark.parametrize("style", ["hash", "invented"])
def test_a_person_in_two_tables_has_one_pseudonym(style, key):
    """The release copies train under pseudonyms; control, which is the same people, equals it as well."""
    table = visits(60)
    config = asked(pseudonymize={"columns": "patient", "key": str(key), "style": style})
    report = run(table, config, control=table.iloc[::-1], seed=1)
    rows = report.native()
    assert not set(rows["patient"]) & set(table["patient"])
    result = report["final"]["identical_match_share"]
    assert result.attack.value == 1
    assert result.control.value == 1  # every row of control equals one of train: names agree over tables
    assert [step.counts for step in report.steps] == [{"patient": table["patient"].nunique()}] * 2


def test_hashes_are_those_of_the_command(key):
    table = visits(60)
    report = run(table, asked(pseudonymize={"columns": "patient", "key": str(key)}), control=table)
    expected = set(tabveil.pseudonymize(table, "patient", key=key).rows["patient"])
    assert set(report.native()["patient"]) <= expected


def test_a_control_without_the_names_needs_no_pseudonyms(key):
    table = visits(100)
    config = {**asked("marginals"), "identifiers": "drop"}
    table["patient"] = [f"Nr-{number:05d}" for number in range(100)]
    config["pseudonymize"] = {"columns": "patient", "key": str(key)}
    report = run(table, config, control=hospital(50, seed=2))
    assert [step.counts for step in report.steps] == [{"patient": 100}, {}]
    assert report.steps[1].sentences == ("No column to be replaced.",)


def test_text_files_keep_their_form_beside_pseudonyms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = visits(100)
    table["patient"] = [f"0{number % 30:04d}" for number in range(100)]
    table.to_csv("v.csv", index=False, sep=";", decimal=",")
    Path("place").mkdir()
    config = asked(deduplicate={}, pseudonymize={"columns": "patient", "key": "a.key", "style": "invented"})
    Path("place/p.json").write_text(json.dumps(config), encoding="utf-8")
    report = run("v.csv", "place/p.json")
    report.write("out.csv")
    assert len(read_key("place/a.key")) == 32  # paths in a file start at its folder
    rows = pd.read_csv("out.csv", sep=";", dtype=str)
    assert rows["patient"].str.fullmatch(r"\d{5,6}").all()
    assert not set(rows["patient"]) & set(table["patient"])
    assert rows["cost"].str.contains(",").any()
    assert KEY_MADE in report.steps[1].notes


PRIVATE = {
    "hierarchies": {
        "age": {"intervals": [10, 50]},
        "sex": {"tree": {"any": ["female", "male", "diverse"]}},
    },
    "models": [{"k": 20}],
    "levels": {"age": 2, "sex": 1},
    "sampling": {"beta": 0.2, "when": "before"},
    "generator": "marginals",
}


@pytest.mark.parametrize(("said", "void"), [({}, True), ({"near": 0, "outliers": 0.01}, False)])
def test_a_filter_that_looks_at_training_rows_voids_what_is_promised(said, void):
    table = hospital(1500, seed=1)[["age", "sex"]]
    config = {"generator": "hybrid", "settings": PRIVATE}
    schema = {
        "columns": {
            "age": {"type": "integer", "low": 0, "high": 120},
            "sex": {"type": "category", "labels": ["female", "male", "diverse"]},
        }
    }
    given = {"control": hospital(300, seed=2)[["age", "sex"]], "schema": schema, "seed": None}
    before = run(table, config, **given)
    assert before.promises.sampled is not None
    after = run(table, {**config, "filter": said}, **given)
    assert (after.promises.sampled is None) == void
    assert (FILTERED in after.promises.voided) == void
    assert any("not filtered" in line for line in after.kept)
    assert any(VOIDS_PROMISE in step.warnings for step in after.steps) == void


def test_page_terminal_and_json_tell_the_steps_and_no_name(whole):
    report, data = whole
    document = Document(page(report))
    assert "Steps around the generator" in [text for _, text in document.all("h2")]
    text = " ".join(document.text.split())
    for step in report.steps:
        for sentence in (*step.sentences, *step.warnings, *step.notes):
            assert sentence in text
    assert STILL_PERSONAL in text
    assert "before the filter" in text
    assert [word for word in FORBIDDEN if says(text, word)] == []
    told = report.to_json()
    assert json.loads(told)["steps"][-1]["counts"]["kept"] == len(report.native())
    for place in (page(report), told, repr(report)):
        assert not any(name in place for name in set(data["patient"]))
        assert "a.key" not in place
    assert json.loads(told)["pipeline"]["pseudonymize"] == {"columns": ["patient"]}


def test_without_steps_nothing_is_said_of_them():
    report = run(hospital(60, seed=1), asked("marginals"))
    assert report.steps == ()
    assert "Steps around" not in page(report)
    assert not report.has_filter


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    visits(150).to_csv("visits.csv", index=False)
    return tmp_path


COMMAND = ("pipeline", "--config", "p.yaml", "--data", "visits.csv", "--no-utility", "--metrics", METRICS[0])


def test_the_command_takes_the_steps_and_fits_the_terminal(folder):
    Path("p.yaml").write_text(
        "generator: hybrid\nsettings: {generator: marginals}\n"
        "deduplicate: {person: patient, most: 3}\n"
        "pseudonymize: {columns: [patient], key: a.key}\n"
        "filter: {near: 0.1}\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(app, COMMAND)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    for words in ("deduplicate (data): ", "pseudonymize (train): ", "filter (release): ", "unfiltered"):
        assert words in said
    assert VOIDS_PROMISE in said
    assert HOLE in said
    assert "rows drawn from it later are not filtered" in said
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("filter: {near: 2}", "filter: near must be at least 0 and below 1"),
        ("filter: {far: 2}", "filter: unknown key 'far'."),
        ("filter: {near: 0}", "filter: nothing is to be dropped"),
        ("filter: much", "filter must be names and values"),
        ("deduplicate: {person: nobody, most: 1}", "deduplicate: no column 'nobody'"),
        ("deduplicate: {most: 1}", "deduplicate: person and most go together"),
        ("pseudonymize: {columns: patient}", "pseudonymize: key is missing"),
        ("pseudonymize: {key: a.key}", "pseudonymize: name at least one column."),
        ("pseudonymize: {columns: patient, texts: letter, key: a.key}", "pseudonymize: no column 'letter'"),
        ("pseudonymize: {columns: nobody, key: a.key}", "pseudonymize: no column 'nobody'"),
        ("pseudonymize: {columns: patient, key: a.key, style: mask}", "pseudonymize: style must be one of"),
        ("pseudonymize: {columns: patient, key: nowhere/a.key}", "key: cannot make"),
        ("pseudonymize: {columns: patient, key: visits.csv}", "key: "),
    ],
)
def test_steps_at_fault_are_refused_in_one_line_and_nothing_is_written(folder, line, told):
    Path("p.yaml").write_text(f"generator: hybrid\n{line}\n", encoding="utf-8")
    before = sorted(Path().iterdir())
    result = CliRunner().invoke(app, COMMAND)
    assert result.exit_code == 2, result.output
    (complaint,) = result.stderr.splitlines()
    assert told in complaint
    assert sorted(Path().iterdir()) == before


def test_a_release_of_copies_only_has_nothing_left():
    with pytest.raises(TabveilError, match="nothing is left"):
        run(hospital(100, seed=1), asked("none", filter={}))


def test_texts_name_people_by_their_pseudonyms_before_anything_is_learned(key):
    """The generator learns no text, but the audit reads the rows: no name stands in them any longer."""
    table = tabveil.datasets.letters(150, seed=1)
    table["letter"] = [f"{row.name} came. {row.letter}" for row in table.itertuples(index=False)]
    steps = {"pseudonymize": {"columns": ["name", "email"], "key": str(key)}}
    config = {"generator": "hybrid", "settings": {"generator": "marginals"}, **steps}
    report = run(table, config, metrics=["pii_replay", "text_replay"])
    train, control = report.steps
    assert train.counts["letter"] >= train.counts["email"] == 105
    assert control.counts["email"] == 45
    assert UNRECOGNIZED in page(report).replace("&#39;", "'")
    assert not any(name in report.to_json() + page(report) for name in table["name"])


def test_perturbed_rows_are_learned_and_people_are_audited_as_they_were():
    """The truth stays the truth: no audit is given perturbed rows for real ones."""
    people, control = hospital(200, seed=1), hospital(200, seed=2)
    asked_for = {"swap": ["region"], "within": ["sex"], "noise": 0.3}
    report = run(people, asked(perturb=asked_for), control=control, seed=3)
    assert [stage.name for stage in report.stages][:3] == ["original", "perturbed", "anonymized"]
    (step,) = report.steps
    assert (step.title, step.counts["swapped"] + step.counts["alone"]) == ("perturb (learned)", 200)
    assert step.warnings == (NOTHING_PROMISED,)
    shares = {stage.name: report[stage.name]["identical_match_share"].risk.value for stage in report.stages}
    assert shares["original"] == shares["generator"] == 1.0  # copies of the rows as they were
    assert shares["perturbed"] == shares["final"] == 0.0  # copies of the perturbed ones
    expected = tabveil.perturb(people, **asked_for, seed=3).rows
    assert set(report.native()["cost"]) <= set(expected["cost"])
    assert report.settings["perturb"]["noise"] == 0.3
    assert "perturbed" in page(report).lower()


def test_a_promise_about_rows_is_refused_beside_perturbed_ones():
    with pytest.raises(TabveilError, match=r"aim: perturb: a promise of differential privacy"):
        run(hospital(100, seed=1), asked({"name": "aim", "epsilon": 1.0}, perturb={"noise": 0.1}))
    with pytest.raises(TabveilError, match=r"perturb: nothing is to be changed"):
        run(hospital(100, seed=1), asked(perturb={}))
