"""Identical match share: rows of the release that are rows of the training data."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core.drawn import Asked
from tabveil.core.estimate import Estimate, share
from tabveil.core.estimate.matching import Excess, Matching
from tabveil.core.estimate.rates import probit
from tabveil.core.people import Holders, count_sharers_once, require_people
from tabveil.core.result import Labels, Result, Scores, params_of
from tabveil.core.sampling import group_equal_rows
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Floats, Indices, Split
from tabveil.core.wording import begin, plural, share_of
from tabveil.metrics.control.shared_rows import equal_rows_kept_together
from tabveil.metrics.indicators.comparison import Indicator, relative

TOGETHER = "No row stands in train and in control: each different row counts once."


@takes_presets
@dataclass(frozen=True, kw_only=True)
class IdenticalMatchShare(Indicator):
    """How many synthetic rows are rows of real people, beyond what chance explains?

    Counts the synthetic rows that equal some training row in every column. Where columns are few and have few
    values, many rows are equal by chance; so the same is counted with control rows, which the generator never
    saw.

    Parameters
    ----------
    beyond_chance
        Whether the matches that chance explains are taken off; without, ``risk`` is ``attack``.
    preset
        ``"papers"`` takes what the papers used: all matches, whatever chance explains.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of synthetic rows that equal some training row, ``control`` the share that would
    by chance: that equal one of as many rows never seen. ``risk = (attack - control) / (1 - control)``: 1 for
    a copy of the training rows and 0 on average for fresh rows, at any sizes (below 0, a part of ``1 -
    attack``). There is no ``baseline``. Without control rows no risk is derived.

    Where control is smaller than train, as many training rows as there are control rows are exchanged for
    these, and what the release loses by it is scaled up to all; a larger control is sampled down (in closed
    form, nothing is drawn). Where equal rows were kept on one side of the split, each different row counts
    once, or its doubles would seem to explain it.

    How many of the matches are chance is predicted from those in control, counted by *different* row: ten
    equal synthetic rows match together or not at all. To that the interval adds which rows were copied.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.
    - Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical Privacy Metrics for Synthetic Data.
      arXiv:2406.16826.
    """

    beyond_chance: bool = True

    presets: ClassVar[Presets] = {"papers": {"beyond_chance": False}}
    name: ClassVar[str] = "identical_match_share"
    cell_bytes: ClassVar[float] = 10.0
    title: ClassVar[str] = "Identical rows"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="uniqueness")

    def asked(self) -> Asked:
        """Tables are compared as they are: in a part of them, a part of a leak would be seen."""
        return "everything"

    def __call__(self, split: Split, *, rng: Generator) -> Result:  # noqa: ARG002 - nothing is drawn
        """Count the matches."""
        groups = group_equal_rows(split.synthetic, split.train, split.control)
        n_groups = 1 + max(int(group.max(initial=0)) for group in groups)
        synthetic, train, control = (np.bincount(group, minlength=n_groups) for group in groups)
        matched, held_back = train[groups[0]] > 0, len(split.control) > 0  # (m,)
        n_matches = [int(synthetic @ (real > 0)) for real in (train, control)]
        answer = Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            details={
                "matches_in_train": n_matches[0],
                "matches_in_control": n_matches[1] if held_back else None,
                "share_in_train": n_matches[0] / len(matched),
                "share_in_control": n_matches[1] / len(matched) if held_back else None,
                "different_matching_rows": int(np.sum((synthetic > 0) & (train > 0))),
            },
            sensitive_scores=(
                Scores(table="synthetic", rows=np.arange(len(matched)), values=matched.astype(np.float64)),
            ),
        )
        holders = Holders.of(split, groups[1:], n_groups)
        attack = _matched_share(synthetic, holders, self.confidence)
        if not self.beyond_chance:
            return replace(answer, risk=attack, attack=attack)
        if not held_back:
            note = "No control: some matches may be chance, so no risk is derived from the share."
            return replace(answer, attack=attack, notes=(note,))
        require_people(self.name, split, self.confidence)
        notes: tuple[str, ...] = ()
        if equal_rows_kept_together(*holders.commonest):
            notes = (TOGETHER,)
            split, real = count_sharers_once(split, groups[1:])
            holders = Holders.of(split, real, n_groups)
            train = np.bincount(real[0], minlength=n_groups)
        return self._compare(replace(answer, notes=notes), attack, synthetic, train, holders)

    def _compare(
        self, answer: Result, attack: Estimate, synthetic: Indices, train: Indices, holders: Holders
    ) -> Result:
        """Compare the matches in train with those that chance explains."""
        matching = Matching(n_train=holders.n_train, n_control=holders.n_control)
        gained, lost = matching.changes(holders.train, holders.control)
        by_owner = [holders.by_owner(synthetic * change) for change in (gained, lost)]
        found = matching.excess(by_owner[0], by_owner[1], attack.n, self.confidence)
        value, high, low = (
            min(max(attack.value - share, 0.0), 1.0)
            for share in (found.share.value, found.share.low, found.share.high)
        )
        chance = Estimate(value=value, low=low, high=high, n=attack.n)
        answer = replace(answer, attack=attack, control=chance)
        if attack.value == 1 and found.rows <= 0:
            note = "Control matches as much as train itself would: there is no room for a risk."
            return replace(answer, notes=(*answer.notes, note))
        of_copies = _average(gained, train), _average(gained**2, train)
        return replace(answer, risk=_risk(found, 1 - attack.value, of_copies, self.confidence))

    def sentence(self, result: Result) -> str:
        """Tell how many rows are equal."""
        found = result.details.get("matches_in_train")
        told = begin(f"{share_of(result.attack)} of synthetic rows equal a training row")
        if isinstance(found, int):
            verb = "equals" if found == 1 else "equal"
            told = f"{plural(found, 'synthetic row')} {verb} a training row, {share_of(result.attack)} of all"
        if result.control is not None:
            told += f"; by chance {share_of(result.control)} would"
        return f"{told}."


def _risk(found: Excess, unmatched: float, of_copies: tuple[float, float], confidence: float) -> Estimate:
    """Return the excess as a part of what is left to gain on chance.

    To what is not known of chance is added which rows happened to be copied, and how many; not all gain as
    much, for some have twins: ``of_copies`` is what training rows gain on average, and its mean square.
    """
    excess = found.share
    copied = max(_part(excess.value, unmatched), 0.0)
    variance = copied * max(of_copies[1] - copied * of_copies[0] ** 2, 0.0) * found.event_size / excess.n
    spread = probit(confidence) * math.sqrt(variance)
    low = excess.value - math.hypot(excess.value - excess.low, spread)
    high = excess.value + math.hypot(excess.high - excess.value, spread)
    value, low, high = (_part(share, unmatched) for share in (excess.value, low, high))
    return Estimate(value=value, low=low, high=high, n=excess.n)


def _part(excess: float, unmatched: float) -> float:
    if unmatched > 0:
        return relative((unmatched + excess) / unmatched)
    return 1.0 if excess > 0 else -1.0


def _average(values: Floats, counts: Indices) -> float:
    return float((values * counts).sum()) / int(counts.sum())


def _matched_share(synthetic: Indices, holders: Holders, confidence: float) -> Estimate:
    """Return the share of matched synthetic rows; equal rows, or those of one person, are one observation."""
    n, matched = int(synthetic.sum()), (holders.train > 0).astype(np.float64)
    value = _average(matched, synthetic)
    beyond = synthetic * (matched - value)
    if holders.owner is not None:
        beyond = np.concatenate([beyond[matched == 0], holders.by_owner(beyond * matched)])
    spread = float((beyond**2).sum())
    effective = n * n * value * (1 - value) / spread if spread > 0 else None
    if spread == 0 and holders.owner is not None:  # all are matched, or none
        effective = n * n / float((holders.by_owner(synthetic * matched) ** 2).sum() or n)
    return share(value, n, effective=effective, confidence=confidence)
