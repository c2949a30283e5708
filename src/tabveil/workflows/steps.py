"""Steps beside a generator: rows dropped from what it learns, and from its release."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.sampling import count_share, random_order
from tabveil.core.table import Indices, Split, Table
from tabveil.core.wording import escaped, percent, plural
from tabveil.core.workers import Listener, part, tell, working
from tabveil.engines.representation import Mixed, outlier_factors
from tabveil.errors import ParameterError, SchemaError
from tabveil.metrics import utility
from tabveil.metrics.control.shared_rows import NearRows, near_rows
from tabveil.metrics.utility import Utility
from tabveil.tables.holdout import coincide
from tabveil.tables.reading import LoadedTables, declare, leave_out, load_split, native_parts, raw_rows
from tabveil.tables.reading.arrow import Hashes, RawTable, hash_cells, hash_rows, missing_cells

COINCIDENCE = (
    "Equal rows seem to be different people who coincide, as many others differ in one column only: "
    "keeping one of each changes how common things are in the table."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class _RowsLeft:
    """The rows of a table that were kept, and where they stood."""

    source: Any  # what was given
    kept: Indices  # (k,) positions, ascending; those of a release in random order
    n_rows: int
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Any:  # noqa: ANN401 - see below
        """The rows themselves, in the kind of table that came in; those of a file as an Arrow table."""
        return native_parts(self.source, [self.kept])[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class Deduplicated(_RowsLeft):
    """The rows that were kept, where they stood, and how many were not.

    ``n_equal`` counts rows that equal an earlier one, ``n_beyond`` those that people have beyond the limit,
    and ``n_people`` these people; ``n_persons`` all people, None where no column names them.
    """

    n_equal: int = 0
    n_beyond: int = 0
    n_people: int = 0
    n_persons: int | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many rows are left, and why the others are not."""
        left = f"{plural(len(self.kept), 'row')} of {self.n_rows:,}"
        kept = f"{left}; {self.n_equal:,} equal to another row dropped."
        if self.n_persons is None:
            return (kept,)
        beyond = (
            f"{plural(self.n_beyond, 'row')} of {plural(self.n_people, 'person', 'people')} (of "
            f"{self.n_persons:,}) dropped beyond the limit."
        )
        return kept, beyond

    def __repr__(self) -> str:
        return escaped(
            f"{plural(len(self.kept), 'row')} of {self.n_rows:,}: {self.n_equal:,} equal to another, "
            f"{self.n_beyond:,} beyond a person's limit"
        )


def require_limits(
    owner: str, *, person: str | None = None, most: int | None = None, equal: bool = True
) -> None:
    """Refuse settings by which nothing would be dropped, or nobody knows whose rows."""
    if (person is None) != (most is None):
        raise ParameterError(owner, "person and most go together: whose rows, and how many of them.")
    if person is None and not equal:
        raise ParameterError(owner, "nothing is to be dropped; keep equal rows once, or name a person.")
    if most is not None:
        check.at_least(owner, "most", most, 1)


def deduplicate(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    person: str | None = None,
    most: int | None = None,
    equal: bool = True,
    drop: str | Iterable[str] = (),
    seed: int = 0,
) -> Deduplicated:
    """Keep equal rows once, and at most so many rows of a person, as ``tabveil deduplicate`` does.

    Do it before a generator is trained: what stands in a table a hundred times is memorized first.
    What is left stands there once, and may be memorized all the same.

    Parameters
    ----------
    data
        The real rows: a path, or a table of pandas, polars or Arrow, which stays as it is.
    person
        The column that says whose row it is; every row must have a value there.
    most
        How many rows of a person are kept, 1 or more; goes with ``person``.
    equal
        Keep rows that are equal in every column once. False keeps them all.
    drop
        Columns to leave out, such as an index, by which no two rows are equal; ``rows`` lack them.
    seed
        Which rows of a person are kept depends on the seed and on what they hold, not on their order.

    Examples
    --------
    >>> import pandas as pd
    >>> visits = pd.DataFrame({"person": [1, 1, 1, 1, 2], "ward": ["A", "A", "B", "C", "A"]})
    >>> deduplicate(visits)
    4 rows of 5: 1 equal to another, 0 beyond a person's limit
    >>> deduplicate(visits, person="person", most=2).rows["person"].tolist()
    [1, 1, 2]
    """
    check.at_least("deduplicate", "seed", seed, 0)
    require_limits("deduplicate", person=person, most=most, equal=equal)
    data = leave_out(data, drop)
    table = raw_rows(data)
    if table.num_rows == 0:
        raise SchemaError("deduplicate", "the table has no rows.")
    cells = hash_cells("deduplicate", table)
    content = hash_rows(cells, table.num_rows)
    kept = np.arange(table.num_rows)
    if equal:
        kept = np.sort(np.unique(content, return_index=True)[1])
    n_equal = table.num_rows - len(kept)
    notes = (COINCIDENCE,) if n_equal and coincide(cells) else ()
    if person is None or most is None:
        return Deduplicated(source=data, kept=kept, n_rows=table.num_rows, n_equal=n_equal, notes=notes)
    owner = cells[_place(table, person)][kept]
    fewer = kept[_limited(owner, content[kept], most, seed)]
    counts = np.unique(owner, return_counts=True)[1]
    return Deduplicated(
        source=data,
        kept=fewer,
        n_rows=table.num_rows,
        n_equal=n_equal,
        n_beyond=len(kept) - len(fewer),
        n_people=int(np.sum(counts > most)),
        n_persons=len(counts),
        notes=notes,
    )


