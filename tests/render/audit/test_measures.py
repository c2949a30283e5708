"""Properties that an audit measures: by hand, from the request to JSON, page and terminal; and usefulness."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from supplies import made_reports as made
from supplies.html_documents import FORBIDDEN, Document, says
from typer.testing import CliRunner

import tabveil
from tabveil.auditing.report import Report
from tabveil.cli import app
from tabveil.core.estimate import Estimate
from tabveil.errors import ParameterError
from tabveil.metrics.properties import WEAKNESSES
from tabveil.metrics.utility import Figure, Telling
from tabveil.render.audit.measures import (
    INFINITE,
    INVENTED,
    MOST_SHOWN,
    NO_ATTACK,
    REFERENCE,
    TITLE,
    Usefulness,
    properties,
)
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page

PEOPLE = pd.DataFrame(
    {
        "age": [30, 30, 30, 40, 40, 50],
        "sex": list("fffmmm"),
        "illness": ["cold", "flu", "flu", "cold", "cold", "burn"],
        "income": [1, 2, 2, 1, 9, 5],
    }
)
RELEASE = pd.DataFrame(
    {
        "age": [30, 30, 50, 50],
        "sex": list("ffmm"),
        "illness": ["cold", "flu", "cold", "flu"],
        "income": [1, 2, 1, 1],
    }
)
WITH_GOUT = RELEASE.assign(illness=["cold", "flu", "cold", "gout"])  # which nobody in train has


def audited(release=RELEASE, train=PEOPLE, **asked):
    return tabveil.audit(train, release, metrics="identical_match_share", **asked)


def measured(release=RELEASE, train=PEOPLE, sensitive=("illness", "income"), **asked):
    return audited(release, train, quasi_identifiers=["age", "sex"], sensitive=sensitive, **asked)


def terminal(report):
    console = Console(width=80, file=io.StringIO())
    console.print(report_page(report))
    return console.file.getvalue()


def rows(report):
    """What is shown, by column ("" for classes) and label, of train and release."""
    shown = properties(report)
    parts = [("", shown.classes), *((item.column, item.rows) for item in shown.columns)]
    return {(column, row.label): (row.train, row.release) for column, part in parts for row in part}


# By hand


def test_the_numbers_of_both_tables_by_hand():
    found = json.loads(measured().to_json())["properties"]
    train, release = found["train"], found["synthetic"]
    counts = ("n_rows", "n_classes", "k", "n_unique")
    assert [train[key] for key in counts] == [6, 3, 1, 1]
    assert [release[key] for key in counts] == [4, 2, 2, 0]
    assert train["quasi_identifiers"] == ["age", "sex"]
    illness, income = train["sensitive"]
    assert (illness["column"], illness["distinct"], illness["recursive"]) == ("illness", 1, 1)
    assert illness["equal"] == pytest.approx(5 / 6)  # the burn is one of six rows
    # Half of train has a cold, a third the flu. A class of one cold and two flus, one of two colds, one burn:
    bits = 3 * (math.log2(2 / 3) / 3 + 2 / 3) + 2 + math.log2(6)
    assert illness["information_gain"] == pytest.approx(bits / 6)
    assert illness["largest_gain"] == pytest.approx(math.log2(6))
    assert illness["ordered"] is None
    assert income["ordered"] is not None
    illness, income = release["sensitive"]
    assert (illness["distinct"], illness["entropy"], illness["recursive"]) == (2, pytest.approx(2), 2)
    # Both classes have one cold and one flu, where train has 3 and 2 of 6: only the flu is too frequent.
    assert illness["equal"] == pytest.approx(1 / 2 - 1 / 3)
    assert illness["information_gain"] == pytest.approx(math.log2(3 / 2) / 2)
    assert income["equal"] == pytest.approx(1 - 2 / 6)  # the class of two ones, of which train has two of six
    assert income["largest_gain"] == pytest.approx(math.log2(3))


def test_the_page_has_every_number():
    shown = rows(measured())
    assert shown["", "Rows"] == ("6", "4")
    assert shown["", "Classes of rows with equal quasi-identifiers"] == ("3", "2")
    assert shown["", "k, rows of the smallest class (1/k)"] == ("1 (1.000)", "2 (0.500)")
    assert shown["", "Rows alone in their class"] == ("1", "0")
    assert shown["", "Mean chance of naming the right row"] == ("50.0%", "50.0%")
    distinct = "Distinct l, values of the least varied class (1/l)"
    assert shown["illness", distinct] == ("1 (1.000)", "2 (0.500)")
    assert shown["illness", "Entropy l (1/l)"] == ("1.000 (1.000)", "2.000 (0.500)")
    assert shown["illness", "Recursive l, c = 3 (1/l)"] == ("1 (1.000)", "2 (0.500)")
    assert shown["illness", "t, all values equally far apart"] == ("0.833", "0.167")
    assert shown["illness", "t, by ranks of values"] == ("no order", "no order")
    assert shown["illness", "Information gain, largest (bits)"] == ("2.585", "0.292")
    assert shown["income", "t, by ranks of values"] == ("0.389", "0.389")
    text = Document(page(measured())).text
    for (_, label), values in shown.items():
        assert label in text
        assert all(value in text for value in values)


def test_page_and_terminal_say_what_a_property_is_not():
    report = measured()
    document = Document(page(report))
    assert TITLE in [text for _, text in document.all("h2")]
    for sentence in (NO_ATTACK, INVENTED, REFERENCE, *WEAKNESSES.values()):
        assert sentence in document.text
    shown = " ".join(terminal(report).split())
    for sentence in (TITLE, NO_ATTACK, INVENTED, REFERENCE, "Quasi-identifiers: age, sex."):
        assert sentence in shown
    for word in FORBIDDEN:
        assert not says(document.text, word), word


def test_no_value_of_a_record_is_shown():
    section = page(measured(WITH_GOUT)).partition('id="properties"')[2].partition("</section>")[0]
    for value in ("cold", "flu", "burn", "gout"):
        assert value not in section


def test_the_verdict_is_what_it_was():
    assert measured().verdict == audited().verdict


# What was not declared


def test_without_quasi_identifiers_there_is_no_section():
    report = audited(secrets=["illness"])
    assert report.properties is None
    assert "properties" not in json.loads(report.to_json())
    assert 'id="properties"' not in page(report)
    assert "#properties" not in page(report)
    assert TITLE not in terminal(report)


def test_secrets_are_sensitive_unless_something_else_is_said():
    asked = {"quasi_identifiers": ["age", "sex", "age"], "secrets": ["illness", "sex"]}
    columns = (("age", "sex"), ("illness",))
    assert audited(**asked).properties.train.columns() == columns
    assert audited(**asked, sensitive=["income"]).properties.train.columns() == (("age", "sex"), ("income",))
    assert audited(**asked, sensitive=[]).properties.train.columns() == (("age", "sex"), ())


def test_without_sensitive_columns_only_classes_are_measured():
    report = audited(quasi_identifiers=["age"])
    text = Document(page(report)).text
    assert "No sensitive column was declared" in text
    assert WEAKNESSES["k"] in text
    assert WEAKNESSES["t"] not in text
    assert REFERENCE not in " ".join(terminal(report).split())


# Infinite gains, missing values, single rows


def test_a_value_that_train_lacks_is_said_in_words():
    report = measured(WITH_GOUT)
    assert report.properties.synthetic.sensitive[0].largest_gain == math.inf
    stored = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert stored["properties"]["synthetic"]["sensitive"][0]["information_gain"] is None
    again = Report.from_json(report.to_json())
    assert again.properties == report.properties
    for shown in (report, again):
        assert rows(shown)["illness", "Information gain, mean over rows (bits)"] == ("1.000", INFINITE)
        assert "Infinite: a class of the release" in Document(page(shown)).text
        assert "Infinite: a class of the release" in " ".join(terminal(shown).split())
    assert "Infinite: a class" not in Document(page(measured())).text


def test_a_missing_value_is_a_value_of_its_own():
    train = PEOPLE.assign(
        age=[30, 30, np.nan, np.nan, 40, 40],
        sex=list("ffffmm"),
        illness=["cold", None, None, "flu", None, None],
    )
    found = measured(train, train, sensitive=["illness"]).properties
    for table in (found.train, found.synthetic):
        assert (table.n_classes, table.k, table.n_unique) == (3, 2, 0)
        assert table.sensitive[0].distinct == 1  # two missing illnesses
        assert table.sensitive[0].equal == pytest.approx(1 / 3)  # four of six are missing
        assert table.sensitive[0].largest_gain == pytest.approx(
            1 / 2 * math.log2(3) + 1 / 2 * math.log2(3 / 4)
        )


def test_tables_of_one_row():
    report = measured(RELEASE[:1], PEOPLE[:1])
    for table in (report.properties.train, report.properties.synthetic):
        assert (table.n_rows, table.n_classes, table.k, table.n_unique) == (1, 1, 1, 1)
        assert [(own.distinct, own.equal, own.largest_gain) for own in table.sensitive] == [(1, 0, 0)] * 2
    assert rows(report)["", "Mean chance of naming the right row"] == ("100%", "100%")
    assert 'id="properties"' in page(report)


# Faults


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"quasi_identifiers": ["aeg"]}, r"^audit: no column 'aeg'\. Did you mean 'age'\?$"),
        ({"quasi_identifiers": ["age"], "sensitive": ["ilness"]}, r"^audit: no column 'ilness'\."),
        (
            {"quasi_identifiers": ["age", "sex"], "sensitive": ["income", "sex"]},
            r"^audit: column 'sex' is sensitive and a quasi-identifier; it can be one\.$",
        ),
        ({"sensitive": ["income"]}, r"^audit: sensitive columns .* name quasi_identifiers, too\.$"),
        ({"quasi_identifiers": "age"}, r"^audit: quasi_identifiers must be a list of columns"),
        ({"quasi_identifiers": ["age"], "sensitive": "sex"}, r"^audit: sensitive must be a list of columns"),
    ],
)
def test_wrong_columns_are_one_line_before_anything_runs(asked, message):
    done = []
    with pytest.raises(ParameterError, match=message):
        audited(**asked, progress=lambda doing, share: done.append(doing))
    assert set(done) <= {"reading the tables"}


def test_the_command_line_takes_both_and_refuses_a_column_in_both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("t.csv", index=False)
    RELEASE.to_csv("s.csv", index=False)
    args = ["audit", "--train", "t.csv", "--synthetic", "s.csv", "--metrics", "identical_match_share", "-q"]
    args += ["--quasi-identifiers", "age", "--quasi-identifiers", "sex", "--sensitive", "income"]
    done = CliRunner().invoke(app, [*args, "--json", "r.json"])
    assert done.exit_code == 0, done.output
    report = Report.read("r.json")
    assert report.properties.train.columns() == (("age", "sex"), ("income",))
    assert "quasi_identifiers: [age, sex]\n" in report.config()
    assert "sensitive: [income]\n" in report.config()
    done = CliRunner().invoke(app, [*args, "--sensitive", "sex"])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "column 'sex' is sensitive and a quasi-identifier" in done.stderr


# Reports from files


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("train", "k"), 0),
        (("train", "n_rows"), 0),
        (("train", "n_classes"), 7),
        (("synthetic", "sensitive", 0, "distinct"), 0),
        (("synthetic", "sensitive", 0, "entropy"), 0.0),
        (("synthetic", "sensitive"), []),
        (("synthetic", "quasi_identifiers"), ["sex", "age"]),
        (("synthetic",), None),
    ],
)
def test_a_report_that_no_audit_wrote_is_refused(way, value, tmp_path):
    data = json.loads(measured().to_json())
    at = data["properties"]
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    (tmp_path / "r.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ParameterError, match="not a report of this version"):
        Report.read(tmp_path / "r.json")


def test_names_from_outside_have_no_say():
    hostile = "<script>alert(1)</script>[red]\u202e"
    renamed = {"age": hostile, "illness": f"ill{hostile}"}
    report = audited(
        RELEASE.rename(columns=renamed),
        PEOPLE.rename(columns=renamed),
        quasi_identifiers=[hostile],
        sensitive=[f"ill{hostile}"],
    )
    written = page(report)
    assert "<script" not in written
    assert "\u202e" not in written
    assert "ill<script>alert(1)</script>[red]" in Document(written).text
    assert "ill<script>alert(1)</script>[red]" in terminal(report)


def test_many_sensitive_columns_are_counted_not_shown():
    found = made.properties(columns=tuple(f"column {place}" for place in range(MOST_SHOWN + 2)))
    report = made.report(full=False, properties=found)
    assert len(properties(report).columns) == MOST_SHOWN
    assert (
        f"Shown are the first {MOST_SHOWN} of {MOST_SHOWN + 2} sensitive columns"
        in Document(page(report)).text
    )
    assert "17 further sensitive columns: see the JSON report." in " ".join(terminal(report).split())


# Usefulness


def told(**changed):
    return Usefulness(replace(made.utility(), **changed))


def accuracy(value, low, high, reference=0.5):
    of = Estimate(value=value, low=low, high=high, n=9)
    fresh = Estimate(value=reference, low=reference - 0.01, high=reference + 0.01, n=9)
    return {"discriminator": Figure(value=of, reference=fresh)}


def left(column, value):
    return Telling(column=column, left=Estimate(value=value, low=value, high=value, n=9))


def test_the_columns_that_tell_are_named_with_what_is_left():
    found = told(
        figures=accuracy(0.99, 0.98, 1), telling=(left("admission_time", 0.7), left("ward", 0.61))
    ).told_by
    assert found == (
        "Most is told by admission_time, ward. A model that sees all columns is right for 99.0% of the rows "
        "(guessing: 50%), without admission_time for 70.0%, also without ward for 61.0%."
    )


def test_no_column_tells_where_fresh_rows_are_told_as_well_and_few_do_not_where_none_matters():
    assert told(figures=accuracy(0.51, 0.49, 0.53), telling=()).told_by.endswith("no column tells.")
    assert told(figures=accuracy(0.6, 0.58, 0.62, 0.595), telling=()).told_by.endswith("no column tells.")
    assert "not due to few columns" in told(figures=accuracy(0.9, 0.88, 0.92), telling=()).told_by
    assert told(figures={}).told_by == ""


def test_page_and_terminal_have_fidelity_its_parts_and_what_was_left_out():
    report = made.report()
    shown, printed = Document(page(report)).text, terminal(report)
    for text in (shown, printed):
        assert "0.850" in text
        assert all(value in text for value in ("0.950", "0.700", "0.900", "0.970"))
        assert "as identifiers or free text: case." in " ".join(text.split())
        assert "columns two by two" in text.lower()
    assert "Pairs of columns that differ most" in shown
    assert "Total variation of the pair 0.200 (0.100 to 0.300); fresh real rows 0.050; the worse" in shown
    bare = made.report(utility=replace(made.utility(), fidelity=None, pairs=(), left_out=()))
    shown = Document(page(bare)).text
    assert "one of its parts is missing" in shown
    assert "Pairs of columns that differ most" not in shown
    assert "identifiers or free text" not in shown


def test_an_identifier_that_was_replaced_tells_nothing_in_an_audit():
    """As tabveil itself makes them: new numbers for new people."""
    tables = [
        tabveil.datasets.hospital(200, seed=seed).assign(patient_id=range(start, start + 200))
        for seed, start in ((1, 10_000), (2, 90_000), (3, 10_200))
    ]
    tables[0]["patient_id"], tables[2]["patient_id"] = (
        np.random.default_rng(0).permutation(np.arange(10_000, 10_400)).reshape(2, 200)
    )
    found = tabveil.audit(*tables, metrics=["identical_match_share"], utility=True)
    figure = found.utility.figures["discriminator"]
    assert found.utility.left_out == ("patient_id",)
    assert figure.value.low < 0.5 < figure.value.high
    assert "patient_id" not in {column.name for column in found.utility.columns}
    again = Report.from_json(found.to_json())
    assert again.utility == found.utility
