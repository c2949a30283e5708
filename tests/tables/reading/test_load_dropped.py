"""Columns that tables do not share: left out on purpose and told, or refused with what to do about it."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tabveil
from tabveil.auditing.report import Report
from tabveil.cli import app
from tabveil.cli.screen import Screen
from tabveil.errors import SchemaError
from tabveil.render.audit.terminal import report_page
from tabveil.tables import reading as frame


def people(n=30, start=100):
    return pd.DataFrame(
        {
            "case": np.arange(start, start + n),
            "age": np.arange(n) % 7,
            "city": ["Bonn", "Kiel", "Ulm"] * (n // 3),
        }
    )


def test_a_release_that_rightly_lacks_an_identifier():
    train, control = people(), people(start=500)
    loaded = frame.load_split(train, train.drop(columns="case"), control, drop_identifiers=True)
    assert loaded.split.schema.names == ("age", "city")
    (dropped,) = loaded.dropped
    assert (dropped.name, dropped.reason, dropped.lacking) == ("case", "identifier", ("synthetic",))


def test_an_identifier_that_only_the_release_has():
    train = people()[["age", "city"]]
    loaded = frame.load_split(train, people(), drop_identifiers=True)
    assert loaded.split.schema.names == ("age", "city")
    assert loaded.dropped[0].lacking == ("train",)


def test_columns_that_a_schema_leaves_out_are_told():
    loaded = frame.load_split(people(), people()[["case", "age"]], schema={"drop": ["city"]})
    assert [(item.name, item.reason, item.lacking) for item in loaded.dropped] == [
        ("city", "schema", ("synthetic",))
    ]
    assert loaded.split.schema.names == ("case", "age")


def refused(train, synthetic, control=None, **settings):
    with pytest.raises(SchemaError) as caught:
        frame.load_split(train, synthetic, control, **settings)
    return str(caught.value)


def test_a_difference_names_the_remedy():
    train = people()
    line = refused(train, train.drop(columns="case"))
    assert line.startswith("The columns of train and synthetic differ: only in train: case. ")
    assert line.endswith("They look like identifiers: leave them out of the audit with --drop-identifiers.")
    line = refused(train, train.drop(columns="city"))
    assert "To leave them out, name them: --drop city" in line
    assert line.endswith("(one that says whose row it is: --person)")
    line = refused(train, train[["age"]])
    assert line.endswith("name them: --drop city (identifiers: --drop-identifiers)")
    line = refused(train, train[["age"]], drop_identifiers=True)
    assert "only in train: city. They do not look like identifiers" in line
    assert "case" not in line
    line = refused(train, train, train[["age"]])
    assert line.startswith("The columns of train and control differ")
    assert "Did you mean 'city' by 'City'?" in refused(train, train.rename(columns={"city": "City"}))


def test_an_index_that_a_program_wrote_is_told_as_one():
    train, release = people(), people().reset_index()
    line = refused(train, release)
    assert "only in synthetic: index" in line
    assert line.endswith(
        "They look like the numbers of rows that a program wrote; to leave them out, name them: --drop index"
    )
    unnamed = release.rename(columns={"index": "Unnamed: 0"})
    assert refused(train, unnamed).endswith("name them: --drop 'Unnamed: 0'")
    found = tabveil.audit(train, release, drop=["index"], metrics="identical_match_share", advice=False)
    assert [(item.name, item.lacking) for item in found.dropped] == [("index", ("train",))]
    assert found.settings["drop"] == ("index",)
    assert "drop: [index]\n" in found.config()
    with pytest.raises(SchemaError, match="drop names 'nothing', which no table has"):
        tabveil.audit(train, release, drop=["nothing"], metrics="identical_match_share")


def test_a_column_that_cannot_be_read_is_a_difference_first():
    odd = people().assign(odd=[[1]] * 30)
    assert "only in train: odd" in refused(odd, people(), drop_identifiers=True)


def test_nothing_left():
    only = people()[["case"]]
    with pytest.raises(SchemaError, match="No columns are left once identifiers are dropped"):
        frame.load_split(only, only, drop_identifiers=True)
    with pytest.raises(SchemaError, match="have no columns"):
        frame.load_split(only, people()[[]].assign(other=[f"x{i}" for i in range(30)]), drop_identifiers=True)


def test_the_digest_of_what_was_audited_stands_beside_that_of_the_file(tmp_path):
    train = people()
    train.to_csv(tmp_path / "train.csv", index=False)
    train.drop(columns="case").to_csv(tmp_path / "synthetic.csv", index=False)
    loaded = frame.load_split(tmp_path / "train.csv", tmp_path / "synthetic.csv", drop_identifiers=True)
    whole, release = loaded.inputs["train"], loaded.inputs["synthetic"]
    assert (whole.columns, whole.audited_columns, release.audited_columns) == (3, 2, 2)
    assert whole.sha256 != whole.audited_sha256
    assert whole.audited_sha256 == release.audited_sha256  # the same rows are left
    assert whole.audited_sha256 == frame.load_table(train[["age", "city"]]).input.sha256
    other = frame.load_split(people(start=900), train.drop(columns="case"), drop_identifiers=True)
    assert other.inputs["train"].audited_sha256 == whole.audited_sha256
    assert other.inputs["train"].sha256 != frame.load_table(train).input.sha256
    assert other.inputs["train"].sha256 == frame.load_table(people(start=900)).input.sha256
    plain = frame.load_split(train, train).inputs["train"]
    assert (plain.audited_columns, plain.audited_sha256) == (None, None)


def test_a_report_carries_them():
    train, control = people(), people(start=500)
    report = tabveil.audit(
        train, train.drop(columns="case"), control, metrics="identical_match_share", drop_identifiers=True
    )
    again = Report.from_json(report.to_json())
    assert again.dropped == report.dropped
    assert [item.name for item in again.dropped] == ["case"]
    assert again.inputs == report.inputs
    screen = Screen(width=80)
    with screen.capture() as shown:
        screen.print(report_page(report))
    assert "case: no metric was shown it" in shown.get()


@pytest.mark.parametrize("command", ["audit", "filter"])
def test_commands_leave_out_a_column_that_the_release_has_beside_the_others(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in (("t", people()), ("c", people(start=200)), ("s", people(start=300))):
        table.assign(**({"odd": 1.5} if name == "s" else {})).to_csv(f"{name}.csv", index=False)
    asked = [command, "--train", "t.csv", "--control", "c.csv", "--synthetic", "s.csv"]
    asked += (
        ["--out", "o.csv", "--no-utility"] if command == "filter" else ["--metrics", "mmd", "--no-advice"]
    )
    refused = CliRunner().invoke(app, asked)
    assert refused.exit_code == 2
    assert "--drop odd" in refused.stderr
    done = CliRunner().invoke(app, [*asked, "--drop", "odd"])
    assert done.exit_code == 0, done.output
