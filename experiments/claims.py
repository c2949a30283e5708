"""The papers' claims, each with the numbers that speak for and against it, and the verdict that follows.

``python experiments/claims.py`` reads ``claims/claims.yaml`` and the tables that stand on the pages of docs/
(``pages.py`` fills those from stores, and then calls this), and writes docs/claims.md between its marks, and
docs/claims.json.

A number has an address: the mark of a table, a row, a column, and perhaps which part of the cell:
``curve | leaky | adult | leaky | seen > gtcap > 100%``, ``… > 100% > seen``. Conditions compare numbers. All
hold: the claim *holds*; some: *holds in part*; none: *does not hold*. Numbers with the papers' settings and
numbers with ours are asked apart: where one of a kind is missing, none of that kind is counted, and where
nothing is counted the claim is *open*.
"""

import ast
import json
import operator
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml
from page_tables import PageTables, number

from tabveil.core.storage.files import write_text
from tabveil.errors import ParameterError
from tabveil.render.benchmark import markdown

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
CLAIMS = HERE / "claims" / "claims.yaml"
PAGE, DATA = "claims.md", "claims.json"
MARK = re.compile(r"<!-- claims: (\w+)(?: \| (\w+))? -->\n.*?<!-- end -->", re.DOTALL)
VERDICTS = ("holds", "holds in part", "does not hold", "open")
SETTINGS = {"theirs": "ours with their settings", "ours": "ours with our attack"}
ANSWERED = "answered"
"""The table that says of each study as published how much of it was run."""
PUBLISHED = "published_"
"""How the names of these studies begin."""

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.USub: operator.neg,
}
_CALLS = {"abs": abs, "min": min, "max": max}


