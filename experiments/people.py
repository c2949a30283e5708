"""The people of the papers' experiments: Adult, and the tables that stand in for those not free to share.

Name this file with ``--with experiments/people.py``. The tables are looked for in the folder that the
environment variable ``TABVEIL_DATA`` names, else in ``../shared/data`` beside the project.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from tabveil.core.rng import stream
from tabveil.workflows.benchmark import DATASETS
from tabveil.workflows.benchmark.study import TableFile

DATA = Path(os.environ.get("TABVEIL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@DATASETS.add
@dataclass(frozen=True)
class Adult:
    """UCI Adult: 48,842 people, 15 columns. ``distinct`` leaves out 52 duplicates, ``drop`` columns."""

    distinct: bool = False
    drop: tuple[str, ...] = ()

    name: ClassVar[str] = "adult"

    def load(self):
        """Read it."""
        return TableFile(
            file=DATA / "adult.parquet", missing=("?",), distinct=self.distinct, drop=self.drop
        ).load()


@DATASETS.add
@dataclass(frozen=True)
class Diabetes:
    """Hospital encounters, mostly categorical, in the place of the papers' Texas inpatients.

    The first encounter of each patient, 60,000 of them, in the 28 columns of most entropy.
    """

    rows: int = 60_000
    columns: int = 28

    name: ClassVar[str] = "diabetes"

    def load(self):
        """Read it."""
        file = TableFile(
            file=DATA / "diabetes130.parquet",
            missing=("?",),
            one_row_per="patient_nbr",
            drop=("encounter_id", "patient_nbr"),
        )
        return _drawn(_most_informative(file.load(), self.columns), self.rows)


@DATASETS.add
@dataclass(frozen=True)
class Census:
    """A census of 1994 and 1995, in the place of the papers' one of 1940: 75,000 people, 37 columns.

    Left out are the sampling weight, which says nothing about a person and would make nearly every row
    unique, and the four columns of least entropy. A fifth of the rows are duplicates and stay.
    """

    rows: int = 75_000
    columns: int = 37

    name: ClassVar[str] = "census"

    def load(self):
        """Read it."""
        file = TableFile(file=DATA / "census_income_kdd.parquet", missing=("?",), drop=("instance_weight",))
        return _drawn(_most_informative(file.load(), self.columns), self.rows)


def _drawn(table, n_rows):
    """Draw rows at random, always the same ones."""
    return table.take(np.sort(stream(0, "people").permutation(len(table))[:n_rows]))


def _most_informative(table, n_columns):
    """Keep the columns of largest entropy, in their order."""
    entropies = [_entropy(table.column(name)) for name in table.schema.names]
    kept = sorted(np.argsort(entropies, kind="stable")[::-1][:n_columns])
    return table.select(table.schema.names[position] for position in kept)


def _entropy(cells):
    shares = np.unique(np.nan_to_num(cells, nan=-np.inf), return_counts=True)[1] / len(cells)
    return float(-(shares * np.log2(shares)).sum())
