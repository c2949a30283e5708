"""The tables of the red team: real ones, and made ones where real ones lack what is to be leaked.

Each is drawn in three disjoint parts: rows to train on, rows to hold out, and fresh rows that stand in for a
perfect generator.
"""

from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise

import data
import numpy as np
import pandas as pd
from samples import most_informative

from tabveil import datasets

FINE = 3
"""Decimals of made numbers: so many that nearly everybody has a value of their own."""
DULL = 0.8
"""A column in which so many have the same value tells little about anybody."""
CASE = "case"
PATIENT = "patient_nbr"


@dataclass(frozen=True, kw_only=True)
class People:
    """Disjoint rows of one table: ``fresh`` ones are neither trained on nor held out."""

    train: pd.DataFrame
    control: pd.DataFrame
    fresh: pd.DataFrame

    @property
    def columns(self):
        return list(self.train.columns)

    @property
    def numbers(self):
        return [name for name in self.columns if is_number(self.train[name])]

    @property
    def telling(self):
        """The columns in which people differ: in others most have the same value."""
        return [name for name in self.columns if _commonest(self.train[name]) < DULL]

    @property
    def finest(self):
        """The column of numbers in which most people have a value of their own."""
        return max(self.numbers, key=lambda name: self.train[name].nunique())


def _commonest(cells):
    return cells.value_counts(normalize=True, dropna=False).iloc[0]


def is_number(cells):
    return pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)


def parts(table, sizes):
    """Cut rows into consecutive parts."""
    ends = np.cumsum([0, *sizes])
    if ends[-1] > len(table):
        raise ValueError(f"{ends[-1]:,} rows are asked for, and there are {len(table):,}")
    cut = [table.iloc[start:end].reset_index(drop=True) for start, end in pairwise(ends)]
    return People(train=cut[0], control=cut[1], fresh=cut[2])


@cache
def _stored(name):
    match name:
        case "adult":
            return data.read("adult.parquet").drop_duplicates()
        case "adult, 4 columns":
            return data.read("adult.parquet")[["age", "sex", "education", "income"]]
        case "census":
            rows = data.read("census_income_kdd.parquet").drop(columns="instance_weight")
            return most_informative(rows, 37).sample(75_000, random_state=0)
        case "diabetes":
            rows = data.read("diabetes130.parquet").drop_duplicates(PATIENT)
            return most_informative(rows.drop(columns=["encounter_id", PATIENT]), 30)
        case "loans":
            return most_informative(data.read("loans.parquet"), 30)
        case "nhanes":
            return most_informative(data.read("nhanes.parquet").drop(columns="ID"), 40)
    raise KeyError(name)


@cache
def _encounters():
    """Return the encounters of patients who came at least three times, with whose they are."""
    rows = data.read("diabetes130.parquet").drop(columns="encounter_id")
    often = rows[rows.groupby(PATIENT)[PATIENT].transform("size") >= 3]
    columns = most_informative(often.drop(columns=PATIENT), 20).columns
    return often[[PATIENT, *columns]]


def stored(name, sizes, seed):
    """Draw rows of a real table."""
    table = _stored(name)
    return parts(table.iloc[np.random.default_rng([seed, 24]).permutation(len(table))], sizes)


def encounters(sizes, seed):
    """Split encounters of the same patients by row into train and control; fresh ones are of others."""
    rows, rng = _encounters(), np.random.default_rng([seed, 24])
    patients = rng.permutation(rows[PATIENT].unique())
    known = rows[PATIENT].isin(patients[: sum(sizes[:2]) // 3])
    drawn = [part.iloc[rng.permutation(len(part))] for part in (rows[known], rows[~known])]
    return parts(pd.concat([drawn[0][: sum(sizes[:2])], drawn[1]]), sizes)


def hospital(sizes, seed):
    return parts(datasets.hospital(sum(sizes), seed=_apart(seed)), sizes)


def three_columns(sizes, seed):
    """Return admissions with an age, a stay and a cost, and nothing else."""
    return parts(datasets.hospital(sum(sizes), seed=_apart(seed))[["age", "days", "cost"]], sizes)


def timed(sizes, seed):
    """Return admissions to the second."""
    table = datasets.hospital(sum(sizes), seed=_apart(seed))
    seconds = np.random.default_rng([seed, 86]).integers(0, 86_400, len(table))
    return parts(table.assign(admitted=table["admitted"] + pd.to_timedelta(seconds, unit="s")), sizes)


def cases(sizes, seed):
    """Return admissions with the number of each case, which says nothing about it."""
    table = datasets.hospital(sum(sizes), seed=_apart(seed))
    numbers = 100_000_000 + np.random.default_rng([seed, 9]).choice(800_000_000, len(table), replace=False)
    return parts(table.assign(**{CASE: numbers}), sizes)


def letters(sizes, seed):
    return parts(datasets.letters(sum(sizes), seed=_apart(seed)), sizes)


def named_letters(sizes, seed):
    """Return letters that address the patient and tell the e-mail address."""
    table = datasets.letters(sum(sizes), seed=_apart(seed))
    return parts(table.assign(letter=addressed(table["letter"], table["name"], table["email"])), sizes)


def addressed(told, names, emails):
    """Write to whom each letter goes."""
    return [f"Dear {name} ({email}), {text}" for text, name, email in zip(told, names, emails, strict=True)]


def visits(sizes, seed):
    """Return visits of so many people, with whose they are."""
    drawn = [datasets.visits(size, seed=3 * _apart(seed) + i) for i, size in enumerate(sizes)]
    return People(train=drawn[0], control=drawn[1], fresh=drawn[2])


def numbers(n_columns, sizes, seed):
    """Draw correlated numbers of three decimals; a sixth as many factors as columns lie behind them."""
    n_factors = max(n_columns // 6, 2)
    loadings = np.random.default_rng(n_columns).normal(size=(n_factors, n_columns)) / np.sqrt(n_factors)
    rng = np.random.default_rng([seed, n_columns])
    shape = sum(sizes), n_columns
    values = 100 + 10 * (rng.normal(size=(shape[0], n_factors)) @ loadings + 0.5 * rng.normal(size=shape))
    return parts(pd.DataFrame(values.round(FINE), columns=[f"x{j}" for j in range(n_columns)]), sizes)


def _apart(seed):
    """Keep away from the seeds of other studies."""
    return 24_000 + seed


MADE = {
    "encounters": encounters,
    "hospital": hospital,
    "hospital, 3 columns": three_columns,
    "hospital, times": timed,
    "hospital, cases": cases,
    "letters": letters,
    "letters, addressed": named_letters,
    "visits": visits,
    **{f"{n} numbers": partial(numbers, n) for n in (12, 60, 100, 200)},
}


def draw(table, sizes, seed):
    """Draw train, control and fresh rows: so many each, of people for ``visits``."""
    return MADE[table](sizes, seed) if table in MADE else stored(table, sizes, seed)
