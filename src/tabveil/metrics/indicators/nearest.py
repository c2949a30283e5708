"""How many rows lie closer than fresh rows hardly ever do: the score of DCR and of k nearest neighbors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.drawn import Asked
from tabveil.core.estimate import (
    Estimate,
    known,
    part_of_room,
    percentile_interval,
    resamples_for,
    share,
    sidak,
    strongest,
)
from tabveil.core.people import rows_worth
from tabveil.core.result import Result, Role, Scores, params_of
from tabveil.core.sampling import Sample, in_order, rows_of_people
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Floats, Split, Table
from tabveil.core.wording import level, number, share_of
from tabveil.engines.neighbors.shared import Search
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators.comparison import ByDistance, nearest, search, summary, without_people

FEWEST_PEOPLE = 3
"""Control people who set a threshold, where they have several rows."""
Equation = Literal["shares", "counts"]
AS_THE_PAPERS: dict[str, Any] = {
    "alpha": 0.02,
    "distance": "euclidean",
    "encoding": "ordinal",
    "equation": "counts",
}
"""Section 3.3.4 of the thesis: equations 3.7 to 3.11."""
COUNTED = (
    "Counted by the papers' equation: synthetic rows within the threshold for each training row. It grows "
    "with the size of the release, whatever was learned."
)
NO_CONTROL = (
    "No control: one half of train is the reference, the other stands in for fresh rows, and the risk is "
    "scaled up to all of train."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedRows:
    """Whose distances are compared, and to which rows."""

    role: Role
    attacked: Sample
    fresh: Table
    reference: Table
    other: Table | None = None  # where fresh rows have a reference of their own
    reference_share: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def pairs(self) -> tuple[tuple[Table, Table], tuple[Table, Table]]:
        """The rows that are attacked and the fresh ones, each with the rows that they are near to."""
        other = self.reference if self.other is None else self.other
        return (self.attacked.table, self.reference), (self.fresh, other)

    @property
    def worth(self) -> tuple[float, float]:
        """How many independent rows the attacked and the fresh ones are worth.

        Where only a part of train is the reference, which people are in it is chance, and all that was copied
        of a person is met or not.
        """
        attacked = rows_worth(self.attacked.table)
        if self.reference_share < 1:
            attacked *= rows_worth(self.reference) / len(self.reference)
        return attacked, rows_worth(self.fresh)


def sides(
    name: str,
    split: Split,
    direction: Literal["synthetic_to_real", "real_to_synthetic"] = "synthetic_to_real",
    equation: Equation = "shares",
    *,
    rng: Generator,
) -> ComparedRows:
    """Choose the sides. Both are measured to the same reference, so no table's size matters.

    Not so in the papers: their yardstick is the distance from training rows to control.
    """
    tables = split.control, without_people(split.synthetic), split.train
    control, synthetic, train = (in_order(table) for table in tables)
    if equation == "counts":
        split.require_control(name)
        return ComparedRows(
            role="synthetic",
            attacked=synthetic,
            fresh=train.table,
            reference=train.table,
            other=control.table,
            notes=(COUNTED,),
        )
    if direction == "real_to_synthetic":
        split.require_control(name)
        return ComparedRows(role="train", attacked=train, fresh=control.table, reference=synthetic.table)
    if len(control) > 0:
        return ComparedRows(role="synthetic", attacked=synthetic, fresh=control.table, reference=train.table)
    n_people = split.train.n_people
    if n_people < 2:  # noqa: PLR2004 - two halves
        whose = "rows" if split.train.people is None else "people"
        raise NotApplicable(name, f"needs control rows, or at least two train {whose} to split in halves.")
    half = rows_of_people(train.table, (n_people + 1) // 2, rng=rng)
    other = np.setdiff1d(np.arange(len(train)), half)
    return ComparedRows(
        role="synthetic",
        attacked=synthetic,
        fresh=train.table.take(other),
        reference=train.table.take(np.sort(half)),
        reference_share=len(half) / len(train),
        notes=(NO_CONTROL,),
    )


@dataclass(frozen=True, kw_only=True)
class CloseShares:
    """The two shares within the threshold and the risk between them."""

    threshold: float
    attack: Estimate
    control: Estimate
    risk: Estimate


def closeness(
    name: str,
    attacked: Floats,
    fresh: Floats,
    *,
    alpha: float,
    worth: tuple[float, float] | None = None,
    reference_share: float = 1.0,
    equation: Equation = "shares",
    confidence: float,
    rng: Generator,
) -> CloseShares:
    """Compare the distances of attacked rows with those of fresh rows to the same reference.

    ``reference_share`` is the part of train that serves as the reference: a copy of train scores no more than
    that, so the score is divided by it. ``worth`` is how many independent rows both are worth, if not all.
    """
    attacked, fresh = np.sort(attacked), np.sort(fresh)
    if equation == "counts":
        return _counted(attacked, fresh, alpha=alpha, confidence=confidence, rng=rng)
    worth_attacked, worth_fresh = worth or (float(len(attacked)), float(len(fresh)))
    threshold = float(fresh[_rank(alpha, len(fresh)) - 1])
    attack, control = (
        share(float(_share_within(rows, threshold)), len(rows), effective=independent, confidence=confidence)
        for rows, independent in ((attacked, worth_attacked), (fresh, worth_fresh))
    )
    if control.value == 1:
        raise NotApplicable(
            name,
            f"the {len(fresh)} control rows are all equally close to train, so nothing can be closer "
            "than most of them.",
        )
    if round(worth_fresh) < min(len(fresh), FEWEST_PEOPLE):
        raise NotApplicable(name, "most control rows are of one or two people, who set no threshold.")
    room = 1 - control.value
    value = (attack.value - control.value) / room
    sizes = max(round(worth_attacked), 1), round(worth_fresh)
    rank = _rank(alpha, sizes[1])
    resampled = _resample(attacked, fresh, rank, resamples_for(confidence), sizes=sizes, rng=rng)
    # Resamples know how the threshold varies, but have no width where a share is none or all, and too little
    # where few control rows are left beyond the threshold; Wilson's bounds know those. The wider ones hold.
    by_shares = part_of_room(value, attack, control, room)
    found = percentile_interval(value, resampled, len(attacked), confidence) if len(resampled) else by_shares
    low, high = min(found.low, by_shares.low), max(found.high, by_shares.high)
    risk = Estimate(value=value, low=low, high=high, n=len(attacked))
    return CloseShares(
        threshold=threshold,
        attack=attack,
        control=control,
        risk=risk.each(lambda end: min(end / reference_share, 1.0)),
    )


def _counted(
    attacked: Floats, yardstick: Floats, *, alpha: float, confidence: float, rng: Generator
) -> CloseShares:
    """Compare by the papers' equation: so many rows lie nearer than the percentile, for each training row.

    ``yardstick`` (n,) are the distances of training rows to control. The interval is that of resamples of
    both.
    """
    n, m = len(yardstick), len(attacked)

    def score(within: Floats | float) -> Any:  # noqa: ANN401 - of one number, or of many
        return (within - alpha) / (1 - alpha)

    threshold = float(np.quantile(yardstick, alpha))
    count = int(np.searchsorted(attacked, threshold, side="left"))
    # The smallest n·alpha positions of a resample follow a Beta law, as in _resample.
    rank = _rank(alpha, n)
    position = rng.beta(rank, n - rank + 1, resamples_for(confidence))
    bars = yardstick[np.minimum((position * n).astype(np.int64), n - 1)]
    counts = rng.binomial(m, np.searchsorted(attacked, bars, side="left") / m)
    found = share(count / m, m, confidence=confidence)
    return CloseShares(
        threshold=threshold,
        attack=found.each(lambda value: value * m / n),
        control=known(alpha, n),
        risk=percentile_interval(score(count / n), score(counts / n), m, confidence),
    )


def counted_close(result: Result, alpha: float) -> str:
    """Tell how many rows are counted for each training row."""
    count = "an unknown number of" if result.attack is None else number(result.attack.value)
    return (
        f"For each training row {count} synthetic rows lie nearer to train than the nearest {level(alpha)} "
        f"of training rows lie to control, where {level(alpha)} would be expected of a release as large."
    )


def lying_close(result: Result, alpha: float, *, turned: bool = False, n_neighbors: int = 1) -> str:
    """Tell how many rows lie very close to the other kind; ``turned``: real rows to synthetic ones."""
    which, to = ("training rows", "a synthetic row") if turned else ("synthetic rows", "a training row")
    by = f", by the mean distance to the {n_neighbors} nearest" if n_neighbors > 1 else ""
    return (
        f"{share_of(result.attack)} of {which} and {share_of(result.control)} of fresh real rows lie very "
        f"close to {to}: as close as the closest {level(alpha)} of fresh rows come{by}."
    )


def _share_within(ordered: Floats, threshold: Floats | float) -> Floats:
    return np.searchsorted(ordered, threshold, side="right") / len(ordered)


def _rank(alpha: float, n: int) -> int:
    return max(int(np.ceil(round(alpha * n, 9))), 1)  # 0.07 * 100 is a little more than 7


def _resample(
    attacked: Floats,
    fresh: Floats,
    rank: int,
    n_resamples: int,
    *,
    sizes: tuple[int, int] | None = None,
    rng: Generator,
) -> Floats:
    """Bootstrap the score without drawing single records: the same law, a few numbers a resample.

    A resample of n records is n uniform positions in the sorted originals; its ``rank``-th smallest position
    follows a Beta law and names the resampled threshold. The n - rank larger positions are uniform above it,
    so how many of them still carry a value within the threshold is binomial, and so is the number of attacked
    records within it. Resamples in which every fresh record is within have no score and are left out.

    ``sizes`` are how many records of both are drawn: fewer than there are where people have several.
    """
    n_attacked, n = sizes or (len(attacked), len(fresh))
    position = rng.beta(rank, n - rank + 1, n_resamples)  # (b,)
    threshold = fresh[np.minimum((position * len(fresh)).astype(np.int64), len(fresh) - 1)]
    above = np.clip((_share_within(fresh, threshold) - position) / (1 - position), 0.0, 1.0)
    fresh_within = (rank + rng.binomial(n - rank, above)) / n
    attacked_within = rng.binomial(n_attacked, _share_within(attacked, threshold)) / n_attacked
    defined = fresh_within < 1
    return (attacked_within[defined] - fresh_within[defined]) / (1 - fresh_within[defined])


@takes_presets
@dataclass(frozen=True, kw_only=True)
class NearestNeighbors(ByDistance):
    """Do synthetic rows lie closer to groups of training rows than fresh real rows do?

    As :class:`DistanceToClosest`, with the mean distance to several
    nearest training rows instead of one. A synthetic row close to a whole group of training people tells less
    about one of them, but shows that the generator follows its training rows.

    Parameters
    ----------
    n_neighbors
        How many nearest rows the mean is taken over (k); each number is a configuration.
    alpha
        The share of control rows that sets the threshold (a percentile of their mean distances).
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
    that close. There is no ``baseline``. Without control rows, one half of train is the reference, the other
    stands in for fresh rows, and the risk is scaled up to all of train.

    Intervals hold for all k together (Šidák); the headline is the k with the largest lower bound, and every k
    is in ``details``. The upper bound is the largest over all k: what one rules out, another may not. A k
    larger than the number of training rows is left out, with a note.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    - Gower, J. C. (1971). A General Coefficient of Similarity and Some of Its Properties. Biometrics.
    """

    n_neighbors: Sequence[int] = (1, 2, 3, 5, 10)
    alpha: float = 0.02
    equation: Equation = "shares"

    presets: ClassVar[Presets] = {"papers": AS_THE_PAPERS}
    name: ClassVar[str] = "nearest_neighbors"
    title: ClassVar[str] = "Distance to several neighbors (k-NN)"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.between("NearestNeighbors", "alpha", self.alpha, 0, 1)
        check.one_of("NearestNeighbors", "equation", self.equation, get_args(Equation))
        check.at_least("NearestNeighbors", "number of n_neighbors", len(self.n_neighbors), 1)
        check.at_least("NearestNeighbors", "n_neighbors", min(self.n_neighbors), 1)
        object.__setattr__(self, "n_neighbors", tuple(sorted(set(self.n_neighbors))))

    def searches(self, split: Split) -> Iterable[Search]:
        """Name the searches in train for synthetic and for control rows, to the most neighbors of all."""
        reference, n = split.train, min(self.n_neighbors[-1], split.train.n_people)
        asked = [split.synthetic, split.control] if len(split.control) else []
        return [search(self.space(split), reference, queries, n) for queries in asked]

    def asked(self) -> Asked:
        """Released rows are asked and, for the yardstick, control rows."""
        return "released rows and control"

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Compare the distances for every k."""
        compared = sides(self.name, split, equation=self.equation, rng=rng)
        ks, notes = self._possible(compared)
        space = self.space(split)
        distances = (nearest(space, reference, rows, ks[-1]).distance for rows, reference in compared.pairs)
        attacked, fresh = (  # the mean of the first k in column k - 1; equal distances give equal means
            np.round(np.cumsum(each, axis=1) / np.arange(1, ks[-1] + 1), 12) for each in distances
        )
        level = sidak(self.confidence, len(ks))
        found = {
            k: closeness(
                self.name,
                attacked[:, k - 1],
                fresh[:, k - 1],
                alpha=self.alpha,
                worth=compared.worth,
                reference_share=compared.reference_share,
                equation=self.equation,
                confidence=level,
                rng=rng,
            )
            for k in ks
        }
        best = int(strongest({str(k): item.risk for k, item in found.items()}))
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=replace(found[best].risk, high=max(item.risk.high for item in found.values())),
            attack=found[best].attack,
            control=found[best].control,
            details={
                "n_neighbors": best,
                "confidence_of_each": level,
                "by_n_neighbors": {
                    str(k): {
                        "risk": item.risk,
                        "threshold": item.threshold,
                        "attacked": summary(attacked[:, k - 1]),
                        "fresh": summary(fresh[:, k - 1]),
                    }
                    for k, item in found.items()
                },
            },
            notes=notes,
            sensitive_scores=(
                Scores(table="synthetic", rows=compared.attacked.rows, values=-attacked[:, best - 1]),
            ),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many rows lie very close."""
        if self.equation == "counts":
            return counted_close(result, self.alpha)
        return lying_close(result, self.alpha, n_neighbors=result.details["n_neighbors"])

    def _possible(self, compared: ComparedRows) -> tuple[list[int], tuple[str, ...]]:
        """Return the numbers of neighbors there can be, and a note on those there cannot."""
        n = min(reference.n_people for _, reference in compared.pairs)
        whose = "rows" if compared.reference.people is None else "people"
        ks = [k for k in self.n_neighbors if k <= n]
        if not ks:
            raise NotApplicable(self.name, f"train has only {n} {whose} to compare with.")
        if len(ks) == len(self.n_neighbors):
            return ks, compared.notes
        too_many = ", ".join(str(k) for k in self.n_neighbors if k > n)
        return ks, (*compared.notes, f"Left out, since only {n} train {whose} are compared: k = {too_many}.")
