"""Tables as they stand on pages of the documentation, read back as numbers."""

import re
from dataclasses import dataclass

from drawings import Row, Spot

from tabveil.errors import ParameterError

ENOUGH = 0.95  # of the repeats: seen in fewer, a mark is hollow, as in the benchmark's charts
SEEN = "hollow: seen in fewer than 95 % of repeats"
PEOPLE = {"adult": "Adult", "diabetes": "Hospital encounters", "census": "Census"}
_TABLE = re.compile(r"<!-- (?:table|written): (.*?) -->\n(.*?)<!-- end -->", re.DOTALL)
_CELL = re.compile(r"(?P<below><)?(?P<value>[−-]?[\d,]*\.?\d+)(?: \((?P<seen>[\d.]+)\))?")
_ENDS = {"first": 0, "last": -1}
_GAPS = {"", "–", "not computed", "not reached"}


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A table: the names of its columns, and the texts in each line."""

    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, text):
        """Read a table in Markdown."""
        rows = [line for line in text.splitlines() if line.startswith("|")]
        head, _, *lines = (tuple(map(_plain, re.split(r"(?<!\\)\|", row)[1:-1])) for row in rows)
        return cls(head=head, lines=tuple(lines))

    def column(self, name):
        """Return the cells of a column, by the first of their line."""
        place = self.head.index(name)
        return {line[0]: line[place] for line in self.lines}


def _plain(cell):
    """Return the text of a cell without what Markdown needs."""
    return re.sub(r"\\(.)", r"\1", cell.strip().replace("`", ""))


class PageTables:
    """The tables of a page by what their marks say, such as ``noises | contrastive | adult``."""

    def __init__(self, page):
        self._texts = dict(_TABLE.findall(page))

    def __getitem__(self, address):
        if address not in self._texts:
            raise ParameterError(f"The page has no table {address!r} to draw.")
        return Cells.read(self._texts[address])

    def all(self):
        """Return all tables by their marks; None for one that no store has filled yet."""
        return {address: Cells.read(text) if "|" in text else None for address, text in self._texts.items()}

    def find(self, start):
        """Return all tables whose marks begin so, by what follows."""
        return {
            address.removeprefix(start).removeprefix(" | "): Cells.read(text)
            for address, text in self._texts.items()
            if address == start or address.startswith(f"{start} | ")
        }

    def under(self, start):
        """Return all tables whose marks begin so, of which there must be one."""
        found = self.find(start)
        if not found:
            raise ParameterError(f"The page has no table {start!r} to draw.")
        return found


def spot(cell):
    """Read a number, and in how many repeats it was seen; None where there is none.

    >>> spot("0.912 (0.67)"), spot("−0.180"), spot("not computed")
    (Spot(value=0.912, sure=False), Spot(value=-0.18, sure=True), None)
    """
    if cell in _GAPS:
        return None
    found = _CELL.fullmatch(cell)
    if found is None:
        raise ParameterError(f"A cell of a table must hold a number, got {cell!r}.")
    value = float(found["value"].replace("−", "-").replace(",", ""))
    if found["below"]:
        value /= 2  # somewhere between zero and what it is below
    return Spot(value=value, sure=found["seen"] is None or float(found["seen"]) >= ENOUGH)


def number(cell, part="value"):
    """Return one number of a cell: its value, the share of repeats that saw it, or an end of a range.

    >>> number("0.912 (0.67)"), number("0.912 (0.67)", "seen"), number("-0.002 → 0.177", "last")
    (0.912, 0.67, 0.177)
    >>> number("+57 ± 15 %"), number("1,584"), number("–")
    (57.0, 1584.0, None)
    """
    if part in _ENDS:
        cell = cell.split(" → ")[_ENDS[part]] if " → " in cell else ""
    if cell in _GAPS:
        return None
    if part == "seen":
        found = _CELL.fullmatch(cell)
        if found is None or found["seen"] is None:
            raise ParameterError(f"A cell must say in how many repeats it was seen, got {cell!r}.")
        return float(found["seen"])
    found = spot(re.sub(r" ± .*| %$", "", cell).removeprefix("+").replace("-", "−"))
    return None if found is None else found.value


def row(label, cells):
    """Read a row of a drawing; a cell is None where the table has no such number at all.

    >>> row("σ", ["0.5", "not computed", None]).gaps, row("σ", ["0.5", None]).gaps
    (True, False)
    """
    spots = tuple(None if cell is None else spot(cell) for cell in cells)
    gaps = any(cell is not None and found is None for cell, found in zip(cells, spots, strict=True))
    return Row(label=label, spots=spots, gaps=gaps)


def ends(cell):
    """Return the cells at both ends of a range; a missing range has none.

    >>> ends("0.001 → 0.532"), ends("")
    (('0.001', '0.532'), ('', ''))
    """
    return tuple(cell.split(" → ")) if cell else ("", "")
