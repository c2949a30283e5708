"""Codes are told from quantities, once for all commands."""

import numpy as np
import pandas as pd
from supplies.needs import need_table

from tabveil.tables.reading import load_table
from tabveil.tables.reading.code_columns import unlikeness_of_neighbors


def people(n=3000):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, n)
    kind = rng.integers(1, 13, n)
    means = np.random.default_rng(3).normal(size=13) + np.where(np.arange(13) % 2, 2, -2)
    return pd.DataFrame(
        {
            "age": age,
            "kind": kind,
            "alone": rng.integers(1, 13, n),
            "cost": age * 10 + rng.normal(size=n) * 50,
            "blood": means[kind] + rng.normal(size=n),
            "sex": np.where(rng.random(n) < 0.3 + 0.4 * (means[kind] > 0), "f", "m"),
        }
    )


def codes_of(data, **given):
    return {name for name, place in load_table(data, **given).layout.columns.items() if place.code}


def test_a_scale_is_told_from_codes_by_the_other_columns():
    table = load_table(people()).table
    unlike = {
        name: unlikeness_of_neighbors(table, table.schema.position(name)) for name in table.schema.names[:3]
    }
    assert unlike["age"] < 0.2
    assert unlike["kind"] > 1.2
    assert unlike["alone"] == 0  # nothing tells
    assert codes_of(people()) == {"kind"}


def test_a_name_says_it_where_a_catalog_is_there():
    data = people().rename(columns={"alone": "ward_id"})
    data["case_id"] = np.arange(len(data)) // 3  # no catalog: three rows each
    assert codes_of(data) == {"kind", "ward_id"}


def test_on_real_tables_only_codes_are_codes():
    found = set()
    for name in ("adult", "diabetes130", "loans", "nhanes"):
        data = pd.read_parquet(need_table(f"{name}.parquet")).sample(3000, random_state=1)
        found |= codes_of(data.reset_index(drop=True), missing=("?",))
    assert found == {"admission_type_id", "discharge_disposition_id", "admission_source_id"}
