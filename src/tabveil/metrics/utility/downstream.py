"""Train on synthetic, test on real (TSTR): is a model learned from the release as good as one from people?"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from tabveil.core import check, workers
from tabveil.core.estimate import CONFIDENCE, Estimate, known, mean_of, ratio_of_means, root_score, share
from tabveil.core.people import sum_by_person
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table
from tabveil.engines.boosting import STEPS, train
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.discriminator import tell_apart
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.findings import Figure, TargetUtility
from tabveil.metrics.utility.joint import Relations
from tabveil.metrics.worth_guessing import GuessableColumn, in_order
from tabveil.tables.matrices.ordinal import shares_of_range

N_TARGETS = 3
MOST_LABELS = 20  # a tree a label and round: columns with more are not chosen, but may be asked for
LEAST_LABELS = 2  # chosen in the widest tables; one tree tells two labels apart
LEAST_ROWS = 20  # that have the target, of each table
MOST_ROWS = 30_000
MOST_COLUMNS = 64  # that a target is predicted from, and labels times columns where there are many labels
LEAST_COLUMNS = 16
MOSTLY = 0.5  # more than this share of cells missing: nothing to learn
TWIN = 0.98  # a column this strongly associated with another is told by it: nothing to learn
SYNTHETIC, FRESH = range(2)


def named_targets(target: str | Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Check the columns a user names as targets."""
    names = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    check.known_names("utility", "column", names, known)
    return tuple(sorted(set(names)))