def _place(table: RawTable, person: str) -> int:
    check.known_names("deduplicate", "column", [person], table.column_names)
    if table.column_names.count(person) > 1:
        raise SchemaError("deduplicate", f"several columns are called {person!r}. Rename them.")
    n_missing = int(missing_cells(table, person).sum())
    if n_missing:
        raise SchemaError(
            "deduplicate",
            f"{plural(n_missing, 'row')} of {table.num_rows:,} have no value in {person!r}, so "
            "nobody knows whose they are. Fill it in or leave them out.",
        )
    return int(table.column_names.index(person))


def _limited(owner: Hashes, content: Hashes, most: int, seed: int) -> Indices:
    """Return which rows are kept, ascending: of each owner's rows some at random, by what they hold."""
    salt = stream(seed, "deduplicate").integers(np.iinfo(np.uint64).max, dtype=np.uint64)
    chance = hash_rows([content, np.full(len(content), salt)], len(content))
    order = np.lexsort((chance, owner))  # stable: equal rows of a person in their order
    first = np.flatnonzero(np.diff(owner[order], prepend=~owner[order][:1]))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return np.sort(order[rank < most])


NEAR = 0.02
"""The share of control rows that sets the bar unless another is asked for."""

N_NEIGHBORS = 20
"""How many rows around it a row is compared with to tell whether it stands apart."""

