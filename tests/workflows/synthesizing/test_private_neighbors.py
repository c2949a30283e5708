"""One row more, and not a byte of what leaves changes, but for the noise: private generators look at rows
only through what is paid for.

The mechanisms are shown the same rows whatever the table holds, so all that they answer is the same, noise
and all. What still differs between two tables was read past the accounting.
"""

from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tabveil.errors import SchemaError
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.dpctgan import synthesizer as dpctgan
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.tables.matrices.bins import Bins, Levels
from tabveil.workflows.synthesizing import TableModel, learn
from tabveil.workflows.synthesizing.learning import is_private

pytest.importorskip("opacus", reason="the extra 'deep' is not installed")

SETTINGS = {
    "aim": {"epsilon": 0.01, "rounds": 18, "iterations": 5},
    "dpctgan": {
        "epsilon": 0.01,
        "epochs": 1,
        "sampled": 0.5,
        "layers": (4,),
        "embedding": 4,
        "batch_size": 20,
    },
    "pategan": {"epsilon": 0.01, "iterations": 2, "batch_size": 8},
    "pategan by networks": {
        "epsilon": 0.01,
        "teachers": "networks",
        "n_teachers": 7,
        "iterations": 2,
        "batch_size": 8,
    },
}
"""Every private generator, by the first word of its name, and kinds of it that look at rows in other ways."""
DECLARED = {
    "age": {"type": "integer", "low": 0, "high": 120},
    "kg": {"type": "real", "low": 0, "high": 300, "decimals": 1},
    "seen": {"type": "datetime", "low": "2020-01-01", "high": "2029-12-31", "unit": "seconds"},
    "born": {"type": "date", "low": "1900-01-01", "high": "2029-12-31"},
    "smoker": {"type": "boolean"},
    "ward": {"type": "category", "labels": ["north", "south", "Köln"]},
    "cost": {"type": "real", "low": 0, "high": 9999, "decimals": 2, "form": "1.234,50 €"},
    "paid": {"type": "date", "low": "2000-01-01", "high": "2029-12-31", "form": "MM/DD/YYYY"},
    "case": {"type": "identifier", "form": "AB-0000"},
}
ROW = {
    "age": "40",
    "kg": "70.5",
    "seen": "2024-03-01 12:30:00",
    "born": "1980-05-17",
    "smoker": "true",
    "ward": "north",
    "cost": "1.324 €",
    "paid": "03/04/2024",
    "case": "AB-1234",
}
LONG = "0" * 30
NASTY = [
    *(("age", cell) for cell in ("NA", "nan", "", "  ", "40.0", "4e1", "+40", " 40", "-0", f"{LONG}40")),
    ("age", f"40.{LONG}"),
    *(("kg", cell) for cell in ("null", "70.50", "7.05e1", "70", "+70.5", f"70.5{LONG}1")),
    ("seen", "2024-03-01T12:30:00"),
    *(("seen", f"2024-03-01{rest}") for rest in ("", " 12:30", " 12:30:00.000", " 12:30:00.000000000")),
    ("seen", "None"),
    *(("born", cell) for cell in ("N/A", "1980-05-17T00:00", "1980-05-17 00:00:00.000")),
    *(("smoker", cell) for cell in ("True", "TRUE", "tRuE", "1", "0", "1.0", "NULL")),
    *(("ward", cell) for cell in ('"north"', "", " ", "Köln")),
    # Each of these would decide by itself how 1.324 and 03/04 are meant, were rows asked.
    *(("cost", f'"{cell}"') for cell in ("1.324,85 €", "0,5 €", "1324", "NA", "12€")),
    *(("paid", cell) for cell in ("12/31/2024", "3/4/2024", "2024-03-04", "null", "03/04/2024 00:00")),
    *(("case", cell) for cell in ("AB-9999", "", "17", "NA", "2024-03-01", "Maria López")),
]
N_SHOWN = 20


@pytest.fixture(autouse=True)
def same_rows(monkeypatch):
    """Show every mechanism the same few rows; returns how often each way to the rows was asked."""
    asked = {"levels": 0, "parts": 0, "slots": 0}

    def codes(_, cells):
        asked["levels"] += 1
        return np.zeros(N_SHOWN, dtype=np.int64)

    def parts(_, cells):
        asked["parts"] += 1
        return np.zeros(N_SHOWN, dtype=np.int64)

    def slots(_, found, *, rng):
        asked["slots"] += 1
        return np.zeros((N_SHOWN, len(found)), dtype=np.int64), np.zeros((N_SHOWN, len(found)))

    monkeypatch.setattr(Levels, "encode", codes)
    monkeypatch.setattr(Bins, "parts", parts)
    monkeypatch.setattr(dpctgan, "encode", slots)
    return asked


