"""Membership by a ratio of distances: is the release nearer to a person than a sample of the population?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Floats
from tabveil.metrics.attacks.sampled import SampledAttack, Suspects, mean_rank


@dataclass(frozen=True, kw_only=True)
class MembershipRatio(SampledAttack):
    """Is the release nearer to a person than a sample of the population is?

    The attacker owns a sample of the same population. A person to whom the release is nearer than the sample
    was probably trained on. The sample is a part of control that is held back and never tested.

    Parameters
    ----------
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    n_permutations
        How often labels are dealt anew for the exact test.
    offset
        What is added to distances before their logarithm is taken, so that 0 is not infinitely far from the
        smallest other one.
    reference_share
        The share of control that serves as the sample.
    representation
        What is called near: Gower's distance over the known columns (``Mixed``), the Euclidean one, or the
        distance in an embedding.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    With d to the nearest synthetic row and r to the nearest row of the sample, four scores compete:
    ``log(r + offset) − log(d + offset)``, the difference ``r − d``, the plain ``−d``, and the mean of the
    ranks of these three. Ties are broken by lot, those of ``−d`` by r first.

    Given release and sample, nobody's score depends on who was trained on, so dealing these labels anew among
    the tested people is an exact test. The attacker names the first 5, 6, 7, 9, … people, down to a tenth of
    all, then a quarter and a half: ``attack`` is the share of training people named, ``control`` and
    ``baseline`` that of other people, ``risk`` is ``(attack − control) / (1 − control)``. The area, as
    ``2·AUC − 1``, is one more test; it counts nobody and has no gain. The headline is the reading with the
    largest lower bound of its gain, in intervals that hold for all of them together, by the same deals
    (max-T); each is in ``details``.

    References
    ----------
    - Watson, L., Guo, C., Cormode, G. and Sablayrolles, A. (2022). On the Importance of Difficulty
      Calibration in Membership Inference Attacks. ICLR.
    - Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
    """

    offset: float = 0.001

    name: ClassVar[str] = "membership_ratio"
    title: ClassVar[str] = "Membership by a ratio of distances"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.between("MembershipRatio", "offset", self.offset, 0, np.inf)

    def suspicions(self, suspects: Suspects, *, rng: Generator) -> dict[str, Floats]:  # noqa: ARG002 - no draws
        """Compare how near release and sample are."""
        to_release, to_sample = suspects.to_release, suspects.to_sample
        found = {
            "log ratio": np.log(to_sample + self.offset) - np.log(to_release + self.offset),
            "difference": to_sample - to_release,
            "distance": -to_release,
        }
        return {**found, "mean of ranks": mean_rank(*found.values())}
