"""PATE-GAN: differentially private rows from a generator that learns by the noisy votes of many teachers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.storage.arrays import Arrays, require
from tabveil.core.table import Schema, Table
from tabveil.engines.networks import rebuild, seeded, train, weights_of
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.models import FittedModel, Maker, require_rows
from tabveil.synthesis.generators.pategan.accounting import GaussianSums, NoisyMajorities, VotingPlan
from tabveil.synthesis.generators.privacy import Privacy, conditions, levels_to_count
from tabveil.tables.matrices.bins import MOST_BINS, Levels, flags_of, levels_from_flags

if TYPE_CHECKING:
    from tabveil.synthesis.generators.pategan.network import RowNetwork

MOST_NUMBERS = 8_000_000
"""Rows are drawn in chunks whose scores are at most so many numbers."""
MOST_NETWORKS = 10_000
"""All teachers that are networks learn side by side in memory."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """How the game goes, as far as it differs between teachers: the defaults are for those by agreement."""

    n_teachers: int = 5000
    iterations: int = 300
    batch_size: int = 128
    student_steps: int = 4
    memory: int = 8
    generator_steps: int = 2
    learning_rate: float = 5e-3


USUAL = {
    "agreement": Course(),
    "networks": Course(
        n_teachers=200, iterations=600, batch_size=32, student_steps=1, generator_steps=1, learning_rate=2e-4
    ),
}
"""What suits teachers of each kind, unless told otherwise."""
RELEASED = {
    "agreement": "Gaussian noise on the sums of the teachers' votes",
    "networks": "Laplace noise on the teachers' votes for and against, of which only the majority is used",
}
"""What is learned from the teachers of each kind."""

ADJACENCY = (
    "Two tables are neighbors if one row was replaced, added or removed. The number of rows is not taken as "
    "public: nothing but the votes depends on it."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PateGanModel(FittedModel):
    """The columns' levels and the generator. Teachers and student are not kept."""

    levels: tuple[Levels, ...]
    network: "RowNetwork"

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
    """Let teachers, who know a few rows each, vote on invented rows; learn from their noisy votes.

    No single person changes the outcome much: that is differential privacy, and ε says how much at most. Real
    rows are divided among many teachers, each row to one. In every iteration a generator invents rows and
    the teachers say which of them look real. Only what most of them say is used, with noise. A student learns
    from it what real rows look like, the generator learns to please the student, and the teachers look
    again, until the budget is used up.

    Numbers are cut into bins and drawn evenly within a bin. Missing values are a level of their own.

    Parameters
    ----------
    teachers
        ``"networks"`` are the paper's: each learns to tell its own rows from invented ones, and the student
        hears on which side the noisy majority is. ``"agreement"`` are simpler and far more: each compares
        rows by the columns and pairs of columns in which they agree, and says which half of a batch looks
        more like its own rows; the student hears noisy sums. These make better rows from the same budget.
    n_teachers
        Among how many teachers the rows are divided; None: 5,000 by agreement, 200 networks. More make the
        noise smaller beside the votes, fewer know more rows each and see better which columns go together.
        While ε is small the former counts for more; with ten rows each and a large ε, the latter may. It must
        not be chosen by looking at rows.
    iterations, batch_size
        How often the teachers are asked, at most, and on how many invented rows each time; None: 300 times
        128 by agreement, 600 times 32 by networks.
    noise
        The noise on votes: the standard deviation on every sum, with networks the scale on both counts (the
        paper's 1/λ). With a given one, training stops before the budget would be passed; None chooses it such
        that all iterations use the budget up.
    labels
        What the student hears of teachers by agreement: the noisy ``"share"`` of the votes, or only on which
        side the noisy ``"majority"`` is. Both cost the same; the share tells more. Of networks it is always
        the majority.
    teacher_steps, teacher_width, teacher_learning_rate
        Of teachers that are networks: how many steps each takes in an iteration (the paper's n_T), how wide
        its hidden layer is, and the size of a step. Teachers that learn quickly call every invented row
        invented, and then nobody learns anything from them.
    student_steps, memory, student_learning_rate
        How many steps the student takes in each iteration, from the answers to how many batches, and the
        size of a step; None: 4 steps and 8 batches by agreement, 1 and 8 by networks. With networks every
        step (the paper's n_S) has a batch of votes of its own; the paper's memory is 1.
    generator_steps, learning_rate
        The same for the generator, whose steps become smaller toward the end; None: 2 steps of 5e-3 by
        agreement, 1 of 2e-4 by networks.
    latent, width
        How many random numbers a row is made from, and the width of generator and student.
    epsilon, delta, public, n_bins, averaging
        See :class:`~tabveil.synthesis.generators.models.Maker`.
    device
        ``"cuda"`` trains and draws on a GPU; teachers by agreement vote on the CPU.

    Notes
    -----
    The accounting knows only the number of votes and the noise, both fixed before the first vote; it does not
    look at how teachers voted, so it reveals nothing and cannot be passed. See
    :mod:`tabveil.synthesis.generators.pategan.accounting` for why it holds: a row belongs to one teacher,
    decided for each row by itself and once; one teacher changes each sum by 1 at most, or its two counts by 1
    each; and every vote is counted. The paper accounts for votes by how far teachers agree, which depends on
    the data: that is no promise, and is not offered.

    What differs from the paper with networks: the accounting; rows of labels and bins, drawn by
    Gumbel-softmax, instead of numbers; rows are given to teachers one by one, so their numbers differ a
    little; the student may remember a few batches; and the generator's weights are averaged. With a promise
    that holds for all data, ten or fifty teachers cannot be heard above the noise of ε = 1: what counts is
    the number of teachers. So there are thousands by agreement, and each divides a batch into halves, because
    early in training all invented rows look wrong and a plain yes or no would tell nothing; the student fits
    the votes by least squares. The loss in the history is the student's, in which real rows have no part.

    Expect single columns to come out roughly right by agreement (by networks only where columns are few and ε
    is large), and of what goes with what only a little: in tables with many columns nothing.
    :class:`~tabveil.synthesis.generators.aim.synthesizer.Aim` learns far more from the same budget.

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
    partly: tuple[tuple[str, ...], ...] = ()
    teachers: Literal["agreement", "networks"] = "agreement"
    n_teachers: int | None = None
    iterations: int | None = None
    batch_size: int | None = None
    noise: float | None = None
    labels: Literal["share", "majority"] = "share"
    n_bins: int = 20
    teacher_steps: int = 1
    teacher_width: int = 8
    teacher_learning_rate: float = 2e-4
    student_steps: int | None = None
    memory: int | None = None
    student_learning_rate: float = 5e-3
    generator_steps: int | None = None
    learning_rate: float | None = None
    latent: int = 32
    width: int = 128
    averaging: float = 0.98
    device: Literal["cpu", "cuda"] = "cpu"

    name: ClassVar[str] = "pategan"
    model: ClassVar[type[FittedModel]] = PateGanModel

    def __post_init__(self) -> None:
        check.between(self.name, "epsilon", self.epsilon, 0, math.inf)
        check.between(self.name, "delta", self.delta, 0, 1)
        check.one_of(self.name, "teachers", self.teachers, tuple(USUAL))
        course = self.course
        for name in ("n_teachers", "iterations", "student_steps", "memory", "generator_steps"):
            check.at_least(self.name, name, getattr(course, name), 1)
        if self.teachers == "networks":
            check.at_most(self.name, "n_teachers", course.n_teachers, MOST_NETWORKS)
        check.settings_at_least(self, 1, "n_bins", "teacher_steps", "teacher_width", "latent", "width")
        check.at_most(self.name, "n_bins", self.n_bins, MOST_BINS)
        check.at_least(self.name, "batch_size", course.batch_size, 2)  # a batch is divided into halves
        if self.noise is not None:
            check.between(self.name, "noise", self.noise, 0, math.inf)
        check.at_least(self.name, "learning_rate", course.learning_rate, 1e-9)
        check.settings_at_least(self, 1e-9, "student_learning_rate", "teacher_learning_rate")
        check.below_one(self.name, "averaging", self.averaging)
        check.one_of(self.name, "labels", self.labels, ("share", "majority"))
        check.one_of(self.name, "device", self.device, ("cpu", "cuda"))

    @property
    def course(self) -> Course:
        """How the game goes: what suits the teachers, where nothing was said."""
        settings = {item.name: getattr(self, item.name) for item in fields(Course)}
        given = {name: value for name, value in settings.items() if value is not None}
        return replace(USUAL[self.teachers], **given)

    def fit(self, table: Table, *, rng: Generator) -> PateGanModel:
        """Learn from these rows, within the budget."""
        require_rows(self.name, table)
        check.known_names(self.name, "column", self.public, table.schema.names)
        plan = self.plan()
        levels = levels_to_count(table, self.public, self.n_bins)
        starts = np.cumsum([0, *map(len, levels)])
        cells = zip(levels, table.values.T, strict=True)
        codes = np.column_stack([item.encode(column) for item, column in cells]) + starts[:-1]
        teacher = rng.integers(self.course.n_teachers, size=(len(codes),))  # each row by itself, and for good
        with seeded(rng, owner=self.name, device=self.device):
            from tabveil.synthesis.generators.pategan.network import GAMES  # noqa: PLC0415 - needs torch

            kind, teachers_of = GAMES[self.teachers]
            network = self.build(levels).to(self.device)
            teachers = teachers_of(codes, teacher, int(starts[-1]), self, noise=plan.noise, rng=rng)
            game = kind(network, teachers, self, plan.iterations)
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

    @property
    def accountant(self) -> GaussianSums | NoisyMajorities:
        """What knows the cost of the votes."""
        if self.teachers == "networks":
            return NoisyMajorities(n_teachers=self.course.n_teachers)
        return GaussianSums()

    def plan(self) -> VotingPlan:
        """Return how many votes are held and with how much noise; it follows from the settings alone."""
        course = self.course
        batches = course.student_steps if self.teachers == "networks" else 1
        try:
            with np.errstate(all="ignore"):
                plan = VotingPlan.within(
                    self.accountant,
                    self.epsilon,
                    self.delta,
                    iterations=course.iterations,
                    votes=batches * course.batch_size,
                    noise=self.noise,
                )
        except (ArithmeticError, ValueError):  # numbers that no float holds
            raise ParameterError(
                self.name,
                f"no noise is found for ε = {self.epsilon:g} and δ = {self.delta:g}; choose "
                "others, less extreme.",
            ) from None
        if not plan.iterations:
            raise ParameterError(
                self.name,
                f"noise {self.noise:g} is too little for a single iteration of {plan.votes} "
                f"votes within ε = {self.epsilon:g}; leave it out, and the right one is chosen.",
            )
        return plan

    def build(self, levels: tuple[Levels, ...]) -> "RowNetwork":
        """Return an untrained generator."""
        from tabveil.synthesis.generators.pategan.network import RowNetwork  # noqa: PLC0415 - needs torch

        return RowNetwork(tuple(map(len, levels)), latent=self.latent, width=self.width)

    def promise(self, schema: Schema) -> Privacy:
        """Say what is promised; it follows from the settings alone."""
        plan = self.plan()
        return Privacy.over(
            schema,
            self.public,
            self.partly,
            mechanism=f"PATE-GAN: {RELEASED[self.teachers]}",
            epsilon=min(self.epsilon, self.accountant.epsilon(plan.n_votes, plan.noise, self.delta)),
            delta=self.delta,
            accountant=self.accountant.describe(plan.n_votes, plan.noise),
            adjacency=ADJACENCY,
        )
