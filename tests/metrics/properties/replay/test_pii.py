"""PII replay: people counted by hand, planted names, none planted, and what must never be shown."""

import json
from dataclasses import replace

import numpy as np
import pytest
from supplies.words_of_people import FIRST, LAST, names, split_of

from tabveil.core.rng import stream
from tabveil.errors import NothingToAsk
from tabveil.metrics.properties import PiiReplay


def ask(split):
    return PiiReplay()(split, rng=stream(1, "pii_replay"))


def people(n, rng):
    """Made-up people: first names and surnames that many share, mails and phones that nobody shares."""
    first, last = rng.choice(FIRST, n).tolist(), rng.choice(LAST, n).tolist()
    numbers = rng.integers(10**9, 10**10, n).tolist()
    return {
        "first_name": first,
        "surname": last,
        "email": [f"{a}.{b}.{number}@example.org" for a, b, number in zip(first, last, numbers, strict=True)],
        "phone": [f"0{number}" for number in numbers[::-1]],
        "notes": [f"came to see {rng.choice(FIRST)} about something" for _ in range(n)],
    }


def by_name(found):
    return {item.name: item for item in found.configurations}


def test_by_hand():
    train = {"name": ["Anna Berg", "Carl Dorn", "Eva", "Fritz"], "mail": ["a@x.de", "c@x.de", None, None]}
    control = {"name": ["Gerd Hahn", "Eva"], "mail": ["g@x.de", "h@x.de"]}
    release = {"name": ["Berg, Anna", "Ida Jung"], "mail": ["c@x.de", "Eva Fritz <q@x.de>"]}
    found = ask(split_of(train, control, release))
    whole = by_name(found)["all kinds, weighted"]
    assert whole.facts == {
        "train_people": 2,  # Anna by her name, Carl by his address
        "control_people": 0,
        "train_people_in_part": 0,  # no column of names has Eva
        "control_people_in_part": 0,
        "train_holding": 2,
        "control_holding": 2,
    }
    assert whole.attack.value == 2 / 4
    assert whole.control.value == 0
    assert by_name(found)["full names in name"].facts["train_holding"] == 2
    assert by_name(found)["full names in name"].attack.value == 1 / 4
    assert by_name(found)["e-mail addresses in mail"].attack.value == 1 / 4
    assert found.sensitive_scores[0].values.tolist() == [1, 1, 0, 0]


def test_a_part_of_a_name_counts_a_tenth():
    train = {"surname": ["Berg", "Dorn", "Ernst", "Fux"]}
    control = {"surname": ["Berg", "Hahn"]}
    found = ask(split_of(train, control, {"surname": ["Berg", "DORN", "Ernst"]}))
    assert found.attack.value == pytest.approx(0.1 * 3 / 4)
    assert found.control.value == pytest.approx(0.1 * 1 / 2)
    assert found.risk.value == pytest.approx(0.1 * (3 / 4 - 1 / 2) / (1 - 0.05))


def test_first_name_and_surname_are_a_full_name_together():
    train = {"first_name": ["Anna", "Carl"], "last_name": ["Berg", "Dorn"], "notes": ["", ""]}
    control = {"first_name": ["Anna", "Gerd"], "last_name": ["Dorn", "Berg"], "notes": ["", ""]}
    release = {
        "first_name": ["Anna", "Carl"],
        "last_name": ["Berg", "Berg"],
        "notes": ["", "so said Dorn, Carl"],
    }
    found = ask(split_of(train, control, release, notes="text"))
    assert by_name(found)["full names in first_name, last_name"].attack.value == 1
    assert by_name(found)["full names in first_name, last_name"].control.value == 0


def test_names_are_found_in_texts_of_the_release():
    train = {"name": ["Anna Berg", "Carl Dorn"], "notes": ["x", "y"]}
    release = {"name": [None, None], "notes": ["we met ANNA BERG, who", "we met Carla Dorn"]}
    found = ask(split_of(train, {"name": ["Gerd Hahn"], "notes": ["z"]}, release, notes="text"))
    assert found.details["train_people"] == 1


