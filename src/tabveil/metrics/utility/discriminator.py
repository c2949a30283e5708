"""Can synthetic rows be told from real ones by all columns at once, and which columns tell?"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.estimate import CONFIDENCE, Estimate, share
from tabveil.core.people import numbered
from tabveil.core.sampling import draw
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.boosting import BoostedTrees, train
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.findings import Figure, Telling
from tabveil.metrics.utility.joint import require_rows

WIDE = 64  # columns; time grows with them
COLUMNS_A_TREE = 32  # of a wider table, drawn anew for each tree
N_HALVES = 2
LEAST_ROWS = 20  # of either table
MOST_ROWS = 30_000
EVEN = 0.5
MOST_TELLING = 3  # columns that are named; each costs two models more
MOST_SHUFFLED = 100_000  # cells of a half that are guessed from again, over all columns
LEAST_SHUFFLED = 500  # rows


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
    return _figure(_deal(sides, rng=rng), confidence)


def discriminate_and_name(
    sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator, shuffling: Generator
) -> tuple[Figure, tuple[Telling, ...]]:
    """Also name the few columns that tell most, with what a model still tells without them.

    The column is left out without which the models, as they are, guess the rows they did not learn from
    worst: its cells are shuffled among these rows. Models that never saw it are then learned anew, on the
    same rows, and so on, until no better than a coin is left, or
    :data:`~tabveil.metrics.utility.discriminator.MOST_TELLING` columns are out. The last of them are not
    named where leaving them out did not clearly matter, and none is where real rows are told apart about as
    well.
    """
    tasks = _deal(sides, rng=rng)
    figure = _figure(tasks, confidence)
    found = list[Telling]()
    task, left = tasks[0], figure.value
    beyond = figure.reference is None or left.value > figure.reference.high
    while beyond and left.low > EVEN and len(task.columns) > 1 and len(found) < MOST_TELLING:
        worst = task.most_telling(rng=shuffling)
        task = replace(task, columns=tuple(name for name in task.columns if name != worst), learned={})
        _guess([task])
        left = task.accuracy(confidence)
        found.append(Telling(column=worst, left=left))
    before = [figure.value, *(item.left for item in found)]
    while found and found[-1].left.value >= before[len(found) - 1].low:
        found.pop()
    return figure, tuple(found)


def _deal(sides: ComparedTables, *, rng: Generator) -> "list[_Discriminator]":
    """Deal synthetic and fresh rows among real ones, as far as there are enough."""
    require_rows("discriminator", sides, LEAST_ROWS)
    others = [sides.synthetic, *([sides.fresh] if len(sides.fresh) >= LEAST_ROWS else [])]
    return [_Discriminator.of(sides.real, other, rng=rng) for other in others]


def _guess(tasks: "Sequence[_Discriminator]") -> None:
    workers.each_chunk(
        len(tasks) * N_HALVES,
        1,
        lambda job, _: tasks[job // N_HALVES].guess_half(job % N_HALVES),
        doing="telling synthetic from real rows",
    )


def _figure(tasks: "Sequence[_Discriminator]", confidence: float) -> Figure:
    _guess(tasks)
    accuracies = [task.accuracy(confidence) for task in tasks]
    return Figure(value=accuracies[0], reference=accuracies[1] if len(tasks) > 1 else None)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Discriminator:
    """Equal numbers of real and other rows, dealt into two halves of equal composition."""

    n_people: int
    rows: Table  # (2n,) real, then other
    columns: tuple[str, ...]  # that are shown to the models
    is_other: Indices  # (2n,)
    half: Indices  # (2n,)
    correct: Floats  # (2n,) filled half by half: 1, 0, or a half where the model cannot say
    learned: dict[int, BoostedTrees] = field(default_factory=dict)  # by the half that each guesses

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
            columns=real.schema.names,
            is_other=np.repeat(np.arange(2), n),
            half=half,
            correct=np.zeros(2 * n),
        )

    def guess_half(self, number: int) -> None:
        """Learn from the other half, guess this one."""
        learn, guess = (np.flatnonzero(side) for side in (self.half != number, self.half == number))
        rows = self.rows.select(self.columns)
        self.learned[number] = trees = _learn(rows.take(learn), self.is_other[learn])
        chance = trees.predict(rows.take(guess))
        right = (chance > EVEN) == (self.is_other[guess] == 1)
        self.correct[guess] = np.where(chance == EVEN, EVEN, right)

    def accuracy(self, confidence: float) -> Estimate:
        n, worth = len(self.correct), self.n_people / N_HALVES
        return share(float(self.correct.mean()), n, effective=worth, confidence=confidence)

    def most_telling(self, *, rng: Generator) -> str:
        """Return the column whose shuffled cells take most of the chance that models give to the truth."""
        most = max(MOST_SHUFFLED // len(self.columns), LEAST_SHUFFLED)
        asked = []
        for number, trees in sorted(self.learned.items()):  # whichever thread was first
            places = rng.permutation(np.flatnonzero(self.half == number))[:most]
            asked.append((trees, self.rows.select(self.columns).take(places), self.is_other[places]))
        orders = [rng.permutation(len(rows)) for _, rows, _ in asked]

        def given_to_truth(position: int) -> float:
            """Return the chance that is left with one column's cells in other rows."""
            total = 0.0
            for (trees, rows, is_other), order in zip(asked, orders, strict=True):
                cells = rows.values.copy()
                cells[:, position] = cells[order, position]
                chance = trees.predict(Table(schema=rows.schema, values=cells))
                total += float(np.where(is_other == 1, chance, 1 - chance).mean())
            return total

        left = np.empty(len(self.columns))

        def shuffled(position: int, _: int) -> None:
            left[position] = given_to_truth(position)

        workers.each_chunk(len(left), 1, shuffled, doing="finding the columns that tell")
        return self.columns[int(np.argmin(np.round(left, 9)))]


def tell_apart(rows: Table, positive: Indices, asked: Table) -> Floats:
    """Learn which rows are positive (1) and which are not (0); return the asked rows' probabilities."""
    return _learn(rows, positive).predict(asked)


def _learn(rows: Table, positive: Indices) -> BoostedTrees:
    n_columns = len(rows.schema)
    some = {"colsample_bytree": COLUMNS_A_TREE / n_columns} if n_columns > WIDE else {}
    return train(rows, positive, {"objective": "binary:logistic", **some})
