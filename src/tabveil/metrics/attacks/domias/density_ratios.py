"""DOMIAS, by kernels and by a neural flow: is the release denser around a person than the population is?"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core import check, workers
from tabveil.core.result import Cost, Result, Threat
from tabveil.core.sampling import Sample, draw, draw_people, in_order, surest_rows
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Floats, Indices, Numeric, Schema, Split, Table
from tabveil.engines.networks import limited_threads, load_torch, require_device
from tabveil.errors import NotApplicable
from tabveil.metrics.attacks.attack import Attack, TellsMembers
from tabveil.metrics.attacks.domias.density_kernels import log_sums
from tabveil.metrics.attacks.guessing import scores
from tabveil.metrics.attacks.roc import Ranking, judge
from tabveil.tables.matrices.points import PLACE_DEVIATION, Coordinates, Points, principal_axes

QUERIES_AT_ONCE = 512
DECIMALS = 9  # of log densities that rank rows: what differs less is a rounding error

Tested = Literal["random", "outliers", "outlying_members"]

OUTLYING_MEMBERS = (
    "Outlying members were compared with random control rows, as in the papers: the two differ even where "
    "nothing leaked, so this risk is not zero for a clean release."
)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """What a row counts at a distance: ``exp(−slope · squared differences of place − cost · mismatches)``.

    No squared difference counts more than ``most``: beyond it a number is another one, however far.
    """

    slope: float
    cost: float
    most: float = math.inf

    @classmethod
    def rule(cls, rule: Literal["scott", "silverman"], n_rows: int, n_columns: int) -> "Kernel":
        """Return the usual bandwidth for standardized places and one-hot codes scaled by 1/√2."""
        base = n_rows if rule == "scott" else n_rows * (n_columns + 2) / 4
        width = base ** (-1 / (n_columns + 4))
        return cls(slope=0.5 / (PLACE_DEVIATION * width) ** 2, cost=0.5 / width**2)

    @classmethod
    def copy(cls, noise: float) -> "Kernel":
        """Return the kernel of a copy whose places err by ``noise``, and categories with that probability.

        A number that is another one altogether costs as much as a category that is. Without that, a value
        just off one that many rows have, which noise moves far in rank, would rule a copy out.
        """
        slope, cost = 0.5 / noise**2, math.log((1 - noise) / noise)
        return cls(slope=slope, cost=cost, most=cost / slope)


@takes_presets
@dataclass(frozen=True, kw_only=True)
class DomiasKde(TellsMembers, Attack):
    """Is the release denser around a person than the population is, so that the person must have been in it?

    A generator that memorizes people puts too many synthetic rows around them. For each person the attacker
    compares how densely the release and a reference sample of the population lie around that person's row:
    ``log p_synthetic − log p_reference``, up to a constant. The reference is a part of control that is not
    tested.

    Densities are products over all columns, in logs: Gaussian over numbers (a mix of their rank and their
    position in the range), a constant factor for each category that differs (Aitchison and Aitken); missing
    is a category. The population is taken smooth, the release sharp, as if rows were copies with a little
    noise: there numbers count by their standard deviation, and one that is far off costs no more than a
    category that differs. Two smooth densities, as the paper has them, hardly see single copies; they are one
    more configuration.

    Parameters
    ----------
    n_attacks
        The most training rows, and control rows, to test; None takes all.
    copy_noise
        By how much numbers of a copy are taken to err (0.29 is a standard deviation), and the probability
        that its categories change, or its numbers become others altogether.
    bandwidth
        The rule by which the population's density is smoothed.
    tested
        Which people are tested: ``"random"`` ones of both sides; ``"outliers"``, those of both sides in the
        thinnest parts of the reference; or ``"outlying_members"``, such members against random others, as in
        the papers (then the risk of a clean release is not 0).
    outlier_share
        The share of each side that counts as outliers.
    densities
        ``"sharp"`` looks for copies in the release; ``"smooth"`` is the paper's attack alone: both densities
        smooth, judged by the area, as ``2·AUC − 1``.
    preset
        ``"papers"`` takes what the papers used: smooth densities, outlying members against random others.
    reference_share
        The share of control that serves as the reference.

    Notes
    -----
    ``risk`` is ``(TPR − FPR) / (1 − FPR)`` and the gain ``TPR − FPR``: ``attack`` is TPR, the share of
    members rightly named, ``control`` and ``baseline`` are FPR, the share of other people wrongly named, 50 %
    or less. It is 0 where members cannot be told from others, 1 where all of them can. The area, as ``2·AUC −
    1``, is one more test; it counts nobody and has no gain. The headline is the configuration with the
    largest lower bound of its gain, among intervals that hold for all of them together (Šidák); each is in
    ``details``.

    References
    ----------
    - van Breugel, B., Sun, H., Qian, Z. and van der Schaar, M. (2023). Membership Inference Attacks against
      Synthetic Data through Overfitting Detection. AISTATS.
    - Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramèr, F. (2022). Membership Inference
      Attacks From First Principles. IEEE Symposium on Security and Privacy.
    - Aitchison, J. and Aitken, C. G. G. (1976). Multivariate Binary Discrimination by the Kernel Method.
      Biometrika.
    """

    n_attacks: int | None = 5000
    copy_noise: float = 0.02
    bandwidth: Literal["scott", "silverman"] = "scott"
    tested: Tested = "random"
    outlier_share: float = 0.1
    densities: Literal["sharp", "smooth"] = "sharp"
    reference_share: float = 0.25

    presets: ClassVar[Presets] = {"papers": {"densities": "smooth", "tested": "outlying_members"}}
    name: ClassVar[str] = "domias_kde"
    cell_bytes: ClassVar[float] = 20.0
    title: ClassVar[str] = "Membership by density (DOMIAS)"
    cost: ClassVar[Cost] = "slow"
    reference: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check.between("DomiasKde", "copy_noise", self.copy_noise, 0, 0.5)
        check.one_of("DomiasKde", "bandwidth", self.bandwidth, ("scott", "silverman"))
        check.one_of("DomiasKde", "tested", self.tested, ("random", "outliers", "outlying_members"))
        check.one_of("DomiasKde", "densities", self.densities, ("sharp", "smooth"))
        check.between("DomiasKde", "outlier_share", self.outlier_share, 0, 1)
        check.between("DomiasKde", "reference_share", self.reference_share, 0, 1)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack, and compare members with others."""
        split.require_control(self.name, 2)
        reference, attacked = set_aside(split, self.reference_share, self.n_attacks, rng=rng)
        sides = self._densities(split, reference, attacked)
        kept = self._kept(sides, attacked, rng=rng)
        (train, train_smooth, _), (control, control_smooth, _) = (
            side[:, rows] for side, rows in zip(sides, kept, strict=True)
        )
        tested = attacked[0].take(kept[0]), attacked[1].take(kept[1])
        people = tested[0].table.people, tested[1].table.people
        smooth = Ranking.of(train_smooth, control_smooth, decimals=DECIMALS, people=people)
        if self.densities == "smooth":
            train, control = train_smooth, control_smooth
            judged = judge("smooth densities", smooth, confidence=self.confidence, counted=False)
        else:
            sharp = Ranking.of(train, control, decimals=DECIMALS, people=people)
            judged = judge("density ratio", sharp, {"smooth densities": smooth}, confidence=self.confidence)
        return judged.answer(
            self,
            details={
                "n_tested": {"train": tested[0].table.n_people, "control": tested[1].table.n_people},
                "n_reference": len(reference),
            },
            notes=(OUTLYING_MEMBERS,) if self.tested == "outlying_members" else (),
            scores=scores(tested, (train, control)),
        )

    def threat(self, result: Result) -> Threat:
        """Describe the attacker."""
        return replace(super().threat(result), outliers_only=self.tested != "random")

    def _densities(
        self, split: Split, reference: Table, attacked: tuple[Sample, Sample]
    ) -> tuple[Floats, Floats]:
        """Return (3, n) for the attacked rows of train and of control.

        The log ratio with the release's density taken sharp; with it smooth; the reference's log density.
        """
        smooth = Kernel.rule(self.bandwidth, len(reference), max(count_varying(split.schema), 1))
        sharp = Kernel.copy(self.copy_noise)
        release = in_order(split.synthetic).table  # sums run in an order that no file decides
        coordinates = Coordinates.of(release, split.train, split.control)
        straight = coordinates.by_deviation(release)

        def density(drawn: Table, rows: Table, kernel: Kernel, read: Coordinates) -> Floats:
            found = log_density(read.points(drawn), read.points(rows), (kernel,), len(read.complete))
            return np.asarray(found[0])

        def estimate(drawn: Sample) -> Floats:
            of_reference = density(drawn.table, reference, smooth, coordinates)
            near = density(drawn.table, release, sharp, straight) - of_reference
            around = density(drawn.table, release, smooth, coordinates) - of_reference
            return np.stack([near, around, of_reference])

        return estimate(attacked[0]), estimate(attacked[1])

    def _kept(
        self, sides: tuple[Floats, Floats], attacked: tuple[Sample, Sample], *, rng: Generator
    ) -> tuple[Indices, Indices]:
        """Choose which of the attacked rows of each side are tested.

        Somebody with several rows is as outlying as the row of them that is most so, and tested with all.
        """
        if self.tested == "random":
            return np.arange(sides[0].shape[1]), np.arange(sides[1].shape[1])
        people = attacked[0].table.people, attacked[1].table.people
        speaking = [surest_rows(whose, -side[2]) for side, whose in zip(sides, people, strict=True)]
        outliers = []
        for side, rows in zip(sides, speaking, strict=True):  # a row of each person
            n_outliers = max(1, round(self.outlier_share * len(rows)))
            outliers.append(rows[np.sort(np.argsort(side[2][rows], kind="stable")[:n_outliers])])
        if self.tested == "outlying_members":
            n_control = len(speaking[1])
            outliers[1] = speaking[1][np.sort(rng.choice(n_control, len(outliers[1]), replace=False))]
        train, control = (
            rows if whose is None else np.flatnonzero(np.isin(whose, whose[rows]))
            for rows, whose in zip(outliers, people, strict=True)
        )
        return train, control


