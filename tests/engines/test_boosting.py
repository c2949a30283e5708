"""Boosted trees: what they never saw must not depend on how it happens to be numbered."""

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.datasets import hospital
from tabveil.engines.boosting import train
from tabveil.metrics import utility
from tabveil.tables.reading import load_split

SCHEMA = Schema(
    (Categorical(name="ward", labels=tuple("abcde")), Numeric(name="age", low=0, high=99, decimals=0))
)


def test_labels_never_seen_count_as_missing_whatever_their_code():
    rng = np.random.default_rng(0)
    wards, ages = rng.choice([0.0, 1.0, 3.0], 300), rng.integers(0, 99, 300).astype(float)
    learned = Table(schema=SCHEMA, values=np.column_stack([wards, ages]))
    trees = train(learned, (wards == 1).astype(float) * 10 + ages / 99, {"objective": "reg:squarederror"})
    asked = Table(schema=SCHEMA, values=np.array([[2.0, 50.0], [4.0, 50.0], [np.nan, 50.0], [1.0, 50.0]]))
    between, beyond, missing, known = trees.predict(asked)
    assert between == beyond == missing
    assert known > 9


def test_no_table_is_predicted_better_for_being_read_first():
    # With 283 diagnoses most tables have some of their own, which once made real rows look worse than fresh.
    gaps = []
    for seed in range(4):
        tables = (hospital(500, seed=10 * seed + i) for i in range(3))
        split = load_split(*tables).split.select(["age", "diagnosis", "region", "triage", "days"])
        found = utility.measure(split, target="age", rng=np.random.default_rng(0))
        gaps.append(found.targets[0].gap.value)
    assert abs(np.mean(gaps)) < 0.05, gaps
