"""Pseudonyms inside free text: what is replaced, by what, how it is counted, and what stays."""

import hashlib
import hmac
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from supplies.terminal import run
from supplies.words_of_people import VOCABULARY, names

import tabveil
from tabveil.errors import ParameterError
from tabveil.tables.words import Words, word_spans
from tabveil.workflows.pseudonyms import UNRECOGNIZED, pseudonymize, pseudonymize_together
from tabveil.workflows.pseudonyms.texts import NamingValues

KEY = bytes(range(32))
STYLES = pytest.mark.parametrize("style", ["hash", "invented"])


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "a.key"
    path.write_text(f"{KEY.hex()}\n", encoding="ascii")
    path.chmod(0o600)
    return path


def hashed(text):
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()[:32]


def replaced(key, text, columns=None, **more):
    """Return one text with pseudonyms, beside columns with one value each."""
    table = pd.DataFrame({**{name: [value] for name, value in (columns or {}).items()}, "note": [text]})
    return pseudonymize(table, list(columns or ()), texts="note", key=key, **more).rows["note"][0]


def counted(key, text, columns=None):
    table = pd.DataFrame({**{name: [value] for name, value in (columns or {}).items()}, "note": [text]})
    return dict(pseudonymize(table, list(columns or ()), texts="note", key=key).counts["note"].places)


def people(n=60, seed=1):
    """Patients with letters, each of which names its patient, writes an address and ends alike."""
    rng = np.random.default_rng(seed)
    table = tabveil.datasets.letters(n, seed=seed)
    table["name"] = names(n, rng)
    table["letter"] = [
        f"{name} ({mail}). {letter}"
        for name, mail, letter in zip(table["name"], table["email"], table["letter"], strict=True)
    ]
    return table


# What is replaced


@STYLES
def test_every_letter_names_its_patient_as_the_columns_do(style, key):
    table = people()
    found = pseudonymize(table, ["name", "email"], key=key, style=style)
    rows = found.rows
    assert [
        letter.startswith(f"{name} ({mail}). ")
        for name, mail, letter in zip(rows["name"], rows["email"], rows["letter"], strict=True)
    ] == [True] * len(table)
    stories = zip(table["letter"], rows["letter"], strict=True)
    assert all(after.endswith(before.partition("). ")[2]) for before, after in stories)
    assert found.counts["letter"].places == {"e-mail address": 60, "full name": 60}
    assert found.counts["letter"].n_changed == found.counts["letter"].n_texts == 60


@pytest.mark.parametrize(
    "written",
    [
        "Anna Schmidt",
        "ANNA SCHMIDT",
        "anna schmidt",
        "Schmidt, Anna",
        "Schmidt Anna",
        "Anna\nSchmidt",
        "Anna-Schmidt",
    ],
)
def test_a_full_name_is_found_however_it_is_written(written, key):
    text = replaced(key, f"We saw {written}'s knee.", {"name": "Anna Schmidt"})
    assert text == f"We saw {hashed('Anna Schmidt')}'s knee."


@pytest.mark.parametrize("value", ["Schmidt, Anna", "Dr. Anna Schmidt", "Anna Schmidt"])
def test_a_column_may_write_names_in_any_order_and_with_titles(value, key):
    assert replaced(key, "Anna Schmidt came.", {"name": value}) == f"{hashed(value)} came."


def test_one_of_two_writings_in_a_column_is_the_one_that_is_written_so(key):
    table = pd.DataFrame(
        {"name": ["Anna Schmidt", "ANNA SCHMIDT"], "note": ["ANNA SCHMIDT.", "anna schmidt."]}
    )
    notes = pseudonymize(table, "name", texts="note", key=key).rows["note"]
    assert notes.tolist() == [
        f"{hashed('ANNA SCHMIDT')}.",
        f"{hashed('ANNA SCHMIDT')}.",
    ]
    other = pd.DataFrame({"name": ["Anna Schmidt", "ANNA SCHMIDT"], "note": ["Anna Schmidt.", "x."]})
    assert pseudonymize(other, "name", texts="note", key=key).rows["note"][0] == f"{hashed('Anna Schmidt')}."


def test_parts_of_a_name_are_found_where_they_have_a_capital(key):
    text = "Schmidt fell. SCHMIDT slept. A schmidt is a smith. Anna, not Annabel."
    part = hashed("Schmidt")
    expected = f"{part} fell. {part} slept. A schmidt is a smith. {hashed('Anna')}, not Annabel."
    assert replaced(key, text, {"name": "Anna Schmidt"}) == expected
    assert replaced(key, "Do it at An Li.", {"name": "An Do Li"}) == "Do it at An Li."  # too short


