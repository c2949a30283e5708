"""Filter, deduplicate, pseudonymize and perturb on the command line: what is written, said and refused."""

import re
from pathlib import Path

import pandas as pd
import pytest
from supplies.terminal import run
from supplies.workbooks import number, rows, text, workbook

import tabveil
from tabveil.workflows.perturbing import NOTHING_PROMISED
from tabveil.workflows.steps import HOLE, VOIDS_PROMISE


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    train, control, fresh = (tabveil.datasets.hospital(300, seed=seed) for seed in (1, 2, 3))
    train.to_csv("train.csv", index=False)
    control.to_csv("control.csv", index=False)
    pd.concat([fresh[:285], train[:15]]).to_csv("leaky.csv", index=False)
    visits = pd.concat([train[:60], train[:5]])
    visits.insert(0, "patient", [f"00{number:04d}" for number in [*range(20)] * 3 + [*range(5)]])
    visits.to_csv("visits.csv", index=False, sep=";")
    return tmp_path


def done(*args):
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def refused(*args):
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    result = run(*args)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    return line


FILTER = ("filter", "--train", "train.csv", "--control", "control.csv", "--synthetic", "leaky.csv")
DEDUPLICATE = ("deduplicate", "--data", "visits.csv")
PSEUDONYMIZE = ("pseudonymize", "--data", "visits.csv", "--column", "patient", "--key", "a.key")


def test_a_filtered_release_has_the_lines_that_are_left():
    result = done(*FILTER, "--out", "out.csv", "--no-utility")
    before, after = (Path(name).read_text(encoding="utf-8").splitlines() for name in ("leaky.csv", "out.csv"))
    assert set(after) < set(before)
    assert not set(after[1:]) & set(Path("train.csv").read_text(encoding="utf-8").splitlines())
    assert f"out.csv: {len(after) - 1} rows of 300; {301 - len(after)} dropped" in result.stdout
    assert "15 of them equal to one" in result.stdout
    assert "utility" not in result.stdout
    assert result.stderr.splitlines() == [VOIDS_PROMISE, HOLE]


def test_what_it_costs_is_told():
    for name in ("train", "control", "leaky"):
        pd.read_csv(f"{name}.csv")[["age", "sex", "cost"]].to_csv(f"{name}.csv", index=False)
    result = done(*FILTER, "--outliers", "0.1", "--target", "cost", "--out", "out.parquet")
    assert re.search(r"utility\s+before\s+after", result.stdout)
    assert "Discriminator accuracy" in result.stdout
    assert "Predicting cost (r2)" in result.stdout
    assert "that stood apart from the rest" in result.stdout
    assert len(pd.read_parquet("out.parquet")) < 285


def test_quiet_still_warns():
    result = done(*FILTER, "--out", "out.csv", "--quiet")
    assert result.stdout == ""
    assert result.stderr.splitlines() == [VOIDS_PROMISE, HOLE]
    assert done(*FILTER, "--out", "o.csv", "-q", "--near", "0", "--outliers", "0.01").stderr == ""


def test_identifiers_are_not_compared_if_asked_but_stay():
    for name, start in (("train", 0), ("control", 1000), ("leaky", 2000)):
        table = pd.read_csv(f"{name}.csv")
        table.insert(0, "case", [f"A-{number:06d}" for number in range(start, start + 300)])
        table.to_csv(f"{name}.csv", index=False)
    result = done(*FILTER, "--drop-identifiers", "--no-utility", "--out", "out.csv")
    assert "15 of them equal to one" in result.stdout
    assert "case" in pd.read_csv("out.csv")
    assert "--drop-identifiers" in done(*FILTER, "--no-utility", "--out", "o.csv").stderr


def test_equal_rows_are_written_once_as_they_stood():
    result = done(*DEDUPLICATE, "--out", "out.csv")
    lines = Path("visits.csv").read_text(encoding="utf-8").splitlines()
    assert Path("out.csv").read_text(encoding="utf-8").splitlines() == lines[:61]
    assert "out.csv: 60 rows of 65; 5 equal to another row dropped." in result.stdout


def test_people_have_a_limit():
    result = done(*DEDUPLICATE, "--person", "patient", "--most", "2", "--out", "out.csv")
    rows = pd.read_csv("out.csv", sep=";", dtype={"patient": str})
    assert (rows["patient"].value_counts() == 2).all()
    assert rows["patient"].str.len().eq(6).all()
    assert "20 rows of 20 people (of 20) dropped beyond the limit." in result.stdout


@pytest.mark.parametrize("style", ["hash", "invented"])
def test_pseudonyms_are_written_and_the_key_is_not_shown(style):
    result = done(*PSEUDONYMIZE, "--style", style, "--out", "out.csv")
    before, after = (
        pd.read_csv(name, sep=";", dtype=str, keep_default_na=False) for name in ("visits.csv", "out.csv")
    )
    pd.testing.assert_frame_equal(before.drop(columns="patient"), after.drop(columns="patient"))
    assert before.groupby("patient").ngroups == after.groupby("patient").ngroups == 20
    assert not set(before["patient"]) & set(after["patient"])
    assert after["patient"].str.fullmatch(r"[0-9a-f]{32}" if style == "hash" else r"\d{6,7}").all()
    secret = Path("a.key").read_text(encoding="ascii").strip()
    assert secret not in result.output
    assert secret not in Path("out.csv").read_text(encoding="utf-8")
    assert "a.key: a new key." in result.stdout
    assert "personal data" in result.stdout
    again = done(*PSEUDONYMIZE, "--style", style, "--out", "again.csv")
    assert "new key" not in again.stdout
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


