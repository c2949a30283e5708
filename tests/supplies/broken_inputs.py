"""Inputs as they go wrong in practice. Each makes arguments of ``frame.load_split`` and names a fragment that
the one-line complaint must hold. Values that single rows hold are spelled SECRET, so that a test can see that
they never reach a message."""

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

SECRET = "Zyxwvut"
"""Stands for a value of one person; it must never be shown."""

GOOD = "age,sex,city\n" + "".join(f"{20 + i},{'fm'[i % 2]},{'AB'[i % 2]}\n" for i in range(12))


@dataclass(frozen=True, kw_only=True)
class Broken:
    name: str
    arguments: Callable[[Path], dict[str, Any]]
    fragment: str


BROKEN: list[Broken] = []


def broken(fragment):
    def add(function):
        name = function.__name__.removeprefix("_")
        BROKEN.append(Broken(name=name, arguments=function, fragment=fragment))
        return function

    return add


def put(folder: Path, name: str, content: str | bytes | pa.Table) -> Path:
    path = folder / name
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return path


def pair(folder: Path, train=GOOD, synthetic=GOOD, suffix="csv", **others) -> dict[str, Any]:
    return {
        "train": put(folder, f"train.{suffix}", train),
        "synthetic": put(folder, f"synthetic.{suffix}", synthetic),
        **others,
    }


def twins(folder: Path, table: bytes | pa.Table, suffix="parquet") -> dict[str, Any]:
    return pair(folder, table, table, suffix)


def columns(**values) -> pa.Table:
    return pa.table(values)


@broken("no file")
def _missing_file(folder):
    return {**pair(folder), "train": folder / "nowhere.csv"}


@broken("folder")
def _folder_instead_of_a_file(folder):
    return {**pair(folder), "train": folder}


@broken("folder")
def _folder_with_a_suffix(folder):
    (folder / "data.csv").mkdir()
    return {**pair(folder), "synthetic": folder / "data.csv"}


@broken("end in one of")
def _unknown_suffix(folder):
    return {**pair(folder), "train": put(folder, "train.xls", b"PK\x03\x04")}


@broken("end in one of")
def _no_suffix(folder):
    return {**pair(folder), "train": put(folder, "train", GOOD)}


@broken("empty")
def _empty_file(folder):
    return pair(folder, train="")


@broken("empty")
def _only_blank_lines(folder):
    return pair(folder, synthetic="\n\n  \n")


@broken("train table has no rows")
def _header_only(folder):
    return pair(folder, train="age,sex,city\n")


@broken("synthetic table has no rows")
def _synthetic_without_rows(folder):
    return pair(folder, synthetic="age,sex,city\n")


@broken("binary")
def _binary_rubbish(folder):
    return pair(folder, train=bytes(range(256)) * 4)


@broken("binary")
def _parquet_called_csv(folder):
    packed = put(folder, "other.parquet", columns(age=[1, 2])).read_bytes()
    return pair(folder, train=packed)


@broken("not a Parquet file")
def _text_called_parquet(folder):
    return pair(folder, train=GOOD.encode(), synthetic=GOOD.encode(), suffix="parquet")