VOIDS_PROMISE = (
    "WARNING: training rows decided which rows were dropped. If a generator promised differential privacy, "
    "its promise does not cover what is left."
)
HOLE = (
    "WARNING: a hole is itself a hint. Nobody in train has a row of the release nearer than the bar, but "
    "some who are not in train do: they are told apart. Audit what is left."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class FilteredRelease(_RowsLeft):
    """A release without the rows that were dropped, how many these were, and what it cost.

    ``near`` tells of those that were too near, None where nobody asked; ``n_outliers`` counts those that
    stood apart among the rest. ``before`` and ``after`` are the utility of either release, None where it was
    not measured.
    """

    near: NearRows | None
    n_control: int
    n_outliers: int
    before: Utility | None = None
    after: Utility | None = None

    @property
    def n_near(self) -> int:
        """How many rows were too near."""
        return 0 if self.near is None else len(self.near.rows)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is lost by looking at training rows, if that was done."""
        if self.near is None:
            return ()
        return (VOIDS_PROMISE, HOLE) if self.near.bar > 0 else (VOIDS_PROMISE,)

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many rows are left, and why the others are not; where the bar is, is nobody else's business."""
        dropped = self.n_rows - len(self.kept)
        share = percent(dropped / self.n_rows)
        told = [f"{plural(len(self.kept), 'row')} of {self.n_rows:,}; {dropped:,} dropped ({share})."]
        if self.near is not None:
            near = "No row too near to a training row"
            if self.n_near:
                near = (
                    f"{plural(self.n_near, 'row')} too near to a training row "
                    f"({percent(self.n_near / self.n_rows)}), {self.near.equal:,} of them equal to one"
                )
            as_near = percent(self.near.control_near / self.n_control)
            told.append(f"{near}; {as_near} of control rows are as near.")
        if self.n_outliers:
            told.append(f"{plural(self.n_outliers, 'row')} that stood apart from the rest.")
        return tuple(told)

    def __repr__(self) -> str:
        return escaped(
            f"{plural(len(self.kept), 'row')} of {self.n_rows:,}: {self.n_near:,} too near to training rows, "
            f"{plural(self.n_outliers, 'outlier')} dropped"
        )


def require_shares(owner: str, *, near: float = NEAR, outliers: float = 0.0) -> None:
    """Refuse shares that are none, or by which nothing would be dropped."""
    check.below_one(owner, "near", near)
    check.below_one(owner, "outliers", outliers)
    if near == outliers == 0:
        raise ParameterError(owner, "nothing is to be dropped; near or outliers must be above 0.")


def filter_release(
    train: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    synthetic: Any,  # noqa: ANN401 - likewise
    control: Any = None,  # noqa: ANN401 - likewise
    *,
    near: float = NEAR,
    outliers: float = 0.0,
    measure_utility: bool = True,
    target: str | Iterable[str] | None = None,
    seed: int = 0,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    drop: str | Iterable[str] = (),
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    threads: int | None = None,
    progress: Listener | None = None,
) -> FilteredRelease:
    """Drop rows of a release that are too near to training rows, judged by control, as ``tabveil filter``.

    It is a remedy for near copies, no proof of anything. It voids a promise of differential privacy, and the
    holes that it leaves are themselves a hint: audit what is left.

    Parameters
    ----------
    train, synthetic, control
        As in :func:`tabveil.audit`. Without control nobody can say what is too near.
    near
        The share of control rows that sets the bar: rows of the release nearer to a training row than this
        share of control rows are dropped. 0 drops none for being near. Where so many control rows equal a
        training row by chance, as in tables with few different rows, the release may as often: only copies
        beyond that are dropped, and some that are left may be copies, too.
    outliers
        The share of the remaining rows to drop because they stand apart from the others, by the local outlier
        factor in Gower's distance. This looks at the release alone, so it voids no promise.
    measure_utility
        Measure before and after what the release is worth, which takes longer than all the rest.
    target
        Columns that models should predict, where utility is measured.
    seed
        The same seed, the same rows. They leave in random order, which tells nothing about where they stood.
    schema, drop, missing, drop_identifiers, threads, progress
        As in :func:`tabveil.audit`. A column that names people hides how near rows are: leave such out. What
        is left out is not compared; the rows keep it.

    Examples
    --------
    >>> import pandas as pd
    >>> from tabveil.datasets import hospital
    >>> train, control, fresh = (hospital(300, seed=seed) for seed in (1, 2, 3))
    >>> leaky = pd.concat([fresh[:285], train[:15]])
    >>> found = filter_release(train, leaky, control, measure_utility=False)
    >>> found.near.equal, len(found.rows) > 270
    (15, True)
    """
    require_shares("filter", near=near, outliers=outliers)
    check.at_least("filter", "seed", seed, 0)
    with working(threads=threads, listener=progress):
        tell("reading the tables", 0.0)
        loaded = load_split(
            train,
            synthetic,
            control,
            schema=declare.read(schema, drop=drop),
            missing=missing,
            drop_identifiers=drop_identifiers,
        )
        split, n_rows = loaded.split, len(loaded.split.synthetic)
        tell("looking for near rows", 0.05)
        with part(0.05, 0.15):
            found = near_rows(split, share=near, rng=stream(seed, "filter")) if near > 0 else None
        kept = np.arange(n_rows) if found is None else np.setdiff1d(np.arange(n_rows), found.rows)
        if len(kept) == 0:
            raise ParameterError(
                "filter",
                f"all {plural(n_rows, 'row')} of the release lie too near to training rows; nothing is "
                "left. Make another release.",
            )
        tell("looking for outliers", 0.15)
        with part(0.15, 0.2):
            apart = _outliers(split.synthetic.take(kept), outliers, seed)
        kept = np.delete(kept, apart)
        kept = kept[random_order(split.synthetic.take(kept), rng=stream(seed, "filter order"))]
        before, after = _utility(loaded, kept, target, seed) if measure_utility else (None, None)
    return FilteredRelease(
        source=synthetic,
        kept=kept,
        n_rows=n_rows,
        near=found,
        n_control=len(split.control),
        n_outliers=len(apart),
        before=before,
        after=after,
        notes=loaded.notes,
    )


def _outliers(table: Table, share: float, seed: int) -> Indices:
    """Return the positions of the rows that stand apart most; equals by what they hold."""
    n = count_share(share, len(table))
    if n == 0:
        return np.empty(0, dtype=np.int64)
    scores = outlier_factors(table, Mixed(), n_neighbors=N_NEIGHBORS, rng=stream(seed, "filter outliers"))
    return np.lexsort((table.row_hash(), -scores))[:n]


def _utility(
    loaded: LoadedTables, kept: Indices, target: str | Iterable[str] | None, seed: int
) -> tuple[Utility, Utility]:
    """Measure the utility of the release as it was and as it is, with the same draws."""
    split, clocks = loaded.split, loaded.layout.clocks
    wanted = target if target is None or isinstance(target, str) else tuple(target)
    less = Split(train=split.train, control=split.control, synthetic=split.synthetic.take(kept))
    found = []
    for title, tables, first, last in (("before", split, 0.2, 0.6), ("after", less, 0.6, 1.0)):
        with part(first, last, title=f"utility {title}: "):
            rng = stream(seed, "filter utility")
            found.append(
                utility.measure(
                    tables,
                    target=wanted,
                    clocks=clocks,
                    left_out=loaded.hardly_shared,
                    explained=False,
                    rng=rng,
                )
            )
    return found[0], found[1]
