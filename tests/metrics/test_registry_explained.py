from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from tabveil.core.result import Labels
from tabveil.metrics.attacks import ATTACKS, Linkability, SinglingOut
from tabveil.metrics.indicators import INDICATORS
from tabveil.metrics.registry import explain, inline

LABELS = Labels(pillar="attack", wp29="inference", mechanism="ML")


@dataclass(frozen=True, kw_only=True)
class Written:
    """Is a person
    in the crowd?

    First part,
    in two lines.

    - one item
      of a list
    - another

    >>> 1 + 1
    2

    Parameters
    ----------
    size : int
        How many
        people.

        And why.
    low, high
        The bounds.
    must

    Notes
    -----
    ``risk = 0``.

    Warnings
    --------
    Not one of ours.

    References
    ----------
    .. [1] A. Author (2001).
       A title.
    .. [2] B. Author (2002).
    """

    name: ClassVar[str] = "written"
    labels: ClassVar[Labels] = LABELS

    size: int = 5
    low: float = 0.1
    high: tuple[str, ...] = field(default_factory=lambda: ("a", "b"))
    must: str


def test_every_part_of_a_docstring_is_read():
    found = explain(Written)
    assert found.name == "written"
    assert found.labels is LABELS
    assert found.question == "Is a person in the crowd?"
    assert found.summary == ("First part, in two lines.", "- one item of a list", "- another")
    assert found.parameters == (
        ("size", "5", "How many people. And why."),
        ("low", "0.1", "The bounds."),
        ("high", "('a', 'b')", "The bounds."),
        ("must", "", ""),
    )
    assert found.notes == ("``risk = 0``.",)
    assert found.references == ("A. Author (2001). A title.", "B. Author (2002).")


@dataclass(frozen=True, kw_only=True)
class Silent:
    name: ClassVar[str] = "silent"
    labels: ClassVar[Labels] = LABELS

    size: int = 5


class Child(Written):
    name = "child"


class Plain:
    """Counts."""

    name = "plain"
    labels = LABELS

    def __init__(self, size=3):
        self.size = size


class OnlyParameters(Plain):
    """
    Parameters
    ----------
    size
        How many.
    *more
        Others.
    """

    name = "only_parameters"


@pytest.mark.parametrize("kind", [Silent, Child])
def test_without_a_docstring_the_question_is_the_name(kind):
    found = explain(kind)
    assert found.question == kind.name
    assert found.summary == found.parameters == found.notes == found.references == ()


def test_sections_may_be_missing():
    assert explain(Plain).question == "Counts."
    assert explain(Plain).parameters == explain(Plain).notes == ()
    found = explain(OnlyParameters)
    assert found.question == "only_parameters"
    assert found.parameters == (("size", "3", "How many."), ("more", "", "Others."))


def test_our_own():
    found = explain(Linkability)
    assert found.parameters[0][:2] == ("n_neighbors", "(1, 10)")
    assert {item.name: item.default for item in found.parameters}["confidence"] == "0.95"
    assert found.references[0].startswith("Giomi, M., ")
    assert found.references[0].endswith("Technologies.")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("plain", [("text", "plain")]),
        ("``a * b`` *c*", [("code", "a * b"), ("text", " "), ("emphasis", "c")]),
        ("**so** *n columns*:", [("strong", "so"), ("text", " "), ("emphasis", "n columns"), ("text", ":")]),
        ("2 * 3 * 4 and a*b*c", [("text", "2 * 3 * 4 and a*b*c")]),
        (":class:`~a.b.C`", [("code", "C")]),
        (":func:`a.b`, `title <a.b>`", [("code", "a.b"), ("text", ", "), ("code", "title")]),
        ("``risk`` is <b>", [("code", "risk"), ("text", " is <b>")]),
        ("open ``code", [("text", "open ``code")]),
        ("(*x*)", [("text", "("), ("emphasis", "x"), ("text", ")")]),
    ],
)
def test_inline_markup(text, pieces):
    assert inline(text) == pieces


@pytest.mark.parametrize("kind", [*ATTACKS, *INDICATORS], ids=lambda kind: kind.name)
def test_no_mark_is_left_over_and_the_first_piece_is_readable(kind):
    found = explain(kind)
    texts = [
        *found.summary,
        *found.notes,
        *found.references,
        *(item.description for item in found.parameters),
    ]
    for text in texts:
        shown = "".join(piece for what, piece in inline(text) if what == "text")
        assert not set("`*") & set(shown), shown


def test_emphasis_in_our_docstrings_is_found():
    kinds = [kind for text in explain(SinglingOut).summary for kind, _ in inline(text)]
    assert kinds.count("emphasis") == 4