@broken("not a Parquet file")
def _cut_parquet(folder):
    whole = put(folder, "whole.parquet", columns(age=list(range(100)))).read_bytes()
    return pair(folder, train=whole[: len(whole) // 2], suffix="parquet")


@broken("not an Arrow file")
def _text_called_feather(folder):
    return pair(folder, train=GOOD.encode(), suffix="feather")


@broken("the same name: age")
def _same_name_twice_in_parquet(folder):
    twice = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["age", "age"])
    return pair(folder, twice, twice, suffix="parquet")


@broken("'train.parquet': the name of a column is not UTF-8")
def _column_name_that_is_no_text(folder):
    table = columns(age=[1, 2], abcdefgh=[1, 2])
    pq.write_table(table, folder / "name.parquet", store_schema=False)
    spoiled = (folder / "name.parquet").read_bytes().replace(b"abcdefgh", b"abcd\xff\xff\xffh")
    return pair(folder, spoiled, suffix="parquet")


@broken("'train.arrow': the name of a column is not UTF-8")
def _arrow_column_name_that_is_no_text(folder):
    table = columns(age=[1, 2], abcdefgh=[1, 2])
    with pa.ipc.new_file(folder / "name.arrow", table.schema) as writer:
        writer.write_table(table)
    spoiled = (folder / "name.arrow").read_bytes().replace(b"abcdefgh", b"abcd\xff\xff\xffh")
    return pair(folder, spoiled, suffix="arrow")


@broken("'train.parquet': column 'city' holds text that is not UTF-8")
def _strings_that_are_no_text(folder):
    cells = pa.array([SECRET.encode(), b"\xff"])
    city = pa.Array.from_buffers(pa.string(), 2, cells.buffers())
    return pair(folder, columns(city=city), suffix="parquet")


@broken("'train.arrow': column 'city' is damaged")
def _codes_beyond_the_dictionary(folder):
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array([SECRET, "b"]), safe=False)
    table = columns(city=codes)
    with pa.ipc.new_file(folder / "other.arrow", table.schema) as writer:
        writer.write_table(table)
    return pair(folder, (folder / "other.arrow").read_bytes(), suffix="arrow")


@broken("cells, more than 1,000 for each of its bytes")
def _few_bytes_that_hold_millions_of_cells(folder):
    n = 40_000_000
    sizes = {"row_group_size": n, "data_page_size": n, "max_rows_per_page": n}
    pq.write_table(columns(a=pa.nulls(n, pa.int8())), folder / "many.parquet", **sizes)
    return twins(folder, (folder / "many.parquet").read_bytes())


@broken("damaged gzip")
def _cut_gzip(folder):
    return pair(folder, train=gzip.compress(GOOD.encode())[:-9], suffix="csv.gz")


@broken("unpacks to more than 32 MiB, over 200 times its size")
def _small_file_that_unpacks_to_a_large_one(folder):
    return pair(folder, train=gzip.compress(b"age,sex\n" + b"1,f\n" * (1 << 24)), suffix="csv.gz")


@broken("line 30,002 holds a NUL byte")
def _nul_far_from_the_start(folder):
    return pair(folder, train="age,sex,city\n" + "1,f,A\n" * 30_000 + "1,\0,A\n")


@broken("line 2 holds a NUL byte")
def _nul_in_utf_16(folder):
    return pair(folder, train=f"age,sex,city\n1,{SECRET}\0,A\n".encode("utf-16"))


@broken("'sex' of train holds a text of 1,048,577 bytes")
def _very_long_text(folder):
    return pair(folder, train=f"age,sex,city\n1,{'x' * (1 << 20)}x,A\n")


@broken("line 2 has a very long cell, or a quote that is not closed")
def _text_longer_than_a_block(folder):
    return pair(folder, train=b"age,sex,city\n1," + b"x" * (1 << 27) + b",A\n")


@broken("not an ordinary file")
def _a_pipe(folder):
    os.mkfifo(folder / "pipe.csv")
    return {**pair(folder), "train": folder / "pipe.csv"}


@broken("not an ordinary file")
def _a_pipe_for_a_schema(folder):
    os.mkfifo(folder / "pipe.yaml")
    return pair(folder, schema=folder / "pipe.yaml")


@broken("line 4")
def _too_many_cells(folder):
    return pair(folder, train=f"age,sex,city\n1,f,A\n2,m,B\n3,m,{SECRET},B\n")


@broken("line 5")
def _too_few_cells_after_a_quoted_newline(folder):
    return pair(folder, train=f'age,sex,city\n1,f,"A\nA"\n2,m,B\n3,{SECRET}\n')


