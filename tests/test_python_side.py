"""What Python offers beside the audit: a short print, a page, a split, a comparison; and one name a thing."""

import inspect
import json
import math
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from supplies import made_reports as made
from typer.testing import CliRunner

import tabveil
from tabveil.auditing import report as reports
from tabveil.auditing.findings import finding
from tabveil.cli import app
from tabveil.cli.audit import audit as audit_command
from tabveil.errors import ParameterError, SchemaError

PEOPLE = pd.DataFrame(
    {"person": [1, 1, 2, 3, 4, 4, 5, 6], "visit": [1, 2, 1, 1, 1, 2, 1, 1], "cost": [1.5] * 8},
    index=list("abcdefgh"),
)


def cli(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_a_report_prints_its_title_its_verdict_and_a_line_a_risk():
    report = made.report(made.LEAKY, title="visits.csv")
    lines = str(report).splitlines()
    assert lines[:2] == ["visits.csv", report.verdict.sentence]
    assert [line.split(":")[0] for line in lines[2:6]] == [item.risk for item in report.verdict.risks]
    assert all(item.state in line for item, line in zip(report.verdict.risks, lines[2:6], strict=True))
    assert repr(report) == str(report)
    assert len(str(report)) < 1500


def test_a_printed_line_says_how_many_people_and_how_many_are_accepted():
    report = made.report(made.LEAKY)
    item = report.verdict.risks[0]
    line = next(line for line in str(report).splitlines() if line.startswith(f"{item.risk}: "))
    assert line == f"{item.risk}: above threshold, 25 of 100 people measured, at most 25.4 (accepted: 5)"


def test_a_title_cannot_command_the_terminal_or_take_a_second_line():
    shown = str(made.report(title="a\x1b[2J\nb"))
    assert "\x1b" not in shown
    assert shown.splitlines()[0] == "a [2J b"


def test_a_report_without_results_prints():
    empty = made.report(results=(), title="")
    assert str(empty).startswith("Inconclusive")


def test_to_html_writes_the_page_of_the_command_line(tmp_path):
    report = made.report()
    (tmp_path / "page.html").write_text("old", encoding="utf-8")
    report.to_html(str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == tabveil.html_page(report)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_page_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("old", encoding="utf-8")

    def failing(_, **_how):
        raise MemoryError

    monkeypatch.setattr(tabveil, "html_page", failing)
    with pytest.raises(MemoryError):
        made.report().to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "old"


def test_a_page_with_values_of_people_is_for_its_owner(tmp_path):
    report = replace(made.report(), exposed=reports.ExposedRows(metric="inference", columns=(), rows=()))
    report.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0


def test_split_parts_no_person_and_keeps_rows_as_they_are():
    before = PEOPLE.copy()
    train, control = tabveil.split(PEOPLE, control=0.5, by="person", seed=3)
    assert not set(train["person"]) & set(control["person"])
    assert sorted([*train.index, *control.index]) == list("abcdefgh")
    assert control["person"].nunique() == 3
    pd.testing.assert_frame_equal(pd.concat([train, control]).sort_index(), before)
    pd.testing.assert_frame_equal(PEOPLE, before)


def test_split_chooses_the_rows_that_the_command_chooses(tmp_path):
    tabveil.datasets.hospital(60, seed=1).to_csv(tmp_path / "all.csv", index=False)
    asked = ("--control", 0.25, "--seed", 7)
    assert cli("split", "--data", tmp_path / "all.csv", *asked, "--out", tmp_path).exit_code == 0
    found = tabveil.split(tmp_path / "all.csv", control=0.25, seed=7)
    assert isinstance(found.train, pa.Table)
    for role, part in found._asdict().items():
        written = pd.read_csv(tmp_path / f"{role}.csv")
        assert part["age"].to_pylist() == written["age"].tolist()
        assert part["cost"].to_pylist() == written["cost"].tolist()  # numbers, not texts


@pytest.mark.parametrize("kind", ["arrow", "polars", "lazy"])
def test_split_returns_the_kind_of_table_that_came(kind):
    data = pa.table({"x": list(range(20)), "y": [None, "a"] * 10})
    if kind != "arrow":
        polars = pytest.importorskip("polars")
        data = polars.from_arrow(data)
    parts = tabveil.split(data.lazy() if kind == "lazy" else data, control=0.4)
    assert {type(part) for part in parts} == {type(data)}
    assert [len(part) for part in parts] == [12, 8]
    assert sorted(x for part in parts for x in part["x"].to_numpy().tolist()) == list(range(20))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"control": 0}, ParameterError),
        ({"control": 1.5}, ParameterError),
        ({"by": "persom"}, ParameterError),
        ({"seed": -1}, ParameterError),
    ],
)
def test_split_refuses_what_the_command_refuses(asked, error):
    with pytest.raises(error, match="split: "):
        tabveil.split(PEOPLE, **asked)