def test_first_names_and_surnames_have_the_pseudonyms_of_their_columns(key):
    columns = {"first_name": "Anna", "surname": "Schmidt"}
    assert replaced(key, "Anna Schmidt", columns) == f"{hashed('Anna')} {hashed('Schmidt')}"
    assert counted(key, "Anna Schmidt", columns) == {"part of a name": 2}


def test_names_of_a_column_that_nobody_named_are_replaced_in_texts_alone(key):
    table = pd.DataFrame(
        {"case": ["AB-12345"], "doctor_name": ["Eva Kern"], "note": ["Eva Kern saw AB-12345."]}
    )
    found = pseudonymize(table, "case", texts="note", key=key)
    assert found.rows["doctor_name"][0] == "Eva Kern"
    assert found.rows["note"][0] == f"{hashed('Eva Kern')} saw {hashed('AB-12345')}."
    labels = pd.DataFrame({"case": ["AB-12345"], "account": ["savings"], "note": ["Her savings are gone."]})
    assert pseudonymize(labels, "case", texts="note", key=key).rows["note"][0] == "Her savings are gone."


def test_a_column_that_stays_has_no_doubles_in_texts(key):
    """A phone number of the same form beside real ones would be taken for somebody's."""
    table = pd.DataFrame({"case": [f"AB-{number}" for number in range(10_000, 10_040)]})
    table["phone"] = [f"+49 30 9018{number:03d}" for number in range(40)]
    table["note"] = [f"Call {phone}." for phone in table["phone"]]
    rows = pseudonymize(table, "case", texts="note", key=key, style="invented").rows
    assert rows["phone"].equals(table["phone"])
    assert rows["note"].str.fullmatch(r"Call phone_\d+\.").all()
    assert rows["note"].nunique() == 40


@pytest.mark.parametrize(
    ("column", "value", "written"),
    [
        ("email", "Anna@X.org", "anna@x.org"),
        ("phone", "0171 2345678", "+49 171 2345678"),
        ("iban", "DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("ssn", "123-45-6789", "123-45-6789"),
        ("case", "AB-12345", "ab 12345"),
        ("case", "20240017", "20240017"),
    ],
)
@STYLES
def test_a_value_has_the_pseudonym_of_its_column_in_whichever_writing(column, value, written, style, key):
    table = pd.DataFrame({column: [value, "other 99"], "note": [f"See {written}.", "x"]})
    rows = pseudonymize(table, column, texts="note", key=key, style=style).rows
    assert rows["note"].tolist() == [f"See {rows[column][0]}.", "x"]


def test_what_no_column_holds_has_one_pseudonym_in_all_writings(key):
    text = "Write to Jo@X.org or jo@x.org; pay DE89 3704 0044 0532 0130 00 = DE89370400440532013000."
    mail, account = hashed("jo@x.org"), hashed("DE89370400440532013000")
    assert replaced(key, text) == f"Write to {mail} or {mail}; pay {account} = {account}."
    assert counted(key, text) == {"account number": 2, "e-mail address": 2}
    made = replaced(key, text, style="invented")
    assert re.fullmatch(r"Write to (email_\d+) or \1; pay (account_\d+) = \2\.", made)


def test_neutral_pseudonyms_are_not_those_of_a_column(key):
    """Two people must not be taken for one: what is called after a column is another's."""
    table = pd.DataFrame({"name": [f"Ann{'abcdefghij'[i]} Li" for i in range(10)]})
    table["note"] = [f"{name} and Dr. Kern" for name in table["name"]]
    rows = pseudonymize(table, "name", texts="note", key=key, style="invented").rows
    assert rows["note"].str.fullmatch(r"name_\d+ and Dr\. other_name_\d+").all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ms. Kern called.", "Ms. {Kern} called."),
        ("Dr Eva Kern called. Eva Kern left.", "Dr {Eva Kern} called. {Eva Kern} left."),
        ("Prof. Dr. med. J. Kern wrote.", "Prof. Dr. med. {J. Kern} wrote."),
        ("Frau Müller-Lüdenscheidt kam.", "Frau {Müller-Lüdenscheidt} kam."),
        ("Kern called, and Eva.", "Kern called, and Eva."),  # nobody says that these are names
        ("drkern is a word", "drkern is a word"),
    ],
)
def test_names_after_a_title_are_replaced(text, expected, key):
    assert replaced(key, text) == re.sub(r"\{(.+?)\}", lambda found: hashed(found[1]), expected)


def test_a_titled_name_of_which_a_column_holds_a_part_is_replaced_as_a_whole(key):
    text = replaced(key, "Dr. Eva Schmidt", {"surname": "Schmidt"})
    assert text == f"Dr. {hashed('Eva')} {hashed('Schmidt')}"