def test_a_title_in_a_text_tells_a_name():
    train = {"notes": ["seen by Dr. Anna Berg", "nothing"]}
    release = {"notes": ["as Anna Berg said"]}
    found = ask(split_of(train, {"notes": ["nothing at all"]}, release, notes="text"))
    assert by_name(found)["full names in notes"].attack.value == 1 / 2


def test_identifiers_that_the_schema_names():
    train = {"case": ["A-10011", "A-10022"], "notes": ["x", "y"]}
    control = {"case": ["A-10033"], "notes": ["z"]}
    release = {"case": ["a10011", "B-9"], "notes": ["see A-10022 and A-10033", "w"]}
    found = ask(split_of(train, control, release, case="identifiers", notes="text"))
    assert found.attack.value == found.control.value == 1
    with pytest.raises(NothingToAsk):
        ask(split_of(train, control, release, notes="text"))


def with_names(seed, *, n_leaked, n_train=1000, n_control=500):
    rng = np.random.default_rng(seed)
    train, control, release = ({"name": names(n, rng)} for n in (n_train, n_control, n_train))
    release["name"][:n_leaked] = train["name"][:n_leaked]
    return split_of(train, control, release)


@pytest.mark.parametrize("seed", range(3))
def test_a_release_that_repeats_twenty_real_names_is_seen(seed):
    found = ask(with_names(seed, n_leaked=20))
    assert found.risk.low > 0
    assert found.configurations[0].facts["train_people"] >= 20
    assert not ask(with_names(seed, n_leaked=0)).risk.low > 0


def test_names_that_many_have_are_no_leak():
    """Everybody's first name and surname is in the release, and nobody's person."""
    rng = np.random.default_rng(0)
    train, control, release = (people(n, rng) for n in (400, 200, 400))
    release["email"] = release["phone"] = [None] * 400
    found = ask(split_of(train, control, release, notes="text"))
    assert by_name(found)["first names or surnames in surname"].attack.value == pytest.approx(0.1)
    assert found.risk.low <= 0 <= found.risk.high
    assert found.leading.label == "all kinds, weighted"


def test_what_leaks_is_what_leads():
    rng = np.random.default_rng(0)
    train, control, release = (people(n, rng) for n in (400, 300, 400))
    release["phone"][:20] = train["phone"][20:40]
    found = ask(split_of(train, control, release, notes="text"))
    assert found.leading.label == "phone numbers in phone"
    assert found.risk.low > 0
    assert found.risk.value == pytest.approx(20 / 400)
    assert "phone numbers of 20" in PiiReplay().sentence(found)


@pytest.mark.parametrize("sizes", [(200, 200), (400, 60), (60, 400)])
def test_a_release_that_learned_nothing_by_heart_is_not_above_zero(sizes):
    n_train, n_control = sizes
    above = below = shared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        train, control, release = (people(n, rng) for n in (n_train, n_control, 150))
        found = ask(split_of(train, control, release, notes="text"))
        above += found.risk.low > 0
        below += found.risk.high < 0
        shared += found.details["train_people"] > 0
    assert shared == 60  # full names meet by chance
    assert above <= 4  # of 60 at 95 %, 1.5 are expected on each side
    assert below <= 4


def test_the_interval_holds_the_planted_share():
    covered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        train, control, release = ({"name": names(150, rng)} for _ in range(3))
        leaked = rng.random(150) < 0.1
        release["name"] = [
            own if leak else other
            for own, other, leak in zip(train["name"], release["name"], leaked, strict=True)
        ]
        found = ask(split_of(train, control, release)).risk
        covered += found.low <= 0.1 <= found.high
    assert covered >= 54


def test_without_control_there_is_a_share_and_no_risk():
    rows = {"mail": ["a@x.de", "b@x.de"]}
    found = ask(split_of(rows, {"mail": []}, {"mail": ["a@x.de"]}))
    assert found.attack.value == 1 / 2
    assert found.risk is found.control is None
    assert found.notes
    assert PiiReplay().sentence(found).startswith("1 training person is named by the release")


