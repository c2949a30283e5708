"""Distance to the closest record: do synthetic rows hug the training rows?"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

from numpy.random import Generator

from tabveil.core import check, workers
from tabveil.core.drawn import Asked
from tabveil.core.result import Cost, Result, Scores, params_of
from tabveil.core.sampling import in_order
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Split
from tabveil.engines.representation import Contrastive
from tabveil.errors import ParameterError
from tabveil.metrics.indicators.comparison import (
    ByDistance,
    Indicator,
    nearest,
    nearest_other,
    summary,
    without_people,
)
from tabveil.metrics.indicators.nearest import (
    AS_THE_PAPERS,
    Equation,
    closeness,
    counted_close,
    lying_close,
    sides,
)
from tabveil.protocols import Representation, View


@dataclass(frozen=True, kw_only=True)
class ClosestRecords(Indicator):
    """What a distance to the closest record takes, whatever is called close."""

    alpha: float = 0.02
    direction: Literal["synthetic_to_real", "real_to_synthetic"] = "synthetic_to_real"
    equation: Equation = "shares"

    def __post_init__(self) -> None:
        super().__post_init__()
        owner, directions = type(self).__name__, ("synthetic_to_real", "real_to_synthetic")
        check.between(owner, "alpha", self.alpha, 0, 1)
        check.one_of(owner, "direction", self.direction, directions)
        check.one_of(owner, "equation", self.equation, get_args(Equation))
        if self.equation == "counts" and self.direction != directions[0]:
            raise ParameterError(owner, f"equation 'counts' is for direction {directions[0]!r} alone.")

    def asked(self) -> Asked:
        """Released rows are asked and, for the yardstick, control rows; or real rows of both kinds."""
        return "people" if self.direction == "real_to_synthetic" else "released rows and control"

    def view(self, split: Split, *, rng: Generator) -> View:
        """Get ready to look at rows of these tables."""
        raise NotImplementedError

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the distances."""
        compared = sides(self.name, split, self.direction, self.equation, rng=rng)
        view, known = self.view(split, rng=rng), split.schema.names
        space = view.space(known)
        attacked, fresh = (
            nearest(space, view.see(reference, known), view.see(rows, known)).distance[:, 0]
            for rows, reference in compared.pairs
        )
        tables = split.train, split.control, without_people(split.synthetic)
        # How far people of one table are apart (near 0 where a generator repeats itself).
        within = [
            None
            if seen.n_people <= 1 or workers.current().sampled  # a few of many lie far apart
            else summary(nearest_other(space, seen).distance[:, 0])
            for seen in (in_order(view.see(table, known)).table for table in tables)
        ]
        found = closeness(
            self.name,
            attacked,
            fresh,
            alpha=self.alpha,
            worth=compared.worth,
            reference_share=compared.reference_share,
            equation=self.equation,
            confidence=self.confidence,
            rng=rng,
        )
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=found.risk,
            attack=found.attack,
            control=found.control,
            details={
                "threshold": found.threshold,
                "attacked": summary(attacked),
                "fresh": summary(fresh),
                "within_train": within[0],
                "within_control": within[1],
                "within_synthetic": within[2],
            },
            notes=compared.notes,
            sensitive_scores=(Scores(table=compared.role, rows=compared.attacked.rows, values=-attacked),),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many rows lie very close."""
        if self.equation == "counts":
            return counted_close(result, self.alpha)
        return lying_close(result, self.alpha, turned=self.direction == "real_to_synthetic")


@takes_presets
@dataclass(frozen=True, kw_only=True)
class DistanceToClosest(ByDistance, ClosestRecords):
    """How many synthetic rows are as close to a training row as fresh real rows hardly ever are?

    For every synthetic row the distance to its nearest training row is measured. The yardstick is how near
    control rows, fresh real people, come to training rows: ``alpha`` of them, 2 % say, come as near as the
    threshold. Synthetic rows within the threshold are suspiciously close.

    Parameters
    ----------
    alpha
        The share of control rows that sets the threshold (a percentile of their distances).
    direction
        ``"synthetic_to_real"``, or ``"real_to_synthetic"`` as in the papers: from real rows to their nearest
        synthetic row. Then ``attack`` is a share of training rows, and depends on how many synthetic rows
        there are.
    equation
        What is compared: ``"shares"``, those of synthetic and of control rows within the threshold; or
        ``"counts"``, the papers' equation to the letter: so many synthetic rows within the threshold for
        each training row, whatever the sizes, with the distance from training rows to control as yardstick.
    preset
        ``"papers"`` takes what the papers used: the Euclidean distance over ordinal codes, equation
        ``"counts"``, a threshold at 2 %.
    distance
        Gower's distance, made for numbers and categories side by side (0: equal, 1: as different as can be in
        every column), or the Euclidean one.
    encoding
        How the Euclidean distance reads categories: one column for each (``"onehot"``), or numbered in order
        (``"ordinal"``).
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of synthetic rows within the threshold, ``control`` that of control rows. ``risk =
    (attack - control) / (1 - control)``: 0 where synthetic rows are like fresh ones, 1 where every one is
    that close. There is no ``baseline``. On tied data, where the threshold is often 0 and many control rows
    sit on it, both ends of the scale still hold.

    Without control rows, one half of train is the reference, the other stands in for fresh rows, and the risk
    is scaled up to all of train. The interval comes from resampling the distances. ``details`` has the median
    and the 5th percentile of the distances between and within the tables; distances near 0 within the
    synthetic rows say that a generator repeats itself.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    - Platzer, M. and Reutterer, T. (2021). Holdout-Based Empirical Assessment of Mixed-Type Synthetic Data.
      Frontiers in Big Data.
    - Gower, J. C. (1971). A General Coefficient of Similarity and Some of Its Properties. Biometrics.
    """

    presets: ClassVar[Presets] = {"papers": AS_THE_PAPERS}
    name: ClassVar[str] = "distance_to_closest"
    title: ClassVar[str] = "Distance to the closest record (DCR)"


@takes_presets
@dataclass(frozen=True, kw_only=True)
class DistanceToClosestContrastive(ClosestRecords):
    """How many synthetic rows are as close to a training row, in a learned space, as fresh rows hardly are?

    As ``distance_to_closest``, in a contrastive embedding of the release: the distance is that between the
    vectors of rows. ``alpha`` of control rows, fresh real people, come as near to a training row as the
    threshold. Synthetic rows within the threshold are suspiciously close.

    Parameters
    ----------
    alpha
        The share of control rows that sets the threshold (a percentile of their distances).
    direction
        ``"synthetic_to_real"``, or ``"real_to_synthetic"`` as in the papers: from real rows to their nearest
        synthetic row. Then ``attack`` is a share of training rows, and depends on how many synthetic rows
        there are.
    equation
        What is compared: ``"shares"``, those of synthetic and of control rows within the threshold; or
        ``"counts"``, the papers' equation to the letter: so many synthetic rows within the threshold for
        each training row, whatever the sizes, with the distance from training rows to control as yardstick.
    preset
        ``"papers"`` takes what the papers used: equation ``"counts"``, a threshold at 2 %, their embedding.
    representation
        What is called close: the distance in an embedding that is trained on the release.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of synthetic rows within the threshold, ``control`` that of control rows. ``risk =
    (attack - control) / (1 - control)``: 0 where synthetic rows are like fresh ones, 1 where every one is
    that close. There is no ``baseline``.

    Without control rows, one half of train is the reference, the other stands in for fresh rows, and the risk
    is scaled up to all of train. The interval comes from resampling the distances. ``details`` has the median
    and the 5th percentile of the distances between and within the tables.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    - Platzer, M. and Reutterer, T. (2021). Holdout-Based Empirical Assessment of Mixed-Type Synthetic Data.
      Frontiers in Big Data.
    """

    representation: Representation = field(default_factory=Contrastive)

    presets: ClassVar[Presets] = {
        "papers": {"alpha": 0.02, "equation": "counts", "representation": Contrastive(preset="paper")}
    }
    name: ClassVar[str] = "distance_to_closest_contrastive"
    title: ClassVar[str] = "Distance to the closest record, contrastive"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    on_request: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("distance_to_closest",)

    def view(self, split: Split, *, rng: Generator) -> View:
        """Train an embedding, or take one that was trained on the same rows."""
        return self.representation.view(split, rng=rng)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the distances, and say what should be known of the embedding."""
        found = super().__call__(split, rng=rng)
        return replace(found, notes=(*found.notes, *self.representation.notes))