def test_spreadsheets_are_read():
    pytest.importorskip("python_calamine", reason="the extra 'xlsx' is not installed")
    lines = [
        [text("name"), text("day")],
        *([text(name), number(day)] for name, day in ["a1", "b1", "a1", "a2"]),
    ]
    Path("people.xlsx").write_bytes(workbook(rows(*lines)))
    done("deduplicate", "--data", "people.xlsx", "--out", "once.csv")
    assert len(pd.read_csv("once.csv")) == 3
    done("pseudonymize", "--data", "people.xlsx", "--column", "name", "--key", "k", "--out", "p.feather")
    assert pd.read_feather("p.feather")["name"].nunique() == 2


def test_columns_keep_their_types_beside_pseudonyms():
    table = pd.read_csv("train.csv", parse_dates=["admitted"]).astype({"ward": "category"})
    table["number"] = pd.array(range(300), dtype="Int64")
    table.index = range(5, 305)
    table.to_parquet("p.parquet")
    done("pseudonymize", "--data", "p.parquet", "--column", "number", "--key", "k", "--out", "q.parquet")
    rows = pd.read_parquet("q.parquet")
    stood = pd.read_parquet("p.parquet")
    pd.testing.assert_frame_equal(rows.drop(columns="number"), stood.drop(columns="number"))
    assert rows["number"].str.fullmatch("[0-9a-f]{32}").all()


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ((*FILTER, "--out", "train.csv"), "--out: train.csv is also used for something else"),
        ((*FILTER, "--out", "out.doc"), "cannot tell what kind of file"),
        ((*FILTER, "--out", "o.csv", "--near", "1"), "near must be at least 0 and below 1"),
        ((*FILTER, "--out", "o.csv", "--target", "agee"), "Did you mean 'age'?"),
        ((*FILTER[:-1], "train.csv", "--out", "o.csv"), "all 300 rows of the release lie too near"),
        ((*FILTER[:-1], "nowhere.csv", "--out", "o.csv"), "there is no file nowhere.csv"),
        ((*FILTER[:-1], "visits.csv", "--out", "o.csv"), "patient"),
        ((*DEDUPLICATE, "--out", "leaky.csv"), "already there; add --force"),
        ((*DEDUPLICATE, "--out", "o.csv", "--person", "patint", "--most", "1"), "Did you mean 'patient'?"),
        ((*DEDUPLICATE, "--out", "o.csv", "--person", "smoker", "--most", "1"), "have no value in 'smoker'"),
        ((*DEDUPLICATE, "--out", "o.csv", "--most", "1"), "person and most go together"),
        ((*PSEUDONYMIZE, "--column", "nme", "--out", "o.csv"), "no column 'nme'"),
        ((*PSEUDONYMIZE, "--style", "md5", "--out", "o.csv"), "style must be one of"),
        ((*PSEUDONYMIZE, "--out", "a.key"), "cannot tell what kind of file"),
        ((*PSEUDONYMIZE[:-1], "visits.csv", "--out", "o.csv"), "key: "),
        ((*PSEUDONYMIZE[:-1], "o.csv", "--out", "o.csv"), "is also used for something else"),
    ],
)
def test_what_is_at_fault_is_said_in_one_line_and_nothing_is_written(command, line):
    assert line in refused(*command)


def test_a_file_is_replaced_by_force():
    done(*DEDUPLICATE, "--out", "leaky.csv", "--force", "--quiet")
    assert len(pd.read_csv("leaky.csv", sep=";")) == 60


SYNTHESIZE = ("synthesize", "--data", "visits.csv", "--config", "asked.yaml", "--out", "out.csv")


def test_a_pipeline_deduplicates_before_and_filters_after():
    Path("asked.yaml").write_text(
        "generator: copy\nrows: 200\nrare_labels: keep\nidentifiers: learn\n"
        "settings: {noise: 0.5}\n"
        "deduplicate: {person: patient, most: 2}\nfilter: {near: 0.5, outliers: 0.05}\n",
        encoding="utf-8",
    )
    control = pd.read_csv("control.csv")
    control.insert(0, "patient", range(1000, 1300))
    control.to_csv("fresh.csv", index=False, sep=";")
    result = done(*SYNTHESIZE, "--control", "fresh.csv")
    said = " ".join(result.stdout.split())
    rows = pd.read_csv("out.csv", sep=";")
    assert "deduplicate (data): 60 rows of 65" not in said
    assert "deduplicate (data): 40 rows of 65; 5 equal to another row dropped." in said
    assert f"filter (release): {len(rows)} rows of 200" in said
    assert f"out.csv: {len(rows)} rows by copy, learned from 40." in said
    assert len(rows) < 190
    assert VOIDS_PROMISE in result.stderr