def count_varying(schema: Schema) -> int:
    """Count the columns that can differ between rows."""
    return sum(
        column.width > 0 if isinstance(column, Numeric) else len(column.labels) > 1
        for column in schema.columns
    )


def set_aside(
    split: Split, share: float, n_attacks: int | None, *, rng: Generator
) -> tuple[Table, tuple[Sample, Sample]]:
    """Set a share of control aside as the attacker's reference, and draw the rows to attack from the others.

    Given reference and release, the scores of all attacked rows are then independent. Each side has as many
    people as it can have: those of train are not cut to what is left of control, which says less.
    """
    n_people = split.control.n_people
    reference = draw_people(split.control, min(max(1, round(share * n_people)), n_people - 1), rng=rng)
    left = np.setdiff1d(np.arange(len(split.control)), reference.rows)
    sides = split.train, split.control.take(left)
    train, control = (
        draw_people(side, side.n_people if n_attacks is None else min(n_attacks, side.n_people), rng=rng)
        for side in sides
    )
    return reference.table, (train, Sample(table=control.table, rows=left[control.rows]))


def log_density(queries: Points, rows: Points, kernels: tuple[Kernel, ...], n_complete: int) -> Floats:
    """Return the log of the mean kernel between each query and all rows, (n_kernels, n_queries).

    All kernels must have the same ``most``: one look at two rows then serves them all.
    """
    workers.announce_compilation(log_sums)
    (most,) = {kernel.most for kernel in kernels}
    out = np.empty((len(kernels), len(queries)))
    slopes, costs = np.array([(kernel.slope, kernel.cost) for kernel in kernels]).T.copy()

    def estimate(start: int, stop: int) -> None:
        places, codes = (
            np.ascontiguousarray(cells[start:stop].T) for cells in (queries.places, queries.codes)
        )
        found = np.empty((len(kernels), stop - start))  # contiguous, or the kernel is compiled once more
        log_sums(places, codes, rows.places, rows.codes, n_complete, most, slopes, costs, found)
        out[:, start:stop] = found

    workers.each_chunk(len(queries), QUERIES_AT_ONCE, estimate, doing="estimating densities")
    return out - math.log(len(rows))


