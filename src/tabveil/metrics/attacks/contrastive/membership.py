"""Membership by calibrated distances in two spaces: a learned one, and one by the columns that differ."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from numpy.random import Generator

from tabveil.core.result import Cost, Result
from tabveil.core.table import Floats, Split, Table
from tabveil.engines.representation import Contrastive, Tolerant
from tabveil.metrics.attacks.guessing import draw_attacked, scores
from tabveil.metrics.attacks.membership_calibrated import surroundings, unexplained
from tabveil.metrics.attacks.sampled import mean_rank
from tabveil.metrics.attacks.scan import Pooled, PooledAttack, pool, scan
from tabveil.protocols import Representation


@dataclass(frozen=True, kw_only=True)
class MembershipContrastive(PooledAttack):
    """Is a synthetic row nearer to a person than it should be, in a learned space or by columns that differ?

    As ``membership_calibrated``: the attacker suspects those to whom the release is nearer than is to be
    expected with so many people around. What is near is asked twice: in a contrastive embedding of the
    release, and by the share of columns that differ, numbers within a tolerance by a part (``Tolerant``). A
    leaked row whose values were moved a little is still near in the first; an exact copy stands out most in
    the second; who stands out in both is suspected first.

    Parameters
    ----------
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    n_permutations
        How often labels are dealt anew for the exact test.
    representation
        The learned space: an embedding that is trained on the release.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    Two scores are made in each space. The first is what is left of d, the distance to the nearest synthetic
    row, after least squares on the distances to other people (``membership_calibrated`` tells more). The
    second is ``r − d``, r the distance to the nearest other person. For each, the mean of a person's ranks in
    both spaces is one more ranking. The other people are all who are attacked, training and control rows
    alike: an attacker would need a sample of about that size.

    Nobody's score depends on who was trained on, so dealing these labels anew is an exact test, for tables of
    any sizes. The attacker names the first 5, 6, 7, 9, … people, down to a tenth of all, then a quarter and a
    half: ``attack`` is the share of training people named, ``control`` and ``baseline`` that of other people,
    ``risk`` is ``(attack − control) / (1 − control)``. The area, as ``2·AUC − 1``, is one more test; it
    counts nobody and has no gain. The headline is the reading with the largest lower bound of its gain, in
    intervals that hold for all of them together, by the same deals of the labels (max-T); each is in
    ``details``. The p-value is that of the joint test.

    The test asks that training and control rows are drawn alike. Where equal rows were kept on one side on
    purpose, they are not.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    - Watson, L., Guo, C., Cormode, G. and Sablayrolles, A. (2022). On the Importance of Difficulty
      Calibration in Membership Inference Attacks. ICLR.
    - Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
    """

    representation: Representation = field(default_factory=Contrastive)

    name: ClassVar[str] = "membership_contrastive"
    title: ClassVar[str] = "Membership, contrastive and tolerant"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    beside: ClassVar[tuple[str, ...]] = ("membership_calibrated", "membership_distance")

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack in both spaces, and compare members with others."""
        split.require_control(self.name)
        attacked = draw_attacked(split, self.n_attacks, rng=rng)
        n_train, people = len(attacked[0]), pool(*(drawn.table for drawn in attacked))
        suspicion = self._suspicion(split, people, rng=rng)
        drawn = next(iter(suspicion))
        judged = scan(
            {
                name: Pooled.of(score, n_train, rare, people=people.people)
                for name, (score, rare) in suspicion.items()
            },
            drawn,
            confidence=self.confidence,
            n_deals=self.n_permutations,
            rng=rng,
        )
        shown = suspicion[drawn][0]
        return judged.headline.answer(
            self, curve=judged.curve, scores=scores(attacked, (shown[:n_train], shown[n_train:]))
        )

    def _suspicion(self, split: Split, people: Table, *, rng: Generator) -> dict[str, tuple[Floats, Floats]]:
        """Score people by each way of looking, (n,), and say how rare they are, which breaks ties (n,)."""
        spaces = {"contrastive": self.representation, "tolerant": Tolerant()}
        found: dict[str, dict[str, tuple[Floats, Floats]]] = {"calibrated": {}, "difference": {}}
        for name, representation in spaces.items():
            around = surroundings(split, people, representation, rng=rng)
            distance, others = around.release, around.others
            found["calibrated"][name] = -unexplained(distance, others), others[:, -1]
            found["difference"][name] = others[:, 0] - distance, others[:, -1]
        return {
            **{f"both spaces, {score}": _together(by.values()) for score, by in found.items()},
            **{f"{name}, {score}": one for score, by in found.items() for name, one in by.items()},
        }


def _together(rankings: Iterable[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the mean of a person's ranks, of the scores and of what breaks their ties."""
    scores, rare = zip(*rankings, strict=True)
    return mean_rank(*scores), mean_rank(*rare)
