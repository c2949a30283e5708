"""What every generator writes looks like what it learned from: decimals, units, marks, the order of dates."""

import csv
import re

import numpy as np
import pandas as pd
import pytest
from supplies.small_generators import SMALL
from supplies.terminal import printed

from tabveil.synthesis.generators import GENERATORS

FORMS = {
    "price": r"\d\.\d{2}",
    "fine": r"-?\d+\.\d{8}",
    "mixed": r"\d+(\.\d{1,2})?",
    "long": r"\d(\.\d{1,9})?",
    "cost": r"€ (\d|[1-9]\d{0,2}(,\d{3})?)\.\d{2}",
    "german": r"([1-9]\d{0,2}(\.\d{3})*|0),\d",
    "share": r"\d{1,2}\.\d%",
    "born": r"\d{2}\.\d{2}\.\d{4}",
    "seen": r"1?\d/[1-3]?\d/\d{4} [12]?\d:[0-5]\d",
    "at": r"[01]\d:[0-5]\d",
    "day": r"20\d{6}",
    "when": r"\d{2}-[A-Z][a-z]{2}-20\d{2}",
}
"""What each column's cells look like, in the file that is learned and in those that are made of it."""


def cells(n_rows):
    rng = np.random.default_rng(7)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n_rows), unit="D")
    times = days + pd.to_timedelta(rng.integers(0, 19 * 60, n_rows), unit="m")
    numbers = rng.uniform(0, 9999, n_rows)
    return {
        "price": [f"{x:.2f}" for x in rng.choice([5.1, 6, 7.25, 8.5], n_rows)],
        "fine": [f"{x:.8f}" for x in rng.normal(0, 3, n_rows)],
        "mixed": [f"{x:g}" for x in rng.choice([1, 2.5, 3.25], n_rows)],
        "long": [f"{x:.10g}" for x in rng.uniform(1, 9, n_rows).round(9)],
        "cost": [f"€ {x:,.2f}" for x in numbers],
        "german": [f"{x:,.1f}".translate(str.maketrans(",.", ".,")) for x in numbers * 300],
        "share": [f"{x:.1f}%" for x in rng.uniform(0, 99, n_rows)],
        "born": [f"{day:%d.%m.%Y}" for day in days],
        "seen": [f"{at:%-m/%-d/%Y %-H:%M}" for at in times],
        "at": [f"{at:%H:%M}" for at in times],
        "day": [f"{day:%Y%m%d}" for day in days],
        "when": [f"{day:%d-%b-%Y}" for day in days],
    }


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def assert_formed(written):
    for column, form in FORMS.items():
        odd = [row[column] for row in written if not re.fullmatch(form, row[column])]
        assert not odd, (column, odd[:3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("forms")
    pd.DataFrame(cells(120)).to_csv(place / "train.csv", index=False)
    return place


def test_the_forms_are_those_of_the_file(folder):
    assert_formed(rows(folder / "train.csv"))


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_new_rows_are_written_as_those_learned(name, folder, monkeypatch):
    if hasattr(GENERATORS[name], "device"):
        pytest.importorskip("torch")
    monkeypatch.chdir(folder)
    small = {
        key: ",".join(map(str, value)) if isinstance(value, tuple) else value
        for key, value in SMALL.get(name, {}).items()
    }
    settings = [part for key, value in small.items() for part in ("--set", f"{key}={value}")]
    printed(
        "synthesize", data="train.csv", generator=name, save=name, out=f"{name}.csv", rows=80, more=settings
    )
    printed("sample", rows=30, out=f"{name}-more.csv", seed=1, more=[name])
    for part in (f"{name}.csv", f"{name}-more.csv"):
        assert_formed(rows(folder / part))
