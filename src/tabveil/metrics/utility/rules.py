"""Do synthetic rows keep to the rules that hold among real ones?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate import Estimate, share
from tabveil.core.people import Flags
from tabveil.core.sampling import draw, shuffled
from tabveil.core.table import Column, Floats, Indices, Numeric, Split, Table
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.findings import Figure, Rule, RuleKind, Rules
from tabveil.metrics.utility.utility_kernels import find_ordered
from tabveil.tables.matrices.ordinal import Codes, ComparedLevels
from tabveil.tables.matrices.ranked_kernels import find_determined

MOST_ROWS = 100_000
MOST_COLUMNS = 200
"""Rules are looked for in at most so many rows of each table, and among so many columns."""
LEAST_VERIFIED = 20
"""A rule is verified if it holds in at least so many rows that it had not been found in."""
NUMBERS, TIMES, DATES = range(3)
"""Columns of one of these kinds can be compared by size."""
N_PROBES = 24
N_TRIED = 64
MOST_SUMMANDS = 100
MOST_SUSPECTS = 2000
"""Of columns and of suspects, in tables where there are more."""
EXCEPTIONS = 0.001
"""In so few rows a sum may be off: that numbers add up in the others is no chance."""
RELATIVE = 1e-6
"""By so much of itself a sum of numbers without decimals may be off."""
ROWS_A_KEY = 5
"""A column determines others only if so many rows share each of its values, on average."""
LEAST_BROKEN = 0.05
"""A rule must be one that columns without any relation would break in this share of the rows."""
EXCEPTED = 0.01
"""The share of other real rows in which a sum may be off; other rules have no exceptions."""
MOST_RULES = 500
MOST_SHUFFLED = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleRows:
    """Some rows, column by column."""

    cells: Floats  # (d, n), NaN for missing
    codes: Codes  # (d, n), equal for equal values of any of the tables

    def __len__(self) -> int:
        return int(self.cells.shape[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleTables:
    """The columns that are looked at, and the rows of each kind."""

    columns: tuple[Column, ...]
    sizes: Indices  # (d,) how many codes each column has
    clocks: Floats  # (d,) microseconds in a unit of a column of times; 1 for others
    kinds: Indices  # (d,) numbers, times or dates; -1 for labels
    decimals: Floats  # (d,) places after the point; NaN where there is no such number
    learned: RuleRows
    verifying: RuleRows
    fresh: RuleRows
    synthetic: RuleRows
    notes: tuple[str, ...]

    @classmethod
    def of(cls, split: Split, *, clocks: Mapping[str, int], rng: Generator) -> Self:
        """Divide the real rows, and keep no more of anything than can be looked at."""
        split, notes = _narrow(split)
        tables = *_real(split, rng=rng), split.synthetic
        # In the order of their content: rules are broken early, however a file is sorted.
        parts = [draw(table, MOST_ROWS, rng=rng).table for table in tables]
        if any(len(table) > MOST_ROWS for table in (tables[0], split.synthetic)):
            notes = (*notes, f"Rules are looked for in at most {MOST_ROWS:,} rows of each table.")
        columns = split.schema.columns
        sizes, codes = [], []
        for column in columns:
            levels = ComparedLevels.of(column, parts)
            sizes.append(len(levels))
            codes.append([rows.astype(np.int32) for rows in levels.rows])
        learned, verifying, fresh, synthetic = (
            RuleRows(cells=np.ascontiguousarray(part.values.T), codes=np.vstack([each[i] for each in codes]))
            for i, part in enumerate(parts)
        )
        return cls(
            columns=columns,
            sizes=np.array(sizes),
            clocks=np.array([float(clocks.get(column.name, 1)) for column in columns]),
            kinds=np.array([_kind(column, clocks) for column in columns]),
            decimals=np.array([getattr(column, "decimals", None) for column in columns], dtype=np.float64),
            learned=learned,
            verifying=verifying,
            fresh=fresh,
            synthetic=synthetic,
            notes=notes,
        )


def _kind(column: Column, clocks: Mapping[str, int]) -> int:
    if not isinstance(column, Numeric):
        return -1
    if column.arbitrary_zero:
        return DATES
    return TIMES if column.name in clocks else NUMBERS


def _narrow(split: Split) -> tuple[Split, tuple[str, ...]]:
    """Keep the columns in which the most training rows hold something, by name."""
    names = sorted(split.schema.names)
    if len(names) <= MOST_COLUMNS:
        return split.select(names), ()
    missing = {name: int(np.isnan(split.train.column(name)).sum()) for name in names}
    kept = sorted(sorted(names, key=lambda name: (missing[name], name))[:MOST_COLUMNS])
    note = f"Rules are looked for among {MOST_COLUMNS} of {len(names)} columns, those with the most values."
    return split.select(kept), (note,)


def _real(split: Split, *, rng: Generator) -> tuple[Table, Table, Table]:
    """Return the rows to find rules in, those that verify them, and those that are like a release."""
    if len(split.control):
        rows, least = shuffled(split.control, rng=rng).table, 2 * LEAST_VERIFIED
        half = len(rows) // 2
        parts = split.train, rows.take(np.arange(half)), rows.take(np.arange(half, len(rows)))
    else:
        rows, least = shuffled(split.train, rng=rng).table, 4 * LEAST_VERIFIED
        ends = [0, len(rows) // 2, 3 * len(rows) // 4, len(rows)]
        first, second, third = (rows.take(np.arange(*ends[i : i + 2])) for i in range(3))
        parts = first, second, third
    if len(rows) < least:
        which = "control" if len(split.control) else "training"
        raise NotApplicable("rules", f"needs at least {least} {which} rows to verify any, got {len(rows)}.")
    return parts


def add_up(decimals: Floats, cells: Floats) -> Flags:
    """Whether the first two numbers add up to the third: to the last decimal place, exactly if all are whole.

    Parts of a total are often rounded one by one. ``decimals`` are (3, …) places after the point, NaN where
    there is no such number, and ``cells`` (3, …) the numbers; what is missing adds up to nothing.
    """
    exact = (decimals == 0).all(axis=0)
    slack = np.where(exact, 0.0, 10.0 ** -decimals.max(axis=0) * (1 + RELATIVE))
    slack = np.where(np.isnan(decimals).any(axis=0), np.abs(cells[2]) * RELATIVE, slack)
    return np.asarray(np.abs(cells[0] + cells[1] - cells[2]) <= slack)


def find_sums(tables: RuleTables, places: Indices) -> list[tuple[int, int, int]]:
    """Return the triples of columns of which the first two add up to the third in nearly every row."""
    places = places[:MOST_SUMMANDS]
    cells = tables.learned.cells[places]  # (m, n)
    decimals = tables.decimals[places]
    suspects: set[tuple[int, int, int]] = set()
    telling = np.count_nonzero(~np.isnan(cells) & (cells != 0), axis=0)  # zero adds up with anything
    for row in np.argsort(-telling, kind="stable")[:N_PROBES]:
        found = _suspects(cells[:, row], tables.kinds[places], tables.clocks[places])  # (3, s)
        off = _share_off(decimals[found][..., None], cells[:, :N_TRIED][found])
        found = found[:, off <= 1 / N_TRIED]
        suspects.update((a, b, c) for a, b, c in found.T.tolist())
    return [
        (int(places[a]), int(places[b]), int(places[c]))
        for a, b, c in sorted(suspects)[:MOST_SUSPECTS]
        if _share_off(decimals[[a, b, c]][:, None], cells[[a, b, c]]) <= EXCEPTIONS
    ]


def _share_off(decimals: Floats, cells: Floats) -> Floats:
    """Return in which share of n rows that have all three (3, …, n) numbers do not add up."""
    said = ~np.isnan(cells.sum(axis=0))
    off = (said & ~add_up(decimals, cells)).sum(axis=-1)
    return np.asarray(off / np.maximum(said.sum(axis=-1), 1))


def _suspects(row: Floats, kinds: Indices, clocks: Floats) -> Indices:
    """Return (3, s) which two numbers of a row add up to about which third."""
    parts = np.flatnonzero(~np.isnan(row) & (row != 0))
    totals = parts[np.argsort(row[parts], kind="stable")]
    first, second = (parts[side] for side in np.triu_indices(len(parts), k=1))
    sums = row[first] + row[second]
    room = np.abs(sums) * RELATIVE + 1.0
    begin = np.searchsorted(row[totals], sums - room)
    n_near = np.searchsorted(row[totals], sums + room, side="right") - begin
    pair = np.repeat(np.arange(len(sums)), n_near)
    nth = np.arange(len(pair)) - np.repeat(np.cumsum(n_near) - n_near, n_near)
    a, b, c = first[pair], second[pair], totals[begin[pair] + nth]
    alike = (kinds[a] == kinds[b]) & (kinds[b] == kinds[c]) & (kinds[c] != DATES)
    fits = alike | _dated(kinds, clocks, a, b, c) | _dated(kinds, clocks, b, a, c)
    return np.stack([a, b, c])[:, fits & (c != a) & (c != b)]


def _dated(kinds: Indices, clocks: Floats, date: Indices, number: Indices, total: Indices) -> Flags:
    """Whether a date and a number of its units make a date: admitted, days, discharged."""
    dates = (kinds[date] == DATES) & (kinds[total] == DATES) & (clocks[date] == clocks[total])
    return np.asarray(dates & (kinds[number] == NUMBERS))


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A rule that holds in the training rows; the columns' places, and what a lookup says."""

    kind: RuleKind
    places: tuple[int, ...]
    expected: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))  # by code of the first

    def look(self, tables: RuleTables, rows: RuleRows) -> tuple[Flags, Flags]:
        """Return the rows that the rule says something about, and those that break it."""
        cells = [rows.cells[place] for place in self.places]
        match self.kind:
            case "constant":
                said = np.ones(len(rows), dtype=np.bool_)
                return said, rows.codes[self.places[0]] != self.expected[0]
            case "determines":
                wanted = self.expected[rows.codes[self.places[0]]]
                return wanted >= 0, (wanted >= 0) & (rows.codes[self.places[1]] != wanted)
            case "order":
                low, high = (
                    each * tables.clocks[place] for each, place in zip(cells, self.places, strict=True)
                )
                return ~np.isnan(low + high), low > high
            case "equal":
                said = ~np.isnan(cells[0] + cells[1])
                return said, said & (cells[0] != cells[1])
            case "sum":
                said, decimals = ~np.isnan(sum(cells)), tables.decimals[list(self.places), None]
                return said, said & ~add_up(decimals, np.stack(cells))


