"""What is written about people in any table is one table, a row for each of theirs."""

import numpy as np
import pytest
from supplies.linked_people import CLINIC

import tabveil
from tabveil.datasets import clinic
from tabveil.tables.linked import load_database
from tabveil.tables.linked.told_of_people import words_of_people

FIRST = ["Ada", "Bela", "Cara", "Dora", "Emil", "Finn", "Gust", "Hugo", "Ines", "Jana", "Kaya", "Lino"]


def named(seed, n=240):
    """Patients whose visits hold the name of somebody to call, and a letter that tells of it."""
    tables, rng = clinic(n, seed=seed), np.random.default_rng(seed)
    visits = tables["visits"]
    contact = {
        key: f"{FIRST[rng.integers(12)]} {''.join(rng.choice(list('bdfgklmnprst'), 7)).title()}"
        for key in tables["patients"]["patient"]
    }
    told = visits["patient"].map(contact)
    words = np.array([f"{''.join(rng.choice(list('aeioubdfgklmnprst'), 6))}" for _ in range(4000)])
    letter = [f"{' '.join(rng.choice(words, 12))} {name} {' '.join(rng.choice(words, 3))}" for name in told]
    return {**tables, "visits": visits.assign(contact_name=told.to_numpy(), letter=letter)}


def planted(release, train, n):
    """The release with the linked names and letters of the first people of train who have any."""
    visits, theirs = release["visits"].copy(), train["visits"]
    some = theirs["patient"].unique()[:n]
    taken = theirs[theirs["patient"].isin(some)]
    at = visits.index[: len(taken)]
    for column in ("contact_name", "letter"):
        visits.loc[at, column] = taken[column].to_numpy()
    return {**release, "visits": visits}


def asked(release):
    return tabveil.audit(
        named(1), release, named(2), tables=CLINIC, metrics=["pii_replay", "text_replay"], advice=False
    )


def test_names_and_letters_of_linked_rows_are_found_and_counted_in_people():
    found = asked(planted(named(3), named(1), 20))
    names, letters = found["pii_replay"], found["text_replay"]
    assert names.details["train_people"] == 20
    assert names.attack.n == 240
    assert letters.facts["train_people"] == 20
    assert letters.details["columns"] == ["visits: letter"]
    assert any("visits: contact_name" in item.name for item in names.configurations)
    assert found.verdict.state == "above threshold"
    clean = asked(named(3))
    assert clean["pii_replay"].details["train_people"] == 0
    assert clean["text_replay"].facts["train_people"] == 0


def test_rows_stand_with_their_people():
    loaded = load_database(CLINIC, train=named(1), control=named(2), synthetic=named(3))
    words = words_of_people(loaded.split, loaded.tables)
    people = loaded.split.train
    assert words.train.n_people == len(people)
    visits = people.linked["visits"]
    place = words.train.schema.position("visits: ward")
    own, rows = words.train.values[: len(people)], words.train.values[len(people) :]
    assert np.isnan(own[:, place]).all()
    assert (rows[:, place] == visits.table.column("ward")[visits.rows]).all()
    assert (words.train.people[len(people) :] == visits.whose).all()
    sex = words.train.schema.position("sex")
    assert (own[:, sex] == people.own.column("sex")).all()
    assert np.isnan(rows[:, sex]).all()


@pytest.mark.parametrize("columns", [["patient", "day"], ["patient"]])
def test_tables_without_words_add_nothing(columns):
    without = ({**tables, "visits": tables["visits"][columns]} for tables in map(named, (1, 2, 3)))
    train, control, release = without
    said = {**CLINIC, "linked": {"visits": {"key": "patient"}}}
    loaded = load_database(said, train=train, control=control, synthetic=release)
    assert words_of_people(loaded.split, loaded.tables) is None
