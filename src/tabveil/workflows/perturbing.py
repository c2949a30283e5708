"""A step before a generator, or in its place: values change places among rows, or are moved by noise.

Nothing formal is promised of it. What it does to risk and usefulness, an audit against the rows as they were
can say; so nobody who audits is given the perturbed rows for the real ones.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.sampling import count_share, group_equal_rows, random_order
from tabveil.core.table import Categorical, Column, Floats, Indices, Table
from tabveil.core.wording import escaped, listed, percent, plural
from tabveil.errors import ParameterError, SchemaError
from tabveil.synthesis.risks.planted import shifted
from tabveil.tables.reading import LoadedTable, Source, declare, leave_out, load_table, to_native
from tabveil.tables.reading.load import SchemaSource
from tabveil.tables.reading.rewriting import other_columns_native, other_columns_raw, other_columns_source

MOST_NOISE = 1000.0
"""So many standard deviations leave nothing of a number; more is a slip of the pen."""

NOTHING_PROMISED = (
    "Nothing formal is promised of perturbed rows: a moved value stays near what it was, and one that was "
    "not touched is somebody's. Audit them against the rows as they were."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Perturbed:
    """A table of which some values changed places or were moved; its rows are in random order.

    ``swapped`` rows took part in a swap, ``alone`` had nobody to change with; ``moved`` and ``redrawn`` count
    the cells of each column that have another value now.
    """

    source: Any  # what was given
    loaded: LoadedTable  # as it was read
    changed: Table  # in the order of what was given
    order: Indices  # (n,) in which the rows leave
    swap: tuple[str, ...]
    swapped: int
    alone: int
    moved: Mapping[str, int]
    redrawn: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Any:  # noqa: ANN401 - see below
        """The rows, in the kind of table that came in; those of a file as an Arrow table."""
        if isinstance(self.source, (str, Path, Source)):
            return to_native(self.changed.take(self.order), self.loaded.layout)
        return other_columns_native(self.source, self.touched, self.loaded.layout, self.order)

    @property
    def raw(self) -> Any:  # noqa: ANN401 - an Arrow table
        """The rows of a file as they are written to one."""
        return other_columns_raw(self.source, self.touched, self.loaded.layout, self.order)

    def as_read(self) -> Source:
        """Return the rows as they would be read from where they stood."""
        return other_columns_source(self.source, self.touched, self.loaded.layout, self.order)

    @property
    def touched(self) -> Table:
        """The columns that may have other values now."""
        names = {*self.swap, *self.moved, *self.redrawn}
        return self.changed.select([name for name in self.changed.schema.names if name in names])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was changed, in counts; no value of anybody."""
        n_rows, told = len(self.changed), []
        if self.swap:
            of = f"{self.swapped:,} of {plural(n_rows, 'row')}"
            told.append(f"Values of {listed(self.swap)} changed places among {of}.")
        if self.alone:
            told.append(f"{plural(self.alone, 'row')} had nobody to change with.")
        for what, found in (("moved", self.moved), ("redrawn", self.redrawn)):
            share = percent(sum(found.values()) / (n_rows * len(found))) if found else ""
            if found:
                told.append(f"{sum(found.values()):,} values ({share}) of {listed(list(found))} {what}.")
        return tuple(told)

    def __repr__(self) -> str:
        return escaped(" ".join(self.sentences))


def require_perturbation(
    owner: str,
    *,
    swap: Collection[str] = (),
    within: Collection[str] = (),
    share: float = 1.0,
    noise: float = 0.0,
    replace: float = 0.0,
    columns: Collection[str] = (),
) -> None:
    """Refuse settings by which nothing would change, or that contradict each other."""
    check.share(owner, "share", share)
    check.share(owner, "replace", replace)
    check.at_least(owner, "noise", noise, 0)
    check.at_most(owner, "noise", noise, MOST_NOISE)
    if not (swap and share) and noise == replace == 0:
        raise ParameterError(owner, "nothing is to be changed; name columns to swap, or noise or replace.")
    if within and not swap:
        raise ParameterError(owner, "within says among whom values are swapped; name columns to swap.")
    if both := [name for name in within if name in swap]:
        raise ParameterError(owner, f"{listed(both)} cannot be both, swapped and equal in who swaps.")
    if columns and noise == replace == 0:
        raise ParameterError(owner, "columns says what noise and replace change; give one of them.")