def find_rules(tables: RuleTables, *, confidence: float, rng: Generator) -> Rules:
    """Find rules among real rows, and count the rows of the release that break them."""
    found: list[Rule] = []
    any_broken = [np.zeros(len(rows), dtype=np.bool_) for rows in (tables.synthetic, tables.fresh)]
    n_found = 0
    for candidate in _candidates(tables):
        unrelated = _broken_by_chance(candidate, tables, rng=rng)
        if unrelated < LEAST_BROKEN:
            continue
        said, broken = candidate.look(tables, tables.verifying)
        excepted = EXCEPTED if candidate.kind == "sum" else 0.0
        if said.sum() < LEAST_VERIFIED or broken.sum() > excepted * said.sum():
            continue
        n_found += 1
        if n_found > MOST_RULES:
            break
        counted: list[Estimate | None] = []
        for place, rows in enumerate((tables.synthetic, tables.fresh)):
            said, broken = candidate.look(tables, rows)
            any_broken[place] |= broken
            n = int(said.sum())
            counted.append(share(float(broken.sum() / n), n, confidence=confidence) if n else None)
        if counted[0] is not None:  # some rows of the release can be asked
            found.append(
                Rule(
                    kind=candidate.kind,
                    columns=tuple(tables.columns[place].name for place in candidate.places),
                    broken=Figure(value=counted[0], reference=counted[1]),
                    unrelated=unrelated,
                )
            )
    notes = (f"Only the first {MOST_RULES} rules are counted.",) if n_found > MOST_RULES else ()
    value, reference = (
        share(float(broken.mean()), len(broken), confidence=confidence) for broken in any_broken
    )
    return Rules(
        figure=Figure(value=value, reference=reference) if found else None,
        found=tuple(sorted(found, key=lambda rule: (-rule.broken.value.value, rule.kind, rule.columns))),
        notes=(*tables.notes, *notes),
    )


