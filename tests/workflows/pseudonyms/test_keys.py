"""Pseudonyms: keyed hashes or invented identifiers, a key that nobody sees, and what they do not stop."""

import errno
import hashlib
import hmac
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tabveil.datasets import hospital
from tabveil.errors import ParameterError, SchemaError
from tabveil.workflows.pseudonyms import pseudonymize, read_key

KEY = bytes(range(32))


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "a.key"
    path.write_text(f"{KEY.hex()}\n", encoding="ascii")
    path.chmod(0o600)
    return path


def expected(text):
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()[:32]


def cases(n=300):
    rng = np.random.default_rng(1)
    ids = rng.choice(90_000, n, replace=False) + 10_000
    return pd.DataFrame(
        {"case": [f"AB-{i}" for i in ids], "number": ids, "age": rng.integers(20, 90, n), "name": "Ann"}
    )


def test_a_pseudonym_is_the_keyed_hash_of_the_text(key):
    table = pd.DataFrame(
        {"name": ["Ann", " Ann ", None, "Jose\u0301"], "id": [7, 8, 9, 10]}, index=[4, 3, 2, 1]
    )
    rows = pseudonymize(table, ["name", "id"], key=key).rows
    assert rows["name"].tolist()[:2] == [expected("Ann")] * 2
    assert rows["name"].isna().tolist() == [False, False, True, False]
    assert rows["name"].tolist()[3] == expected("Jos\u00e9")  # two ways to write one name
    assert rows["id"].tolist() == [expected(text) for text in ("7", "8", "9", "10")]
    assert rows.index.tolist() == [4, 3, 2, 1]
    assert table["name"].tolist()[0] == "Ann"