def perturb(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    swap: Iterable[str] = (),
    within: Iterable[str] = (),
    share: float = 1.0,
    noise: float = 0.0,
    replace: float = 0.0,
    columns: Iterable[str] = (),
    seed: int = 0,
    schema: SchemaSource = None,
    missing: Iterable[str] = (),
    drop: str | Iterable[str] = (),
    leave: Iterable[str] = (),
) -> Perturbed:
    """Swap values among rows, or move them by noise, as ``tabveil perturb`` does.

    Nothing formal is promised: neither ε nor k. Audit what comes out against the rows as they were.

    Parameters
    ----------
    data
        The real rows: a path, or a table of pandas, polars or Arrow, which stays as it is.
    swap
        Columns whose values change places among rows, all of a row together: what belongs together, such as
        a town and its post code, stays together.
    within
        Columns that must be equal in rows that swap, such as a region. None: any two rows may.
    share
        The share of the rows that take part, drawn at random. Each of them gets the values of another row
        that takes part, which may be equal ones.
    noise
        How far a normal draw moves numbers and dates, in standard deviations of the column. Whole numbers
        stay whole, decimals as many, missing values missing; what would leave the column's range is reflected
        at its end.
    replace
        The chance of a label to be drawn anew, by how common the labels of its column are. It may be the same
        again.
    columns
        Which columns ``noise`` and ``replace`` change. All, if left out, but those of ``swap``, ``within``
        and ``leave``, free text, and columns in which nearly every row has its own value.
    seed
        The same seed makes the same table of the same rows, in whatever order they come.
    schema, missing
        As in :func:`tabveil.audit`.
    drop
        Columns that the rows are not to have, such as an index.
    leave
        Further columns that noise leaves alone, such as one that says whose row it is.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> patients = hospital(300, seed=1)
    >>> found = perturb(patients, swap=["region"], within=["sex"], noise=0.1, columns=["age"])
    >>> found.sentences[0]
    'Values of region changed places among 299 of 300 rows.'
    >>> bool((found.rows["age"].sort_values().to_numpy() == patients["age"].sort_values().to_numpy()).all())
    False
    """
    swap, within, columns, leave = (_listed(given) for given in (swap, within, columns, leave))
    check.at_least("perturb", "seed", seed, 0)
    require_perturbation(
        "perturb", swap=swap, within=within, share=share, noise=noise, replace=replace, columns=columns
    )
    gone = declare.columns_named(drop)
    data = leave_out(data, gone)
    loaded = load_table(data, schema=declare.read(schema).about_rest(gone), missing=missing)
    table = loaded.table
    if not len(table):
        raise SchemaError("perturb", "the table has no rows.")
    check.known_names("perturb", "column", (*swap, *within, *columns), table.schema.names)
    spared = {*swap, *within, *leave, *loaded.identifiers, *loaded.texts}
    values = np.array(table.values)
    places = {name: place for place, name in enumerate(table.schema.names)}
    n_swapped = n_alone = 0
    if swap:
        giver, n_swapped, n_alone = _givers(table, within, share, rng=stream(seed, "perturb", "swap"))
        block = np.array([places[name] for name in swap])
        values[:, block] = values[np.ix_(giver, block)]
    moved: dict[str, int] = {}
    redrawn: dict[str, int] = {}
    for name in columns or [name for name in table.schema.names if name not in spared]:
        column, rng = table.schema[name], stream(seed, "perturb", "noise", name)
        labels = isinstance(column, Categorical)
        if amount := replace if labels else noise:
            before = values[:, places[name]].copy()
            after = before.copy()
            after[table.content_order] = _moved(column, before[table.content_order], amount, rng=rng)
            values[:, places[name]] = after
            changed = int(np.sum((before != after) & ~np.isnan(before)))
            (redrawn if labels else moved)[name] = changed
    if not (swap or moved or redrawn):
        raise ParameterError("perturb", "no column is left to change; name some with columns.")
    changed_table = Table(schema=table.schema, values=values)
    return Perturbed(
        source=data,
        loaded=loaded,
        changed=changed_table,
        order=random_order(changed_table, rng=stream(seed, "perturb order")),
        swap=swap,
        swapped=n_swapped,
        alone=n_alone,
        moved=moved,
        redrawn=redrawn,
        notes=loaded.notes,
    )


def _listed(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def _givers(
    table: Table, within: Collection[str], share: float, *, rng: Generator
) -> tuple[Indices, int, int]:
    """Return whose values each row gets, (n,), and how many rows swap and how many would, but are alone.

    Those who take part stand in a circle, one for each group, in random order: everybody gets the values of
    the next. So nobody who is not alone keeps their own.
    """
    giver = np.arange(len(table))
    taking = random_order(table, rng=rng)[: count_share(share, len(table))]
    group = group_equal_rows(table.select(within))[0] if within else np.zeros(len(table), dtype=np.int64)
    taking = taking[np.argsort(group[taking], kind="stable")]
    first = np.flatnonzero(np.diff(group[taking], prepend=-1))
    following = np.roll(taking, -1)
    if len(taking):
        following[np.append(first[1:], len(taking)) - 1] = taking[first]
    giver[taking] = following
    n_alone = int(np.sum(taking == following))
    return giver, len(taking) - n_alone, n_alone


def _moved(column: Column, cells: Floats, amount: float, *, rng: Generator) -> Floats:
    """Move the cells of a column, which come in the order of what their rows hold."""
    present = np.sort(cells[~np.isnan(cells)])
    if not len(present):
        return cells
    if isinstance(column, Categorical):
        drawn, which = rng.random(len(cells)) < amount, rng.integers(0, len(present), len(cells))
        return np.where(drawn & ~np.isnan(cells), present[which], cells)
    return shifted(column, cells, rng.normal(size=len(cells)) * float(present.std()) * amount)