def table(path, *more, encoding="utf-8"):
    """Write 30 equal rows, and more rows that differ from them in the cells given."""
    lines = [",".join(ROW), *[",".join(ROW.values())] * 30]
    lines += [",".join({**ROW, **cells}.values()) for cells in more]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode(encoding))
    return path


def released(data, generator, folder, declared=None):
    """Learn a table, and return every byte that leaves: of the model's files and of rows in all formats."""
    folder.mkdir()
    schema = {"columns": DECLARED if declared is None else declared}
    name = generator.split()[0]
    learned = learn(data, generator=name, settings=SETTINGS[generator], seed=3, schema=schema)
    learned.save(folder / "model")
    for rows, name in (
        (learned.draw(40, seed=1), "fresh"),
        (TableModel.load(folder / "model").draw(40), "again"),
    ):
        for ending in ("csv", "parquet", "feather"):
            rows.write(folder / f"{name}.{ending}")
    files = [path for path in folder.rglob("*") if path.is_file()]
    return learned, {str(path.relative_to(folder)): path.read_bytes() for path in files}


def differing(first, second):
    assert first.keys() == second.keys()
    return {name for name in first if first[name] != second[name]}


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """What leaves of the table without the row, once for each generator."""
    kept = {}

    def find(generator):
        if generator not in kept:
            place = tmp_path_factory.mktemp(generator)
            kept[generator] = released(table(place / "data.csv"), generator, place / "out")[1]
        return kept[generator]

    return find


@pytest.mark.parametrize("generator", SETTINGS)
def test_the_files_that_are_compared_are_all_there_and_can_differ(generator, tmp_path, without, same_rows):
    files = without(generator)
    names = {f"{name}.{ending}" for name in ("fresh", "again") for ending in ("csv", "parquet", "feather")}
    assert set(files) == names | {f"model/{name}" for name in ("model.json", "arrays.npz", "layout.json")}
    assert files["fresh.csv"] != files["again.csv"]  # drawn with another seed
    before = dict(same_rows)
    released(table(tmp_path / "data.csv"), generator, tmp_path / "out")
    ways = {"aim": {"levels", "parts"}, "dpctgan": {"slots"}, "pategan": {"levels"}}
    assert {way for way in same_rows if same_rows[way] > before[way]} == ways[generator.split()[0]]


def test_no_private_generator_is_left_out():
    private = {name for name, kind in GENERATORS.items() if is_private(kind())}
    assert {case.split()[0] for case in SETTINGS} == private
    kinds = get_args(get_type_hints(PateGan)["teachers"])
    assert {SETTINGS[case].get("teachers", PateGan.teachers) for case in SETTINGS} >= set(kinds)


@pytest.mark.parametrize("generator", SETTINGS)
@pytest.mark.parametrize(("column", "cell"), NASTY)
def test_a_row_changes_nothing_past_the_accounting(column, cell, generator, tmp_path, without):
    extra = table(tmp_path / "data.csv", {column: cell})
    _, files = released(extra, generator, tmp_path / "out")
    assert differing(without(generator), files) == set()


@pytest.mark.parametrize("generator", SETTINGS)
def test_many_rows_at_once_change_nothing_either(generator, tmp_path, without):
    extra = table(tmp_path / "data.csv", *({column: cell} for column, cell in NASTY), encoding="cp1252")
    _, files = released(extra, generator, tmp_path / "out")
    assert differing(without(generator), files) == set()


