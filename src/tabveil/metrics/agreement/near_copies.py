"""Copies but for a column or two: released rows that agree so with one real person, and with nobody else.

A copy with one value made up lies as far from its original as that value is; by distance it is often no
nearer than a stranger. By the other values it is the original, if nobody else has them.
"""

from itertools import combinations
from math import comb

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate import CONFIDENCE, difference
from tabveil.core.table import Split
from tabveil.core.wording import joined, name, plural
from tabveil.metrics.agreement.cells import ComparedCells
from tabveil.metrics.agreement.scanning import Family, Hits, hits, union
from tabveil.metrics.traces import Trace

FEWEST_COLUMNS = 4
"""Of fewer, a row that agrees in all but one or two is hardly anybody's."""
MOST_ROWS = 40_000_000
"""About so many rows are looked at (a second of one core); where it would be more, in all but one column."""
MOST_LEFT_OUT = 2


def nearly_copied(split: Split, *, confidence: float = CONFIDENCE, rng: Generator) -> Trace | None:
    """Count the people whom a released row equals in all columns but one or two, alone among real people.

    None where there is no control, or where columns are too few to tell.

    >>> import numpy as np
    >>> from tabveil.core.table import Numeric, Schema, Table
    >>> names = "abcdef"
    >>> schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in names))
    >>> draws = np.random.default_rng(0).random((90, 6))
    >>> train, control, release = (Table(schema=schema, values=draws[i : i + 30].copy()) for i in (0, 30, 60))
    >>> copied = release.values.copy()
    >>> copied[:20, 1:] = train.values[:20, 1:]  # all but one column of twenty people
    >>> split = Split(train=train, control=control, synthetic=Table(schema=schema, values=copied))
    >>> found = nearly_copied(split, rng=np.random.default_rng(1))
    >>> found.people, found.people_control, found.rows, found.p_value < 1e-6
    (20, 0, 20, True)
    """
    d = len(split.schema)
    if not len(split.control) or not len(split.synthetic) or d < FEWEST_COLUMNS:
        return None
    cells = ComparedCells.exact(split, derived=False, rng=rng)
    n_rows = cells.real.shape[1] + cells.released.shape[1]
    most = MOST_LEFT_OUT if d > FEWEST_COLUMNS + 1 and comb(d, MOST_LEFT_OUT) * n_rows <= MOST_ROWS else 1
    sets = [gone for n_gone in range(most + 1) for gone in combinations(range(d), n_gone)]
    unions = [[gone for gone in sets if len(gone) <= n_gone] for n_gone in range(1, most + 1)]
    counts = [
        *hits(cells, sets, left_out=True),
        *(union(cells, some, left_out=True).counts for some in unions),
    ]
    family = Family(cells=cells, sets=[*sets, *unions], counts=np.array(counts))
    found = Hits.of(family.counts[family.surest])
    surest = family.surest
    where = "in all columns"  # but those of one set, or of any
    if surest >= len(sets):
        where += f" but {'one' if surest == len(sets) or most == 1 else 'one or two'}"
    elif sets[surest]:
        where += f" but {joined([name(cells.columns[place]) for place in sets[surest]])}"
    agree = "agrees" if found.rows_train == 1 else "agree"
    rows_expected = found.rows_control * cells.n_train / cells.n_control
    return Trace(
        name="nearly copied",
        title="Rows copied but for a column or two",
        sentence=(
            f"{plural(found.rows_train, 'released row')} of {len(split.synthetic):,} {agree} {where} with "
            f"one training person and no other real person; by chance about {rows_expected:,.0f} would."
        ),
        p_value=min(family.reached(family.smallest), 1.0),
        people=found.train,
        n_people=cells.n_train,
        people_control=found.control,
        n_control=cells.n_control,
        gain=difference(found.train, cells.n_train, found.control, cells.n_control, confidence),
        rows=found.rows_train,
        rows_expected=rows_expected,
        n_rows=len(split.synthetic),
    )
