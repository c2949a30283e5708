"""Can synthetic rows be told from real ones by all columns at once?"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.estimate import CONFIDENCE, Estimate, share
from tabveil.core.people import numbered
from tabveil.core.sampling import draw
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.boosting import train
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.findings import Figure
from tabveil.metrics.utility.joint import require_rows

WIDE = 64  # columns; time grows with them
COLUMNS_A_TREE = 32  # of a wider table, drawn anew for each tree
N_HALVES = 2
LEAST_ROWS = 20  # of either table
MOST_ROWS = 30_000
EVEN = 0.5


def discriminate(sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator) -> Figure:
    """Can a model tell synthetic rows from real rows? Accuracy; 0.5 is a coin's, and the best.

    XGBoost with its default parameters on as many synthetic as control rows; one model learns from either
    half and guesses the other. The reference is what it achieves on train rows: they are real, so it stays
    near 0.5. Comparing with the train rows instead would reward copies of them, down to below 0.5. In wide
    tables each tree is shown some of the columns
    (:data:`~tabveil.metrics.utility.discriminator.COLUMNS_A_TREE`).

    The interval is Wilson's for half of the rows. Two similar rows in different halves are both guessed right
    or both guessed wrong, so all rows together are worth less than their number (an interval for all of them,
    over two or over five folds, held 0.5 in 88 of 100 fresh tables), but never less than one half alone.
    Where people have several rows, all rows of one are in the same half, and people are counted.
    """
    require_rows("discriminator", sides, LEAST_ROWS)
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
        n, worth = len(self.correct), self.n_people / N_HALVES
        return share(float(self.correct.mean()), n, effective=worth, confidence=confidence)


def tell_apart(rows: Table, positive: Indices, asked: Table) -> Floats:
    """Learn which rows are positive (1) and which are not (0); return the asked rows' probabilities."""
    n_columns = len(rows.schema)
    some = {"colsample_bytree": COLUMNS_A_TREE / n_columns} if n_columns > WIDE else {}
    return train(rows, positive, {"objective": "binary:logistic", **some}).predict(asked)