@pytest.mark.parametrize("style", ["hash", "invented"])
def test_a_pipeline_replaces_names_before_it_learns(style):
    """Copies of rows carry pseudonyms, each person one, and control has the same for the same."""
    Path("asked.yaml").write_text(
        "generator: copy\nrows: 200\nrare_labels: keep\nidentifiers: learn\n"
        f"pseudonymize: {{columns: [patient], key: keys/a.key, style: {style}}}\n",
        encoding="utf-8",
    )
    Path("keys").mkdir()
    visits = pd.read_csv("visits.csv", sep=";", dtype=str)
    visits[:30].to_csv("fresh.csv", index=False, sep=";")
    result = done(*SYNTHESIZE, "--control", "fresh.csv")
    rows = pd.read_csv("out.csv", sep=";", dtype=str)
    assert not set(rows["patient"]) & set(visits["patient"])
    assert rows["patient"].nunique() == 20
    said = " ".join(result.stdout.split())
    assert "pseudonymize (data): 20 pseudonyms in patient." in said
    assert "pseudonymize (control): 20 pseudonyms in patient." in said
    assert "A new key was made." in result.stderr
    assert "personal data" in result.stderr
    assert Path("keys/a.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("filter: {}", "filter: needs --control"),
        ("filter: {nearer: 1}", "filter: unknown key 'nearer'. Did you mean 'near'?"),
        ("deduplicate: {most: many}", "deduplicate: most must be a whole number"),
        ("deduplicate: 3", "deduplicate must be names and values"),
        ("deduplicate: {person: patint, most: 1}", "Did you mean 'patient'?"),
        ("deduplicat: {}", "Did you mean 'deduplicate'?"),
        ("deduplicate: {person: patient}", "deduplicate: person and most go together"),
        ("deduplicate: {equal: false}", "deduplicate: nothing is to be dropped"),
        ("deduplicate: {person: patient, most: 0}", "deduplicate: most must be >= 1"),
        ("filter: {near: 1}", "filter: near must be at least 0 and below 1"),
        ("filter: {near: 0}", "filter: nothing is to be dropped"),
        ("pseudonymize: {key: a.key}", "pseudonymize: name at least one column."),
        ("pseudonymize: {texts: letter, key: a.key}", "pseudonymize: no column 'letter'"),
        ("pseudonymize: {columns: ward, texts: ward, key: a.key}", "ward cannot be both"),
        ("pseudonymize: {columns: patient}", "pseudonymize: key is missing: a file of its own."),
        ("pseudonymize: {columns: [], key: a.key}", "pseudonymize: name at least one column."),
        ("pseudonymize: {columns: patint, key: a.key}", "pseudonymize: no column 'patint'. Did you mean"),
        ("pseudonymize: {columns: patient, key: a.key, style: md5}", "pseudonymize: style must be one of"),
        ("pseudonymize: {columns: patient, key: visits.csv}", "key: "),
        ("pseudonymize: {colums: patient, key: a.key}", "pseudonymize: unknown key 'colums'."),
    ],
)
def test_steps_of_a_pipeline_that_cannot_be_done_are_refused(text, line):
    Path("asked.yaml").write_text(text, encoding="utf-8")
    assert line in refused(*SYNTHESIZE)


@pytest.mark.parametrize(
    ("step", "said"),
    [("deduplicate", "{}"), ("filter", "{}"), ("pseudonymize", "{columns: patient, key: a.key}")],
)
def test_who_looks_at_the_generator_alone_does_not_leave_a_step_out_silently(step, said):
    Path("asked.yaml").write_text(f"generator: hybrid\n{step}: {said}\n", encoding="utf-8")
    line = refused("attack", "--config", "asked.yaml", "--data", "visits.csv")
    assert f"{step} is a step of 'tabveil synthesize' and 'tabveil pipeline' only" in line


PERTURB = ("perturb", "--data", "visits.csv")


def test_a_perturbed_file_has_the_form_of_the_first_and_says_that_nothing_is_promised():
    result = done(*PERTURB, "--swap", "region", "--within", "sex", "--noise", "0.2", "--out", "out.csv")
    before, after = (pd.read_csv(name, sep=";", dtype=str) for name in ("visits.csv", "out.csv"))
    assert list(after) == list(before)
    assert sorted(after["patient"]) == sorted(before["patient"])  # with their zeros
    assert sorted(after["region"]) == sorted(before["region"])
    assert sorted(after["cost"], key=str) != sorted(before["cost"], key=str)
    assert "out.csv: Values of region changed places among" in result.stdout
    assert result.stderr.splitlines()[-1] == NOTHING_PROMISED
    done(*PERTURB, "--noise", "0.2", "--column", "age", "--out", "quiet.csv", "--quiet")
    assert "--force" in refused(*PERTURB, "--noise", "0.2", "--out", "out.csv")
    assert "nothing is to be changed" in refused(*PERTURB, "--out", "other.csv")