@broken("never closed")
def _unclosed_quote(folder):
    return pair(folder, train=f'age,sex,city\n1,f,A\n2,"m,{SECRET}\n3,f,B\n')


@broken("cannot tell what separates its cells, as ',' and ';' fit alike")
def _two_delimiters(folder):
    return pair(folder, train=f"age,sex;city\n1,f;{SECRET}\n2,m;B\n")


@broken("same name: age")
def _same_header_twice(folder):
    return pair(folder, train="age,age,city\n1,2,A\n")


@broken("no name for column 2")
def _header_with_a_gap(folder):
    return pair(folder, train="age,,city\n1,f,A\n2,f,A\n")


@broken("looks like a record")
def _no_header(folder):
    rows = f"39,77516,{SECRET}\n50,83311,A\n"
    return pair(folder, train=rows, synthetic=rows)


@broken("absurd width")
def _absurd_width(folder):
    wide = ",".join(f"c{i}" for i in range(10_001)) + "\n"
    return pair(folder, train=wide + "1," * 10_000 + "1\n")


@broken("only in train: sex; only in synthetic: gender")
def _other_columns(folder):
    return pair(folder, synthetic=GOOD.replace("sex", "gender"))


@broken("Did you mean 'city'")
def _other_case(folder):
    return pair(folder, synthetic=GOOD.replace("city", "City "))


@broken("only in train: city")
def _column_missing_in_control(folder):
    control = put(folder, "control.csv", "age,sex\n30,f\n")
    return pair(folder, control=control)


@broken("and 96 more")
def _hundred_other_columns(folder):
    wide = ",".join(f"a long name of a column {i}" for i in range(100)) + "\n" + "1," * 99 + "1\n"
    return pair(folder, train=wide)


@broken("'age' of synthetic: row 3")
def _text_in_a_column_of_numbers(folder):
    return pair(folder, synthetic=GOOD.replace("\n22,", f"\n{SECRET},"))


@broken('--missing "?"')
def _marker_in_a_column_of_numbers(folder):
    marked = GOOD + "?,f,A\n" * 10
    return pair(folder, synthetic=marked)


@broken("'age' of train: rows 1, 2, 3 and 9 more")
def _words_for_typed_numbers(folder):
    words = columns(age=[f"{SECRET} {i}" for i in range(12)])
    return pair(folder, train=words, synthetic=columns(age=list(range(12))), suffix="parquet")


@broken("'age' of synthetic: infinity in row 2.")
def _infinity(folder):
    return pair(folder, columns(age=[1.0, 2.0]), columns(age=[1.0, float("inf")]), suffix="parquet")


@broken("'age' of train: infinity in row 2.")
def _infinity_in_text(folder):
    return pair(folder, train="age,sex,city\n1,f,A\n-inf,f,A\n")


@broken("'age' of synthetic: more than 1e+100 in row 2.")
def _a_number_whose_square_is_not_finite(folder):
    return pair(folder, columns(age=[1.0, 2.0]), columns(age=[1.0, -1.7e308]), suffix="parquet")


@broken("'age': its values differ by less than 1e-300")
def _numbers_that_hardly_differ(folder):
    return pair(folder, columns(age=[0.0, 5e-324]), columns(age=[0.0, 0.0]), suffix="parquet")


@broken("'born' of train: row 2 should hold a date of the years 1 to 9999")
def _a_moment_beyond_all_calendars(folder):
    far = columns(born=pa.array([0, 2**62], pa.timestamp("s")))
    pyarrow.feather.write_feather(far, folder / "far.feather")
    return twins(folder, (folder / "far.feather").read_bytes(), "feather")


@broken("'born' of train: row 1 should hold a date of the years 1 to 9999")
def _a_day_before_all_calendars(folder):
    return twins(folder, columns(born=pa.array([-(2**31), 0], pa.date32())))


