"""Which columns are texts, what rows are compared by in their place, and which words metrics are given."""

import numpy as np
import pandas as pd
import pytest
import yaml

from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.errors import SchemaError
from tabveil.tables.reading import describe, load_split, load_table
from tabveil.tables.reading.identifiers import SEVERAL

N = 40
WARDS = ["surgery", "cardiology"]


def notes(n_words, n=N, different=None):
    """Texts of so many words each, so many of them different."""
    return [" ".join([f"word{row % (different or n)}", *["more"] * (n_words - 1)]) for row in range(n)]


def table(**columns):
    return pd.DataFrame(
        {"ward": [WARDS[row % 2] for row in range(N)], "age": [row // 4 for row in range(N)], **columns}
    )


def loaded(frame, **given):
    return load_split(frame, frame, frame, **given)


def is_text(frame, name="notes", **given):
    return isinstance(loaded(frame, **given).split.schema[name], Numeric)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (notes(SEVERAL), True),
        (notes(SEVERAL - 1), False),  # names and labels have fewer words
        (notes(SEVERAL, different=N // 2), True),
        (notes(SEVERAL, different=N // 2 - 1), False),  # a label that many share
        (["患者は元気で退院しました" + str(row) for row in range(N)], True),
        ([None] * (N - 19) + notes(SEVERAL)[:19], False),  # too few to tell
        ([None] * (N - 20) + notes(SEVERAL)[:20], True),
        ([f"P-{row:05d}" for row in range(N)], False),  # an identifier
        (pd.Categorical(notes(SEVERAL)), False),  # its author listed the labels
    ],
)
def test_the_rule(column, text):
    assert is_text(table(notes=column)) is text


@pytest.mark.parametrize("name", ["address", "full_name", "Patient"])
def test_what_is_named_after_people_is_no_text(name):
    assert not is_text(table(**{name: notes(SEVERAL)}), name)
    assert is_text(table(remarks=notes(SEVERAL)), "remarks")


def test_the_schema_has_the_last_word():
    assert is_text(table(notes=notes(2)), schema={"columns": {"notes": "text"}})
    assert not is_text(table(notes=notes(9)), schema={"columns": {"notes": "category"}})
    assert not is_text(table(notes=notes(9)), schema={"columns": {"notes": "identifier"}})
    assert is_text(table(notes=range(N)), schema={"columns": {"notes": "text"}})


@pytest.mark.parametrize("extra", [{"labels": ["a"]}, {"form": "A-0"}, {"low": 1}])
def test_a_text_has_no_domain(extra):
    with pytest.raises(SchemaError, match="notes"):
        loaded(table(notes=notes(9)), schema={"columns": {"notes": {"type": "text", **extra}}})


def test_rows_are_compared_by_the_number_of_words():
    frame = table(notes=[*notes(9)[:-2], None, "two words"])
    found = loaded(frame)
    column = found.split.schema["notes"]
    assert (column.low, column.high, column.decimals) == (2, 9, 0)
    cells = found.split.train.column("notes")
    assert cells[0] == 9
    assert cells[-1] == 2
    assert np.isnan(cells[-2])
    assert any("text" in note and "notes" in note for note in found.notes)


def test_other_columns_and_digests_are_as_without_the_rule():
    frame = table(notes=notes(9))
    text, label = loaded(frame), loaded(frame, schema={"columns": {"notes": "category"}})
    assert text.split.select(["ward", "age"]).schema == label.split.select(["ward", "age"]).schema
    assert text.inputs == label.inputs
    other = loaded(table(notes=[f"other{note}" for note in notes(9)]))
    assert other.inputs["train"].sha256 != text.inputs["train"].sha256


def test_texts_are_not_dropped_with_identifiers():
    frame = table(notes=notes(9), case=[f"P-{row:05d}" for row in range(N)])
    found = loaded(frame, drop_identifiers=True)
    assert [column.name for column in found.dropped] == ["case"]
    assert "notes" in found.split.schema.names


def test_metrics_that_read_are_given_the_words():
    frame = table(notes=notes(9), case=[f"P-{row:05d}" for row in range(N)], phone=range(10**9, 10**9 + N))
    found = loaded(frame, drop_identifiers=True, schema={"columns": {"case": "identifier"}}).written
    held = {column.name: column.holds for column in found.schema.columns}
    assert held == {"ward": "labels", "notes": "text", "case": "identifiers", "phone": "labels"}
    for name in held:
        codes = found.train.column(name).astype(int)
        assert [found.schema[name].labels[code] for code in codes] == [str(value) for value in frame[name]]


def test_a_column_that_the_release_lacks_is_read_where_it_stands():
    frame = table(name=[f"Anna Person{row}" for row in range(N)])
    found = load_split(frame, frame.drop(columns="name"), frame, drop_identifiers=True).written
    assert not np.isnan(found.train.column("name")).any()
    assert not np.isnan(found.control.column("name")).any()
    assert np.isnan(found.synthetic.column("name")).all()
    assert (
        "name" not in load_split(frame, frame.drop(columns="name"), drop_identifiers=True).split.schema.names
    )


def test_tables_of_numbers_have_no_words():
    frame = pd.DataFrame({"age": range(N), "cost": np.linspace(0, 1, N)})
    assert loaded(frame).written is None


def test_the_schema_file_says_text_and_reads_back(tmp_path):
    frame = table(notes=notes(9))
    written = describe(frame)
    assert yaml.safe_load(written)["columns"]["notes"] == "text"
    path = tmp_path / "schema.yaml"
    path.write_text(written, encoding="utf-8")
    assert is_text(frame, schema=path)


def test_generators_do_not_learn_texts():
    assert load_table(table(notes=notes(9, different=N // 2))).identifiers == ("notes",)
    declared = load_table(table(notes=notes(2, different=2)), schema={"columns": {"notes": "text"}})
    assert declared.identifiers == declared.texts == ("notes",)


def test_what_a_column_holds_is_stored_and_read_back():
    schema = Schema((Categorical(name="notes", labels=("a", "b"), holds="text"),))
    assert Schema.from_json(schema.to_json()) == schema
    plain = Schema((Categorical(name="notes", labels=("a", "b")),))
    assert "holds" not in plain.to_json()[0]
    with pytest.raises(SchemaError):
        Schema.from_json([{**schema.to_json()[0], "holds": "secrets"}])


def test_texts_from_files_are_texts(tmp_path):
    frame = table(notes=notes(9))
    path = tmp_path / "train.csv"
    frame.to_csv(path, index=False)
    found = load_split(path, path, path)
    assert isinstance(found.split.schema["notes"], Numeric)
    assert found.written.schema["notes"].holds == "text"
