"""Figures of the documentation, drawn from the tables that stand on its pages.

``python experiments/figures.py`` looks through docs/*.md for marks such as

    <!-- figure: noises | contrastive | adult -->
    <!-- end -->

draws what is asked for into docs/figures, and puts the picture between the two. The numbers are read from
tables on the same page: those between ``<!-- table: … -->`` and ``<!-- end -->``, which pages.py fills, and
those between ``<!-- written: … -->`` and ``<!-- end -->``, which are written by hand. So a figure says what
its table says, and needs no store of a study to be drawn again.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from drawings import Curve, Panel, Row, Spot, curves, dots

from tabveil.errors import ParameterError
from tabveil.writing import write_text

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDER = "figures"
MARK = re.compile(r"<!-- figure: (.*?) -->\n.*?<!-- end -->", re.DOTALL)
_TABLE = re.compile(r"<!-- (?:table|written): (.*?) -->\n(.*?)<!-- end -->", re.DOTALL)
_CELL = re.compile(r"(?P<below><)?(?P<value>[−-]?[\d,]*\.?\d+)(?: \((?P<seen>[\d.]+)\))?")
_GAPS = {"", "–", "not computed", "not reached"}
ENOUGH = 0.95  # of the repeats: seen in fewer, a mark is hollow, as in the benchmark's charts

SPACES = {
    "": "by the mixed distance",
    "contrastive": "in the contrastive space",
    "both spaces": "in both together",
}
NOISES = ("no noise", "σ", "λ", "p", "σ, λ", "σ, p", "λ, p", "σ, λ, p")
PEOPLE = {"adult": "Adult", "diabetes": "Hospital encounters", "census": "Census"}
FIRST = ("singling_out", "distance_to_closest")  # side by side, as the thesis has them in one figure
THESIS = {"singling_out": "3.4", "distance_to_closest": "3.4", "linkability": "3.6", "inference": "3.7"}
_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)"
_SECONDS = {
    "papers": rf"{_NUMBER}.*",
    "here": rf"(?:{_NUMBER} to )?{_NUMBER}.*",
    "here, on one CPU core": rf".*on one CPU core {_NUMBER}",
    "here, by the mixed distance": rf".*\((?:by the mixed distance )?{_NUMBER}\)",
}
_SEEN = "hollow: seen in fewer than 95 % of repeats"


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A table as it stands on a page: the names of its columns, and the texts in each line."""

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
    return re.sub(r"\\(.)", r"\1", cell.strip()).strip("`")


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


