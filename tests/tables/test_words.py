"""Words and passages: what a word is in any script, and that hashing finds what comparing would find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.tables.words import Passages, Words, found_phrases


@pytest.mark.parametrize(
    ("text", "n_words"),
    [
        ("", 0),
        (" \n\t.,!–", 0),
        ("one", 1),
        ("Anna, 34 years.", 3),
        ("a\0b", 2),  # a null byte parts words
        ("e\u0301te", 1),  # a combining mark belongs to its letter
        ("患者は元気です", 7),  # no spaces: every character is a word
        ("abc患者def", 4),
        ("пациент здоров", 2),
        ("شكرا جزيلا", 2),
        ("ok 🙂 ok", 2),
        ("snake_case", 2),
    ],
)
def test_what_a_word_is(text, n_words):
    assert Words.of([text]).counts.tolist() == [n_words]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Straße", "STRASSE", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("Anna", "Anne", False),
        ("ab c", "a bc", False),
        ("a b", "b a", False),
    ],
)
def test_which_words_are_equal(one, other, equal):
    texts = Words.of([one, other])
    first, second = np.split(texts.numbers, texts.ends[:1])
    assert np.array_equal(first, second) is equal


def test_no_texts_have_no_words():
    words = Words.of([])
    assert len(words) == 0
    assert len(words.numbers) == 0
    assert not Passages.of(words, 3).held_by(Words.of(["a b c d"])).any()


def test_texts_that_are_read_in_pieces_keep_their_places(monkeypatch):
    texts = ["one two", "", "three", "four five six"]
    whole = Words.of(texts)
    monkeypatch.setattr("tabveil.tables.words._AT_ONCE", 4)
    parted = Words.of(texts)
    assert np.array_equal(whole.numbers, parted.numbers)
    assert whole.ends.tolist() == parted.ends.tolist() == [2, 2, 3, 6]


def passages(text, n):
    """All passages of a text as tuples; a shorter text is one, and marked as a whole."""
    words = text.split()
    if not words:
        return set()
    if len(words) < n:
        return {("whole", *words)}
    return {tuple(words[at : at + n]) for at in range(len(words) - n + 1)}


sentences = st.lists(st.lists(st.sampled_from("abc"), max_size=8).map(" ".join), max_size=6)


@given(held=sentences, asked=sentences, n=st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_passages_are_those_that_comparing_finds(held, asked, n):
    known = set().union(*(passages(text, n) for text in held))
    table = Passages.of(Words.of(held), n)
    expected = [bool(passages(text, n) & known) for text in asked]
    assert table.held_by(Words.of(asked)).tolist() == expected


@given(held=sentences, asked=sentences, n=st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_holders_are_those_that_comparing_finds(held, asked, n):
    known = set().union(*(passages(text, n) for text in held))
    people = np.arange(1, len(asked) + 1)
    by_passage = {
        passage: sum(count for text, count in zip(asked, people, strict=True) if passage in passages(text, n))
        for passage in known
    }
    holders = Passages.of(Words.of(held), n).holders(Words.of(asked), people)
    assert sorted(holders[holders > 0].tolist()) == sorted(filter(None, by_passage.values()))


@given(phrases=sentences, texts=sentences)
@settings(max_examples=200, deadline=None)
def test_phrases_are_those_that_comparing_finds(phrases, texts):
    expected = [
        bool(phrase) and len(phrase.split()) <= 3 and any(f" {phrase} " in f" {text} " for text in texts)
        for phrase in phrases
    ]
    assert found_phrases(Words.of(phrases), Words.of(texts), 3).tolist() == expected


def test_a_passage_that_is_not_allowed_is_no_passage():
    table = Passages.of(Words.of(["a b c d"]), 2)
    rare = table.holders(Words.of(["a b x", "y b c"]), np.array([5, 1])) == 1
    assert table.held_by(Words.of(["a b x", "y b c", "z z"]), rare).tolist() == [False, True, False]


@given(texts=sentences, known=sentences, n=st.integers(2, 5), part=st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_passages_made_of_phrases_are_those_that_comparing_finds(texts, known, n, part):
    part = min(part, n)
    phrases = set().union(*(passages(text, part) for text in known))
    words, shorter = Words.of(texts), Passages.of(Words.of(texts), part)
    chosen = shorter.holders(Words.of(known), np.ones(len(known), dtype=np.int64)) > 0
    made = Passages.of(words, n).made_of(shorter, chosen, words)
    expected = 0
    for passage in set().union(*(passages(text, n) for text in texts)):
        own = passage[1:] if passage[0] == "whole" else passage
        places = len(own) - part + 1
        expected += 2 * sum(own[at : at + part] in phrases for at in range(places)) > max(places, 0)
    assert made.sum() == expected
