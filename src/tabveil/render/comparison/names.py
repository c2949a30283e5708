"""What releases are called where many stand under each other: without what all of their names share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tabveil.core.wording import both_ends, name

_PIECE = re.compile(r"[^\W_]+|[\W_]")
LONGEST = 12
"""Names that are no longer need no shortening."""


@dataclass(frozen=True, kw_only=True)
class ShortNames:
    """Names that stay distinct, in the order of those that were given, and what was left out of all."""

    names: tuple[str, ...]
    start: str = ""
    end: str = ""

    @property
    def note(self) -> str:
        """Say what all names share, as it is left out; nothing where nothing is."""
        told = [
            f"{verb} with “{name(text)}”" for verb, text in (("begin", self.start), ("end", self.end)) if text
        ]
        return f"All names {' and '.join(told)}, which is left out here." if told else ""


def shortened(names: Sequence[str]) -> ShortNames:
    """Leave out whole words that all names begin or end with.

    >>> short = shortened(["liver_2024_ctgan_v1", "liver_2024_trees_v1"])
    >>> short.names, short.start, short.end
    (('ctgan', 'trees'), 'liver_2024_', '_v1')
    >>> shortened(["a long name, seed 1", "a long name, seed 2"]).names
    ('seed 1', 'seed 2')
    >>> shortened(["a", "b"]).names
    ('a', 'b')
    """
    if len(names) < 2 or max(map(len, names)) <= LONGEST:  # noqa: PLR2004 - there is nothing to share
        return ShortNames(names=tuple(names))
    pieces = [_PIECE.findall(text) for text in names]
    first = _shared(pieces)
    last = _shared([own[first:][::-1] for own in pieces])

    def kept() -> list[str]:
        return ["".join(own[first : len(own) - last]) for own in pieces]

    while first and not all(any(map(str.isalpha, text)) for text in kept()):
        first = max((at for at in range(first - 1) if not pieces[0][at].isalnum()), default=-1) + 1
    start, end = "".join(pieces[0][:first]), "".join(pieces[0][len(pieces[0]) - last :])
    return ShortNames(names=tuple(kept()), start=start, end=end if last else "")


def _shared(pieces: Sequence[Sequence[str]]) -> int:
    """Count pieces that all begin with, of which the last is no word: words are not cut, each keeps one."""
    most = min(map(len, pieces)) - 1
    same = next((at for at in range(most) if len({own[at] for own in pieces}) > 1), max(most, 0))
    while same and pieces[0][same - 1].isalnum():
        same -= 1
    return same


def fitted(names: Sequence[str], longest: int) -> list[str]:
    """Cut names in their middle where they stay distinct.

    >>> fitted(["a very long name, seed 1", "a very long name, seed 2"], 12)
    ['a very…eed 1', 'a very…eed 2']
    """
    cut = [both_ends(text, longest) for text in names]
    return cut if len(set(cut)) == len(names) else list(names)
