"""The tables whose leaks are simulated: Adult, census and diabetes, each as large as it is."""

import data
import numpy as np

from tabveil.tables.reading import load_table


def adult():
    """Return Adult without its duplicates."""
    return _loaded(data.read("adult.parquet").drop_duplicates())


def few_columns_of_adult(names):
    """Return some columns of all rows of Adult: many rows are then equal."""
    return _loaded(data.read("adult.parquet")[list(names)])


def census():
    """Return 37 of the census' 42 columns; a fifth of the rows are duplicates and stay.

    Left out are the survey's sampling weight, which says nothing about a person and would make nearly every
    row unique, and the four columns of least entropy.
    """
    people = data.read("census_income_kdd.parquet").drop(columns="instance_weight")
    return _loaded(most_informative(people, 37).sample(75_000, random_state=0))


def diabetes():
    """Return the first encounter of each patient, without identifiers, in the 30 columns of most entropy."""
    patients = data.read("diabetes130.parquet").drop_duplicates("patient_nbr")
    return _loaded(most_informative(patients.drop(columns=["encounter_id", "patient_nbr"]), 30))


TABLES = {"adult": adult, "census": census, "diabetes": diabetes}


def _loaded(people):
    return load_table(people, missing=["?"]).table


def most_informative(people, n_columns):
    """Keep the columns of largest entropy, in their order."""
    entropies = people.apply(_entropy)
    kept = set(entropies.nlargest(n_columns).index)
    return people[[name for name in people.columns if name in kept]]


def _entropy(cells):
    shares = cells.value_counts(normalize=True, dropna=False).to_numpy()
    return float(-(shares * np.log2(shares)).sum())
