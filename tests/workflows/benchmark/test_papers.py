"""The papers' own files: made ones of the same form are read, others are refused by the names of columns."""

import numpy as np
import pandas as pd
import pytest

from tabveil.core.table import Categorical, Numeric
from tabveil.errors import ParameterError, SchemaError
from tabveil.workflows.benchmark.papers import TEXAS_LABELS, TEXAS_NUMBERS, Census1940, Texas
from tabveil.workflows.benchmark.study import load, read_dataset


def texas(n=40):
    """Rows of the form of the file: codes that look like numbers, other columns beside them."""
    rng = np.random.default_rng(1)
    cells = {name: rng.integers(1, 9, n) for name in TEXAS_LABELS}
    cells |= {name: rng.integers(100, 99_999, n) / 100 for name in TEXAS_NUMBERS}
    cells["PAT_ZIP"] = [f"0{code}" for code in rng.integers(1000, 1009, n)]
    return pd.DataFrame({"RECORD_ID": range(n), **cells, "OTH_DIAG_CODE_1": "x"})


def census(n=40):
    rng = np.random.default_rng(2)
    return pd.DataFrame({name: rng.integers(0, 90, n) for name in ("SERIAL", *Census1940.columns)})


def test_the_lists_are_those_of_the_papers():
    assert (len(Texas.columns), len(TEXAS_LABELS), len(set(Texas.columns))) == (28, 21, 28)
    assert len(set(Census1940.columns)) == len(Census1940.columns) == 37
    assert {"LENGTH_OF_STAY", "ILLNESS_SEVERITY", "PAT_COUNTRY", "SEX_CODE"} <= set(Texas.columns)
    assert {"INCWAGE", "NCHILD", "RACE", "SEX"} <= set(Census1940.columns)
    assert (Texas(file="a").rows, Census1940(file="a").rows) == (60_000, 75_000)


def test_a_file_of_that_form_is_read_in_the_columns_of_the_papers(tmp_path):
    frame = texas().rename(columns=lambda name: name.replace("ANCEIL", "ANCIL").lower())
    for path, separator in ((tmp_path / "PUDF.csv", ","), (tmp_path / "PUDF.txt", "\t")):
        frame.to_csv(path, index=False, sep=separator)
        table = load(Texas(file=path, rows=30))
        assert len(table) == 30
        assert table.schema.names == Texas.columns
        assert {c.name for c in table.schema.columns if isinstance(c, Numeric)} == set(TEXAS_NUMBERS)
    assert isinstance(table.schema["PAT_ZIP"], Categorical)
    assert all(label.startswith("0") for label in table.schema["PAT_ZIP"].labels)
    again = load(Texas(file=path, rows=30))
    np.testing.assert_array_equal(again.values, table.values)


def test_an_extract_of_the_census_is_read_and_a_path_starts_at_the_studys_folder(tmp_path):
    census().to_parquet(tmp_path / "usa.parquet")
    choice = read_dataset("datasets", {"name": "census_1940", "file": "usa.parquet", "rows": 25}, tmp_path)
    assert choice.label == "census_1940"
    table = load(choice.dataset)
    assert (len(table), table.schema.names) == (25, Census1940.columns)


def test_what_is_missing_is_named_with_where_the_file_comes_from(tmp_path):
    path = tmp_path / "usa.csv"
    census().drop(columns=["INCWAGE", "UOCC"]).to_csv(path, index=False)
    with pytest.raises(SchemaError) as refused:
        Census1940(file=path, rows=10).load()
    assert str(refused.value).startswith(
        "census_1940: usa.csv lacks 2 columns of 37: INCWAGE, UOCC. The full"
    )
    assert "IPUMS USA" in str(refused.value)
    with pytest.raises(SchemaError, match=r"^texas: there is no file .*Texas Department of State Health"):
        Texas(file=tmp_path / "none.csv").load()
    census().to_csv(path, index=False)
    with pytest.raises(ParameterError, match=r"^census_1940: rows must be <= 40, got 75000|75,000"):
        Census1940(file=path).load()
    with pytest.raises(ParameterError, match=r"^census_1940: rows must be >= 1"):
        Census1940(file=path, rows=0)