@pytest.mark.parametrize("style", ["hash", "invented"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_come_back_as_the_kind_of_table_that_came_in(kind, style, key):
    table = kind({"id": ["a", "b", "a"], "x": [1, 2, 3]})
    rows = pseudonymize(table, "id", key=key, style=style).rows
    assert type(rows) is type(table)
    ids = list(pa.table(rows)["id"].to_pylist()) if kind is not pd.DataFrame else rows["id"].tolist()
    assert ids[0] == ids[2] != ids[1]
    assert not {"a", "b"} & set(ids)


def test_files_of_any_kind_agree_under_one_key_and_not_under_two(key, tmp_path):
    table = cases(20)
    table.to_csv(tmp_path / "a.csv", index=False)
    table[::-1].to_parquet(tmp_path / "b.parquet")
    with_gap = table.astype({"number": float})
    with_gap.loc[0, "number"] = np.nan  # a whole number beside a missing one is stored as a fraction
    with_gap.to_parquet(tmp_path / "c.parquet")
    names = ("a.csv", "b.parquet", "c.parquet")
    found = [pseudonymize(tmp_path / name, "number", key=key).rows["number"].to_pylist() for name in names]
    assert found[0] == found[1][::-1] == [expected(str(table["number"][0])), *found[2][1:]]
    other = pseudonymize(table, "number", key=tmp_path / "other.key").rows["number"]
    assert not set(other) & set(found[0])


def test_invented_ones_look_alike_are_nobodys_and_stay_the_same(key):
    table = pd.concat([cases(), cases()], ignore_index=True)
    found = pseudonymize(table, ["case", "number", "name"], key=key, style="invented")
    rows = found.rows
    assert rows["case"].str.fullmatch(r"AB-\d{5}").all()
    assert rows["number"].between(10_000, 99_999).all()
    assert rows["number"].dtype == table["number"].dtype
    assert rows["name"].str.fullmatch(r"name_\d{6}").all()
    for name in ("case", "number"):
        assert not set(rows[name]) & set(table[name])
        assert rows[name].nunique() == 300
        assert (rows[name][:300].to_numpy() == rows[name][300:].to_numpy()).all()
    again = pseudonymize(table[::-1], ["case", "number", "name"], key=key, style="invented").rows
    pd.testing.assert_frame_equal(again[::-1], rows)
    order = table["number"][:300].rank().corr(rows["number"][:300].rank())
    assert abs(order) < 0.2  # who was first is not first again


def test_invented_numbers_beside_missing_ones_and_very_long_ones(key):
    table = pd.DataFrame({"id": [10**18 + 1, 10**18 + 2, 10**18 + 3], "gap": [11.0, np.nan, 13.0]})
    rows = pseudonymize(table, ["id", "gap"], key=key, style="invented").rows
    assert rows["id"].nunique() == 3
    assert rows["gap"].isna().tolist() == [False, True, False]
    assert not set(rows["gap"]) & {11.0, 13.0}


def test_columns_where_nothing_is_known(key):
    table = pd.DataFrame({"id": [None, None], "x": [1, 2]})
    assert pseudonymize(table, "id", key=key).rows["id"].isna().all()
    assert pseudonymize(table, "id", key=key, style="invented").rows["id"].isna().all()
    assert len(pseudonymize(table[:1], "x", key=key).rows) == 1


def test_a_key_is_made_for_its_owner_alone(tmp_path):
    path = tmp_path / "new.key"
    found = pseudonymize(cases(5), "case", key=path)
    assert found.key_made
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(read_key(path)) == 32
    assert path.read_text(encoding="ascii").strip() not in repr(found)
    assert not pseudonymize(cases(5), "case", key=path).key_made
    other = tmp_path / "other.key"
    pseudonymize(cases(5), "case", key=other)
    assert read_key(path) != read_key(other)


def test_no_key_is_made_for_a_table_that_is_at_fault(tmp_path):
    path = tmp_path / "new.key"
    with pytest.raises(ParameterError, match=r"no column 'cas'\. Did you mean 'case'"):
        pseudonymize(cases(5), "cas", key=path)
    with pytest.raises(ParameterError, match="at least one column"):
        pseudonymize(cases(5), [], key=path)
    with pytest.raises(ParameterError, match="style must be one of 'hash', 'invented'"):
        pseudonymize(cases(5), "case", key=path, style="md5")
    with pytest.raises(SchemaError, match="which is no text"):
        pseudonymize(pa.table({"id": [b"a", b"b"], "x": [1, 2]}), "id", key=path)
    assert not path.exists()


@pytest.mark.parametrize("text", ["", "abc", "f" * 63, "g" * 64, "f" * 66, "0" * 64, "ab" * 32])
def test_what_is_no_key_is_refused_and_not_shown(text, key):
    key.write_text(text, encoding="ascii")
    with pytest.raises(ParameterError, match="holds no key") as error:
        pseudonymize(cases(5), "case", key=key)
    assert not text or text not in str(error.value)


def test_a_full_disk_leaves_no_half_of_a_key(tmp_path, monkeypatch):
    def fill(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fill)
    with pytest.raises(ParameterError, match=r"cannot write .*new\.key: No space left"):
        pseudonymize(cases(5), "case", key=tmp_path / "new.key")
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_others_can_open_is_refused(key, tmp_path):
    if os.name != "posix":
        pytest.skip("files have no modes here")
    key.chmod(0o640)
    with pytest.raises(ParameterError, match="others can open"):
        pseudonymize(cases(5), "case", key=key)
    with pytest.raises(ParameterError, match="is a folder, not a file"):
        pseudonymize(cases(5), "case", key=tmp_path)
    with pytest.raises(ParameterError, match="cannot make"):
        pseudonymize(cases(5), "case", key=tmp_path / "nowhere" / "a.key")


def test_other_columns_that_name_people_are_told(key):
    found = pseudonymize(cases(), "case", key=key)
    assert "number, too" in found.notes[0]


def test_the_other_columns_still_tell_who_is_who(key):
    """Linkage: who knows age, sex, region and the day of admission finds most people behind pseudonyms."""
    people = hospital(1000, seed=1)
    people["name"] = [f"person {number}" for number in range(1000)]
    rows = pseudonymize(people, "name", key=key).rows
    known = ["age", "sex", "region", "admitted"]
    found = people[["name", *known]].merge(rows[[*known, "outcome"]], on=known)
    alone = found.groupby("name").filter(lambda group: len(group) == 1)
    assert len(alone) > 950
    assert (
        alone.set_index("name")["outcome"] == people.set_index("name")["outcome"].loc[alone["name"]]
    ).all()


def test_whoever_has_the_key_can_try_all_names(key):
    """A dictionary: with the key every case number is found again, without it none."""
    table = cases(50)
    rows = pseudonymize(table, "case", key=key).rows
    for secret, n_found in ((read_key(key), 50), (bytes(32), 0)):
        tried = {
            hmac.new(secret, f"AB-{i}".encode(), hashlib.sha256).hexdigest()[:32]: f"AB-{i}"
            for i in range(10_000, 100_000)
        }
        found = [tried.get(pseudonym) for pseudonym in rows["case"]]
        assert sum(one == other for one, other in zip(found, table["case"], strict=True)) == n_found
