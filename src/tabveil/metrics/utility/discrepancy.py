"""Maximum mean discrepancy: do real and synthetic rows lie in the same places, all columns at once?"""

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.estimate import CONFIDENCE, Estimate, around
from tabveil.core.sampling import shuffled
from tabveil.core.table import Floats, Numeric
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.compared_tables import ComparedTables
from tabveil.metrics.utility.discrepancy_kernels import kernel_sum
from tabveil.metrics.utility.findings import Figure
from tabveil.tables.matrices.scale import unit

ROWS_A_BLOCK = 400
MOST_BLOCKS = 40
LEAST_BLOCKS = 5  # for a standard error; smaller tables are cut in smaller blocks
PAIRS_FOR_MEDIAN = 2000


def discrepancy(sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator) -> Figure:
    """How far apart are the densities of real and synthetic rows? MMD², 0 at best.

    The kernel is ``exp(-d / width)`` with d the sum of Gower's distance over the columns and the width the
    median distance between real rows. Taken over all pairs of rows it would need quadratic time; it is
    therefore averaged over blocks (the B-test, Zaremba et al. 2013). Each block's value is unbiased, so the
    result may be slightly negative; blocks share no rows, so their scatter gives the interval.
    """
    needed = 2 * LEAST_BLOCKS
    sizes = len(sides.real), len(sides.synthetic)
    if min(sizes) < needed:
        raise NotApplicable(
            f"mmd: needs at least {needed} real and as many synthetic rows to compare, got {sizes[0]} and "
            f"{sizes[1]}."
        )
    real, synthetic, fresh = (
        unit(shuffled(table, rng=rng).table) for table in (sides.real, sides.synthetic, sides.fresh)
    )
    numeric = np.array([isinstance(column, Numeric) for column in sides.real.schema.columns])
    width = _median_distance(real, numeric, rng=rng)
    if width == 0:
        raise NotApplicable("mmd: all real rows are equal.")
    has_fresh = len(fresh) >= needed
    return Figure(
        value=_estimate(real, synthetic, numeric, width, confidence),
        reference=_estimate(real, fresh, numeric, width, confidence) if has_fresh else None,
    )


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

    def work(start: int, stop: int) -> None:
        for block in range(start, stop):
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
