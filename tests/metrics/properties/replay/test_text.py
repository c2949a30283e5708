"""Text replay: passages counted by hand, planted ones, none planted, and texts that nobody would send."""

from dataclasses import replace

import numpy as np
import pytest
from supplies.words_of_people import VOCABULARY, split_of, split_of_texts, texts

from tabveil.core.rng import stream
from tabveil.errors import NothingToAsk, ParameterError
from tabveil.metrics.properties import TextReplay


def ask(split, **given):
    return TextReplay(**given)(split, rng=stream(1, "text_replay"))


def test_by_hand():
    train = ["the red cat sat on a mat", "a dog ran over the hill", "no more of this", "nobody came today"]
    control = ["two birds sang in the tree", "it rained a lot in May"]
    release = ["then the red cat sat down", "No more of THIS!", "two birds flew", "somebody came today"]
    found = ask(split_of_texts(train, control, release), n_words=4)
    four, eight, sixteen = found.configurations
    assert four.attack.value == 2 / 4  # "the red cat sat", and a text of four words
    assert four.control.value == 0
    assert four.risk.value == 0.5
    assert eight.attack.value == sixteen.attack.value == 0  # no text has so many words
    assert found.details["longest_passage_train"] == 4
    assert found.details["longest_passage_control"] is None  # "two birds" are no passage
    assert found.sensitive_scores[0].values.tolist() == [1, 0, 1, 0]


def test_a_part_of_a_short_text_is_no_passage():
    found = ask(split_of_texts(["he fell"], ["x"], ["he fell from a tree"]), n_words=3)
    assert found.attack.value == 0


def test_turns_of_phrase_are_set_aside():
    formula = "with kind regards from the whole team of our hospital"
    rng = np.random.default_rng(0)
    train, control, release = (
        [f"{text}. {formula}" for text in texts(n, rng, least=20)] for n in (60, 40, 60)
    )
    found = ask(split_of_texts(train, control, release), n_words=10)
    assert found.attack.value == found.control.value == 0
    only_here = [f"{text}. {formula}" for text in texts(2, rng)]
    found = ask(split_of_texts([*texts(58, rng), *only_here], texts(40, rng), release), n_words=10)
    assert found.configurations[0].facts["train_people"] == 2  # two people share it: it may be theirs


def test_a_formula_with_a_word_before_it_is_still_one():
    formula = "with kind regards from our whole team"
    train, control, release = (
        [f"{word} {formula}" for word in words]
        for words in (VOCABULARY[:40], VOCABULARY[40:60], [*VOCABULARY[:20], *VOCABULARY[60:80]])
    )
    found = ask(split_of_texts(train, control, release), n_words=8)
    assert found.attack.value == found.control.value == 0
    own = [f"{' '.join(VOCABULARY[60 + 6 * row : 66 + 6 * row])} {train[row]}" for row in range(5)]
    found = ask(split_of_texts([*own, *train[5:]], control, own), n_words=8)
    assert found.configurations[0].facts["train_people"] == 5


def test_texts_that_are_equal_are_one_persons_and_another_s():
    same = "one and the same long text about a person"
    found = ask(split_of_texts([same, same, "x"], ["y"], [same]), n_words=5)
    assert found.configurations[0].facts["train_people"] == 2
    found = ask(split_of_texts([same, same, same, "x"], ["y"], [same]), n_words=5)
    assert found.configurations[0].facts["train_people"] == 0


def test_a_passage_may_move_to_another_column():
    passage = "a passage that somebody wrote about somebody else"
    train = {"notes": [passage], "letter": ["something"]}
    other = {"notes": ["nothing"], "letter": ["of that kind"]}
    release = {"notes": ["nothing"], "letter": [f"dear all: {passage}"]}
    found = ask(split_of(train, other, release, notes="text", letter="text"))
    assert found.configurations[0].attack.value == 1
    by_column = {item.setting.target: item.attack.value for item in found.configurations}
    assert by_column == {None: 0, "letter": 0, "notes": 1}  # the last without a column: 32 words


def planted(seed, *, n_train=2000, n_control=1000, n_release=2000, share=0.01, n_words=12):
    """A release of which a share of the texts contains a passage of a training text."""
    rng = np.random.default_rng(seed)
    train, control, release = (texts(n, rng) for n in (n_train, n_control, n_release))
    for place in range(round(share * n_release)):
        words = train[place].split()
        start = rng.integers(0, len(words) - n_words + 1)
        release[place] = f"{release[place]} {' '.join(words[start : start + n_words])}"
    return split_of_texts(train, control, release)


@pytest.mark.parametrize("seed", range(3))
def test_one_percent_of_texts_with_a_training_passage_is_seen(seed):
    found = ask(planted(seed))
    assert found.risk.low > 0
    assert found.attack.value == pytest.approx(0.01, abs=0.002)
    assert found.details["longest_passage_train"] >= 12


