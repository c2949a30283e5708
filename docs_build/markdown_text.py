"""Pieces of Markdown that several generated pages are put together from."""

import re
from collections.abc import Iterable, Sequence

from tabveil.metrics.registry import inline

_SPECIAL = re.compile(r"([\\`*_{}\[\]>#])")
_CODE = re.compile(r"(`[^`]*`)")
_MARKUP = re.compile(r"\[/?[a-z ]*\]")  # what rich sets bold or colors on the terminal


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    """Escape bars, which would end the cell; inside code they do not, and an escape would be shown."""
    pieces = _CODE.split(text)
    return " ".join("".join(_bar(piece) for piece in pieces).split())


def _bar(piece: str) -> str:
    return piece if piece.startswith("`") else piece.replace("|", "\\|")


def plain(text: str) -> str:
    """Write a text so that nothing in it is taken for markup."""
    return _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def rich_text(text: str) -> str:
    """Write a text that has the terminal's markup without it.

    >>> rich_text("Give [bold]--control[/] if you can.")
    'Give --control if you can.'
    """
    return plain(_MARKUP.sub("", text))


def from_docstring(text: str) -> str:
    """Write a paragraph of a docstring: code and emphasis stay what they are, all else is plain."""
    return "".join(_piece(kind, piece) for kind, piece in inline(text))


def _piece(kind: str, text: str) -> str:
    match kind:
        case "code":
            return f"`{text}`"
        case "emphasis":
            return f"*{plain(text)}*"
        case "strong":
            return f"**{plain(text)}**"
        case _:
            return plain(text)