def gaussian_log_density(queries: Floats, rows: Floats, covariance: Floats) -> Floats:
    """Return what ``scipy.stats.gaussian_kde(rows.T).logpdf(queries.T)`` does for this bandwidth matrix."""
    whiten = np.linalg.cholesky(np.linalg.inv(covariance))
    asked, around = (
        Points(places=np.ascontiguousarray(cells @ whiten), codes=np.empty((len(cells), 0), dtype=np.int32))
        for cells in (queries, rows)
    )
    log_mean = log_density(asked, around, (Kernel(slope=0.5, cost=0.0),), rows.shape[1])[0]
    normal: NDArray[np.float64] = log_mean - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
    return normal


VARIANT = (
    "A flow learns the population and not its members: it reads about zero even on a full copy. That it sees "
    "nothing is no evidence; domias_kde is the attack to go by."
)
SINGLE_DECIMALS = 5  # of log densities in single precision: what differs less is a rounding error
FEWEST_CONTROL = 4  # two for the reference (one of them for validation) and some to test


@dataclass(frozen=True, kw_only=True)
class DomiasFlow(TellsMembers, Attack):
    """Does a neural network see that the release is denser around a person than the population is?

    As in ``domias_kde`` people are scored by ``log p_synthetic − log p_reference``, but both densities are
    learned by a neural network (a block neural autoregressive flow), a fifth of its rows held back to decide
    when to stop. The reference is a part of control that is not tested. Needs ``pip install tabveil[deep]``.

    Parameters
    ----------
    n_attacks
        The most training rows, and control rows, to test; None takes all.
    n_axes
        On how many leading principal axes of release and reference the rows are projected.
    n_flows
        How many flows follow each other in a network.
    n_layers
        The layers of each flow.
    hidden
        Hidden units of a layer, for each axis.
    learning_rate
        The step size of the training at its start.
    batch_size
        Rows in a step of the training.
    max_epochs
        The most passes over the rows.
    patience
        Passes without progress on the rows held back after which training stops.
    max_rows
        The most rows each density is learned from; None takes all.
    reference_share
        The share of control that serves as the reference.
    device
        Where the network is trained: ``"cpu"`` or ``"cuda"``.

    Notes
    -----
    ``attack``, ``control``, ``baseline`` and ``risk`` are those of ``domias_kde``, ``(TPR − FPR) / (1 −
    FPR)``; 0 where members cannot be told from others, 1 where all of them can.
    This is a variant for comparison with the papers. It reads nothing where others read all: what a network
    that stops in time learns from many rows is the population, not its members. In one draw of 3,000 rows of
    Adult, fully copied, and with eight passes, it had ``2·AUC − 1 = −0.003``; a kernel density of width 0.1
    on the same eight axes had 0.996. As the reference density beneath that one the flow does not help either:
    0.98, and 0.02 of a leak of 2 % at 1 % false alarms, where it is 0.04 without a reference. Use
    ``domias_kde``.

    Numbers are a mix of their rank and their position in the range, categories one-hot codes (the 50 most
    frequent of a column), missing is a category. A little noise in training keeps ties from becoming endless
    densities. The headline is the configuration with the largest lower bound of its gain, among intervals
    that hold for all of them together (Šidák); each is in ``details``.

    References
    ----------
    - van Breugel, B., Sun, H., Qian, Z. and van der Schaar, M. (2023). Membership Inference Attacks against
      Synthetic Data through Overfitting Detection. AISTATS.
    - De Cao, N., Aziz, W. and Titov, I. (2019). Block Neural Autoregressive Flow. Uncertainty in Artificial
      Intelligence.
    """

    n_attacks: int | None = 5000
    n_axes: int = 8
    n_flows: int = 5
    n_layers: int = 3
    hidden: int = 32
    learning_rate: float = 1e-2
    batch_size: int = 128
    max_epochs: int = 20
    patience: int = 4
    max_rows: int | None = 10_000
    reference_share: float = 0.5
    device: Literal["cpu", "cuda"] = "cpu"

    name: ClassVar[str] = "domias_flow"
    title: ClassVar[str] = "Membership by a neural flow (DOMIAS)"
    cost: ClassVar[Cost] = "training"
    extra: ClassVar[str] = "deep"
    reference: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = ("n_axes", "n_flows", "n_layers", "hidden", "batch_size", "max_epochs", "patience")
        for name in (*counts, "max_rows"):
            value = getattr(self, name)
            if value is not None:
                check.at_least("DomiasFlow", name, value, 2 if name == "max_rows" else 1)
        check.between("DomiasFlow", "learning_rate", self.learning_rate, 0, 1)
        check.between("DomiasFlow", "reference_share", self.reference_share, 0, 1)
        check.one_of("DomiasFlow", "device", self.device, ("cpu", "cuda"))

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Learn both densities, attack, and compare members with others."""
        torch = load_torch(self.name, error=NotApplicable)
        require_device(self.name, self.device, error=NotApplicable)
        split.require_control(self.name, FEWEST_CONTROL)
        if len(split.synthetic) < 2:  # noqa: PLR2004 - one row to learn from, one to validate
            raise NotApplicable(self.name, "needs at least two synthetic rows.")
        reference, attacked = set_aside(split, self.reference_share, self.n_attacks, rng=rng)
        release, held = (
            draw(table, self.max_rows or len(table), rng=rng).table for table in (split.synthetic, reference)
        )
        axes = principal_axes(Coordinates.of(release, split.train, split.control), self.n_axes, release, held)
        if axes.directions.shape[1] == 0:
            raise NotApplicable(self.name, "all rows are equal.")
        queries = [axes.project(drawn.table) for drawn in attacked]
        with limited_threads(torch):
            of_release, release_losses = self._learn(axes.project(release), queries, rng=rng)
            of_reference, reference_losses = self._learn(axes.project(held), queries, rng=rng)
        train, control = (
            np.nan_to_num(here - there, nan=0.0) for here, there in zip(of_release, of_reference, strict=True)
        )
        people = attacked[0].table.people, attacked[1].table.people
        ranked = Ranking.of(train, control, decimals=SINGLE_DECIMALS, people=people)
        judged = judge("flow density ratio", ranked, confidence=self.confidence)
        return judged.answer(
            self,
            notes=(VARIANT,),
            details={
                "n_reference": len(held),
                "validation_losses": {"release": release_losses, "reference": reference_losses},
            },
            scores=scores(attacked, (train, control)),
        )

    def _learn(
        self, rows: Floats, queries: list[Floats], *, rng: Generator
    ) -> tuple[list[Floats], list[float]]:
        """Learn the density of the rows. Return its log around the queries, and the validation losses."""
        from tabveil.metrics.attacks.domias.flow_network import Flow, Training  # noqa: PLC0415 - needs torch

        training = Training(
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.patience,
        )
        sizes = {"n_flows": self.n_flows, "n_layers": self.n_layers, "hidden": self.hidden}
        flow = Flow(rows.shape[1], **sizes, rng=rng, device=self.device)
        losses = flow.fit(rows, training, rng=rng)
        return [flow.evaluate(points) for points in queries], losses