@broken("'wait' of train: row 2 should hold durations of less than 146,000 years")
def _an_endless_duration(folder):
    return twins(folder, columns(wait=pa.array([1, 2**62], pa.duration("s"))))


@broken("'seen' of train has type 'timestamp[us, tz=Nowhere/Land]'")
def _a_time_zone_that_nobody_knows(folder):
    return twins(folder, columns(seen=pa.array([0, 1], pa.timestamp("us", "Nowhere/Land"))))


@broken("'tags' of train")
def _nested_column(folder):
    nested = columns(tags=[[SECRET], ["b"]])
    return pair(folder, nested, nested, suffix="parquet")


@broken("'photo' of train")
def _binary_column(folder):
    binary = columns(photo=[SECRET.encode(), b"\x00"])
    return pair(folder, binary, binary, suffix="parquet")


@broken("'born'")
def _dates_against_numbers(folder):
    return pair(
        folder,
        columns(born=pa.array([0, 1], pa.date32())),
        columns(born=[1990, 1991]),
        suffix="parquet",
    )


@broken("'born' of synthetic: row 2")
def _impossible_date(folder):
    return pair(folder, train="born,x\n2024-02-29,1\n", synthetic="born,x\n2024-02-28,1\n2023-02-29,1\n")


@broken("time zone in train but none in synthetic")
def _one_side_with_a_time_zone(folder):
    return pair(
        folder,
        columns(seen=pa.array([0, 1], pa.timestamp("s", "UTC"))),
        columns(seen=pa.array([0, 1], pa.timestamp("s"))),
        suffix="parquet",
    )


@broken("'ill' of synthetic: row 2")
def _truth_against_larger_numbers(folder):
    return pair(folder, columns(ill=[True, False]), columns(ill=[1, 7]), suffix="parquet")


@broken("no such file")
def _missing_schema(folder):
    return pair(folder, schema=folder / "nowhere.yaml")


@broken("line 3")
def _schema_that_is_no_yaml(folder):
    return pair(folder, schema=put(folder, "schema.yaml", "columns:\n  age: [integer\n"))


@broken("line 1")
def _schema_that_is_no_json(folder):
    return pair(folder, schema=put(folder, "schema.json", "{columns"))


@broken("end in .yaml")
def _schema_with_an_unknown_suffix(folder):
    return pair(folder, schema=put(folder, "schema.toml", "a = 1"))


@broken("top level")
def _schema_that_is_a_list(folder):
    return pair(folder, schema=put(folder, "schema.yaml", "- age\n"))


@broken("colums: unknown key")
def _schema_with_a_misspelt_key(folder):
    return pair(folder, schema=put(folder, "schema.yaml", "colums: {age: integer}\n"))


@broken("columns.age.type")
def _schema_with_an_unknown_type(folder):
    return pair(folder, schema=put(folder, "schema.yaml", "columns: {age: {type: float}}\n"))


@broken("Did you mean 'age'")
def _schema_with_an_unknown_column(folder):
    return pair(folder, schema=put(folder, "schema.yaml", "columns: {Age: integer}\n"))


@broken("'city' of train: rows 1, 2, 3")
def _text_declared_a_number(folder):
    return pair(folder, schema=put(folder, "schema.yaml", "columns: {city: real}\n"))


@broken("'city' of train: rows 2, 4, 6")
def _label_that_the_schema_does_not_list(folder):
    entry = "columns: {city: {type: ordered category, labels: [A]}}\n"
    return pair(folder, schema=put(folder, "schema.yaml", entry))


@broken("columns.city: labels must be distinct")
def _schema_with_a_label_twice(folder):
    entry = "columns: {city: {type: category, labels: [A, A]}}\n"
    return pair(folder, schema=put(folder, "schema.yaml", entry))


@broken("drop leaves no columns")
def _schema_that_drops_everything(folder):
    return pair(folder, schema=put(folder, "schema.yaml", "drop: [age, sex, city]\n"))
