"""What a promise for a row is worth to a person: numbers by hand, and what is known of their rows."""

import math

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.synthesis.generators.persons import RowsOfPeople, for_rows

VISITS = Table(
    schema=Schema((Categorical(name="who", labels=("a", "b")), Numeric(name="x", low=0, high=9, decimals=0))),
    values=np.array([[0, 1], [0, 2], [1, 3], [0, 4], [np.nan, 5], [np.nan, 6], [np.nan, 7], [np.nan, 8]]),
)


def test_epsilon_adds_up_row_by_row():
    assert for_rows(0.5, 0.0, 6) == (3.0, 0.0)
    assert for_rows(1.0, 1e-6, 1) == (1.0, 1e-6)
    # Two rows: P(A) <= e (e P''(A) + δ) + δ.
    assert for_rows(1.0, 1e-6, 2) == (2.0, pytest.approx(1e-6 * (1 + math.e)))


@pytest.mark.parametrize(("epsilon", "delta", "n_rows"), [(0.1, 0.01, 3), (1.0, 0.001, 2), (0.5, 0.0, 4)])
def test_a_mechanism_that_uses_all_of_its_promise_keeps_that_for_several_rows(epsilon, delta, n_rows):
    """Each row is told with the chance δ, and else answered by a coin that lies as ε allows."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    own, failure = for_rows(epsilon, delta, n_rows)
    all_told = ((1 - delta) * truth) ** n_rows  # every coin says "in", and none was told
    without = ((1 - delta) * (1 - truth)) ** n_rows
    seen = 1 - (1 - delta) ** n_rows + all_told
    assert seen <= math.exp(own) * without + failure + 1e-12


def test_rows_of_a_person_are_counted_and_gaps_are_somebody_of_their_own():
    assert RowsOfPeople.of(VISITS, "who", None) == RowsOfPeople(column="who", most=3)
    assert RowsOfPeople.of(VISITS, None, None) == RowsOfPeople()
    assert RowsOfPeople.of(VISITS, "other", None) == RowsOfPeople(column="other")


def test_a_declared_bound_comes_first():
    found = RowsOfPeople.of(VISITS, "x", {"person": "who", "most": 2})
    assert found == RowsOfPeople(column="who", most=2, bounded=True, after=("deduplicate",))
    assert found.stored() == found
    equal_rows_alone = RowsOfPeople.of(VISITS, "who", {"equal": True})
    assert equal_rows_alone == RowsOfPeople(column="who", most=3, after=("deduplicate",))


def test_a_number_that_was_read_is_not_stored():
    assert RowsOfPeople.of(VISITS, "who", None).stored() == RowsOfPeople(column="who")


@pytest.mark.parametrize(
    ("people", "words"),
    [
        (RowsOfPeople(), "For a person with several rows there it is as many times larger."),
        (RowsOfPeople(column="who"), "For a person (who) with several rows there"),
        (
            RowsOfPeople(column="who", most=6),
            "has up to 6 rows there: for a person ε = 6 and δ = 2.3e-07. That",
        ),
        (
            RowsOfPeople(column="who", most=1),
            "has up to 1 row there: for a person ε = 1 and δ = 1.0e-09. That",
        ),
        (
            RowsOfPeople(column="who", most=2, bounded=True),
            "has at most 2 rows there: for a person ε = 2 and",
        ),
        (RowsOfPeople(column="who", most=90, bounded=True), "for such a person nothing is promised."),
        (RowsOfPeople(after=("deduplicate",)), "the table that was learned from, after deduplicate."),
    ],
)
def test_it_is_said_in_words(people, words):
    said = people.sentence(1.0, 1e-9)
    assert words in said
    assert said.startswith("WARNING: ") == (people.most == 6)
    assert ("was read from the rows, which the promise does not cover" in said) == (
        people.most is not None and not people.bounded
    )


def test_rows_beyond_all_numbers_promise_nothing():
    assert for_rows(50.0, 1e-9, 10_000)[1] == math.inf
    assert "nothing is promised" in RowsOfPeople(column="who", most=10_000, bounded=True).sentence(50.0, 1e-9)
