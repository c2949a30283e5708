"""DP-CTGAN: a generator that learns from a critic, which learns from real rows within a privacy budget."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator
from scipy.optimize import brentq

from tabveil.core import check
from tabveil.core.table import Categorical, Floats, Indices, Numeric, Schema, Table
from tabveil.engines.networks import TrainingRecord, seeded, train
from tabveil.synthesis.generators.ctgan import GanModel, build, encode
from tabveil.synthesis.generators.models import FittedModel, Maker, require_rows
from tabveil.synthesis.generators.privacy import Privacy, conditions
from tabveil.tables.matrices.modes import MOST_MODES, Slots, declared_labels, equal_modes, seen_labels

PRECISION = 1e-3
"""How near to the promised ε, relatively."""
LEAST_NOISE = 0.3
"""Where the search starts at least: less noise makes for long distributions."""
WIDER = 0.3
_TINY = 1e-30
INTERVAL = 3e-4
"""How finely losses are counted, relative to ε; coarser only ever means more noise."""
EVEN = 2.0
"""How much further the scalars spread at first than is usual: about evenly over a mode."""

ADJACENCY = (
    "Two tables are neighbors if one has one row more (add or remove one row). The number of rows is not "
    "taken as public: it is estimated from noisy counts."
)


@dataclass(frozen=True, kw_only=True)
class NoiseBudget:
    """The promise and how it is spent: ``counting`` is the share of ε that counting would take alone.

    Counts and steps are fixed before training, so the budget cannot be passed.
    """

    epsilon: float
    delta: float
    counting: float
    sampled: float
    steps: int

    @cached_property
    def count_noise(self) -> float:
        """The noise of the counts, in multiples of what one row can change."""
        return least_noise(self.epsilon * self.counting, self.delta)

    @cached_property
    def step_noise(self) -> float:
        """The noise of each step of the critic, in multiples of the clipping norm."""
        return least_noise(
            self.epsilon, self.delta, count_noise=self.count_noise, sampled=self.sampled, steps=self.steps
        )


@lru_cache(maxsize=256)
def least_noise(
    epsilon: float, delta: float, *, count_noise: float | None = None, sampled: float = 1.0, steps: int = 1
) -> float:
    """Return the least noise found that keeps the promise, of so many steps; a count may come before them.

    Each row takes part in a step with the same chance.
    """
    import dp_accounting  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra, and slow to load
    from dp_accounting import pld  # noqa: PLC0415 - likewise

    aim = epsilon * (1 - PRECISION)

    @cache
    def excess(log_noise: float) -> float:
        accountant = pld.PLDAccountant(
            dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
            value_discretization_interval=INTERVAL * epsilon,
        )
        if count_noise is not None:
            accountant.compose(dp_accounting.GaussianDpEvent(count_noise))
        step = dp_accounting.GaussianDpEvent(math.exp(log_noise))
        accountant.compose(
            step if sampled == 1 else dp_accounting.PoissonSampledDpEvent(sampled, step), steps
        )
        spent = float(accountant.get_epsilon(delta))
        return math.log(min(max(spent, _TINY), 1 / _TINY) / aim)

    # As if all steps were one Gaussian mechanism: near enough to start from.
    tail = math.sqrt(2 * math.log(1.25 / delta))
    low = high = math.log(max(LEAST_NOISE, sampled * math.sqrt(steps) * tail / epsilon))
    while excess(high) > 0:
        high += WIDER
    while excess(low) <= 0:
        low -= WIDER
    found = float(brentq(excess, low, high, xtol=PRECISION / 4))
    while excess(found) > math.log(epsilon / aim):  # never on the wrong side
        found += PRECISION / 4
    return math.exp(found)


@dataclass(frozen=True, kw_only=True)
class DpCtgan(Maker):
    """CTGAN with a promise: no single person changes what is learned by much, and ε says how much at most.

    Real rows are looked at in two ways only. Once, the slots of every column are counted, with noise. Then
    the critic learns from real rows in steps: each row takes part with a small chance, the gradient of each
    row is cut to a fixed length, and noise is added to their sum (DP-SGD). The generator learns from the
    critic, never from a row. How much noise ε asks for is computed before training.

    Parameters
    ----------
    counting
        The share of ε that counting would take by itself; more makes the single columns better and the
        critic's steps noisier.
    epochs
        How often each row is looked at, on average.
    sampled
        The chance of each row to take part in a step of the critic.
    max_grad_norm
        The length that the gradient of a row is cut to.
    batch_size
        The invented rows in one step; ``sampled`` decides how many real ones there are.
    critic_steps, learning_rate, critic_learning_rate
        See :class:`~tabveil.synthesis.generators.ctgan.Ctgan`.
    embedding, layers, critic_layers
        How many random numbers a row is made from, and the widths of the layers. A small critic suffers less
        from noise.
    modes
        Into how many parts of equal width a number's range is cut; its two bounds are parts by themselves,
        and so is every number where no more than this are possible.
    epsilon, delta, public, averaging, device
        See :class:`~tabveil.synthesis.generators.models.Maker`.

    Notes
    -----
    What differs from :class:`~tabveil.synthesis.generators.ctgan.Ctgan`, because it would betray rows: the
    modes of numbers cut the range into equal parts instead of being fitted to the values; conditions are
    asked for as often as the noisy counts say, and real rows are drawn regardless of conditions; the critic
    judges single rows, without their conditions, batch normalization or dropout; and its slope is bounded by
    the largest singular value of each layer, which is kept at or below 1 after every step, instead of by a
    gradient penalty. The loss in the history is the generator's, in which real rows have no part.

    The privacy losses of the counts and of the steps (Poisson-sampled Gaussian mechanism) are composed as
    privacy loss distributions by dp-accounting. Neighbors differ by one row more or less.

    References
    ----------
    - Xu, L., Skoularidou, M., Cuesta-Infante, A. and Veeramachaneni, K. (2019). Modeling Tabular Data using
      Conditional GAN. NeurIPS.
    - Abadi, M. et al. (2016). Deep Learning with Differential Privacy. CCS. (The critic's steps.)
    - Xie, L., Lin, K., Wang, S., Wang, F. and Zhou, J. (2018). Differentially Private Generative Adversarial
      Network. arXiv:1802.06739. (Privacy through the critic alone.)
    - Miyato, T., Kataoka, T., Koyama, M. and Yoshida, Y. (2018). Spectral Normalization for Generative
      Adversarial Networks. ICLR. (The critic's slope.)
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    public: tuple[str, ...] = ()
    partly: tuple[tuple[str, ...], ...] = ()
    counting: float = 0.3
    epochs: int = 300
    sampled: float = 0.2
    max_grad_norm: float = 1.0
    critic_steps: int = 5
    batch_size: int = 500
    learning_rate: float = 1e-3
    critic_learning_rate: float = 1e-3
    embedding: int = 128
    layers: tuple[int, ...] = (128, 128)
    critic_layers: tuple[int, ...] = (64,)
    modes: int = 2 * MOST_MODES
    averaging: float = 0.98
    device: Literal["cpu", "cuda"] = "cpu"

    name: ClassVar[str] = "dpctgan"
    model: ClassVar[type[FittedModel]] = GanModel

    def __post_init__(self) -> None:
        check.between(self.name, "epsilon", self.epsilon, 0, math.inf)
        check.between(self.name, "delta", self.delta, 0, 1)
        check.between(self.name, "counting", self.counting, 0, 1)
        check.positive_share(self.name, "sampled", self.sampled)
        check.between(self.name, "max_grad_norm", self.max_grad_norm, 0, math.inf)
        check.settings_at_least(self, 1, "epochs", "critic_steps", "embedding", "modes")
        check.at_least(self.name, "batch_size", self.batch_size, 2)
        for name in ("layers", "critic_layers"):
            for width in getattr(self, name):
                check.at_least(self.name, f"every width in {name}", width, 1)
        check.settings_at_least(self, 1e-9, "learning_rate", "critic_learning_rate")
        check.below_one(self.name, "averaging", self.averaging)
        check.one_of(self.name, "device", self.device, ("cpu", "cuda"))

    @property
    def steps_per_epoch(self) -> int:
        """Steps of the critic in which each row is drawn about once."""
        return max(1, round(1 / self.sampled))

    @property
    def budget(self) -> NoiseBudget:
        """What may be spent, and the noise it takes."""
        return NoiseBudget(
            epsilon=self.epsilon,
            delta=self.delta,
            counting=self.counting,
            sampled=self.sampled,
            steps=self.epochs * self.steps_per_epoch,
        )

    def fit(self, table: Table, *, rng: Generator) -> GanModel:
        """Learn a table within the budget."""
        require_rows(self.name, table)
        check.known_names(self.name, "column", self.public, table.schema.names)
        slots = tuple(self._slots(table))
        chosen, scalars = encode(table, slots, rng=rng)
        n_rows, frequencies = noisy_counts(
            chosen, tuple(map(len, slots)), noise=self.budget.count_noise, rng=rng
        )
        conditional = tuple(place for place, item in enumerate(slots) if len(item) > 1)
        with seeded(rng, owner=self.name, device=self.device):
            generator = build(slots, conditional, embedding=self.embedding, layers=self.layers)
            trained = TrainingRecord(history=(), best=0)
            if generator is not None:
                generator.start_at(frequencies, gain=EVEN)
                from tabveil.synthesis.generators.dpctgan.network import PrivateLearner  # noqa: PLC0415 - needs torch

                learner = PrivateLearner(
                    self, generator.to(self.device), chosen, scalars, frequencies, n_rows=n_rows, rng=rng
                )
                trained = train(learner.averaged.kept, learner.epoch, epochs=self.epochs)
                generator = learner.finish()
        privacy = self.promise(table.schema)
        return GanModel(
            made_by=self,
            schema=table.schema,
            slots=slots,
            frequencies=frequencies,
            conditional=conditional,
            generator=generator,
            history=trained.history,
            privacy=privacy,
            notes=(*conditions(privacy), *trained.notes),
        )

    def _slots(self, table: Table) -> Iterator[Slots]:
        """Divide the domain of each column; of columns that were not declared the rows decide what it is."""
        for column in table.schema.columns:
            declared, cells = column.name in self.public, table.column(column.name)
            match column:
                case Categorical():
                    yield declared_labels(column) if declared else seen_labels(column, cells)
                case Numeric():
                    yield equal_modes(
                        column,
                        n_modes=self.modes,
                        has_values=declared or not np.isnan(cells).all(),
                        has_missing=declared or bool(np.isnan(cells).any()),
                    )

    def promise(self, schema: Schema) -> Privacy:
        """Say what is promised; it follows from the settings alone, and so does the noise (``budget``)."""
        return Privacy.over(
            schema,
            self.public,
            self.partly,
            mechanism=(
                "Gaussian noise on counts, then DP-SGD on the critic (Poisson-sampled rows, clipped "
                "gradients, Gaussian noise)"
            ),
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=(
                f"privacy loss distributions (dp-accounting) of the counts and of {self.budget.steps} steps "
                f"at sampling rate {self.sampled:g}"
            ),
            adjacency=ADJACENCY,
        )


def noisy_counts(
    chosen: Indices, sizes: tuple[int, ...], *, noise: float, rng: Generator
) -> tuple[float, tuple[Floats, ...]]:
    """Return how many rows there are and what share of them each slot has, from noisy counts.

    The slots (n, columns) are counted once, all columns together. A row counts once in every column that has
    a choice, so it changes the counts by the square root of their number.
    """
    telling = [place for place, size in enumerate(sizes) if size > 1]
    spread = noise * math.sqrt(len(telling))
    noisy = {
        place: np.bincount(chosen[:, place], minlength=sizes[place])
        + spread * rng.standard_normal(sizes[place])
        for place in telling
    }
    n_rows = 1.0
    if noisy:  # a column with fewer slots knows the number of rows better
        totals = [counts.sum() for counts in noisy.values()]
        n_rows = max(1.0, float(np.average(totals, weights=[1 / len(c) for c in noisy.values()])))
    return n_rows, tuple(
        nearest_shares(noisy[place] / n_rows) if place in noisy else np.ones(size)
        for place, size in enumerate(sizes)
    )


def nearest_shares(noisy: Floats) -> Floats:
    """Return the shares, none negative and 1 in all, that are nearest to noisy ones.

    >>> nearest_shares(np.array([0.7, 0.5, -0.3])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    ordered = np.sort(noisy)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(noisy) + 1)
    cut = excess[np.flatnonzero(ordered > excess)[-1]]
    return np.asarray(np.maximum(noisy - cut, 0.0))
