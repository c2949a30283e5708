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
from pathlib import Path

import contrastive_figures
import hybrid_figures
import papers_figures
from page_tables import PageTables

from tabveil.core.storage.files import write_text
from tabveil.errors import ParameterError

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDER = "figures"
MARK = re.compile(
    r"<!-- figure: ([^\n]*) -->\n(?:(?!<!-- (?:figure|table|written): ).)*?<!-- end -->", re.DOTALL
)
KINDS = {
    kind.__name__: kind
    for kind in (
        contrastive_figures.noises,
        contrastive_figures.generators,
        contrastive_figures.leaks,
        contrastive_figures.found,
        contrastive_figures.sweep,
        contrastive_figures.seconds,
        contrastive_figures.scaling,
        hybrid_figures.stages,
        hybrid_figures.tradeoff,
        hybrid_figures.settings,
        papers_figures.both_ends,
        papers_figures.rising,
        papers_figures.times,
        papers_figures.usefulness,
    )
}
"""What a page can ask for, by name; arguments are texts."""


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
    if len(MARK.findall(page)) != page.count("<!-- figure: "):
        raise ParameterError("Below the mark of a figure must stand <!-- end -->, before any table.")
    tables, drawn = PageTables(page), {}

    def put(match):
        name, *given = (part.strip() for part in match[1].split("|"))
        if name not in KINDS:
            raise ParameterError(f"A figure must be one of {', '.join(KINDS)}, got {name!r}.")
        title, text = KINDS[name](tables, *given)
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