def choose_targets(sides: ComparedTables, related: Relations) -> tuple[str, ...]:
    """Choose what looks like an outcome, then the columns that go most strongly with any one other column.

    Of the first, :mod:`tabveil.metrics.worth_guessing` tells more; the others can be predicted best. Judged
    on the train rows, never on the release. Left out are columns that hardly vary, are mostly missing,
    have too many labels (in wide tables fewer are too many), or have a twin that gives them away (a level of
    education beside its number).
    """
    wide = max(len(sides.real.schema), MOST_COLUMNS)
    most_labels = max(MOST_LABELS * MOST_COLUMNS // wide, LEAST_LABELS)
    strengths = np.abs(related.fresh) - 2 * np.eye(len(related.fresh))  # never with itself
    strongest = zip(strengths.max(axis=1, initial=-1.0).tolist(), sides.real.schema.names, strict=True)
    ranked = in_order(
        (
            GuessableColumn(
                column=sides.real.schema[name], **_variety(sides.fresh.column(name)), worth=strength
            )
            for strength, name in strongest
            if 0 < strength < TWIN and _suitable(sides, name, most_labels)
        ),
        labels_first=False,
    )
    return tuple(ranked[:N_TARGETS])


def _variety(cells: Floats) -> dict[str, Any]:
    """Count different values, and how often the most frequent one is wrong."""
    counts = np.unique(cells[~np.isnan(cells)], return_counts=True)[1]
    return {"n_values": len(counts), "room": 1 - counts.max() / counts.sum()}


def _suitable(sides: ComparedTables, name: str, most_labels: int) -> bool:
    column = sides.real.schema[name]
    for table in (sides.real, sides.fresh):
        cells = table.column(name)
        cells = cells[~np.isnan(cells)]
        if len(cells) < max(LEAST_ROWS, MOSTLY * len(table)) or cells.min() == cells.max():
            return False
        if isinstance(column, Categorical) and len(np.unique(cells)) > most_labels:
            return False
    return True


def _predictors(sides: ComparedTables, target: str, related: Relations | None) -> list[str]:
    """Name the columns a target is predicted from: all others, or those most associated with it in train."""
    names = sides.real.schema.names
    if related is None or len(names) <= MOST_COLUMNS + 1:
        return [name for name in names if name != target]
    column = sides.real.schema[target]
    n_labels = len(column.labels) if isinstance(column, Categorical) else 0
    many = n_labels > LEAST_LABELS  # a tree for each of them
    most = max(MOST_COLUMNS // n_labels, LEAST_COLUMNS) if many else MOST_COLUMNS
    strengths = np.round(np.abs(related.fresh[sides.real.schema.position(target)]), 9)
    ranked = sorted((-strength, name) for strength, name in zip(strengths.tolist(), names, strict=True))
    return sorted([name for _, name in ranked if name != target][:most])


def predict_targets(
    sides: ComparedTables,
    targets: Sequence[str],
    *,
    related: Relations | None = None,
    confidence: float = CONFIDENCE,
    rng: Generator,
) -> tuple[tuple[TargetUtility, ...], tuple[str, ...]]:
    """How well does a model learned from the release predict a column of real people?

    For every target, XGBoost (default parameters) learns it from all other columns (in wide tables, from
    those most strongly associated with it, if ``related`` says which), once from synthetic and once from as
    many train rows; both predict the control rows. Intervals count the chance in which rows are tested, not
    that another training set would give another model. Returns what the models score, and the targets that
    could not be learned or tested.
    """
    if len(sides.real.schema) < 2:  # noqa: PLR2004 - a target and something to predict it from
        raise NotApplicable("downstream", "needs at least two columns, a target and one to predict it from.")
    sides = sides.at_most(MOST_ROWS, rng=rng)
    tasks = [task for name in targets if (task := _Target.of(sides, name, _predictors(sides, name, related)))]
    if not tasks:
        raise NotApplicable(
            "downstream",
            "no column can be a target: it must vary among the real rows and have at least "
            f"{LEAST_ROWS} values in the real and in the synthetic rows.",
        )

    workers.each_chunk(
        2 * len(tasks),
        1,
        lambda job, _: tasks[job // 2].learn(job % 2),
        doing="training on synthetic, testing on real rows",
    )
    done = {task.column.name: task.utility(confidence) for task in tasks}
    return tuple(done.values()), tuple(name for name in targets if name not in done)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Target:
    """One target: what to learn from, what to predict, and the guesses of both models once they are made."""

    column: Column
    test: Table
    truth: Floats  # (n,) codes of labels, or numbers as shares of their range
    learn_from: list[Table]  # synthetic, fresh; the latter may have too few rows
    goals: list[Floats]
    guesses: list[Floats | None]  # of the synthetic and of the fresh rows' model

    @classmethod
    def of(cls, sides: ComparedTables, name: str, others: Sequence[str]) -> "_Target | None":
        column = sides.real.schema[name]
        tables = [
            table.take(np.flatnonzero(~np.isnan(table.column(name))))
            for table in (sides.real, sides.synthetic, sides.fresh)
        ]
        truth, *goals = (shares_of_range(column, table.column(name)) for table in tables)
        if min(map(len, tables[:2])) < LEAST_ROWS or truth.min() == truth.max():
            return None
        test, *learn_from = (table.select(others) for table in tables)
        return cls(
            column=column, test=test, truth=truth, learn_from=learn_from, goals=goals, guesses=[None, None]
        )

    def learn(self, side: int) -> None:
        rows, goal = self.learn_from[side], self.goals[side]
        if len(rows) < LEAST_ROWS:
            return
        guess = guess_labels if isinstance(self.column, Categorical) else guess_numbers
        self.guesses[side] = guess(rows, goal, self.test)

    def utility(self, confidence: float) -> TargetUtility:
        guessed, reference = self.guesses[SYNTHETIC], self.guesses[FRESH]
        assert guessed is not None, "there are synthetic rows"
        match self.column:
            case Categorical(name=name):
                right = guessed == self.truth, None if reference is None else reference == self.truth
                majority = float(np.unique(self.truth, return_counts=True)[1].max()) / len(self.truth)
                return compare_labels(name, *right, majority, confidence, people=self.test.people)
            case Numeric(name=name):
                fresh = None if reference is None else reference - self.truth
                return compare_numbers(
                    name, guessed - self.truth, fresh, self.truth, confidence, people=self.test.people
                )


def guess_labels(rows: Table, labels: Floats, asked: Table) -> Floats:
    """Learn the label of each row; return the most probable label of the asked rows."""
    known, codes = np.unique(labels, return_inverse=True)
    if len(known) == 1:
        return np.full(len(asked), known[0])
    if len(known) == 2:  # noqa: PLR2004 - yes or no
        return np.asarray(known[(tell_apart(rows, codes, asked) > 0.5).astype(np.int64)])  # noqa: PLR2004
    trees = train(rows, codes, {"objective": "multi:softprob", "num_class": len(known)})
    return np.asarray(known[trees.predict(asked).argmax(axis=1)])


def guess_numbers(rows: Table, shares: Floats, asked: Table) -> Floats:
    """Learn the number of each row, as a share of its range; return the asked rows' expected shares."""
    return train(rows, shares * STEPS, {"objective": "reg:squarederror"}).predict(asked) / STEPS


def compare_labels(
    name: str,
    synthetic: np.ndarray,
    fresh: np.ndarray | None,
    majority: float,
    confidence: float = CONFIDENCE,
    *,
    people: Indices | None = None,
) -> TargetUtility:
    """Compare which rows the two models guess right; they guess the same rows, so errors are paired.

    Where ``people`` have several rows, as many guesses are independent as there are people.
    """
    n = len(synthetic)
    worth = n if people is None else len(np.unique(people))
    gap = None
    if fresh is not None:
        ahead = fresh.astype(float) - synthetic
        if people is None:
            gap = mean_of(ahead, confidence)
        else:
            rows = sum_by_person(np.ones(n), people)
            gap = ratio_of_means(sum_by_person(ahead, people), rows, confidence=confidence)

    def right(value: float) -> Estimate:
        return share(value, n, effective=worth, confidence=confidence)

    return TargetUtility(
        name=name,
        score="accuracy",
        figure=Figure(
            value=right(float(synthetic.mean())),
            reference=None if fresh is None else right(float(fresh.mean())),
        ),
        gap=gap,
        baseline=right(majority),
    )


def compare_numbers(
    name: str,
    synthetic: Floats,
    fresh: Floats | None,
    truth: Floats,
    confidence: float = CONFIDENCE,
    *,
    people: Indices | None = None,
) -> TargetUtility:
    """Compare the errors of the two models, in units of the column's range, as is ``truth``.

    ``R² = 1 - mean squared error / variance of the truth``; its interval, and that of the gap, by the delta
    method for a ratio of means. The range score is ``1 - RMSE / range``. Where ``people`` have several rows,
    the observations are people.
    """
    spread = sum_by_person((truth - truth.mean()) ** 2, people)
    rows = sum_by_person(np.ones(len(truth)), people)

    def determination(squares: Floats) -> Estimate:
        return ratio_of_means(squares, spread, offset=1.0, sign=-1.0, confidence=confidence)

    def range_score(squares: Floats) -> Estimate:
        n, each = len(squares), float(rows.mean())
        mean = float(squares.mean()) / each
        return root_score(mean, float((squares - mean * rows).std()) / each / math.sqrt(n), n, confidence)

    def of_both(measured: Callable[[Floats], Estimate]) -> Figure:
        return Figure(value=measured(squares), reference=None if of_fresh is None else measured(of_fresh))

    squares = sum_by_person(synthetic**2, people)
    of_fresh = None if fresh is None else sum_by_person(fresh**2, people)
    return TargetUtility(
        name=name,
        score="r2",
        figure=of_both(determination),
        gap=None if of_fresh is None else ratio_of_means(squares - of_fresh, spread, confidence=confidence),
        baseline=known(0.0, len(truth)),
        range_score=of_both(range_score),
    )
