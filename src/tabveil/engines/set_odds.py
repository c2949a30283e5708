"""How much likelier is what two people have in common if one is a copy of the other than by chance?

What agrees weighs the more, the rarer it is (Fellegi and Sunter 1969): a category by how frequent the label
is, a number by how many others are as near. Nobody knows how far noise moved a copy's numbers, so each order
of magnitude of nearness counts as equally likely. The weights of all cells are added, as if columns were
independent; and where rows have an order, the first is compared with the first, the second with the second.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core import workers
from tabveil.core.linked import LinkedTables
from tabveil.core.table import Floats, Indices, Numeric, Table
from tabveil.engines.set_distance import Singles, places_of, ranks
from tabveil.engines.set_odds_kernels import weigh_orders, weigh_sets

CHANCE = 0.05
"""How often a cell of a copy is taken to be as by chance. What differs weighs its logarithm, about −3."""

_EACH_PAIR = 80
"""What weighing two rows costs beside their columns, for the logarithm, in columns that are compared."""

_AT_ONCE = 1 << 24  # weights that are held at the same time


@dataclass(frozen=True, kw_only=True, eq=False)
class _WeighedRows:
    """Rows of a table, with what it weighs if another has the same there."""

    numbers: Singles  # (k, n) their ranks
    ties: Singles  # (k, n) the share of rows with this very number
    shares: Singles  # (k, n) of copies, at each nearness that counts as one
    codes: NDArray[np.int32]  # (c, n)
    gains: Singles  # (c, n) the weight of the same label
    starts: Indices  # (n_people + 1,)
    ordered: bool
    least: np.float32  # that two rows weigh: a linked row may stand for none

    @classmethod
    def of(cls, table: Table, starts: Indices, *, ordered: bool, least: float) -> Self:
        n, columns = len(table), table.schema.columns
        numbers = [table.column(one.name) for one in columns if isinstance(one, Numeric)]
        codes = [
            np.nan_to_num(table.column(one.name), nan=-1) for one in columns if not isinstance(one, Numeric)
        ]
        ties = np.array([_frequencies(cells) for cells in numbers]).reshape(len(numbers), n)
        frequencies = np.array([_frequencies(cells) for cells in codes]).reshape(len(codes), n)
        return cls(
            numbers=np.array([ranks(cells) for cells in numbers], dtype=np.float32).reshape(len(numbers), n),
            ties=ties.astype(np.float32),
            shares=((1 - CHANCE) / (1 - np.log(ties))).astype(np.float32),
            codes=np.array(codes, dtype=np.int32).reshape(len(codes), n),
            gains=np.log((1 - CHANCE) / frequencies + CHANCE).astype(np.float32),
            starts=starts,
            ordered=ordered,
            least=np.float32(least),
        )


def _frequencies(cells: Floats) -> Floats:
    """Return the share of cells that are equal to each."""
    _, place, times = np.unique(cells, return_inverse=True, return_counts=True)
    return np.asarray(times[place] / len(cells))


@dataclass(frozen=True, kw_only=True, eq=False)
class WeighedPeople:
    """People of whom can be asked how likely one is a copy of another, by all that is there."""

    tables: tuple[_WeighedRows, ...]

    @classmethod
    def of(cls, people: LinkedTables) -> Self:
        """Prepare all people who will be compared: what is rare is rare among them."""
        found = []
        if len(people.own.schema):
            starts = np.arange(len(people) + 1)
            found.append(_WeighedRows.of(people.own, starts, ordered=True, least=-np.inf))
        for name, linked in people.linked.items():
            if len(linked.table.schema) and len(linked.table):
                rows, order = linked.table.take(linked.rows), people.linkage[name].order
                ordered, least = order in rows.schema.names, float(np.log(CHANCE))
                found.append(_WeighedRows.of(rows, linked.starts, ordered=ordered, least=least))
        return cls(tables=tuple(found))

    @staticmethod
    def cost(people: LinkedTables) -> float:
        """Return about how many operations it takes to weigh two people like these."""
        total = float(len(people.own.schema)) + _EACH_PAIR
        for name, linked in people.linked.items():
            mean = len(linked.rows) / max(len(people), 1)
            ordered = people.linkage[name].order in linked.table.schema.names
            total += (mean if ordered else mean**2) * (len(linked.table.schema) + _EACH_PAIR)
        return total

    def odds(self, asked: Indices, people: Indices) -> Iterator[tuple[Indices, Singles]]:
        """Compare some people with others: whom, and the logarithm of the odds, (block, people) each."""
        at_once = max(_AT_ONCE // max(len(people), 1), 1)
        for first in range(0, len(asked), at_once):
            workers.tell("weighing what people have in common", first / len(asked))
            block = asked[first : first + at_once]
            found = np.zeros((len(block), len(people)), dtype=np.float32)
            for each in self.tables:
                cells = each.numbers, each.ties, each.shares, each.codes, each.gains, np.float32(CHANCE)
                rows = *places_of(each.starts, block), *places_of(each.starts, people)
                if each.ordered:
                    weigh_orders(*cells, each.least, *rows, found)
                else:
                    weigh_sets(*cells, *rows, found)
            yield block, found
