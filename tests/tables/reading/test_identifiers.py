"""Which columns name people: names, case numbers and accounts, and no measure among them."""

import numpy as np
import pandas as pd
import pytest
from supplies.needs import need_table

from tabveil.errors import SchemaError
from tabveil.tables import reading as frame


def found(schema=None, **columns):
    return frame.load_table(pd.DataFrame(columns), schema=schema).identifiers


def rng():
    return np.random.default_rng(0)


def test_labels_that_nearly_all_differ_name_people():
    names = [f"Person {chr(65 + i % 26)}{i}" for i in range(100)]
    assert found(who=names) == ("who",)
    assert found(who=[*names[:94], *["the same"] * 6]) == ("who",)  # 95 different ones
    assert found(who=[*names[:93], *["the same"] * 7]) == ()
    assert found(who=names[:19]) == ()  # too few rows to tell


@pytest.mark.parametrize("column", ["surname", "Patient Name", "e_mail", "lastName", "account"])
def test_a_name_that_says_so_needs_fewer(column):
    half = [f"{i % 50}-{'abc'[i % 3]}" for i in range(100)]
    assert len(set(half)) == 100
    repeated = [*half[:50], *half[:50]]
    assert found(**{column: repeated}) == (column,)
    assert found(**{column: [*half[:49], *half[:49], "a", "a", "a"]}) == ()  # 50 of 101
    assert found(remark=repeated) == ()


def test_whole_numbers_in_a_row_name_people():
    assert found(n=np.arange(1, 31)) == ("n",)
    assert found(n=rng().permutation(np.arange(500, 900))[:200]) == ("n",)  # a part of them


def test_a_measure_is_no_identifier_however_many_values_it_has():
    """Of 2,000 salaries nearly all differ, and about as many are equal as are one apart."""
    salary = np.round(rng().lognormal(12.5, 0.5, 2000))
    assert len(np.unique(salary)) > 0.98 * 2000
    assert found(salary=salary) == ()
    assert found(salary=salary[:60]) == ()
    assert found(salary_id=salary) == ("salary_id",)  # who names it so says so


def test_numbers_that_are_long_and_all_different_name_people():
    accounts = rng().choice(9_000_000, 300, replace=False) + 1_000_000
    assert found(holder=accounts) == ("holder",)
    assert found(holder=[*accounts[:299], accounts[0]]) == ()  # somebody shares one: a measure
    assert found(holder=accounts // 10) == ()  # six digits


def test_a_number_by_name_may_repeat_but_is_no_count():
    visits = rng().integers(10_000, 10_000_000, 60)
    assert found(patient_nbr=np.tile(visits, 2)[:110]) == ("patient_nbr",)
    assert found(patient_nbr=np.arange(60) % 40) == ()  # the fourth visit
    assert found(number_of_visits=np.tile(visits, 2)[:110]) == ()


def test_dates_measures_truths_and_scales_name_nobody():
    n = 40
    assert (
        found(
            born=pd.date_range("1990-01-01", periods=n),
            weight=np.linspace(50, 90.5, n),
            flag=[True, False] * 20,
            grade=pd.Categorical([str(i) for i in range(n)], ordered=True),
            large=np.arange(n) * 1e30,
            nothing=[None] * n,
        )
        == ()
    )


def test_missing_values_do_not_count():
    ids = [f"A{i}" for i in range(30)]
    assert found(case=[*ids, *[None] * 70]) == ("case",)


def test_a_schema_has_the_last_word():
    words = [f"w{i}" for i in range(30)]
    listed = {"type": "category", "labels": words}
    assert found({"columns": {"who": listed}}, who=words) == ()
    bounds = {"type": "integer", "low": 0, "high": 99}
    assert found({"columns": {"n": bounds}}, n=np.arange(30)) == ()
    assert found({"columns": {"n": "integer"}}, n=np.arange(30)) == ("n",)  # as 'tabveil schema' writes it
    data = pd.DataFrame({"n": np.arange(30), "x": [1, 2] * 15})
    kept = frame.load_split(data, data, schema={"columns": {"n": bounds}}, drop_identifiers=True)
    assert kept.split.schema.names == ("n", "x")
    assert found({"columns": {"ward": "identifier"}}, ward=["a", "b", "a"]) == ("ward",)
    loaded = frame.load_table(
        pd.DataFrame({"a": ["x"], "b": [1]}),
        schema={"columns": {"a": {"type": "identifier", "form": "P-000"}, "b": "identifier"}},
    )
    assert loaded.declared_identifiers == {"a": "P-000", "b": None}
    assert loaded.declared == frozenset()


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"type": "identifier", "form": "AB-"}, "must have digits"),
        ({"type": "identifier", "form": "0" * 65}, "at most 64 characters"),
        ({"type": "identifier", "form": 1000}, "put it in quotes"),
        ({"type": "identifier", "form": "№ 000"}, "must have digits"),
        ({"type": "identifier", "labels": ["a"]}, "labels belong to a category"),
        ({"type": "category", "form": "A0"}, "a form belongs to"),
    ],
)
def test_a_form_that_is_none_is_refused(entry, words):
    with pytest.raises(SchemaError, match=words):
        frame.load_table(pd.DataFrame({"a": [1]}), schema={"columns": {"a": entry}})


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("adult", ()),
        ("census_income_kdd", ()),
        ("diabetes130", ("encounter_id", "patient_nbr")),
        ("loans", ()),
        ("nhanes", ("ID",)),
    ],
)
@pytest.mark.parametrize("n", [300, 2000])
def test_on_real_tables(file, names, n):
    people = pd.read_parquet(need_table(f"{file}.parquet")).sample(n, random_state=1)
    assert frame.load_table(people).identifiers == names
