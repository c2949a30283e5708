"""Can synthetic rows be told from real ones, all columns at once? By where rows lie, and by a model."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.estimate import CONFIDENCE, Estimate, around, share
from tabveil.core.people import numbered
from tabveil.core.sampling import draw, shuffled
from tabveil.core.table import Floats, Indices, Numeric, Table
from tabveil.engines.boosting import train
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.findings import Figure
from tabveil.metrics.utility.utility_kernels import kernel_sum
from tabveil.tables.matrices.ordinal import unit

WIDE = 64  # columns; time grows with them
COLUMNS_A_TREE = 32  # of a wider table, drawn anew for each tree
ROWS_A_BLOCK = 400
MOST_BLOCKS = 40
LEAST_BLOCKS = 5  # for a standard error; smaller tables are cut in smaller blocks
PAIRS_FOR_MEDIAN = 2000
N_HALVES = 2
LEAST_ROWS = 20  # of either table
MOST_ROWS = 30_000
EVEN = 0.5


def discrepancy(sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator) -> Figure:
    """How far apart are the densities of real and synthetic rows? MMD², 0 at best.

    The kernel is ``exp(-d / width)`` with d the sum of Gower's distance over the columns and the width the
    median distance between real rows. Taken over all pairs of rows it would need quadratic time; it is
    therefore averaged over blocks (the B-test, Zaremba et al. 2013). Each block's value is unbiased, so the
    result may be slightly negative; blocks share no rows, so their scatter gives the interval.
    """
    needed = 2 * LEAST_BLOCKS
    _require_rows("mmd", sides, needed)
    real, synthetic, fresh = (
        unit(shuffled(table, rng=rng).table) for table in (sides.real, sides.synthetic, sides.fresh)
    )
    numeric = np.array([isinstance(column, Numeric) for column in sides.real.schema.columns])
    width = _median_distance(real, numeric, rng=rng)
    if width == 0:
        raise NotApplicable("mmd", "all real rows are equal.")
    has_fresh = len(fresh) >= needed
    return Figure(
        value=_estimate(real, synthetic, numeric, width, confidence),
        reference=_estimate(real, fresh, numeric, width, confidence) if has_fresh else None,
    )


def _require_rows(name: str, sides: ComparedTables, least: int) -> None:
    n_real, n_synthetic = len(sides.real), len(sides.synthetic)
    if min(n_real, n_synthetic) < least:
        needs = f"needs at least {least} real and as many synthetic rows to compare"
        raise NotApplicable(name, f"{needs}, got {n_real} and {n_synthetic}.")


def _median_distance(cells: Floats, numeric: np.ndarray, *, rng: Generator) -> float:
    """Return the median Gower sum between random pairs of rows (the mean where most pairs are equal)."""
    a, b = (cells[rng.integers(0, len(cells), PAIRS_FOR_MEDIAN)] for _ in range(2))
    missing = np.isnan(a), np.isnan(b)
    gaps = np.where(numeric, np.abs(a - b), a != b)
    gaps = np.where(missing[0] & missing[1], 0.0, np.where(missing[0] | missing[1], 1.0, gaps))
    sums = np.sort(gaps.sum(axis=1))
    return float(np.median(sums)) or float(sums.mean())


def _estimate(a: Floats, b: Floats, numeric: np.ndarray, width: float, confidence: float) -> Estimate:
    """Return the mean over blocks of the unbiased MMD²; the rows come in random order."""
    n = min(len(a), len(b))
    size = max(min(ROWS_A_BLOCK, n // LEAST_BLOCKS), 2)
    n_blocks = min(n // size, MOST_BLOCKS)
    found = np.empty(n_blocks)

    def work(block: int, _: int) -> None:
        rows = slice(block * size, (block + 1) * size)
        found[block] = unbiased(a[rows], b[rows], numeric, width)

    workers.each_chunk(n_blocks, 1, work, doing="comparing densities")
    error = float(found.std(ddof=1)) / np.sqrt(n_blocks)
    return around(float(found.mean()), float(error), n_blocks * size, groups=n_blocks, confidence=confidence)


def unbiased(a: Floats, b: Floats, numeric: np.ndarray, width: float) -> float:
    """Return the unbiased MMD² of two equally large sets of rows (Gretton et al. 2012, eq. 3)."""
    n = len(a)
    within = sum(kernel_sum(side, side, numeric, width) - n for side in (a, b)) / (n * (n - 1))
    return float(within - 2 * kernel_sum(a, b, numeric, width) / n**2)


def discriminate(sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator) -> Figure:
    """Can a model tell synthetic rows from real rows? Accuracy; 0.5 is a coin's, and the best.

    XGBoost with its default parameters on as many synthetic as control rows; one model learns from either
    half and guesses the other. The reference is what it achieves on train rows: they are real, so it stays
    near 0.5. Comparing with the train rows instead would reward copies of them, down to below 0.5. In wide
    tables each tree is shown some of the columns
    (:data:`~tabveil.metrics.utility.telling_apart.COLUMNS_A_TREE`).

    The interval is Wilson's for half of the rows. Two similar rows in different halves are both guessed right
    or both guessed wrong, so all rows together are worth less than their number (an interval for all of them,
    over two or over five folds, held 0.5 in 88 of 100 fresh tables), but never less than one half alone.
    Where people have several rows, all rows of one are in the same half, and people are counted.
    """
    _require_rows("discriminator", sides, LEAST_ROWS)
    tasks = [_Discriminator.of(sides.real, sides.synthetic, rng=rng)]
    if len(sides.fresh) >= LEAST_ROWS:
        tasks.append(_Discriminator.of(sides.real, sides.fresh, rng=rng))

    workers.each_chunk(
        len(tasks) * N_HALVES,
        1,
        lambda job, _: tasks[job // N_HALVES].guess_half(job % N_HALVES),
        doing="telling synthetic from real rows",
    )
    accuracies = [task.accuracy(confidence) for task in tasks]
    return Figure(value=accuracies[0], reference=accuracies[1] if len(tasks) > 1 else None)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Discriminator:
    """Equal numbers of real and other rows, dealt into two halves of equal composition."""

    n_people: int
    rows: Table  # (2n,) real, then other
    is_other: Indices  # (2n,)
    half: Indices  # (2n,)
    correct: Floats  # (2n,) filled half by half: 1, 0, or a half where the model cannot say

    @classmethod
    def of(cls, real: Table, other: Table, *, rng: Generator) -> "_Discriminator":
        n = min(len(real), len(other), MOST_ROWS)
        sides = [draw(table, n, rng=rng).table for table in (real, other)]
        # As many rows of each table in each half: or the rarer one in training would be the likelier in test.
        # All rows of one person go into the same.
        half = np.concatenate(
            [rng.permutation(np.arange(side.n_people) % N_HALVES)[numbered(side)] for side in sides]
        )
        return cls(
            n_people=sum(side.n_people for side in sides),
            rows=Table(schema=real.schema, values=np.concatenate([side.values for side in sides])),
            is_other=np.repeat(np.arange(2), n),
            half=half,
            correct=np.zeros(2 * n),
        )

    def guess_half(self, number: int) -> None:
        """Learn from the other half, guess this one."""
        learn, guess = (np.flatnonzero(side) for side in (self.half != number, self.half == number))
        chance = tell_apart(self.rows.take(learn), self.is_other[learn], self.rows.take(guess))
        right = (chance > EVEN) == (self.is_other[guess] == 1)
        self.correct[guess] = np.where(chance == EVEN, EVEN, right)

    def accuracy(self, confidence: float) -> Estimate:
        """Return the share of rows guessed right."""
        n, worth = len(self.correct), self.n_people / N_HALVES
        return share(float(self.correct.mean()), n, effective=worth, confidence=confidence)


def tell_apart(rows: Table, positive: Indices, asked: Table) -> Floats:
    """Learn which rows are positive (1) and which are not (0); return the asked rows' probabilities."""
    n_columns = len(rows.schema)
    some = {"colsample_bytree": COLUMNS_A_TREE / n_columns} if n_columns > WIDE else {}
    return train(rows, positive, {"objective": "binary:logistic", **some}).predict(asked)
