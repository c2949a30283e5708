"""Do synthetic rows keep to the rules that hold among real ones?

A total is the sum of its parts, an end is never before its beginning, a code has one description. Looked for
are columns that never vary, columns that determine others, pairs of numbers or dates of which one is never
the larger, and numbers that are the sum of two others. A rule is kept if every training row obeys it, if
other real rows do, too, and if columns that have nothing to do with each other would break it: that ages are
below incomes is no rule. Only names of columns are told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.estimate import Estimate, share
from tabveil.metrics.utility.findings import Figure, Rule, RuleKind, Rules
from tabveil.metrics.utility.rule_kernels import find_ordered
from tabveil.metrics.utility.rule_tables import LEAST_VERIFIED, NUMBERS, Rows, RuleTables
from tabveil.metrics.utility.sums import add_up, decimals_of, find_sums
from tabveil.tables.matrices.dependency_kernels import find_determined
from tabveil.tables.matrices.ordinal import Codes

Flags = NDArray[np.bool_]

ROWS_A_KEY = 5
"""A column determines others only if so many rows share each of its values, on average."""
LEAST_BROKEN = 0.05
"""A rule must be one that columns without any relation would break in this share of the rows."""
EXCEPTED = 0.01
"""The share of other real rows in which a sum may be off; other rules have no exceptions."""
MOST_RULES = 500
MOST_SHUFFLED = 10_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A rule that holds in the training rows; the columns' places, and what a lookup says."""

    kind: RuleKind
    places: tuple[int, ...]
    expected: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int32))  # by code of the first

    def look(self, tables: RuleTables, rows: Rows) -> tuple[Flags, Flags]:
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
                decimals = np.array([decimals_of(tables.columns[place]) for place in self.places])
                said = ~np.isnan(sum(cells))
                return said, said & ~add_up(decimals[:, None], np.stack(cells))


def find_rules(tables: RuleTables, *, confidence: float, rng: Generator) -> Rules:
    """Find rules among real rows, and count the rows of the release that break them."""
    found: list[Rule] = []
    any_broken = [np.zeros(len(rows), dtype=np.bool_) for rows in (tables.synthetic, tables.fresh)]
    n_found = 0
    for candidate in _candidates(tables):
        unrelated = _broken_by_chance(candidate, tables, rng=rng)
        if unrelated < LEAST_BROKEN or not _verified(candidate, tables):
            continue
        n_found += 1
        if n_found > MOST_RULES:
            break
        counted = []
        for place, rows in enumerate((tables.synthetic, tables.fresh)):
            said, broken = candidate.look(tables, rows)
            any_broken[place] |= broken
            counted.append(_rate(said, broken, confidence))
        if counted[0] is not None:  # some rows of the release can be asked
            found.append(
                Rule(
                    kind=candidate.kind,
                    columns=tables.names(candidate.places),
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


def _rate(said: Flags, broken: Flags, confidence: float) -> Estimate | None:
    n = int(said.sum())
    return share(float(broken.sum() / n), n, confidence=confidence) if n else None


def _verified(candidate: Candidate, tables: RuleTables) -> bool:
    said, broken = candidate.look(tables, tables.verifying)
    excepted = EXCEPTED if candidate.kind == "sum" else 0.0
    return bool(said.sum() >= LEAST_VERIFIED and broken.sum() <= excepted * said.sum())


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
    said, broken = candidate.look(tables, Rows(cells=cells, codes=codes))
    return float(broken.sum() / max(said.sum(), 1))


def _candidates(tables: RuleTables) -> Iterator[Candidate]:
    """Yield all rules of the training rows, the plainest first."""
    codes = tables.learned.codes
    n_values = np.array([len(np.unique(each)) for each in codes])
    varies = n_values > 1
    for place in np.flatnonzero(~varies).tolist():
        yield Candidate(kind="constant", places=(place,), expected=codes[place, :1])
    below = find_ordered(tables.in_time(tables.learned), np.where(varies, tables.kinds, -1), LEAST_VERIFIED)
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
    return [(int(first), int(second)) for first, second in zip(*np.nonzero(holds), strict=True)]


def _direct(holds: Flags) -> Flags:
    """Leave out what follows: where a stands to b and b to c, that a stands to c needs no saying.

    Unless a and b, or b and c, stand to each other both ways: then none of them comes first.
    """
    one_way = holds & ~holds.T
    follows = (one_way.astype(np.int64) @ one_way.astype(np.int64)) > 0
    return np.asarray(holds & ~follows)
