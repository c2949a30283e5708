"""Cells as numbers that are equal where a released row agrees with a real one: exactly, or in coarse parts.

Numbers are compared as finely as the release writes them. Where a number has decimals, these are a cell of
their own, and so is the time of day of a moment: whoever moves numbers by whole ones, or dates by some days,
leaves them as they are. Which cells of a row are missing is one more: in some tables hardly two are alike.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.people import numbered_together
from tabveil.core.storage import spool
from tabveil.core.table import OFF_GRID, Column, Floats, Indices, Numeric, Split, mix_bits

Hashes = NDArray[np.uint64]

FINEST = 9  # decimals: beyond, numbers differ by rounding errors
SECONDS_A_DAY = 86_400
GAPS, FEWEST_GAPS = "which cells are missing", 2
A_DAY = {1e7: SECONDS_A_DAY, 1e10: SECONDS_A_DAY * 1_000, 1e13: SECONDS_A_DAY * 1_000_000}
"""How long a day is, by the size that moments at least have: in seconds, milliseconds or microseconds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedCells:
    """The cells of all real people and of the release, as hashes; equal cells have equal ones.

    ``columns`` names the column of each. Real people are those of train, then those of control.
    """

    columns: tuple[str, ...]  # (c,)
    real: Hashes  # (c, n)
    released: Hashes  # (c, m)
    whose: NDArray[np.int32]  # (n,)
    n_train: int  # people
    n_control: int

    @property
    def n_people(self) -> int:
        """How many real people there are."""
        return self.n_train + self.n_control

    @classmethod
    def exact(cls, split: Split, *, derived: bool = True, rng: Generator) -> Self:
        """Compare by equality; ``derived`` cells (decimals, time of day) come after those of the columns."""
        cells = []
        for name, column, (real, released) in _each(split):
            fine = _decimals(released) if isinstance(column, Numeric) else None
            cells.append((name, real if fine is None else np.round(real, fine), released))
        if derived:
            cells += [*_derived(split), *_gaps(split)]
        return cls._of(split, cells, rng=rng)

    @classmethod
    def coarse(cls, split: Split, n_parts: int, *, rng: Generator) -> Self:
        """Compare numbers by which of ``n_parts`` parts of the release they lie in, equally large ones."""
        found = []
        for name, column, (real, released) in _each(split):
            if not isinstance(column, Numeric):
                found.append((name, real, released))
                continue
            known = released[~np.isnan(released)]
            cuts = np.unique(np.quantile(known, np.arange(1, n_parts) / n_parts)) if len(known) else known
            # The number of the part that each value lies in; NaN where there is none.
            parts = [np.where(np.isnan(x), np.nan, np.searchsorted(cuts, x)) for x in (real, released)]
            found.append((name, parts[0], parts[1]))
        return cls._of(split, found, rng=rng)

    @classmethod
    def _of(cls, split: Split, cells: Sequence[tuple[str, Floats, Floats]], *, rng: Generator) -> Self:
        keys = rng.integers(2**63, size=len(cells), dtype=np.uint64)
        return cls(
            columns=tuple(name for name, _, _ in cells),
            real=_hashed([real for _, real, _ in cells], keys),
            released=_hashed([released for _, _, released in cells], keys),
            whose=numbered_together(split.train, split.control).astype(np.int32),
            n_train=split.train.n_people,
            n_control=split.control.n_people,
        )

    def take(self, people: NDArray[np.bool_], rows: Indices) -> Self:
        """Keep the rows of some people (n_people,), and some released rows; people keep their numbers."""
        kept = people[self.whose]
        return replace(self, real=self.real[:, kept], whose=self.whose[kept], released=self.released[:, rows])


def _each(split: Split) -> Iterator[tuple[str, Column, tuple[Floats, Floats]]]:
    """Yield every column by name: the cells of all real rows, and those of the release."""
    for name in sorted(split.schema.names):
        real = spool.kept(np.concatenate([split.train.column(name), split.control.column(name)]))
        yield name, split.schema[name], (real, split.synthetic.column(name))


def _derived(split: Split) -> Iterator[tuple[str, Floats, Floats]]:
    for name, column, sides in _each(split):
        if not isinstance(column, Numeric):
            continue
        if column.arbitrary_zero:
            size = float(np.nanmedian(np.abs(sides[0]))) if np.any(~np.isnan(sides[0])) else 0.0
            period = max((day for least, day in A_DAY.items() if size >= least), default=None)
            if period is not None and any(np.any(np.mod(side, period) > 0) for side in sides):
                yield name, np.mod(sides[0], period), np.mod(sides[1], period)
        elif not column.integer and _decimals(sides[1]) != 0:
            real, released = (np.asarray(np.round(np.mod(side, 1.0), FINEST) % 1.0) for side in sides)
            yield name, real, released  # moved by whole numbers, they stay


def _gaps(split: Split) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield which cells of a row are missing, as one number, where that can tell rows apart."""
    real = np.isnan(np.concatenate([split.train.values, split.control.values]))
    released = np.isnan(split.synthetic.values)
    if min(int(side.any(axis=0).sum()) for side in (real, released)) < FEWEST_GAPS:
        return
    # Sums of random numbers, which no two patterns share; by name, so that the order of columns is none.
    names = sorted(split.schema.names)
    order = [split.schema.position(name) for name in names]
    weights = np.random.default_rng(len(names)).random(len(names))
    yield GAPS, np.round(real[:, order] @ weights, FINEST), np.round(released[:, order] @ weights, FINEST)


def _decimals(values: Floats) -> int | None:
    """Return how many decimals all values fit in, None where they are more than some."""
    known = np.unique(values[~np.isnan(values)])
    for decimals in range(FINEST):
        if np.all(np.abs(np.round(known, decimals) - known) <= OFF_GRID * 10.0**-decimals):
            return decimals
    return None


def _hashed(cells: Sequence[Floats], keys: Hashes) -> Hashes:
    found: Hashes = spool.room((len(cells), len(cells[0]) if cells else 0), np.uint64)
    for place, (values, key) in enumerate(zip(cells, keys, strict=True)):
        bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)  # one missing, one zero
        found[place] = mix_bits(bits ^ key)
    return found
