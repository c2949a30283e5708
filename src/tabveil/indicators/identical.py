"""Identical match share: rows of the release that are rows of the training data."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.estimate import Estimate, part_of_room, share
from tabveil.indicators.comparison import Indicator
from tabveil.result import Cost, Labels, Result, Scores, params_of
from tabveil.sampling import group_equal_rows, held_chance
from tabveil.table import Floats, Indices, Split
from tabveil.wording import begin, plural, share_of


@dataclass(frozen=True, kw_only=True)
class IdenticalMatchShare(Indicator):
    """How many synthetic rows are rows of real people, beyond what chance explains?

    Counts the synthetic rows that equal some training row in every column. Where columns are few and have few
    values, many rows are equal by chance; so the same is counted with control rows, which the generator never
    saw.

    Parameters
    ----------
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of synthetic rows that equal some training row, ``control`` the same for control
    rows. ``risk = (attack - control) / (worst - control)``: 1 for a copy of the training rows and 0 on
    average for fresh rows, at any sizes. There is no ``baseline``. Without control rows no risk is derived.

    Where the two tables differ in size, the larger one matches more by its size alone. Both shares are then
    those expected for a random sample as large as the smaller table (in closed form, nothing is drawn), and
    ``worst`` is what the training rows themselves would score against such a sample; at equal sizes it is 1.
    The plain share in all of train is in ``details``.

    The interval of ``risk`` is built from the synthetic rows that only one side matches (what both match says
    nothing), counted by *different* row: ten equal synthetic rows match together or not at all.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    - Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical Privacy Metrics for Synthetic Data.
      arXiv:2406.16826.
    """

    name: ClassVar[str] = "identical_match_share"
    title: ClassVar[str] = "Identical rows"
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="uniqueness")

    def __call__(self, split: Split, *, rng: Generator) -> Result:  # noqa: ARG002 - nothing is drawn
        """Count the matches."""
        groups = group_equal_rows(split.synthetic, split.train, split.control)
        n_groups = 1 + max(int(group.max(initial=0)) for group in groups)
        synthetic, train, control = (np.bincount(group, minlength=n_groups) for group in groups)
        matched = train[groups[0]] > 0  # (m,)
        answer = Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            details=_details(synthetic, train, control),
            scores=(
                Scores(table="synthetic", rows=np.arange(len(matched)), values=matched.astype(np.float64)),
            ),
        )
        if len(split.control) == 0:
            note = "No control: some matches may be chance, so no risk is derived from the share."
            attack = _matched_share(synthetic, (train > 0).astype(np.float64), self.confidence)
            return replace(answer, attack=attack, notes=(note,))
        return _compare(answer, synthetic, train, control, self.confidence)

    def sentence(self, result: Result) -> str:
        """Tell how many rows are equal."""
        found = result.details.get("matches_in_train")
        share = f"{share_of(result.attack)} of synthetic rows equal a training row"
        if isinstance(found, int):
            verb = "equals" if found == 1 else "equal"
            told = f"{plural(found, 'synthetic row')} {verb} a training row. At equal table sizes, {share}"
        else:
            told = begin(share)
        if result.control is not None:
            told += f", and {share_of(result.control)} equal a row the generator never saw"
        return f"{told}."


def _details(synthetic: Indices, train: Indices, control: Indices) -> dict[str, float | int | None]:
    rows = int(synthetic.sum())
    in_train, in_control = int(synthetic @ (train > 0)), int(synthetic @ (control > 0))
    held_back = int(control.sum()) > 0
    return {
        "matches_in_train": in_train,
        "matches_in_control": in_control if held_back else None,
        "share_in_train": in_train / rows,
        "share_in_control": in_control / rows if held_back else None,
        "different_matching_rows": int(np.sum((synthetic > 0) & (train > 0))),
    }


def _compare(
    answer: Result, synthetic: Indices, train: Indices, control: Indices, confidence: float
) -> Result:
    size = min(int(train.sum()), int(control.sum()))
    by_train, by_control = (held_chance(rows, int(rows.sum()), size) for rows in (train, control))
    attack, chance = (_matched_share(synthetic, side, confidence) for side in (by_train, by_control))
    worst = _average(by_train, train)
    room = worst - chance.value
    notes = []
    if train.sum() != control.sum():
        notes.append(
            f"Train and control differ in size: attack and control are the shares expected for {size} rows "
            "of each; the share in all of train is in the details."
        )
    answer = replace(answer, attack=attack, control=chance)
    if room <= 0:
        notes.append("Control matches as much as train itself would: there is no room for a risk.")
        return replace(answer, notes=tuple(notes))
    gain = (attack.value - chance.value) / room
    risk = _risk(synthetic, by_train - by_control, gain, room, confidence)
    return replace(answer, risk=risk, notes=tuple(notes))


def _average(values: Floats, counts: Indices) -> float:
    return float((values * counts).sum()) / int(counts.sum())


def _matched_share(synthetic: Indices, chance: Floats, confidence: float) -> Estimate:
    """Return the share of matched synthetic rows; equal rows are one observation."""
    n = int(synthetic.sum())
    value = _average(chance, synthetic)
    spread = float(((synthetic * (chance - value)) ** 2).sum())
    effective = n * n * value * (1 - value) / spread if spread > 0 else None
    return share(value, n, effective=effective, confidence=confidence)


def _risk(synthetic: Indices, gain: Floats, value: float, room: float, confidence: float) -> Estimate:
    """Put the errors around the share gained on control, as a part of the room there was.

    Gains and losses (matched by train more, by control more) are two counts of different rows, each between
    Wilson's bounds, which also hold at zero.
    """
    n = int(synthetic.sum())
    changes = synthetic * gain
    total = float(np.abs(changes).sum())
    rows_an_event = max(float((changes**2).sum()) / total, 1.0) if total > 0 else 1.0
    gained, lost = (
        share(float(np.maximum(side, 0.0).sum()) / n, n, effective=n / rows_an_event, confidence=confidence)
        for side in (changes, -changes)
    )
    return part_of_room(value, gained, lost, room)