def test_addresses_are_not_torn_by_the_names_in_them(key):
    columns = {"name": "Anna Schmidt"}
    assert replaced(key, "anna.schmidt@x.org", columns) == hashed("anna.schmidt@x.org")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("王伟", "患者{}说他很好。"),
        ("Иван Петров", "Пришёл {}, и ушёл."),
        ("محمد علي", "زار {} الطبيب."),
        ("अनिल कुमार", "मरीज़ {} ठीक है।"),
        ("Jose\u0301 da Silva", "Hoje Jos\u00e9 da Silva e {}."),
        ("O\u2019Brien", "It is {}\u2019s."),
    ],
)
def test_names_are_found_in_any_script(name, text, key):
    found = replaced(key, text.format(name), {"name": name})
    pseudonym = hashed(unicodedata.normalize("NFC", name))
    assert found == text.replace("Jos\u00e9 da Silva", pseudonym).format(pseudonym)


def test_a_mark_belongs_to_its_letter(key):
    assert replaced(key, "नमक", {"name": "नम"}) == "नमक"
    assert replaced(key, "नमी", {"name": "नम"}) == "नमी"  # the same letters with a vowel sign


# What stays


def test_numbers_and_words_that_mean_nothing_by_themselves_stay_and_are_told(key):
    table = pd.DataFrame({"case": ["7", "12345", "B", "A-1"], "note": ["7 of 12345 had B or A-1.", *"xyz"]})
    found = pseudonymize(table, "case", texts="note", key=key)
    assert found.rows["note"][0] == "7 of 12345 had B or A-1."
    assert "4 values of case are too short or too long to be looked for in texts." in found.notes
    assert found.sentences[1] == "note: nothing replaced, in 4 texts."


def test_empty_and_missing_texts_and_spaces_stay(key):
    table = pd.DataFrame({"name": ["Ann Lee"] * 5, "note": ["", None, "  ", " Ann Lee \t", "no  one\n"]})
    rows = pseudonymize(table, "name", texts="note", key=key).rows
    assert rows["note"].tolist()[0] == ""
    assert rows["note"].isna().tolist() == [False, True, False, False, False]
    assert rows["note"].tolist()[2:] == ["  ", f" {hashed('Ann Lee')} \t", "no  one\n"]
    counts = pseudonymize(table, "name", texts="note", key=key).counts["note"]
    assert (counts.n_texts, counts.n_changed, counts.n_places) == (4, 1, 1)


def test_equal_texts_count_once_for_each_row(key):
    table = pd.DataFrame({"name": ["Ann Lee"] * 3, "note": ["Ann Lee"] * 3})
    assert pseudonymize(table, "name", texts="note", key=key).counts["note"].places == {"full name": 3}


def test_texts_of_a_table_without_any(key):
    table = pd.DataFrame({"name": ["Ann Lee"], "note": pd.Series([None], dtype=object)})
    found = pseudonymize(table, "name", texts="note", key=key)
    assert found.rows["note"].isna().all()
    assert found.counts["note"].n_texts == 0


# Which columns


def test_columns_that_look_like_text_are_taken_unless_told_otherwise(key):
    table = people()
    assert list(pseudonymize(table, "name", key=key).counts) == ["letter"]
    found = pseudonymize(table, "name", key=key, texts=())
    assert found.counts == {}
    assert found.rows["letter"].equals(table["letter"])
    assert any("letter, too" in note or "letter" in note for note in found.notes)
    assert list(pseudonymize(table, key=key).counts) == ["letter"]  # nobody named a column
    assert list(pseudonymize(table, "letter", key=key).columns) == ["letter"]


def test_a_column_cannot_be_both(key):
    with pytest.raises(ParameterError, match="note cannot be both, a column that names people and free text"):
        pseudonymize(pd.DataFrame({"note": ["x"]}), "note", texts="note", key=key)
    with pytest.raises(ParameterError, match=r"no column 'nte'\. Did you mean 'note'"):
        pseudonymize(pd.DataFrame({"note": ["x"]}), texts="nte", key=key)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_come_back_as_the_kind_of_table_that_came_in(kind, key):
    table = kind({"name": ["Ann Lee", "Bo Li"], "note": ["Ann Lee is well", None]})
    rows = pseudonymize(table, "name", texts="note", key=key).rows
    assert type(rows) is type(table)
    notes = pa.table(rows)["note"].to_pylist() if kind is not pd.DataFrame else rows["note"].tolist()
    assert notes[0] == f"{hashed('Ann Lee')} is well"


@STYLES
def test_tables_agree(style, key):
    """A name in the column of one table is the same in the texts of the other."""
    one = pd.DataFrame({"name": ["Ann Lee", "Bo Li"], "note": ["Bo Li and Cy Ash", "Dr. Kern"]})
    other = pd.DataFrame({"name": ["Cy Ash"], "note": ["Ann Lee saw Dr. Kern"]})
    first, second = pseudonymize_together([one, other], "name", texts="note", key=key, style=style)
    assert first.rows["note"][0] == f"{first.rows['name'][1]} and {second.rows['name'][0]}"
    assert second.rows["note"][0] == f"{first.rows['name'][0]} saw {first.rows['note'][1]}"