class Figures:
    """The figures that a page can ask for, by name; arguments are texts. Each comes with its title."""

    def __init__(self, page):
        self.tables = dict(_TABLE.findall(page))

    def make(self, text):
        """Draw what a mark asks for."""
        name, *given = (part.strip() for part in text.split("|"))
        return getattr(self, name)(*given)

    def _cells(self, *address):
        wanted = " | ".join(address)
        if wanted not in self.tables:
            raise ParameterError(f"The page has no table {wanted!r} to draw.")
        return Cells.read(self.tables[wanted])

    def noises(self, study, dataset):
        """Draw what attacks see in a full copy behind noise, by space."""
        cells = self._cells("noises", study, dataset)
        title = f"{PEOPLE[dataset]}: a full copy behind noise of 0.05, by form of noise"
        published = {name: number for name, number in THESIS.items() if dataset == "adult" or name in FIRST}
        names = {name: f"{name}, beside figure {number}" for name, number in published.items()}
        return self._by_space(cells, NOISES, title, names)

    def generators(self, study, dataset):
        """Draw what attacks see in releases of generators, by space."""
        cells = self._cells("noises", study, dataset)
        return self._by_space(cells, cells.head[1:], f"{PEOPLE[dataset]}: releases of generators", {})

    def _by_space(self, cells, settings, title, names):
        """Draw a panel for each attack: a row for each setting, a mark for each space."""
        attacks = {name: {} for name in FIRST}
        for label in cells.column(settings[0]):
            attack, _, space = label.partition(", ")
            attacks.setdefault({"membership": "membership_calibrated"}.get(attack, attack), {})[space] = label
        columns = {setting: cells.column(setting) for setting in settings}
        panels = tuple(
            Panel(
                name=names.get(attack, attack),
                rows=tuple(
                    Row(label=setting, spots=tuple(spot(column.get(spaces.get(s), "")) for s in SPACES))
                    for setting, column in columns.items()
                ),
            )
            for attack, spaces in attacks.items()
        )
        return title, dots(
            panels,
            series=tuple(SPACES.values()),
            title=title,
            across="gain (of distance_to_closest: risk)",
            told_apart=_SEEN,
        )

    def found(self, *given):
        """Draw how many members are found at few false alarms; studies and datasets by turns."""
        panels = []
        for study, dataset in zip(given[::2], given[1::2], strict=True):
            start = f"found_beyond | {study} | {dataset} | "
            for address in (address for address in self.tables if address.startswith(start)):
                cells = self._cells(address)
                risk = address.removeprefix(start).split(" | ")[0]
                rows = tuple(
                    Row(label=re.sub(r"^membership(_|, )", "", name), spots=tuple(map(spot, numbers)))
                    for name, *numbers in cells.lines
                )
                panels.append(Panel(name=f"{PEOPLE[dataset]}, {risk}", rows=rows))
                rates = cells.head[1:]
        title = "Members found by membership attacks, at few false alarms"
        return title, dots(
            panels,
            series=tuple(f"at {rate.replace('%', ' %')} false alarms" for rate in rates),
            title=title,
            across="share of members found, less the share of others wrongly named",
        )

    def sweep(self, study, dataset):
        """Draw what settings of the embedding change; attacks with the same settings stand in one panel."""
        cells = self._cells("noises", study, dataset)
        found = {}
        for label, number in cells.column(cells.head[1]).items():
            attack, _, setting = label.partition(", ")
            found.setdefault(attack, {})[setting] = spot(number)
        attacks = tuple(found)
        panels = []
        for settings in dict.fromkeys(map(tuple, found.values())):
            shown = [attack for attack in attacks if tuple(found[attack]) == settings]
            rows = tuple(
                Row(
                    label=setting,
                    spots=tuple(found[each][setting] if each in shown else None for each in attacks),
                )
                for setting in settings
            )
            (usual,) = (row.spots for row in rows if row.label == "default")
            beside = tuple(None if each is None else each.value for each in usual)
            panels.append(Panel(name=" and ".join(shown), rows=rows, beside=beside))
        title = f"{PEOPLE[dataset]}: a full copy {cells.head[1]}, one setting changed at a time"
        return title, dots(
            panels,
            series=attacks,
            title=title,
            across="gain",
            columns=1,
            own_axes=True,
            told_apart=_SEEN,
            beside="dotted: the default",
        )

    def seconds(self):
        """Draw seconds beside the papers'; of a range, the longer."""
        cells = self._cells("seconds")
        rows = tuple(
            Row(
                label=name,
                spots=tuple(_seconds(papers if who == "papers" else here, who) for who in _SECONDS),
            )
            for name, papers, here in cells.lines
        )
        title = "Seconds, papers and here"
        panel = Panel(name="", rows=rows)
        across = "seconds (each line ten times the one before)"
        return title, dots(
            [panel], series=tuple(_SECONDS), title=title, across=across, columns=1, bend="log", missing=""
        )

    def scaling(self):
        """Draw how seconds grow with rows, beside the papers'."""
        cells = self._cells("scaling")
        sizes = [float(size.replace(",", "")) for size in cells.head[1:]]
        kinds = ("singling out", "in the space", "training")
        drawn = [
            Curve(
                label=name,
                points=tuple(
                    (size, None if (found := spot(number)) is None else found.value)
                    for size, number in zip(sizes, numbers, strict=True)
                ),
                color=next(place for place, kind in enumerate(kinds) if name.startswith(kind)),
                dashed=", papers" in name,
            )
            for name, *numbers in cells.lines
        ]
        title = "Seconds of singling out on the census, by rows"
        upward = "seconds (each line ten times the one below)"
        return title, curves(drawn, title=title, across="rows", upward=upward)


def _seconds(cell, who):
    """Read the seconds of somebody out of a cell; None where it has none.

    >>> _seconds("0.5 to 0.7; on one CPU core 21", "here")
    Spot(value=0.7, sure=True)
    """
    found = re.fullmatch(_SECONDS[who], cell)
    return None if found is None else Spot(value=float(found[found.lastindex].replace(",", "")))


def current(docs=DOCS):
    """Return every page with figures and every figure, with the text it should have."""
    wanted = {}
    for page in sorted(docs.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        filled, figures = fill(text)
        wanted |= {docs / place: drawn for place, drawn in figures.items()}
        if figures:
            wanted[page] = filled
    return wanted


def fill(page):
    """Return a page with its pictures, and the figures that they show, by their place."""
    figures, drawn = Figures(page), {}

    def put(match):
        title, text = figures.make(match[1])
        place = f"{FOLDER}/{_file_name(match[1])}"
        drawn[place] = text
        return f"<!-- figure: {match[1]} -->\n\n![{title}]({place})\n\n<!-- end -->"

    return MARK.sub(put, page), drawn


def _file_name(mark):
    """Return the file of a figure, named after what it shows.

    >>> _file_name("noises | contrastive | adult")
    'noises_contrastive_adult.svg'
    """
    return "_".join(re.findall(r"\w+", mark)) + ".svg"


def write(docs=DOCS):
    """Draw all figures anew; what no page asks for any more is removed."""
    wanted = current(docs)
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            write_text(path, text)
            print(f"written: {path.name}", file=sys.stderr)
    for path in set((docs / FOLDER).glob("*.svg")) - set(wanted):
        path.unlink()


if __name__ == "__main__":
    write()