@pytest.mark.parametrize("generator", SETTINGS)
@pytest.mark.parametrize(
    ("column", "cell", "facts"),
    [
        ("age", "NA", {"missing values", "form"}),
        ("age", "40.0", {"form"}),
        ("age", "41", {"range"}),
        ("kg", "70.25", {"range", "decimals"}),
        ("seen", "2024-03-01T12:30:00", {"form"}),
        ("seen", "2024-03-01 12:30:00.5", {"unit", "form"}),
        ("smoker", "", set()),
        ("ward", "south", {"labels"}),
        ("ward", "", {"missing values"}),
        ("cost", '"1.324,85 €"', {"range", "form"}),
        ("paid", "12/31/2024", {"range", "form"}),
    ],
)
def test_what_is_read_is_named(column, cell, facts, generator, tmp_path):
    """Here the files do differ, so the tests above can fail; and the promise says of what."""
    kind = DECLARED[column]["type"]
    declared = {**DECLARED, column: kind}
    first = released(table(tmp_path / "a.csv"), generator, tmp_path / "a", declared)
    second = released(table(tmp_path / "b.csv", {column: cell}), generator, tmp_path / "b", declared)
    privacy = first[0].account.privacy
    assert privacy == second[0].account.privacy
    if kind == "boolean":  # nothing about its domain is left open
        assert (privacy.read_from_data, differing(first[1], second[1])) == ({}, set())
        return
    assert differing(first[1], second[1])
    assert set(privacy.read_from_data) == {column}
    assert facts <= set(privacy.read_from_data[column])
    assert any(column in note and note.startswith("WARNING") for note in first[0].account.notes)


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("ward", "North"),
        ("ward", " north"),
        ("smoker", "yes"),
        ("seen", "2024-03-01 12:30:00Z"),
        ("seen", "2024-03-01 12:30:00.5"),
        ("age", "121"),
        ("age", "40.5"),
        ("kg", "70.55"),
        ("born", "17.05.1980"),
        ("cost", '"1.5 €"'),
        ("cost", '"1,324.85 €"'),
        ("paid", "31/12/2024"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_and_nothing_leaves(column, cell, tmp_path):
    with pytest.raises(SchemaError, match=f"'{column}'") as caught:
        released(table(tmp_path / "data.csv", {column: cell}), "aim", tmp_path / "out")
    assert cell.strip('"') not in str(caught.value)
    assert list((tmp_path / "out").iterdir()) == []


# Tables with types of their own, which may follow from the rows as well


def frame(*more):
    people = pd.DataFrame([ROW] * 30)
    people["age"], people["kg"] = 40, 70.5
    people["seen"], people["smoker"] = pd.to_datetime(people["seen"]), True
    return pd.concat([people, *(people.head(1).assign(**cells) for cells in more)], ignore_index=True)


TYPED = [
    {"age": None},
    {"age": 40.0},
    {"age": "40"},
    {"kg": 70},
    {"kg": None},
    {"seen": pd.Timestamp("2024-03-01 12:30:00").as_unit("ms")},
    {"seen": "2024-03-01T12:30:00"},
    {"smoker": None},
    {"smoker": 1},
    {"ward": None},
    {"ward": np.nan},
    {"born": None},
    {"case": None},
]


@pytest.mark.parametrize("generator", SETTINGS)
def test_types_of_dataframes_do_not_follow_from_rows(generator, tmp_path):
    learned, files = released(frame(), generator, tmp_path / "out")
    native = learned.draw(40).native()
    assert isinstance(native, pd.DataFrame)
    for position, cells in enumerate(TYPED):
        other = frame(cells)
        if isinstance(next(iter(cells.values())), (str, int)):  # pandas would mix kinds of values
            name = next(iter(cells))
            other[name] = other[name].astype(type(cells[name]))
        again, more = released(other, generator, tmp_path / str(position))
        assert differing(files, more) == set(), cells
        pd.testing.assert_frame_equal(again.draw(40).native(), native)


def test_types_of_files_do_not_follow_from_rows(tmp_path):
    plain = pa.Table.from_pandas(frame())
    narrow = plain.set_column(0, "age", plain.column("age").cast(pa.int8()))
    coded = plain.set_column(5, "ward", plain.column("ward").dictionary_encode())
    files = []
    for position, data in enumerate((plain, narrow, coded, pa.Table.from_pandas(frame({"age": None})))):
        pq.write_table(data, tmp_path / f"{position}.parquet")
        files.append(released(tmp_path / f"{position}.parquet", "aim", tmp_path / str(position))[1])
    assert [differing(files[0], other) for other in files[1:]] == [set()] * 3


def test_the_source_does_not_show_in_what_leaves(tmp_path, without):
    """A dataframe, a typed file and a text file of the same declared columns are one table."""
    assert differing(released(frame(), "aim", tmp_path / "out")[1], without("aim")) == set()


@pytest.mark.parametrize("generator", SETTINGS)
def test_identifiers_follow_from_the_schema_alone(generator, tmp_path):
    """Rows that all have numbers of their own change nothing: which column names people is not looked up."""
    more = [{"case": f"AB-{i:04d}", "age": str(i)} for i in range(90)]
    learned, files = released(table(tmp_path / "data.csv", *more), generator, tmp_path / "out")
    _, again = released(table(tmp_path / "few.csv"), generator, tmp_path / "few")
    assert files["fresh.csv"] == again["fresh.csv"]
    rows = learned.draw(40).native().to_pandas()
    assert rows["case"].str.fullmatch(r"AB-\d{4}").all()
    assert rows["case"].is_unique
    assert learned.account.privacy.read_from_data == {}
    assert any("one can equal a real one by chance" in note for note in learned.notes)


def test_identifiers_that_are_not_declared_are_learned_and_said_to_be_read(tmp_path):
    declared = {name: entry for name, entry in DECLARED.items() if name != "case"}
    more = [{"case": f"AB-{i:04d}"} for i in range(900)]
    data = table(tmp_path / "data.csv", *more)
    learned, _ = released(data, "aim", tmp_path / "out", declared)
    assert learned.fresh == ()
    assert learned.account.privacy.read_from_data == {"case": ("labels", "missing values", "form")}
    assert any("declare them as such in a schema" in note for note in learned.notes)