@pytest.mark.parametrize("sizes", [(300, 300), (600, 60), (60, 600)])
def test_a_release_that_repeats_nothing_is_not_above_zero(sizes):
    """Texts of a few words each share passages by chance, so that rates are not zero."""
    n_train, n_control = sizes
    above = below = shared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        few = VOCABULARY[:20]
        make = [[" ".join(rng.choice(few, 12)) for _ in range(n)] for n in (n_train, n_control, 300)]
        found = ask(split_of_texts(*make), n_words=4)
        above += found.risk.low > 0
        below += found.risk.high < 0
        shared += found.configurations[0].attack.value > 0.02
    assert shared == 60  # otherwise nothing would be tested
    assert above <= 4  # of 60 that hold together at 95 %, 1.5 are expected on each side
    assert below <= 4


def test_the_interval_holds_the_planted_share():
    """Over many people, the risk is the share of people whose passage was planted."""
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        train, control, release = (texts(200, rng) for _ in range(3))
        leaked = rng.random(200) < 0.1  # each person's text is repeated with a chance of a tenth
        for place in np.flatnonzero(leaked):
            release[place] = train[place]
        found = ask(split_of_texts(train, control, release)).configurations[0].risk
        covered += found.low <= 0.1 <= found.high
    assert covered >= 36


def test_without_control_there_is_a_share_and_no_risk():
    found = ask(split_of_texts(["a b c d e"], [], ["a b c d e"]), n_words=3)
    assert found.attack.value == 1
    assert found.control is found.risk is None
    assert found.notes
    assert TextReplay().sentence(found).startswith("1 training person (100%) has a text")


def test_rows_without_a_text_are_people_too():
    found = ask(split_of_texts(["a b c d e", None, None, ""], [None], ["a b c d e"]), n_words=3)
    assert found.attack.value == 1 / 4


@pytest.mark.parametrize(
    "tables",
    [
        (["a"], ["b"], [None]),
        ([None], ["b"], ["c"]),
        ([None], [], [None]),
    ],
)
def test_where_nobody_wrote_anything_there_is_nothing_to_ask(tables):
    with pytest.raises(NothingToAsk, match="text_replay: "):
        ask(split_of_texts(*tables))


def test_labels_are_no_texts():
    rows = {"ward": ["surgery"]}
    with pytest.raises(NothingToAsk, match="free text"):
        ask(split_of(rows, rows, rows))


@pytest.mark.parametrize(
    "text",
    [
        "word " * 200_000,
        "x" * 1_000_000,
        "患者" * 300_000,
        "\0" * 1_000_000,
        "a\0b c\u202ed \U0001f600 é 漢 ไทย שלום " * 20_000,
        "",
    ],
    ids=["a million letters", "one word", "no spaces", "null bytes", "mixed scripts", "empty"],
)
def test_hostile_texts(text):
    found = ask(split_of_texts([text, "plain"], ["other"], [text]))
    words = found.details["words_in_release"]
    assert found.attack.value == (0.5 if words else 0)
    assert found.details["longest_passage_train"] == (words or None)


def test_a_column_of_one_text():
    same = ["always the very same text for every single person"] * 50
    found = ask(split_of_texts(same, same, same))
    assert found.attack.value == found.control.value == 0
    assert found.risk.value == 0


def test_passages_must_have_some_words():
    with pytest.raises(ParameterError, match="TextReplay: n_words must be >= 3"):
        TextReplay(n_words=2)


def with_people(split, train, control):
    return replace(
        split,
        train=replace(split.train, people=np.array(train)),
        control=replace(split.control, people=np.array(control)),
    )


def test_a_passage_in_many_texts_of_a_person_is_their_own():
    own = "she came because of her mother again"
    rng = np.random.default_rng(2)
    train = [f"{own} {text}" for text in texts(6, rng)] + texts(3, rng)
    tables = split_of_texts(train, texts(4, rng), [f"then {own} and left", *texts(5, rng)])
    found = ask(with_people(tables, [0] * 6 + [1, 2, 2], [5, 5, 6, 7]), n_words=6)
    first = found.configurations[0]
    assert (first.facts["train_people"], first.attack.value) == (1, 1 / 3)
    assert (first.control.value, first.control.n) == (0, 3)
    assert found.sensitive_scores[0].values.tolist() == [1.0] * 6 + [0.0] * 3
    assert ask(tables, n_words=6).attack.value == 0  # six people's would be nobody's own


def test_a_formula_is_what_many_people_write_and_not_one_person_often():
    formula = "with kind regards from our team"
    rng = np.random.default_rng(3)
    train = [f"{formula} {text}" for text in texts(40, rng)]
    tables = split_of_texts(train, texts(20, rng), [f"{formula} {text}" for text in texts(20, rng)])
    by_many = with_people(tables, np.arange(40), 50 + np.arange(20))
    assert ask(by_many, n_words=6).attack.value == 0
    by_one = with_people(tables, np.zeros(40, int), 50 + np.arange(20))
    assert ask(by_one, n_words=6).configurations[0].facts["train_people"] == 1


def test_one_row_each_is_every_row_another_person():
    rng = np.random.default_rng(4)
    train, control = texts(30, rng), texts(20, rng)
    tables = split_of_texts(train, control, [*train[:4], *control[:1], *texts(20, rng)])
    named = with_people(tables, rng.permutation(30), 30 + rng.permutation(20))
    first, second = (
        [(item.risk, item.attack, item.control, item.facts) for item in ask(each).configurations]
        for each in (tables, named)
    )
    assert first == second