def test_a_column_that_control_lacks_is_set_aside():
    train = {"mail": ["a@x.de"], "phone": ["0171 234567"]}
    control = {"mail": [None], "phone": ["0171 999999"]}
    found = ask(split_of(train, control, train))
    assert [item.setting.target for item in found.configurations] == ["phone"]
    assert any("mail" in note for note in found.notes)
    with pytest.raises(NothingToAsk, match="control lacks"):
        ask(split_of({"mail": ["a@x.de"]}, {"mail": [None]}, {"mail": ["a@x.de"]}))


def test_tables_without_such_values_have_nothing_to_ask():
    rows = {"ward": ["surgery", "cardiology"], "code": ["I21.4", "J00"]}
    with pytest.raises(NothingToAsk, match="pii_replay: no column or text"):
        ask(split_of(rows, rows, rows))


def test_no_value_is_kept():
    rng = np.random.default_rng(3)
    train, control, release = (people(n, rng) for n in (60, 40, 60))
    release["email"] = list(train["email"])
    found = ask(split_of(train, control, release, notes="text"))
    told = json.dumps(found.to_json()) + PiiReplay().sentence(found)
    for column in ("first_name", "surname", "email", "phone"):
        assert not any(value in told for value in train[column])


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "a@b.de " * 100_000,
        "Mr. Aa Bb " * 80_000,
        "\0" * 1_000_000,
        "漢字 +49 30 901820 ไทย",
        "",
    ],
    ids=["one word", "many mails", "many names", "null bytes", "mixed scripts", "empty"],
)
def test_hostile_texts(text):
    rows = {"notes": [text, "a@b.de", None]}
    found = ask(split_of(rows, {"notes": ["other c@d.de"]}, rows, notes="text"))
    assert found.attack.value in {1 / 3, 2 / 3}
    assert found.control.value == 0


def test_a_column_of_one_name():
    rows = {"name": ["Anna Berg"] * 30}
    found = ask(split_of(rows, rows, rows))
    assert found.attack.value == found.control.value == 1
    assert found.risk is None  # everybody is named, seen or not: nothing is left to tell


def with_people(split, train, control):
    return replace(
        split,
        train=replace(split.train, people=np.array(train)),
        control=replace(split.control, people=np.array(control)),
    )


def test_a_name_in_many_rows_of_a_person_is_one_persons():
    train = {"name": ["Anna Berg"] * 20 + ["Carl Dorn"], "mail": [None] * 20 + ["c@x.de"]}
    control = {"name": ["Gerd Hahn"] * 3 + ["Ida Jung"], "mail": [None, None, "g@x.de", "h@x.de"]}
    release = {"name": ["Anna Berg", "Ida Jung"], "mail": ["g@x.de", None]}
    tables = split_of(train, control, release)
    found = ask(with_people(tables, [3] * 20 + [1], [7, 7, 7, 5]))
    whole = by_name(found)["all kinds, weighted"]
    assert (whole.attack.value, whole.attack.n) == (1 / 2, 2)
    assert whole.control.value == 1  # one by the name, one by the address in one of three rows
    assert by_name(found)["full names in name"].facts["train_holding"] == 2
    assert found.details["train_people"] == 1
    assert found.sensitive_scores[0].values.tolist() == [1.0] * 20 + [0.0]  # rows are still rows
    assert by_name(ask(tables))["all kinds, weighted"].attack.value == 20 / 21


def test_one_row_each_is_every_row_another_person():
    rng = np.random.default_rng(1)
    tables = split_of(people(30, rng), people(20, rng), people(25, rng))
    named = with_people(tables, rng.permutation(30), 30 + rng.permutation(20))
    first, second = (
        [(item.risk, item.attack, item.control, item.facts) for item in ask(each).configurations]
        for each in (tables, named)
    )
    assert first == second
