"""The score behind DCR and k-NN: how many rows lie closer than fresh rows hardly ever do?

``threshold`` is the alpha-percentile of the distances of fresh rows, an actual value of theirs; F is the
share of distances at or below it. ``(F_attacked - F_fresh) / (1 - F_fresh)`` is 0 for rows like fresh ones
and 1 where every row lies that close. On continuous data F_fresh is alpha; on discrete data, where the
threshold is often 0 and many fresh rows sit on it, the score keeps both ends.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate import Estimate, part_of_room, percentile_interval, resamples_for, share
from tabveil.core.people import rows_worth
from tabveil.core.result import Result, Role
from tabveil.core.sampling import Sample, in_order, rows_of_people
from tabveil.core.table import Floats, Split, Table
from tabveil.core.wording import level, share_of
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators.comparison import at_most_all, without_people

FEWEST_PEOPLE = 3
"""Control people who set a threshold, where they have several rows."""
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
    reference_share: float = 1.0
    notes: tuple[str, ...] = ()

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
    *,
    rng: Generator,
) -> ComparedRows:
    """Choose the sides. Both are always measured to the same reference, so no table's size matters."""
    tables = split.control, without_people(split.synthetic), split.train
    control, synthetic, train = (in_order(table) for table in tables)
    if direction == "real_to_synthetic":
        split.require_control(name)
        return ComparedRows(role="train", attacked=train, fresh=control.table, reference=synthetic.table)
    if len(control) > 0:
        return ComparedRows(role="synthetic", attacked=synthetic, fresh=control.table, reference=train.table)
    n_people = split.train.n_people
    if n_people < 2:  # noqa: PLR2004 - two halves
        whose = "rows" if split.train.people is None else "people"
        raise NotApplicable(f"{name}: needs control rows, or at least two train {whose} to split in halves.")
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
class Closeness:
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
    confidence: float,
    rng: Generator,
) -> Closeness:
    """Compare the distances of attacked rows with those of fresh rows to the same reference.

    ``reference_share`` is the part of train that serves as the reference: a copy of train scores no more than
    that, so the score is divided by it. ``worth`` is how many independent rows both are worth, if not all.
    """
    attacked, fresh = np.sort(attacked), np.sort(fresh)
    worth_attacked, worth_fresh = worth or (float(len(attacked)), float(len(fresh)))
    threshold = float(fresh[_rank(alpha, len(fresh)) - 1])
    attack, control = (
        share(float(_share_within(rows, threshold)), len(rows), effective=independent, confidence=confidence)
        for rows, independent in ((attacked, worth_attacked), (fresh, worth_fresh))
    )
    if control.value == 1:
        raise NotApplicable(
            f"{name}: the {len(fresh)} control rows are all equally close to train, so nothing can be closer "
            "than most of them."
        )
    if round(worth_fresh) < min(len(fresh), FEWEST_PEOPLE):
        raise NotApplicable(f"{name}: most control rows are of one or two people, who set no threshold.")
    room = 1 - control.value
    value = (attack.value - control.value) / room
    sizes = max(round(worth_attacked), 1), round(worth_fresh)
    rank = _rank(alpha, sizes[1])
    resampled = _resample(attacked, fresh, rank, resamples_for(confidence), sizes=sizes, rng=rng)
    # Resamples know how the threshold varies, but have no width where a share is none or all, and too little
    # where few control rows are left beyond the threshold; Wilson's bounds know those. The wider ones hold.
    by_shares = part_of_room(value, attack, control, room)
    by_resamples = by_shares
    if len(resampled):
        by_resamples = percentile_interval(value, resampled, len(attacked), confidence)
    low, high = min(by_resamples.low, by_shares.low), max(by_resamples.high, by_shares.high)
    risk = Estimate(
        value=value / reference_share,
        low=low / reference_share,
        high=high / reference_share,
        n=len(attacked),
    )
    return Closeness(threshold=threshold, attack=attack, control=control, risk=at_most_all(risk))


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