# What is said


def test_nothing_that_is_said_holds_a_value(key):
    table = people()
    found = pseudonymize(table, ["name", "email"], key=key)
    said = " ".join([repr(found), *found.sentences, *found.notes])
    assert UNRECOGNIZED in found.notes
    assert not any(value in said for value in (*table["name"], *table["email"], KEY.hex()))
    assert not any(word in said for name in table["name"] for word in name.split())
    assert found.sentences[1] == (
        "letter: 60 e-mail addresses and 60 full names replaced, in 60 texts of 60."
    )


# Hostile texts


@pytest.mark.parametrize(
    "unit",
    ["Ann Lee ", "@", "Mr. ", "A. ", "1 ", "+49 30 9", "a.b@", "王", "e\u0301 ", "Dr Dr A ", "\0", "[red]"],
)
def test_texts_of_a_megabyte_are_read(unit):
    known = NamingValues()
    known.add_column("name", ["Ann Lee", "王伟"], named=True)
    text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
    found = known.places(text)
    if unit == "Ann Lee ":
        assert len(found) == 125_000
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_a_long_text_among_short_ones_through_a_file(key, tmp_path):
    rng = np.random.default_rng(0)
    long = " ".join(rng.choice(VOCABULARY, 100_000))
    table = pd.DataFrame(
        {"name": ["Ann Lee", "Bo Li"], "note": [f"{long} Ann Lee {long}", "\u202eBo Li\x1b[2J"]}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    rows = pseudonymize(tmp_path / "t.csv", "name", texts="note", key=key).rows
    notes = rows["note"].to_pylist()
    assert notes[0] == f"{long} {hashed('Ann Lee')} {long}"
    assert notes[1] == f"\u202e{hashed('Bo Li')}\x1b[2J"


@pytest.mark.parametrize("text", ["Anna's naïve नमस्ते 王伟说 x_y 12.3", "ไทย ภาษา Straße", "", "\ud800a b"])
def test_words_begin_and_end_where_they_are_counted(text):
    spans = word_spans(text)
    assert len(spans) == Words.of([text]).counts[0]
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)


# What it does not protect from


def test_names_that_nobody_lists_stay(key):
    table = people()
    table["letter"] = [f"{letter} Her neighbor Zora Quill drove her." for letter in table["letter"]]
    rows = pseudonymize(table, ["name", "email"], key=key).rows
    assert rows["letter"].str.contains("Zora Quill").all()


def test_the_story_itself_tells_who_it_is_about(key):
    """Who has read a letter once finds it again by its words, whatever pseudonyms stand in it."""
    table = people(200)
    rows = pseudonymize(table, ["name", "email"], key=key).rows
    known = [set(text.partition("). ")[2].split(". ")) for text in table["letter"]]
    released = [set(text.partition("). ")[2].split(". ")) for text in rows["letter"]]
    found = [int(np.argmax([len(story & other) for other in released])) for story in known]
    assert np.mean(np.array(found) == np.arange(200)) > 0.95


# On the command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    return tmp_path


COMMAND = ("pseudonymize", "--data", "people.csv", "--key", "a.key", "--out", "out.csv")


def test_the_command_replaces_in_texts_and_tells_how_often(folder):
    result = run(*COMMAND, "--column", "name", "--column", "email")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "letter: 60 e-mail addresses and 60 full names replaced, in 60 texts of 60." in said
    assert UNRECOGNIZED in result.stderr
    table, rows = pd.read_csv("people.csv"), pd.read_csv("out.csv")
    assert all(row.letter.startswith(f"{row.name} ({row.email})") for row in rows.itertuples(index=False))
    written = Path("out.csv").read_text(encoding="utf-8")
    assert not any(value in written or value in result.output for value in (*table["name"], *table["email"]))


def test_the_command_may_leave_texts_alone_or_name_them(folder):
    assert run(*COMMAND, "--column", "name", "--no-text").exit_code == 0
    assert pd.read_csv("out.csv")["letter"].equals(pd.read_csv("people.csv")["letter"])
    assert run(*COMMAND, "--text", "letter", "--force").exit_code == 0
    rows = pd.read_csv("out.csv")
    assert rows["name"].equals(pd.read_csv("people.csv")["name"])
    assert not any(name in letter for name, letter in zip(rows["name"], rows["letter"], strict=True))
    refused = run(*COMMAND, "--text", "letter", "--no-text", "--force")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("tabveil: --no-text: ")