def _broken_by_chance(candidate: Candidate, tables: RuleTables, *, rng: Generator) -> float:
    """Return the share of rows that would break a rule if its last column had nothing to do with the others.

    A column that never varies stands alone: it could hold anything.
    """
    if candidate.kind == "constant":
        return 1.0
    some = slice(0, MOST_SHUFFLED)
    cells, codes = tables.learned.cells[:, some].copy(), tables.learned.codes[:, some].copy()
    order, last = rng.permutation(cells.shape[1]), candidate.places[-1]
    cells[last], codes[last] = cells[last, order], codes[last, order]
    said, broken = candidate.look(tables, RuleRows(cells=cells, codes=codes))
    return float(broken.sum() / max(said.sum(), 1))


def _candidates(tables: RuleTables) -> Iterator[Candidate]:
    """Yield all rules of the training rows, the plainest first."""
    codes = tables.learned.codes
    n_values = np.array([len(np.unique(each)) for each in codes])
    varies = n_values > 1
    for place in np.flatnonzero(~varies).tolist():
        yield Candidate(kind="constant", places=(place,), expected=codes[place, :1])
    in_time = tables.learned.cells * tables.clocks[:, None]  # so that days and seconds can be compared
    below = find_ordered(in_time, np.where(varies, tables.kinds, -1), LEAST_VERIFIED)
    equal = below & below.T & (tables.clocks[:, None] == tables.clocks)
    yield from (Candidate(kind="equal", places=pair) for pair in _pairs(np.triu(equal)))
    yield from (Candidate(kind="order", places=pair) for pair in _pairs(_direct(below & ~below.T)))
    keys = varies & (n_values * ROWS_A_KEY <= codes.shape[1])
    others = ~np.eye(len(keys), dtype=np.bool_)
    holds = find_determined(codes, tables.sizes, keys[:, None] & varies & ~equal & others)
    for first, second in _pairs(_direct(holds)):
        expected = np.full(tables.sizes[first], -1, dtype=np.int32)
        expected[codes[first]] = codes[second]
        yield Candidate(kind="determines", places=(first, second), expected=expected)
    numbers = np.flatnonzero(varies & (tables.kinds >= NUMBERS))
    for triple in find_sums(tables, numbers):
        if not any(equal[triple[2], part] or equal[part, triple[2]] for part in triple[:2]):
            yield Candidate(kind="sum", places=triple)


def _pairs(holds: Flags) -> list[tuple[int, int]]:
    return [(first, second) for first, second in np.argwhere(holds).tolist()]


def _direct(holds: Flags) -> Flags:
    """Leave out what follows: where a stands to b and b to c, that a stands to c needs no saying.

    Unless a and b, or b and c, stand to each other both ways: then none of them comes first.
    """
    one_way = holds & ~holds.T
    follows = (one_way.astype(np.int64) @ one_way.astype(np.int64)) > 0
    return np.asarray(holds & ~follows)
