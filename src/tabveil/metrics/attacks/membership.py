"""Membership by distance: does a synthetic row betray that a person was in the training data?"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core.findings import OutlierRisk
from tabveil.core.result import Labels, Result
from tabveil.core.sampling import surest_rows
from tabveil.core.table import Floats, Split
from tabveil.engines.neighbors.shared import distances
from tabveil.metrics.attacks.attack import NearestRowAttack, TellsMembers
from tabveil.metrics.attacks.guessing import draw_attacked, rarity, scores, seen_by, ties_matter
from tabveil.metrics.attacks.roc import Ranking, judge, levels

THRESHOLDS = (0.01, 0.05, 0.1, 0.25)  # of the simulation: quantiles of the distances of control rows
PROPORTIONS = tuple(tenth / 10 for tenth in range(1, 10))  # of members among the rows under attack
GRADES = ((0.6, "Very Good"), (0.7, "Good"), (0.8, "Moderate"))
EXCELLENT_BELOW, POOR_FROM = 0.5, 0.8
OUTLYING = 0.1  # the share of people that counts as outlying
FEWEST_OUTLIERS = 20


@dataclass(frozen=True, kw_only=True)
class MembershipDistance(TellsMembers, NearestRowAttack):
    """Can somebody who knows a person's row tell whether that person was in the training data?

    The attacker looks how near the nearest synthetic row is (Gower's distance): the nearer, the more likely
    the person was in the training data. Training people are the members, people of the control table are not.
    Where many people tie at a cut-off, the rarer ones come first, since a match of an unusual person says
    more.

    Notes
    -----
    The attacker names the most likely members: FPR (``control`` and ``baseline``) is the share of other
    people wrongly named, set to 50 %, 10 %, 1 % and 0.1 % or the lowest that leaves five control rows, TPR
    (``attack``) the share of members rightly named, the gain is ``TPR − FPR`` and ``risk`` is ``(TPR − FPR) /
    (1 − FPR)``: 0 where members cannot be told from others, 1 where all of them can. The area, as ``2·AUC −
    1``, where AUC is the chance that a member scores higher than somebody else (ties half), is one more test
    of whether there is a leak. It counts nobody, so it has no gain, and no bound rests on it.

    ``details`` has the ROC curve, its area, the TPR at FPR 0.1 %, 1 % and 10 %; the
    same attack on outlying people alone, the tenth that lies farthest from other real people; and a
    simulation of the usual attack with a fixed threshold: precision and accuracy over thresholds and
    proportions of members, and the grade these are given in the literature. The headline is the configuration
    with the largest lower bound of its gain, among intervals that hold for all of them together (Šidák); each
    is in ``details``.

    References
    ----------
    - Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramèr, F. (2022). Membership Inference
      Attacks From First Principles. IEEE Symposium on Security and Privacy.
    - Steier, A., Ramaswamy, L., Manoel, A. and Haushalter, A. (2025). Synthetic Data Privacy Metrics.
      arXiv:2501.03941.
    - DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the Areas under Two or More
      Correlated Receiver Operating Characteristic Curves: A Nonparametric Approach. Biometrics.
    """

    n_attacks: int | None = None

    name: ClassVar[str] = "membership_distance"
    title: ClassVar[str] = "Membership by distance"
    labels: ClassVar[Labels] = Labels(
        pillar="attack", wp29="propensity", mechanism="distance", auxiliary=True
    )

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack, and compare members with others."""
        split.require_control(self.name)
        attacked = draw_attacked(split, self.n_attacks, rng=rng)
        sides = Split(train=attacked[0].table, control=attacked[1].table, synthetic=split.synthetic)
        view, names = self.representation.view(sides, rng=rng), split.schema.names
        space, seen = view.space(names), seen_by(view, sides, names)
        train, control = (
            distances(space, seen.synthetic, table)[:, 0] for table in (seen.train, seen.control)
        )
        rare = rarity(space, seen, rng=rng)
        by_row = scores(attacked, (-train, -control))
        kept = [
            surest_rows(side.people, -distance, far)
            for side, distance, far in zip((sides.train, sides.control), (train, control), rare, strict=True)
        ]  # of several rows of a person, the one that is nearest to the release
        train, control, rare = train[kept[0]], control[kept[1]], (rare[0][kept[0]], rare[1][kept[1]])
        break_ties = ties_matter(-control, levels(len(control)))
        ranked = Ranking.of(-train, -control, rare if break_ties else None)
        judged = judge("distance", ranked, confidence=self.confidence)
        return judged.answer(
            self,
            outliers=attack_outliers((train, control), rare, confidence=self.confidence),
            details={"ties_broken_by_rarity": break_ties, "simulation": simulate(train, control)},
            scores=by_row,
        )


def attack_outliers(
    distances: tuple[Floats, Floats], rare: tuple[Floats, Floats], *, confidence: float
) -> OutlierRisk | None:
    """Attack outlying people by themselves: those farthest from real rows held back for the comparison.

    One rule finds them in both tables: as far away as the farthest tenth of control rows. None where too few
    control rows are that far, or too few train rows.
    """
    bar = np.quantile(rare[1], 1 - OUTLYING, method="inverted_cdf")
    train, control = (side[far >= bar] for side, far in zip(distances, rare, strict=True))
    if min(len(train), len(control)) < FEWEST_OUTLIERS:
        return None
    found = judge("distance", Ranking.of(-train, -control), confidence=confidence)
    return OutlierRisk(
        share=OUTLYING,
        n_train=len(train),
        n_control=len(control),
        configuration=found.setting.name,
        risk=found.leading.risk,
        gain=found.gain,
        attack=found.leading.attack,
        control=found.leading.control,
    )


def simulate(train: Floats, control: Floats) -> dict[str, Any]:
    """Attack with fixed thresholds: whoever is at most so far from a synthetic row is called a member.

    Precision and accuracy for every threshold and every proportion of members among the attacked rows, each
    the expectation over which rows are drawn; then their averages and the grade. A coin has one half of both
    on average over the proportions, so a clean release is graded Excellent or Very Good.
    """
    attacks = []
    for quantile in THRESHOLDS:
        threshold = np.quantile(control, quantile, method="inverted_cdf")
        found, mistaken = float(np.mean(train <= threshold)), float(np.mean(control <= threshold))
        for members in PROPORTIONS:
            true, false = members * found, (1 - members) * mistaken
            attacks.append(
                {
                    "threshold": float(threshold),
                    "members": members,
                    "precision": true / (true + false),
                    "accuracy": true + (1 - members) - false,
                }
            )
    precision, accuracy = (
        float(np.mean([attack[figure] for attack in attacks])) for figure in ("precision", "accuracy")
    )
    return {
        "precision": precision,
        "accuracy": accuracy,
        "grade": grade(precision, accuracy),
        "attacks": attacks,
    }


def grade(precision: float, accuracy: float) -> str:
    """Grade a simulated attack: Excellent if both figures are below one half, Poor if both reach 0.8.

    >>> grade(0.4, 0.49), grade(0.5, 0.6), grade(0.9, 0.8)
    ('Excellent', 'Very Good', 'Poor')
    """
    if max(precision, accuracy) < EXCELLENT_BELOW:
        return "Excellent"
    if min(precision, accuracy) >= POOR_FROM:
        return "Poor"
    middle = (precision + accuracy) / 2
    return next((word for bound, word in GRADES if middle < bound), GRADES[-1][1])