def test_one_row_cannot_be_split():
    with pytest.raises(SchemaError, match="cannot divide"):
        tabveil.split(PEOPLE[:1])


def stored(folder, **by_name):
    for name, risk in by_name.items():
        (folder / f"{name}.json").write_text(made.report(risk).to_json(), encoding="utf-8")
    return [folder / f"{name}.json" for name in by_name]


def test_compare_orders_by_concern_and_says_what_the_command_says(tmp_path):
    paths = stored(tmp_path, fine=made.CLEAN, leaky=made.LEAKY)
    compared = tabveil.compare(paths)
    assert compared.to_frame()["release"].tolist() == ["leaky", "fine"]
    printed = cli("compare", *paths).stdout
    first = [line.split()[:2] for line in str(compared).splitlines()[2:4]]
    assert (
        first
        == [line.split()[:2] for line in printed.splitlines()[2:4]]
        == [["leaky", "above"], ["fine", "within"]]
    )
    compared.to_html(tmp_path / "python.html")
    assert cli("compare", *paths, "--html", tmp_path / "command.html").exit_code == 0
    assert (tmp_path / "python.html").read_text() == (tmp_path / "command.html").read_text()


def test_compare_holds_the_bounds_that_are_judged():
    report = made.report(made.LEAKY)
    (row,) = tabveil.compare({"mine": report}).to_frame().to_dict("records")
    for item in report.verdict.risks:
        assert row[item.risk] == item.high == max(one.gain.high for one in item.metrics)
    assert row["verdict"] == "above threshold"


def test_compare_names_reports_by_title_or_by_place():
    titled, nameless = made.report(title="visits"), made.report(title="")
    assert list(tabveil.compare([titled, nameless]).reports) == ["visits", "release 2"]
    with pytest.raises(ParameterError, match="compare: visits is named twice"):
        tabveil.compare([titled, titled])
    with pytest.raises(ParameterError, match="no report"):
        tabveil.compare([])


def test_compare_warns_and_shows_no_order_to_a_terminal():
    compared = tabveil.compare({"a\x1b[2J": made.report(), "b": replace(made.report(), seed=9)})
    assert compared.warnings == ["Different seeds were used: small differences may be chance."]
    assert compared.warnings[0] in " ".join(str(compared).split())
    assert "\x1b" not in str(compared)
    assert compared.warnings[0] in compared._repr_html_()


def test_options_and_parameters_have_one_name():
    options, parameters = (set(inspect.signature(each).parameters) for each in (audit_command, tabveil.audit))
    only_files = {"config", "fail_above", "html", "brief", "json", "records", "force", "quiet"}
    only_python = {"portrait", "progress"}
    assert options - only_files == parameters - only_python


@pytest.mark.parametrize(("old", "new"), [("--secret", "--secrets"), ("--metric", "--metrics")])
def test_the_names_of_before_are_still_understood_and_no_longer_told(old, new):
    shown = cli("audit", "--help").stdout
    assert f"{new} " in shown
    assert f"{old} " not in shown
    line = cli("audit", "--train", "t", "--synthetic", "s", old, "x", "--config", "none.yaml").stderr
    assert "No such option" not in line


COMMANDS = sorted(command.name or command.callback.__name__ for command in app.registered_commands)
OTHER_IN_PYTHON = {
    "benchmark": "tabveil.workflows.benchmark",  # a study is an object there
    "config": "Report.config",
    "demo": "a walk through the commands",
    "metrics": "a list",
    "policy": "a file to edit",
    "schema": "a file to edit",
    "serve": "pages for people who use no code",
}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in OTHER_IN_PYTHON])
def test_what_a_command_does_a_function_of_its_name_does(command):
    function = getattr(tabveil, command.replace("-", "_"))
    assert callable(function)
    assert command.replace("-", "_") in tabveil.__all__
    assert inspect.getdoc(function)


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table, pl.DataFrame])
def test_anonymizing_hands_back_the_kind_of_table_that_came_in(kind):
    people = tabveil.datasets.hospital(200, seed=1)[["age", "sex", "cost"]]
    given = kind({name: people[name].tolist() for name in people})
    asked = {"hierarchies": {"age": {"intervals": [10, 20, 40]}, "sex": "auto"}, "models": [{"k": 4}]}
    found = tabveil.anonymize(given, asked)
    assert type(found.rows) is type(given)
    assert found.properties.k >= 4
    assert found.properties.n_rows == len(found.rows) == found.summary.n_rows - found.summary.n_suppressed
    assert repr(found).endswith("k-anonymity, k = 4")


