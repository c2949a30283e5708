"""A folder of Parquet files is the table that its files, one after the other, make."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from supplies.terminal import run

from tabveil.core.workers import working
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.reading import load_split, load_table, read_raw, trial
from tabveil.tables.reading.folder import ParquetParts

DYING = """
import os, struct, sys
for file in range({fine} + 1):
    size, _ = struct.unpack("<QQ", sys.stdin.buffer.read(16))
    sys.stdin.buffer.read(size)
    os.write(1, b".")
    if file == {fine}:
        os.abort()
    os.write(1, b"!")
"""


def people(n, seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.integers(0, 90, n),
            "pressure": rng.normal(size=n).round(3),
            "town": rng.choice(["Ulm", "Bonn", None, "Kiel"], n),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    return rows.mask(rng.random(rows.shape) < 0.05)


def in_parts(folder, rows, n_parts=4):
    """Write consecutive rows into files, every other one with its columns the other way round."""
    folder.mkdir(parents=True)
    for place, part in enumerate(np.array_split(np.arange(len(rows)), n_parts)):
        columns = rows.columns[:: -1 if place % 2 else 1]
        rows.iloc[part][columns].to_parquet(folder / f"part-{place}.parquet", row_group_size=37)
    return folder


@pytest.fixture
def tables(tmp_path):
    return {role: people(200, seed) for seed, role in enumerate(("train", "synthetic", "control"))}


@pytest.mark.parametrize("memory", [None, 1 << 30])
def test_a_folder_is_read_as_one_file_is(tmp_path, tables, memory):
    folders = {role: in_parts(tmp_path / role, rows) for role, rows in tables.items()}
    files = {role: tmp_path / f"{role}.parquet" for role in tables}
    for role, rows in tables.items():
        rows.to_parquet(files[role])
    with working(memory=memory):
        found, expected = load_split(**folders), load_split(**files)
    assert found.split.schema == expected.split.schema
    assert found.notes == expected.notes
    assert found.layout.columns.keys() == expected.layout.columns.keys()
    for role in tables:
        assert np.array_equal(
            getattr(found.split, role).values, getattr(expected.split, role).values, equal_nan=True
        )
    pd.testing.assert_frame_equal(
        read_raw(folders["train"]).to_pandas()[[*tables["train"]]],
        read_raw(files["train"]).to_pandas(),
    )
    assert np.array_equal(
        load_table(folders["train"]).table.values, load_table(files["train"]).table.values, equal_nan=True
    )


def test_a_file_is_read_by_columns_as_it_is_at_once(tmp_path, tables):
    place = tmp_path / "train.parquet"
    tables["train"].to_parquet(place)
    with working(memory=1 << 30):
        found = load_table(place)
    expected = load_table(place)
    assert np.array_equal(found.table.values, expected.table.values, equal_nan=True)
    assert found.input == expected.input


def test_files_stand_in_the_order_of_their_names_also_below(tmp_path):
    folder = tmp_path / "t"
    for place, name in enumerate(["b/1.parquet", "a.parquet", "b/0.pq", "_logs/x.txt", ".hidden/y.parquet"]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [place]}), folder / name)
    (folder / "_SUCCESS").touch()
    assert read_raw(folder).column("n").to_pylist() == [1, 2, 0]


def test_what_holds_nothing_in_one_file_has_the_type_of_the_others(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"n": pa.nulls(2), "k": [0, 1]}), folder / "0.parquet")
    pq.write_table(pa.table({"n": pa.array([4, None], pa.int64()), "k": [2, 3]}), folder / "1.parquet")
    assert read_raw(folder).column("n").to_pylist() == [None, None, 4, None]


def test_one_column_is_read_and_no_other(tmp_path):
    """Beside columns that have others in them, and one whose name looks so."""
    folder = tmp_path / "t"
    folder.mkdir()
    nested = pa.array([{"a": 1, "b": [1, 2]}] * 2)
    table = pa.table({"x": [1, 2], "nested": nested, "nested.a": [3, 4], "y": [[5], [6]], "z": ["u", "v"]})
    pq.write_table(table, folder / "0.parquet")
    parts = ParquetParts.of_folder(folder, "train")
    for name in table.column_names:
        assert parts.column(name).to_pylist() == table.column(name).to_pylist()


def bad_folder(folder, kind):  # noqa: C901 - one case each
    folder.mkdir()
    good = pa.table({"age": [1, 2], "sex": ["f", "m"]})
    pq.write_table(good, folder / "a.parquet")
    match kind:
        case "empty":
            (folder / "a.parquet").unlink()
        case "mixed":
            (folder / "notes.txt").write_text("x", encoding="utf-8")
        case "columns":
            pq.write_table(pa.table({"age": [1], "gender": ["f"]}), folder / "b.parquet")
        case "types":
            pq.write_table(pa.table({"age": [1.5], "sex": ["f"]}), folder / "b.parquet")
        case "twice":
            pq.write_table(
                pa.Table.from_arrays([*good.columns, good.column(0)], ["age", "sex", "age"]),
                folder / "b.parquet",
            )
        case "damaged":
            (folder / "b.parquet").write_bytes(b"PAR1 is all that is right of it PAR1")
        case "zero":
            (folder / "b.parquet").touch()
        case "hive":
            (folder / "year=2020").mkdir()
            pq.write_table(good, folder / "year=2020" / "b.parquet")
        case "link":
            (folder / "more").symlink_to(folder)
        case "pipe":
            os.mkfifo(folder / "b.parquet")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("empty", "train: the folder {folder} holds no .parquet file"),
        ("mixed", "train: the folder {folder} holds 'notes.txt' beside its table"),
        ("columns", "differ in columns: only in 'a.parquet': sex; only in 'b.parquet': gender"),
        ("types", "Column 'age' of train has type 'double' in 'b.parquet' and 'int64' in 'a.parquet'"),
        ("twice", "The train file 'b.parquet' has several columns of the same name"),
        ("damaged", "The train file 'b.parquet' is damaged or not a Parquet file"),
        ("zero", "The train file 'b.parquet' is empty"),
        ("hive", "keeps column 'year' in the names of folders"),
        ("link", "holds a link to a folder, 'more'"),
        ("pipe", "is not an ordinary file"),
    ],
)
def test_what_is_no_table_is_refused_in_a_line(tmp_path, tables, kind, said):
    folder = tmp_path / "bad"
    bad_folder(folder, kind)
    with pytest.raises((SchemaError, ParameterError)) as caught:
        load_split(folder, tables["synthetic"])
    assert said.format(folder=folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fine", [0, 1])
def test_the_file_that_kills_its_reader_is_named(tmp_path, tables, monkeypatch, fine):
    folder = in_parts(tmp_path / "t", tables["train"], n_parts=3)
    reader = tmp_path / "dying.py"
    reader.write_text(DYING.format(fine=fine), encoding="utf-8")
    monkeypatch.setattr(trial, "READER", reader)
    monkeypatch.setattr(trial, "_survived", set())
    with pytest.raises(SchemaError, match=f"'part-{fine}.parquet': it ended a process"):
        load_table(folder)


def test_what_was_tried_is_not_tried_again(tmp_path, tables, monkeypatch):
    folder = in_parts(tmp_path / "t", tables["train"])
    load_table(folder)
    monkeypatch.setattr(trial, "READER", tmp_path / "is not there")
    load_table(folder)


def test_a_file_that_changes_meanwhile_is_refused(tmp_path, tables):
    folder = in_parts(tmp_path / "t", tables["train"])
    parts = ParquetParts.of_folder(folder, "train")
    tables["control"].to_parquet(folder / "part-1.parquet")
    with pytest.raises(SchemaError, match="changed while it was read"):
        parts.column("age")


def test_the_digest_follows_the_files(tmp_path, tables):
    one, other = (in_parts(tmp_path / name, tables["train"]) for name in "ab")
    same = ParquetParts.of_folder(one, "train").sha256
    assert ParquetParts.of_folder(other, "train").sha256 == same
    (other / "part-0.parquet").rename(other / "part-9.parquet")
    assert ParquetParts.of_folder(other, "train").sha256 != same


def test_commands_take_folders_and_write_into_none_of_them(tmp_path, tables, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for role, rows in tables.items():
        in_parts(tmp_path / role, rows)
    asked = ["audit", "--train", "train", "--synthetic", "synthetic", "--control", "control", "-q"]
    asked += ["--metrics", "closest_share"]
    assert run(*asked, "--json", "report.json").exit_code == 0
    refused = run(*asked, "--json", "train/part-0.parquet", "--force")
    assert refused.exit_code == 2
    assert "a folder that is read" in refused.stderr
    assert run("schema", "train").exit_code == 0
    assert run("split", "--data", "train", "--out", "halves").exit_code == 0


@pytest.mark.parametrize("threads", [1, 4])
def test_what_is_read_is_the_same_on_any_number_of_threads_and_in_any_memory(tmp_path, tables, threads):
    folders = {role: in_parts(tmp_path / role, rows) for role, rows in tables.items()}
    expected = load_split(**folders)
    with working(memory=1 << 18, threads=threads):
        found = load_split(**folders)
    assert found.split.schema == expected.split.schema
    assert found.inputs == expected.inputs
    for name in ("train", "control", "synthetic"):
        for split in ("split", "written"):
            here, there = (getattr(getattr(loaded, split), name).values for loaded in (expected, found))
            assert np.array_equal(here, there, equal_nan=True)


def test_of_several_faults_the_first_column_s_is_told(tables):
    for name in ("pressure", "age"):
        tables["synthetic"][name] = "high"
    with pytest.raises(SchemaError, match="Column 'age'"), working(threads=4):
        load_split(**tables)
