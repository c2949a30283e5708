"""Attribute inference by a learned model: gradient boosted trees fitted to the release."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.estimate import error_score, risk_of_errors
from tabveil.core.findings import Setting
from tabveil.core.people import mean_by_person
from tabveil.core.result import Cost, Labels, Result
from tabveil.core.sampling import Sample, in_order
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Floats, Numeric, Split, Table
from tabveil.core.wording import UNSEEN, name, percent
from tabveil.engines.boosting import ROUNDS, STEPS, BoostedTrees, train
from tabveil.errors import NotApplicable
from tabveil.metrics.attacks.attack import TOLERANCE, ZERO_TOLERANCE, SecretAttack, Truth, guessed
from tabveil.metrics.attacks.configurations import Comparator, Comparison, choose, compare_counts
from tabveil.metrics.attacks.guessing import ALL, Guesses, Tally, draw_attacked, scores, tallies

GENERAL_ROUNDS = 10  # what holds for many people is learned first


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelGuesses:
    """Which label, how probable it is, how probable it was to the general rules alone, and the truth's."""

    label: Floats  # (n,)
    probability: Floats  # (n,)
    general: Floats  # (n,)
    of_truth: Floats  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelModel:
    """Trees that guess a column of labels."""

    labels: Floats  # (k,) the labels in the rows learned from, ascending
    trees: BoostedTrees | None  # None where there is only one

    @classmethod
    def fit(cls, table: Table, secret: str, known: tuple[str, ...]) -> Self:
        """Learn from the rows of a table that have the secret; there must be one."""
        table = _with(table, secret)
        labels, codes = np.unique(table.column(secret), return_inverse=True)
        if len(labels) == 1:
            return cls(labels=labels, trees=None)
        several = {"objective": "multi:softprob", "num_class": len(labels)}
        goal = {"objective": "binary:logistic"} if len(labels) == 2 else several  # noqa: PLR2004 - yes or no
        return cls(labels=labels, trees=train(table.select(known), codes, goal))

    def guess(self, known: Table, truth: Floats) -> LabelGuesses:
        """Guess the label of each row."""
        n, every = len(known), np.arange(len(known))
        if self.trees is None or n == 0:
            label, sure = self.labels[0], np.ones(n)
            of_truth = (truth == label).astype(np.float64)
            return LabelGuesses(label=np.full(n, label), probability=sure, general=sure, of_truth=of_truth)
        general, chances = (  # of each label, (n, k); of two labels, trees give that of the second only
            found if found.ndim > 1 else np.column_stack([1 - found, found])
            for found in self.trees.predict_after(known, GENERAL_ROUNDS, ROUNDS)
        )
        best = chances.argmax(axis=1)
        at = np.minimum(np.searchsorted(self.labels, truth), len(self.labels) - 1)
        return LabelGuesses(
            label=self.labels[best],
            probability=chances[every, best],
            general=general[every, best],
            of_truth=np.where(self.labels[at] == truth, chances[every, at], 0.0),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberModel:
    """Trees that guess a column of numbers."""

    column: Numeric
    trees: BoostedTrees

    @classmethod
    def fit(cls, table: Table, secret: Numeric, known: tuple[str, ...]) -> Self:
        """Learn from the rows of a table that have the secret; there must be one."""
        table = _with(table, secret.name)
        steps = (table.column(secret.name) - secret.low) / secret.width * STEPS
        return cls(column=secret, trees=train(table.select(known), steps, {"objective": "reg:squarederror"}))

    def guess(self, known: Table) -> Floats:
        """Guess the number of each row."""
        if len(known) == 0:
            return np.empty(0)
        return self.column.low + self.trees.predict(known) / STEPS * self.column.width


def _with(table: Table, secret: str) -> Table:
    """Return the rows that have the secret, in the order of their content."""
    return in_order(table.take(np.flatnonzero(~np.isnan(table.column(secret))))).table


MOST_LABELS = 20  # a tree a label and round: columns with more are not chosen, but may be asked for
LEVELS = (1.0, 0.1, 0.01)
TINY = 1e-12


@takes_presets
@dataclass(frozen=True, kw_only=True)
class MLInference(SecretAttack):
    """Can a model trained on the release guess a secret of real people from what else is known of them?

    A model (gradient boosted trees, XGBoost with its default parameters) is trained on the synthetic rows to
    predict the secret column from the known ones, categories as they are. It is then asked about real people.
    Rows with a missing secret are neither learned from nor attacked; a label that the release never shows is
    never guessed.

    A careful attacker acts only on guesses of labels that the model *memorized*: those whose probability grew
    most after the first 10 of its 100 rounds. The probability itself is highest for people whom everybody
    would guess right; acting on it finds leaks worse than acting on all guesses.

    Parameters
    ----------
    secrets
        The columns to infer; None chooses ``n_secrets``.
    known
        The columns the attacker knows; None means all but the secret.
    n_secrets
        How many secrets to choose where none are named (an outcome first, then labels hard to guess).
    careful
        Whether success is also counted among memorized labels alone; without, only among all guesses.
    preset
        ``"papers"`` takes what the papers used: all guesses. Name the papers' secret in ``secrets``.

    Notes
    -----
    ``attack`` is the score on training people, ``control`` on people never seen, ``baseline`` that of the
    most frequent label or the mean of the synthetic column. The score is the share of right guesses for
    labels, and for numbers ``1 - RMSE / range``, where RMSE is the typical error (root mean square) and the
    range is that over all tables. ``risk = (attack - control) / (1 - control)``: 0 where training people are
    guessed no better than others, 1 where they are guessed without error.

    Scores of single rows, for the secret of the headline, are the probability given to the truth, or minus
    the error as a share of the range. Each model is fitted on one thread, several models at a time, so the
    answer does not depend on the number of threads. The headline is the configuration with the largest lower
    bound of its gain, among intervals that hold for all of them together (Šidák); each is in ``details``.

    References
    ----------
    - Chen, T. and Guestrin, C. (2016). XGBoost: A Scalable Tree Boosting System. KDD.
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    """

    n_secrets: int = 2
    n_attacks: int | None = None
    careful: bool = True

    presets: ClassVar[Presets] = {"papers": {"n_secrets": 1, "careful": False}}
    name: ClassVar[str] = "ml_inference"
    title: ClassVar[str] = "Inference by a trained model"
    cost: ClassVar[Cost] = "slow"
    most_labels: ClassVar[int | None] = MOST_LABELS
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="inference", mechanism="ML", auxiliary=True)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Train, guess and compare."""
        secrets, note = self.chosen(split)
        known = {secret: self.known_beside(secret, split) for secret in secrets}
        attacked = draw_attacked(split, self.n_attacks, rng=rng)
        learned = _learn_all(split, known, attacked, LEVELS if self.careful else ALL)
        if not learned:
            why = f"{', '.join(secrets)} holds no value, or one only, among the synthetic or the train rows"
            raise NotApplicable(self.name, f"no secret can be learned: {why}.")
        owner = {setting: item for item in learned for setting in item.comparators}
        comparators = {setting: item.comparators[setting] for setting, item in owner.items()}
        choice = choose(comparators, self.confidence)
        best = owner[choice.setting]
        notes = [note]
        left_out = [item.secret for item in learned if item.n_missing]
        if left_out:
            why = "Rows with a missing secret are neither learned from nor attacked"
            notes.append(f"{why}: {', '.join(left_out)}.")
        unlearned = set(known) - {item.secret for item in learned}
        if unlearned:
            notes.append(f"Not attacked, with no value to learn or to guess: {', '.join(sorted(unlearned))}.")
        return choice.answer(self, notes=tuple(notes), scores=scores(best.attacked, best.at_risk))

    def sentence(self, result: Result) -> str:
        """Tell how good the guesses are: labels are right or wrong, numbers off by a share of their range."""
        if "successes_train" in result.facts or result.attack is None or result.leading is None:
            return guessed(result)
        secret = name(result.leading.target or "")
        told = f"Guesses of “{secret}” are typically off by {percent(1 - result.attack.value)} of its range"
        told += " for training people"
        if result.control is not None:
            told += f" and by {percent(1 - result.control.value)} for {UNSEEN}"
        if result.baseline is not None:
            told += f"; always naming the mean is off by {percent(1 - result.baseline.value)}"
        return f"{told} (root mean square)."


@dataclass(frozen=True, kw_only=True, eq=False)
class _SecretModel:
    secret: str
    comparators: dict[Setting, Comparator]
    attacked: tuple[Sample, Sample]  # rows that have the secret
    at_risk: tuple[Floats, Floats]
    n_missing: int


def _learn_all(
    split: Split,
    known: dict[str, tuple[str, ...]],
    attacked: tuple[Sample, Sample],
    levels: tuple[float, ...],
) -> list[_SecretModel]:
    secrets = list(known)
    found: dict[str, _SecretModel | None] = dict.fromkeys(secrets)  # in this order, whichever is first

    def learn(start: int, stop: int) -> None:
        for secret in secrets[start:stop]:
            found[secret] = _learn(split, secret, known[secret], attacked, levels)

    workers.each_chunk(len(secrets), 1, learn, doing="learning secrets")
    return [item for item in found.values() if item is not None]


def _learn(
    split: Split,
    secret: str,
    known: tuple[str, ...],
    attacked: tuple[Sample, Sample],
    levels: tuple[float, ...],
) -> _SecretModel | None:
    """Fit the model of one secret and ask it about train and control; None if there is nothing to learn."""
    train, control = (drawn.take(np.flatnonzero(~np.isnan(drawn.table.column(secret)))) for drawn in attacked)
    column = split.schema[secret]
    present = ~np.isnan(split.synthetic.column(secret))
    if len(train) == 0 or not present.any() or (isinstance(column, Numeric) and column.width == 0):
        return None
    learn = (
        partial(_numbers, column=column) if isinstance(column, Numeric) else partial(_labels, levels=levels)
    )
    without = {
        "without_train": attacked[0].table.n_people - train.table.n_people,
        "without_control": attacked[1].table.n_people - control.table.n_people,
    }
    comparators, at_risk = learn(split, secret, known, (train, control), without)
    return _SecretModel(
        secret=secret,
        comparators=comparators,
        attacked=(train, control),
        at_risk=at_risk,
        n_missing=sum(map(len, attacked)) - len(train) - len(control) + int((~present).sum()),
    )


def _labels(
    split: Split,
    secret: str,
    known: tuple[str, ...],
    attacked: tuple[Sample, Sample],
    without: dict[str, int],
    *,
    levels: tuple[float, ...],
) -> tuple[dict[Setting, Comparator], tuple[Floats, Floats]]:
    """Guess labels: every guess is right or wrong, and more or less memorized."""
    model = LabelModel.fit(split.synthetic, secret, known)
    cells = split.synthetic.column(secret)
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    guesses, at_risk = [], []
    for side in attacked:
        truth = side.table.column(secret)
        guessed = model.guess(side.table.select(known), truth)
        guesses.append(
            Guesses(
                correct=guessed.label == truth,
                naive=truth == values[np.argmax(counts)],
                confidence=np.log(guessed.probability + TINY) - np.log(guessed.general + TINY),
                people=side.table.people,
            )
        )
        at_risk.append(guessed.of_truth)
    counted = tallies(Setting(label=secret, target=secret), guesses[0], guesses[1], levels)
    comparators: dict[Setting, Comparator] = {
        setting: partial(compare_counts, replace(tally, **without)) for setting, tally in counted.items()
    }
    return comparators, (at_risk[0], at_risk[1])


def _numbers(
    split: Split,
    secret: str,
    known: tuple[str, ...],
    attacked: tuple[Sample, Sample],
    without: dict[str, int],
    *,
    column: Numeric,
) -> tuple[dict[Setting, Comparator], tuple[Floats, Floats]]:
    """Guess numbers: every guess has an error.

    No guess is surer than another: somebody with several rows is judged by the mean over them.
    """
    model = NumberModel.fit(split.synthetic, column, known)
    cells = np.sort(split.synthetic.column(secret))  # missing last
    mean = float(np.nanmean(cells))
    off, errors, near = [], [], []
    for side in attacked:
        truth, people = side.table.column(secret), side.table.people
        guess = model.guess(side.table.select(known))
        off.append((guess - truth) / column.width)
        errors.append(mean_by_person(off[-1] ** 2, people))
        near.append(mean_by_person(Truth.of(truth, column, TOLERANCE, ZERO_TOLERANCE).met_by(guess), people))
    naive = (mean - attacked[0].table.column(secret)) / column.width
    found = NumberErrors(
        train=errors[0],
        control=errors[1],
        naive=mean_by_person(naive**2, attacked[0].table.people),
        near=Tally(
            train=near[0].sum().item(),
            n_train=len(near[0]),
            control=near[1].sum().item(),
            n_control=len(near[1]),
            **without,
        ),
    )
    return {Setting(label=secret, target=secret): found.compare}, (-np.abs(off[0]), -np.abs(off[1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberErrors:
    """How far guesses of numbers are off, and how many are as near as ``inference`` asks for.

    The squared errors, as shares of the range squared, make the score: 1 minus their root mean. The people
    whose number is guessed nearly make the gain.
    """

    train: Floats  # (n,)
    control: Floats  # (m,)
    naive: Floats  # (n,)
    near: Tally

    def compare(self, confidence: float) -> Comparison:
        """Compare train with control."""
        near = compare_counts(self.near, confidence)
        against = len(self.control) > 0
        naive = error_score(self.naive, confidence)
        return replace(
            near,
            attack=error_score(self.train, confidence),
            control=error_score(self.control, confidence) if against else None,
            baseline=naive,
            risk=risk_of_errors(self.train, self.control, confidence) if against else None,
            beats_baseline=error_score(self.train).low > naive.value,
            facts={
                "n_train": self.near.n_train,
                "n_control": self.near.n_control,
                "near_train": self.near.train,
                "near_control": self.near.control,
            },
        )
