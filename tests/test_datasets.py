import numpy as np
import pandas as pd
import pytest

from tabveil.datasets import TRIAGE, hospital, letters, visits
from tabveil.errors import ParameterError


@pytest.fixture(scope="module")
def patients():
    return hospital(8000, seed=3)


def test_same_seed_same_people_and_another_seed_others(patients):
    pd.testing.assert_frame_equal(hospital(8000, seed=3), patients)
    assert not hospital(8000, seed=4).equals(patients)


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002 - the global state is what is looked at
    hospital(100, seed=0)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002 - likewise


def test_the_types_are_as_mixed_as_in_a_real_table(patients):
    kinds = patients.dtypes
    assert pd.api.types.is_integer_dtype(kinds["age"])
    assert pd.api.types.is_bool_dtype(kinds["smoker"])
    assert pd.api.types.is_datetime64_dtype(kinds["admitted"])
    assert isinstance(kinds["triage"], pd.CategoricalDtype)
    assert kinds["triage"].ordered
    assert tuple(kinds["triage"].categories) == TRIAGE
    assert pd.api.types.is_float_dtype(kinds["cost"])


def test_codes_have_a_long_tail_and_rare_values_are_there(patients):
    counts = patients["diagnosis"].value_counts()
    assert counts.iloc[0] > 200
    assert (counts < 10).sum() > 50
    assert 0 < (patients["sex"] == "diverse").sum() < 50
    assert 0 < (patients["insurance"] == "military").sum() < 50


def test_numbers_are_skewed_and_have_their_own_precision(patients):
    assert patients["crp"].skew() > 3
    assert patients["cost"].skew() > 2
    for name, decimals in {"systolic": 0, "hemoglobin": 1, "creatinine": 2, "crp": 1, "cost": 2}.items():
        assert np.array_equal(patients[name].dropna(), patients[name].dropna().round(decimals))
    assert patients["cost"].min() > 0
    assert patients["days"].between(0, 180).all()


def test_columns_depend_on_each_other(patients):
    assert patients.loc[patients["ward"] == "maternity", "sex"].eq("female").mean() > 0.9
    by_letter = patients.groupby(patients["diagnosis"].str[0])["age"].median()
    assert by_letter["P"] < by_letter["O"] < by_letter["I"]
    assert patients["days"].corr(patients["cost"]) > 0.7
    stay = patients.groupby(patients["diagnosis"].str[0])["days"].median()
    assert stay["F"] > 2 * stay["S"]
    assert patients["age"].corr(patients["creatinine"]) > 0.3


def test_values_are_missing_for_a_reason(patients):
    unmeasured = patients["hemoglobin"].isna().groupby(patients["triage"], observed=True).mean()
    assert unmeasured["non-urgent"] > 5 * unmeasured["resuscitation"]
    assert patients["hemoglobin"].isna().equals(patients["creatinine"].isna())
    unasked = patients["smoker"].isna()
    assert unasked[patients["age"] < 18].mean() > 2 * unasked[patients["age"] >= 18].mean()


def test_two_seeds_draw_from_one_population():
    one, other = hospital(20_000, seed=1), hospital(20_000, seed=2)
    for name in ("sex", "ward", "triage", "outcome"):
        shares = pd.concat(
            [one[name].value_counts(normalize=True), other[name].value_counts(normalize=True)], axis=1
        )
        assert shares.fillna(0).diff(axis=1).iloc[:, 1].abs().max() < 0.02
    assert abs(one["age"].mean() - other["age"].mean()) < 1


@pytest.mark.parametrize("n_rows", [1, 2, 7])
def test_small_tables(n_rows):
    assert hospital(n_rows, seed=0).shape == (n_rows, 16)


def test_impossible_sizes_are_refused():
    with pytest.raises(ParameterError, match="n_rows must be >= 1, got 0"):
        hospital(0, seed=0)


def test_letters_are_repeatable_and_differ_by_seed():
    pd.testing.assert_frame_equal(letters(50, seed=3), letters(50, seed=3))
    assert not letters(50, seed=4).equals(letters(50, seed=3))


def test_letters_name_people_and_are_mostly_different():
    people = letters(2000, seed=1)
    assert people["letter"].nunique() == 2000
    assert people["email"].nunique() == 2000
    assert people["name"].nunique() > 1700
    assert people["name"].str.split().str[-1].nunique() == 64


@pytest.mark.parametrize(("n_rows", "seed"), [(0, 0), (1, -1)])
def test_letters_ask_for_people(n_rows, seed):
    with pytest.raises(ParameterError, match="letters: "):
        letters(n_rows, seed=seed)


def test_visits_are_repeatable_and_several_to_a_person_who_stays_the_same():
    table = visits(500, seed=2)
    pd.testing.assert_frame_equal(table, visits(500, seed=2))
    each = table.groupby("patient")
    assert len(each) == 500
    assert each.size().between(1, 12).all()
    assert each.size().mean() > 3
    assert each[["birth", "sex", "town", "insurance"]].nunique().to_numpy().max() == 1
    assert not set(table["patient"]) & set(visits(500, seed=3)["patient"])


@pytest.mark.parametrize(("n_people", "seed"), [(0, 1), (5, -1)])
def test_visits_ask_for_people(n_people, seed):
    with pytest.raises(ParameterError, match="visits: "):
        visits(n_people, seed=seed)
