"""PATE-GAN: differentially private rows from a generator that learns by the noisy votes of many teachers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil import check
from tabveil.encode.bins import MOST_BINS, Levels, flags_of, levels_from_flags
from tabveil.errors import ParameterError
from tabveil.generators.fitted import FittedModel, Maker, require_rows
from tabveil.generators.pategan.votes import Plan, Teachers, epsilon_of
from tabveil.generators.privacy import Privacy, by_declaration, conditions
from tabveil.networks import rebuild, seeded, train, weights_of
from tabveil.stored_arrays import Arrays, require
from tabveil.table import Schema, Table

if TYPE_CHECKING:
    from tabveil.generators.pategan.network import Network

MOST_NUMBERS = 8_000_000
"""Rows are drawn in chunks whose scores are at most so many numbers."""

ADJACENCY = (
    "Two tables are neighbors if one row was replaced, added or removed. The number of rows is not taken as "
    "public: nothing but the votes depends on it."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PateGanModel(FittedModel):
    """The columns' levels and the generator. Teachers and student are not kept."""

    levels: tuple[Levels, ...]
    network: "Network"

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw levels from the network, then values within them."""
        chunk = max(1, MOST_NUMBERS // sum(map(len, self.levels)))
        with seeded(rng, owner=self.name):
            parts = [
                self.network.draw(min(chunk, n_rows - start)).cpu().numpy()
                for start in range(0, n_rows, chunk)
            ]
        columns = zip(self.levels, np.concatenate(parts).T, strict=True)
        cells = [levels.decode(codes, rng=rng) for levels, codes in columns]
        return Table(schema=self.schema, values=np.column_stack(cells))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return levels and weights."""
        return {"levels": flags_of(self.levels)}, weights_of(self.network)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model, on the CPU if there is no GPU here."""
        made_by: PateGan = shared["made_by"]
        require(set(state) == {"levels"}, "nothing but levels and weights is stored")
        levels = levels_from_flags(shared["schema"], made_by.n_bins, state["levels"])
        network = rebuild(lambda: made_by.build(levels), arrays, owner=made_by.name, device=made_by.device)
        return cls(levels=levels, network=network, **shared)


@dataclass(frozen=True, kw_only=True)
class PateGan(Maker):
    """Let thousands of teachers, who know a row or a few each, vote on invented rows; learn from noisy sums.

    No single person changes the outcome much: that is differential privacy, and ε says how much at most. Real
    rows are divided among many teachers, each row to one. In every iteration a generator invents rows and
    each teacher says which half of them looks more like its own rows. Only the sums of these votes are used,
    with noise. A student learns from them what real rows look like, the generator learns to please the
    student, and the teachers look again, until the budget is used up.

    Numbers are cut into bins and drawn evenly within a bin. Missing values are a level of their own.

    Parameters
    ----------
    epsilon, delta
        The promise: (ε, δ)-differential privacy. Smaller is stronger. δ should be far below one over the
        number of people.
    public
        The columns whose labels or bounds were declared, not read from the data. The promise rests on them:
        of all other columns, the labels and bounds in the rows drawn are those of real people.
    teachers
        Among how many teachers the rows are divided. More make the noise smaller beside the sums of votes,
        fewer know more rows each and see better which columns go together. While ε is small the former counts
        for more; with ten rows each and a large ε, the latter may. It must not be chosen by looking at rows.
    iterations, batch_size
        How often the teachers are asked, at most, and on how many invented rows each time.
    noise
        The standard deviation of the noise on every sum of votes. With a given one, training stops before
        the budget would be passed; None chooses it such that all iterations use the budget up.
    labels
        What the student learns from: the noisy ``"share"`` of the votes, or only on which side the noisy
        ``"majority"`` is, as in the paper. Both cost the same; the share tells more.
    n_bins
        Into how many bins a number's range is cut; its two bounds are counted by themselves besides.
    student_steps, memory, student_learning_rate
        How many steps the student takes in each iteration, from the answers of how many iterations, and the
        size of a step.
    generator_steps, learning_rate
        The same for the generator, whose steps become smaller toward the end.
    latent, width
        How many random numbers a row is made from, and the width of all layers.
    averaging
        The weights that are kept are a running average: this share of it stays in each iteration.
    device
        ``"cuda"`` trains and draws on a GPU; teachers vote on the CPU.

    Notes
    -----
    The accounting knows only the number of votes and the noise, both fixed before the first vote; it does not
    look at how teachers voted, so it reveals nothing and cannot be passed. See
    :mod:`tabveil.generators.pategan.votes` for why it holds: a row belongs to one teacher, decided for each
    row by itself; one teacher changes each sum by 1 at most; Gaussian noise composes exactly. An interrupted
    training has spent less than it states. If a person may have several rows, the promise to that person is
    weaker. Noise is drawn by a generator that is made for repeatable experiments, not for secrecy: keep the
    seed to yourself.

    What differs from the paper. It divides the rows among a few teachers, which are networks, and accounts
    for their votes by how far they agree, which depends on the data. Without that, ten or fifty teachers
    cannot be heard above the noise of ε = 1: what counts is the number of teachers. So there are thousands
    here, each as simple as can be (it compares rows by the columns and pairs of columns in which they agree),
    and each divides a batch into halves, because early in training all invented rows look wrong and a plain
    yes or no would tell nothing. The student fits the votes by least squares. The loss in the history is the
    student's, in which real rows have no part.

    Expect single columns to come out roughly right, and of what goes with what only a little: in tables with
    many columns nothing. :class:`~tabveil.generators.aim.Aim` learns far more from the same budget.

    The same seed gives the same rows on the same machine; another device adds up in another order, and small
    differences grow.

    References
    ----------
    - Jordon, J., Yoon, J. and van der Schaar, M. (2019). PATE-GAN: Generating Synthetic Data with
      Differential Privacy Guarantees. ICLR.
    - Papernot, N. et al. (2018). Scalable Private Learning with PATE. ICLR. (Gaussian noise on votes.)
    - Ganev, G., Annamalai, M. S. M. S. and De Cristofaro, E. (2024). The Elusive Pursuit of Reproducing
      PATE-GAN: Benchmarking, Auditing, Debugging. arXiv:2406.13985. (What went wrong in six
      implementations.)
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    public: tuple[str, ...] = ()
    teachers: int = 5000
    iterations: int = 300
    batch_size: int = 128
    noise: float | None = None
    labels: Literal["share", "majority"] = "share"
    n_bins: int = 20
    student_steps: int = 4
    memory: int = 8
    student_learning_rate: float = 5e-3
    generator_steps: int = 2
    learning_rate: float = 5e-3
    latent: int = 32
    width: int = 128
    averaging: float = 0.98
    device: Literal["cpu", "cuda"] = "cpu"

    name: ClassVar[str] = "pategan"
    model: ClassVar[type[FittedModel]] = PateGanModel

    def __post_init__(self) -> None:
        check.between(self.name, "epsilon", self.epsilon, 0, math.inf)
        check.between(self.name, "delta", self.delta, 0, 1)
        for name in ("teachers", "iterations", "n_bins", "student_steps", "memory", "generator_steps"):
            check.at_least(self.name, name, getattr(self, name), 1)
        check.at_most(self.name, "n_bins", self.n_bins, MOST_BINS)
        for name in ("latent", "width"):
            check.at_least(self.name, name, getattr(self, name), 1)
        check.at_least(self.name, "batch_size", self.batch_size, 2)  # a batch is divided into halves
        if self.noise is not None:
            check.between(self.name, "noise", self.noise, 0, math.inf)
        for name in ("learning_rate", "student_learning_rate"):
            check.at_least(self.name, name, getattr(self, name), 1e-9)
        check.at_least(self.name, "averaging", self.averaging, 0)
        check.at_least(self.name, "1 - averaging", 1 - self.averaging, 1e-6)
        check.one_of(self.name, "labels", self.labels, ("share", "majority"))
        check.one_of(self.name, "device", self.device, ("cpu", "cuda"))

    def fit(self, table: Table, *, rng: Generator) -> PateGanModel:
        """Learn from these rows, within the budget."""
        require_rows(self.name, table)
        check.known_names(self.name, "column", self.public, table.schema.names)
        plan = self.plan()
        levels = self._levels(table)
        starts = np.cumsum([0, *map(len, levels)])
        cells = zip(levels, table.values.T, strict=True)
        codes = np.column_stack([item.encode(column) for item, column in cells]) + starts[:-1]
        teachers = Teachers.of(codes, int(starts[-1]), self.teachers, noise=plan.noise, rng=rng)
        with seeded(rng, owner=self.name, device=self.device):
            from tabveil.generators.pategan.network import Game  # noqa: PLC0415 - needs torch

            game = Game(self.build(levels).to(self.device), teachers, self, plan.iterations)
            trained = train(game.kept, game.iteration, epochs=plan.iterations)
        privacy = self.promise(table.schema)
        return PateGanModel(
            made_by=self,
            schema=table.schema,
            levels=levels,
            network=game.kept,
            history=trained.history,
            privacy=privacy,
            notes=(*conditions(privacy), *trained.notes),
        )

    def plan(self) -> Plan:
        """Return how many votes are held and with how much noise; it follows from the settings alone."""
        plan = Plan.within(
            self.epsilon,
            self.delta,
            iterations=self.iterations,
            batch_size=self.batch_size,
            noise=self.noise,
        )
        if not plan.iterations:
            raise ParameterError(
                f"{self.name}: noise {self.noise:g} is too little for a single batch of {self.batch_size} "
                f"votes within ε = {self.epsilon:g}; leave it out, and the right one is chosen."
            )
        return plan

    def build(self, levels: tuple[Levels, ...]) -> "Network":
        """Return an untrained generator."""
        from tabveil.generators.pategan.network import Network  # noqa: PLC0415 - needs torch

        return Network(tuple(map(len, levels)), latent=self.latent, width=self.width)

    def _levels(self, table: Table) -> tuple[Levels, ...]:
        """Lay out the levels; only columns whose domain was not declared are looked at."""
        return tuple(
            Levels.of(column, self.n_bins, has_values=True, has_missing=True)
            if column.name in self.public
            else Levels.seen(column, table.column(column.name), self.n_bins)
            for column in table.schema.columns
        )

    def promise(self, schema: Schema) -> Privacy:
        """Say what is promised; it follows from the settings alone."""
        public, read = by_declaration(schema, self.public)
        plan = self.plan()
        return Privacy(
            mechanism="PATE-GAN: Gaussian noise on the sums of the teachers' votes",
            epsilon=min(self.epsilon, epsilon_of(plan.mu, self.delta)),
            delta=self.delta,
            accountant=f"Gaussian differential privacy, mu = {plan.mu:.6g}: {plan.iterations} times "
            f"{plan.batch_size} votes, noise {plan.noise:.6g}, whatever the votes were",
            adjacency=ADJACENCY,
            public=public,
            read_from_data=read,
        )
