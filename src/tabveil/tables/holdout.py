"""Which rows to train on, and which to hold back: the disjoint train and control that an audit needs.

Rows that are equal in every column may be one person's record, stored twice: it must not be trained on and
held back, or control would hold people who were trained on. Or they are two people's, as in tables of few
columns and few values: these are parted like any others, or fresh people would be nearer to train than
control is, and any release would seem to leak. Which of the two it is, the table tells: people who coincide
by chance in all columns also do in all but one, and records stored twice hardly ever.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tabveil.core import check
from tabveil.core.check import quoted
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.estimate.rates import probit
from tabveil.core.rng import stream
from tabveil.core.table import Indices, mix_bits
from tabveil.core.wording import people
from tabveil.errors import SchemaError
from tabveil.tables.reading import leave_out, native_parts, raw_rows
from tabveil.tables.reading.arrow import Hashes, RawTable, hash_cells, hash_rows, missing_cells

_MOSTLY = 0.25  # of equal rows: columns explain fewer than there are, for they go together
_TRIES = 32
"""Orders of the groups that are tried for a control of exactly the wanted size."""


REACH = (1.72, 1.3)
"""How far the bounds of a clean release reach, from ``s = sqrt(1 / n_train + 1 / n_control)``: about
``1.72 s + 1.3 s²`` people of one. Fitted to the bound of the risk that leads, the median over five tables of
20 audits a size, with 3,000 training rows at a confidence of 0.95 (docs/verdicts.md): 13.4, 9.5, 6.3, 5.0 and
4.3 of 100 with 200, 400, 1,000, 2,000 and 4,000 control rows, where it gives 13.2, 9.5, 6.4, 5.1 and 4.2."""


class Settles(NamedTuple):
    """What a control will be able to settle."""

    threshold: float  # the smallest that about half of all clean releases can be called within
    control_needed: int | None  # rows for the threshold asked for; None: more training rows are needed, too


class Parts(NamedTuple):
    """Two tables of one kind that share no person."""

    train: Any
    control: Any


def split(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    control: float = 0.3,
    by: str | None = None,
    drop: str | Iterable[str] = (),
    seed: int = 0,
) -> Parts:
    """Hold back control rows before a generator is trained, as ``tabveil split`` does.

    Parameters
    ----------
    data
        All the real rows: a path, or a table of pandas, polars or Arrow, which stays as it is.
    control
        The share to hold back, between 0 and 1: of persons if ``by`` is given, else of rows.
    by
        The column that says whose row it is; rows of one person stay together. Without it, equal rows do,
        where they are too many to be different people who coincide.
    drop
        Columns that neither of the two tables is to have, such as an index. What is equal goes by the others.
    seed
        Another seed, another choice.

    Returns
    -------
    ``train`` and ``control``, as the kind of table that came in; of a file as Arrow tables.

    >>> from tabveil.datasets import hospital
    >>> train, control = split(hospital(200, seed=1), control=0.25)
    >>> len(train), len(control)
    (150, 50)
    """
    check.at_least("split", "seed", seed, 0)
    data = leave_out(data, drop)
    return Parts(*native_parts(data, split_rows(raw_rows(data), control=control, by=by, seed=seed)))


def settles(
    n_train: int, n_control: int, *, threshold: float = 0.05, confidence: float = CONFIDENCE
) -> Settles:
    """Estimate what an audit with so many training and control rows (people) will be able to settle.

    The smallest threshold that a release which leaks nothing can be called within, in about half of all
    audits, and how many control rows the threshold asked for would take beside as many training rows. Tables
    differ: it is no more than an estimate, and says nothing about a release that leaks.

    >>> found = settles(3000, 1000)
    >>> round(found.threshold, 3), found.control_needed
    (0.065, 2099)
    >>> settles(500, 1000).control_needed is None
    True
    """
    check.at_least("settles", "n_train", n_train, 1)
    check.at_least("settles", "n_control", n_control, 1)
    check.between("settles", "threshold", threshold, 0, 1)
    wider = probit(confidence) / probit(CONFIDENCE)
    straight, bent = (factor * wider for factor in REACH)
    spread = 1 / n_train + 1 / n_control
    wanted = ((math.sqrt(straight**2 + 4 * bent * threshold) - straight) / (2 * bent)) ** 2
    rest = wanted - 1 / n_train
    return Settles(
        threshold=straight * math.sqrt(spread) + bent * spread,
        control_needed=math.ceil(1 / rest) if rest > 0 else None,
    )


def in_words(
    n_train: int,
    n_control: int,
    *,
    threshold: float = 0.05,
    confidence: float = CONFIDENCE,
    counted: str = "rows",
) -> str:
    """Say what a control will be able to settle, and what it would take for a threshold."""
    found = settles(n_train, n_control, threshold=threshold, confidence=confidence)
    told = (
        f"With {n_control:,} control {counted} an audit can call a clean release within about "
        f"{people(found.threshold)} of 100 people, hardly less; you accept {people(threshold)}"
    )
    if found.threshold <= threshold:
        return f"{told}."
    if found.control_needed is None:
        return f"{told}: that takes more {counted} of both, train and control."
    unit = 10 ** max(len(str(found.control_needed)) - 2, 0)
    needed = math.ceil(found.control_needed / unit) * unit
    return f"{told}: that takes about {needed:,} control {counted} beside as many training {counted} as here."


def parted_people(columns: Sequence[str]) -> str:
    """Say that rows of one person were parted, by the column that says so."""
    by = columns[0]
    return (
        f"Column {quoted(by)} seems to name people with several rows, and some stand on both sides now: an "
        f"audit will not conclude. Split by it (--by {by}), or say that every row is another person "
        "(--independent-rows)."
    )


def count_people(data: RawTable, by: str) -> int:
    """Count the people that a column names; a row without a name is somebody of their own."""
    missing = missing_cells(data, by)
    cells = hash_cells("split", data.select([by]))[0]
    return len(np.unique(cells[~missing])) + int(missing.sum())


def split_rows(data: RawTable, *, control: float, by: str | None, seed: int) -> tuple[Indices, Indices]:
    """Choose the rows of train and control so that no person stands on both sides.

    Rows with the same value of ``by`` (one person) stay together; a row whose ``by`` is missing is a person
    of its own, with the rows that equal it. Two persons whose rows are equal but for ``by`` are two persons
    and may be parted. Without ``by``, rows that are equal in every column stay together unless they are
    coincidences. Which group goes where depends on the seed and on what the rows hold, not on their order in
    the file.

    The arguments are those of :func:`split`, of rows as :func:`tabveil.tables.reading.read_raw` returns them.
    The share is met as closely as the groups allow; neither side is ever empty. Returns the indices of train
    and of control, each in ascending order.

    >>> import pyarrow as pa
    >>> people = pa.table({"person": [1, 1, 2, 3], "visit": [1, 2, 1, 1]})
    >>> train, control = split_rows(people, control=0.34, by="person", seed=0)
    >>> len(train) + len(control), {0, 1} <= set(train.tolist()) or {0, 1} <= set(control.tolist())
    (4, True)
    """
    check.between("split", "control", control, 0, 1)
    if by is not None:
        check.known_names("split", "column", [by], data.column_names)
        if data.column_names.count(by) > 1:
            raise SchemaError("split", f"several columns are called {by!r}. Rename them.")
    hashes = hash_cells("split", data)
    rows = hash_rows(hashes, data.num_rows)
    if by is not None:
        group, weight = _persons(rows, hashes[data.column_names.index(by)], missing_cells(data, by))
    else:  # equal rows stay together, unless they are coincidences
        group = np.arange(len(rows)) if coincide(hashes) else np.unique(rows, return_inverse=True)[1]
        weight = np.bincount(group)
    keys = np.full(len(weight), np.iinfo(np.uint64).max, dtype=np.uint64)  # of what each group holds
    np.minimum.at(keys, group, rows)
    if len(weight) < 2:  # noqa: PLR2004 - one for each side
        whose = "equal" if by is None else f"equal or of one {by!r}"
        raise SchemaError("split", f"cannot divide {data.num_rows} rows that are all {whose}.")
    side = choose_groups(weight, keys, control, stream(seed, "holdout"))[group]
    return np.flatnonzero(~side), np.flatnonzero(side)


def coincide(hashes: list[Hashes]) -> bool:
    """Tell whether equal rows are different people who coincide by chance.

    Of pairs of rows that are equal in all other columns, as many more are equal in one as of any pairs that
    differ somewhere, if not still more: columns go together. So each column tells how many pairs at least
    coincide in all of them.
    """
    if not hashes:
        return False
    # Cells of each column are hashed differently: in a sum they could stand for each other.
    cells = [mix_bits(column + np.uint64(place + 1)) for place, column in enumerate(hashes)]
    rows: Hashes = np.sum(cells, axis=0, dtype=np.uint64)  # a sum: a column can be taken out again
    equal = _pairs(rows)
    different = len(rows) * (len(rows) - 1) / 2 - equal
    if not equal or not different:
        return False
    for column in cells:
        agree = (_pairs(column) - equal) / different
        others = _pairs(rows - column) - equal  # pairs that coincide in all other columns alone
        if agree < 1 and others * agree / (1 - agree) >= _MOSTLY * equal:
            return True
    return False


def _pairs(rows: Hashes) -> float:
    """Count the pairs of equal rows."""
    times = np.unique(rows, return_counts=True)[1].astype(np.float64)
    return float((times * (times - 1)).sum() / 2)


def _persons(rows: Hashes, person: Hashes, missing: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """Join rows of one person; a row without a person is joined to nothing but rows that equal it.

    Return the group of every row (n,), and of how many persons each group has rows (g,).
    """
    same_row = np.unique(rows, return_inverse=True)[1]
    owner = np.where(missing, rows, person)
    owners = np.unique(np.column_stack([missing, owner]), axis=0, return_inverse=True)[1].ravel()
    n_owners, n_kinds = int(owners.max(initial=-1)) + 1, int(same_row.max(initial=-1)) + 1
    links = coo_array((np.ones(len(rows)), (owners, n_owners + same_row)), shape=(n_owners + n_kinds,) * 2)
    joined = connected_components(links, directed=False)[1][owners]
    of_row = np.unique(joined, return_inverse=True)[1]
    first = np.unique(owners, return_index=True)[1]
    counted = np.concatenate([of_row[first[~missing[first]]], of_row[missing]])
    return of_row, np.bincount(counted)


def choose_groups(weight: Indices, keys: Hashes, share: float, rng: Generator) -> NDArray[np.bool_]:
    """Draw groups at random until their weight is as near the share as can be; never none, never all."""
    by_content = np.argsort(keys, kind="stable")
    total = int(weight.sum())
    wanted = min(max(round(share * total), 1), total - 1)
    best, smallest_miss = by_content[:1], total
    for _ in range(_TRIES):
        drawn = _fill(by_content[rng.permutation(len(keys))], weight, wanted)
        miss = abs(int(weight[drawn].sum()) - wanted)
        if miss < smallest_miss:
            best, smallest_miss = drawn, miss
        if smallest_miss == 0:
            break
    return np.isin(np.arange(len(keys)), best)


def _fill(order: Indices, weight: Indices, wanted: int) -> Indices:
    """Take groups in this order as long as they fit, then the one that comes nearest if that is nearer."""
    taken = int(np.searchsorted(np.cumsum(weight[order]), wanted, side="right"))
    picked, rest = list(order[:taken]), order[taken:]
    gap = wanted - int(weight[order[:taken]].sum())
    while gap > 0 and (weight[rest] <= gap).any():
        place = int(np.argmax(weight[rest] <= gap))
        picked.append(rest[place])
        gap -= int(weight[rest[place]])
        rest = rest[place + 1 :]
    left = order[~np.isin(order, picked)] if gap > 0 else rest[:0]
    nearest = left[np.argmin(weight[left])] if len(left) > 1 else None
    if nearest is not None and (not picked or weight[nearest] - gap < gap):
        picked.append(nearest)
    return np.asarray(picked, dtype=np.int64)