class Numbers:
    """All tables on all pages, asked for one cell at a time."""

    def __init__(self, pages):
        self.titles, self._tables = {}, {}
        for name, text in pages.items():
            self.titles |= headings(name, text)
            self._tables |= PageTables(text).all()

    @classmethod
    def of(cls, docs=DOCS):
        """Read the pages in a folder."""
        return cls({page.name: page.read_text(encoding="utf-8") for page in sorted(docs.glob("*.md"))})

    def __getitem__(self, address):
        """Return the number at an address; None where it is not known yet.

        A column may be named by the one left of it: ``census, papers + 1``. Tables of studies as published
        leave out what nobody has run.
        """
        mark, row, column, *part = (text.strip() for text in address.split(" > "))
        if mark not in self._tables:
            raise ParameterError(f"No page has a table {mark!r}.")
        table = self._tables[mark]
        if table is None:
            return None
        column, _, further = column.partition(" + ")
        lines = {line[0]: line for line in table.lines}
        if row not in lines or column not in table.head:
            if PUBLISHED in mark:
                return None
            raise ParameterError(f"The table {mark!r} has no cell {row!r}, {column!r}.")
        return number(lines[row][table.head.index(column) + int(further or 0)], *part)

    def answered(self, study):
        """Return what the table of studies as published says of one."""
        tables = (table for mark, table in self._tables.items() if mark.startswith(f"{ANSWERED} | "))
        lines = {line[0]: line[1:] for table in tables if table is not None for line in table.lines}
        return lines.get(study)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one kind of settings says of a claim: its numbers, and which conditions they meet."""

    numbers: dict[str, float | None]
    conditions: dict[str, bool]

    @property
    def known(self):
        """Whether there are numbers, and none is missing."""
        return bool(self.numbers) and None not in self.numbers.values()


def answer(asked, numbers, tables=None):
    """Look up the numbers of one kind, and ask its conditions where none is missing.

    >>> asked = {"numbers": {"a": "t > r > c"}, "holds": ["a < 2", "abs(a) > 2"]}
    >>> answer(asked, {"t > r > c": 1.0}).conditions
    {'a < 2': True, 'abs(a) > 2': False}
    """
    found = {name: numbers[address] for name, address in addresses(asked, tables or {}).items()}
    given = Answer(numbers=found, conditions={})
    if given.known:
        given.conditions.update({text: met(text, found) for text in asked["holds"]})
    return given


def addresses(asked, tables):
    """Return the addresses of numbers by name, with the marks of tables in the place of their short names.

    >>> addresses({"numbers": {"a": "t > r > c"}}, {"t": "curve | leaky"})
    {'a': 'curve | leaky > r > c'}
    """
    split = {name: address.partition(" > ") for name, address in asked.get("numbers", {}).items()}
    return {name: f"{tables.get(table, table)} > {cell}" for name, (table, _, cell) in split.items()}


def met(condition, numbers):
    """Say whether a comparison is true of numbers; nothing else than comparing and reckoning is understood.

    >>> met("a - b < 0.1", {"a": 0.5, "b": 0.45})
    True
    """
    tree = ast.parse(condition, mode="eval").body
    if not isinstance(tree, ast.Compare):
        raise ParameterError(f"A condition must be a comparison, got {condition!r}.")
    if not all(type(op) in _OPERATORS for op in tree.ops):
        raise ParameterError(f"A condition must compare by <, <=, > or >=, got {condition!r}.")
    values = [_value(node, numbers) for node in (tree.left, *tree.comparators)]
    pairs = zip(tree.ops, values, values[1:], strict=False)
    return all(_OPERATORS[type(op)](left, right) for op, left, right in pairs)


def _value(node, numbers):
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in numbers:
            return numbers[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, numbers)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, numbers), _value(right, numbers))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _CALLS[name](*(_value(item, numbers) for item in args))
    raise ParameterError(f"A condition must name numbers of its claim, got {ast.unparse(node)!r}.")


def verdict(answers):
    """Return what follows from all conditions that could be asked.

    >>> verdict([])
    'open'
    """
    found = [kept for given in answers for kept in given.conditions.values()]
    if not found:
        return "open"
    return "holds" if all(found) else "holds in part" if any(found) else "does not hold"


def read():
    """Return all claims as they are written down."""
    return yaml.safe_load(CLAIMS.read_text(encoding="utf-8"))


def judged(written, numbers):
    """Return each claim with what both kinds of settings say of it."""
    return [
        (claim, {kind: answer(claim.get(kind, {}), numbers, written["tables"]) for kind in SETTINGS})
        for claim in written["claims"]
    ]


def disagreements(found):
    """Return the claims whose verdict does not follow from their numbers."""
    return [
        f"{claim['id']}: {claim['verdict']} is said, {verdict(given.values())} follows"
        for claim, given in found
        if claim["verdict"] != verdict(given.values())
    ]


def table(found, numbers, tables, part):
    """Return the table of the claims of one part."""
    rows = []
    for place, (claim, given) in enumerate(found, 1):
        if claim["part"] != part:
            continue
        cells = [_said(claim.get(kind, {}), given[kind]) for kind in SETTINGS]
        said = f"{place}. {claim['claim']} ({claim['where']})"
        rows.append(
            [
                said,
                claim["papers"],
                *cells,
                f"*{claim['verdict']}*",
                _people(claim, numbers, tables),
                _link(claim, numbers.titles),
            ]
        )
    head = ["claim", "papers", *SETTINGS.values(), "verdict", "tables, rows, repeats", "see"]
    return markdown.table(head, rows)


def _said(asked, given):
    if not asked.get("numbers"):
        return f"*not run*: {asked['open']}" if "open" in asked else "–"
    if not given.known:
        return f"*not run*: {asked['open']}"
    names = {name: name.replace("__", ".").replace("_", " ") for name in given.numbers}
    return ", ".join(f"{names[name]}: {_written(value)}" for name, value in given.numbers.items())


def _written(value):
    return f"{value:.3f}".rstrip("0").rstrip(".").replace("-", "−") if value else "0"


def _people(claim, numbers, tables):
    """Return who stands behind the numbers: written down for studies before, read for those as published."""
    parts = [claim["people"]] if "people" in claim else []
    for study in studies(claim.get("theirs", {}), tables):
        if (known := numbers.answered(study)) is not None and not known[-1].startswith("0 "):
            table_, rows, repeats, _ = known
            parts.append(f"`{study}`: {table_}, {rows} rows, repeats: {repeats}")
    return "; ".join(parts)


def studies(asked, tables):
    """Return the studies as published that numbers are read from."""
    marks = [address.split(" > ")[0].split(" | ") for address in addresses(asked, tables).values()]
    return sorted({part for mark in marks for part in mark if part.startswith(PUBLISHED)})


def _link(claim, titles):
    if claim["link"] not in titles:
        raise ParameterError(
            f"The claim {claim['id']!r} links to {claim['link']!r}, which is no heading of a page."
        )
    return f"[{titles[claim['link']]}]({claim['link']})"


def headings(page, text):
    r"""Return the titles on a page by the links that lead to them.

    >>> headings("a.md", "# Beside\n## Table 4.3, leaky\n")
    {'a.md': 'Beside', 'a.md#beside': 'Beside', 'a.md#table-43-leaky': 'Table 4.3, leaky'}
    """
    found = re.findall(r"^#{1,3} (.+)$", text, re.MULTILINE)
    slugs = {
        f"{page}#{re.sub(r'[^a-z0-9 -]', '', title.lower()).replace(' ', '-')}": title for title in found
    }
    return {page: found[0], **slugs} if found else {}


def conditions(found, part):
    """Return what was asked of each claim of one part, and what the numbers answered."""
    lines = []
    for place, (claim, given) in enumerate(found, 1):
        if claim["part"] != part:
            continue
        asked = [
            f"`{text}`{' (their settings)' if kind == 'theirs' else ''} {'yes' if kept else '**no**'}"
            for kind in SETTINGS
            for text, kept in given[kind].conditions.items()
        ]
        lines.append(f"- **{place}.** " + (" · ".join(asked) if asked else "nothing could be asked"))
    return "\n".join(lines)


def counts(found):
    """Return how many claims have which verdict."""
    said = [claim["verdict"] for claim, _ in found]
    listed = ", ".join(f"{said.count(item)} *{item}*" for item in VERDICTS)
    return f"Of {len(said)} claims: {listed}."


def current(numbers, page):
    """Return the page and the data as they should stand."""
    written = read()
    found = judged(written, numbers)
    makes = {
        "table": lambda part: table(found, numbers, written["tables"], part),
        "conditions": lambda part: conditions(found, part),
        "counts": lambda _: counts(found),
    }

    def put(match):
        name, part = match.groups()
        mark = name if part is None else f"{name} | {part}"
        return f"<!-- claims: {mark} -->\n\n{makes[name](part)}\n\n<!-- end -->"

    text = MARK.sub(put, page)
    data = [
        {
            "id": claim["id"],
            "verdict": claim["verdict"],
            **{
                kind: {"numbers": answered.numbers, "conditions": answered.conditions}
                for kind, answered in given.items()
            },
        }
        for claim, given in found
    ]
    return text, json.dumps(data, indent=1, ensure_ascii=False) + "\n", disagreements(found)


def write(docs=DOCS):
    """Write the page and its data; say which verdicts do not follow from their numbers."""
    page = docs / PAGE
    text, data, wrong = current(Numbers.of(docs), page.read_text(encoding="utf-8"))
    write_text(page, text)
    write_text(docs / DATA, data)
    for line in wrong:
        print(line, file=sys.stderr)
    return wrong


if __name__ == "__main__":
    sys.exit(1 if write() else 0)