def test_python_and_the_command_write_the_same_anonymized_rows(tmp_path):
    people = tabveil.datasets.hospital(150, seed=1)[["age", "sex", "cost"]]
    people.to_csv(tmp_path / "p.csv", index=False)
    asked = "hierarchies: {age: {intervals: [10, 20, 40]}, sex: auto}\nmodels: [{k: 3}]\n"
    (tmp_path / "a.yaml").write_text(asked, encoding="utf-8")
    done = cli(
        "anonymize",
        "--data",
        tmp_path / "p.csv",
        "--config",
        tmp_path / "a.yaml",
        "--out",
        tmp_path / "c.csv",
    )
    assert done.exit_code == 0
    tabveil.anonymize(tmp_path / "p.csv", tmp_path / "a.yaml").write(tmp_path / "python.csv")
    assert (tmp_path / "python.csv").read_bytes() == (tmp_path / "c.csv").read_bytes()


def test_proposals_are_those_of_the_commands(tmp_path):
    people = tabveil.datasets.hospital(150, seed=1)
    people.to_csv(tmp_path / "p.csv", index=False)
    assert cli("hierarchies", tmp_path / "p.csv", "--column", "age").output == tabveil.hierarchies(
        tmp_path / "p.csv", ["age"]
    )
    told = json.loads(cli("quasi-identifiers", tmp_path / "p.csv", "--json", "-").stdout)
    found = tabveil.quasi_identifiers(people)
    assert told["n_rows"] == found.n_rows
    assert [column["name"] for column in told["columns"]] == [column.name for column in found.columns]


def test_a_result_prints_a_line_and_no_score_of_anybody():
    report = tabveil.audit(*(tabveil.datasets.hospital(150, seed=seed) for seed in (1, 1, 2)), quick=True)
    result = report["singling_out"]
    assert len(result.sensitive_scores[0].values) == 150
    assert len(repr(result)) < 200
    assert repr(result).startswith(result.full_title)
    assert "array" not in repr(report.results)
    for name in ("scores", "records", "write_records"):
        assert not hasattr(result, name)
        assert not hasattr(report, name)


def test_a_frame_has_the_bounds_of_each_number_beside_it():
    report = tabveil.audit(*(tabveil.datasets.hospital(150, seed=seed) for seed in (1, 1, 2)), quick=True)
    frame = report.to_frame().set_index("metric")
    assert not {"low", "high"} & set(frame.columns)
    for result in report.results:
        row = frame.loc[result.key]
        for name in ("gain", "risk"):
            estimate = getattr(result, name)
            told = row[[name, f"{name}_low", f"{name}_high"]].tolist()
            expected = [math.nan] * 3 if estimate is None else [estimate.value, estimate.low, estimate.high]
            assert told == pytest.approx(expected, nan_ok=True)
        assert row["finding"] == finding(report, result.key)
    judged = {item.metric: item.state for risk in report.verdict.risks for item in risk.metrics}
    assert {name: state for name, state in frame["state"].items() if state} == judged
    assert "above threshold" in set(judged.values())


@pytest.mark.parametrize(
    ("kind", "expected"), [(pa.Table, pa.Table), (pl.DataFrame, pl.DataFrame), (str, pd.DataFrame)]
)
def test_a_frame_is_of_the_library_that_the_rows_came_in(kind, expected, tmp_path):
    tables = [tabveil.datasets.hospital(60, seed=seed) for seed in (1, 2, 3)]
    if kind is str:
        for place, table in enumerate(tables):
            table.to_parquet(tmp_path / f"{place}.parquet")
        tables = [str(tmp_path / f"{place}.parquet") for place in range(3)]
    else:
        tables = [pa.Table.from_pandas(table, preserve_index=False) for table in tables]
        tables = tables if kind is pa.Table else [pl.from_arrow(table) for table in tables]
    report = tabveil.audit(*tables, metrics=["mmd", "identical_match_share"], advice=False)
    assert type(report.to_frame()) is expected
    assert len(report.to_frame()) == 2
    assert "mmd" in report._repr_html_()
    assert type(tabveil.Report.from_json(report.to_json()).to_frame()) is pd.DataFrame
