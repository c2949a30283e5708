"""Membership by influence: does a person make the release likelier that is around that person?"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.result import Labels
from tabveil.core.table import Floats, Indices
from tabveil.metrics.attacks.domias.kde import Kernel, count_varying, log_density
from tabveil.metrics.attacks.sampled import SampledAttack, Suspects
from tabveil.tables.matrices.points import Coordinates, Points


@dataclass(frozen=True, kw_only=True)
class MembershipInfluence(SampledAttack):
    """Would the synthetic rows around a person be likelier if the sample of the population had that person?

    The attacker owns a sample of the population (a part of control that is held back and never tested), and
    asks for each person how much likelier the nearest synthetic rows become when the person joins it. A
    person whom they are copied from makes them far likelier.

    Parameters
    ----------
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    n_permutations
        How often labels are dealt anew for the exact test.
    n_neighbors
        How many of the nearest synthetic rows are looked at.
    offset
        What is added to distances before their logarithm is taken.
    reference_share
        The share of control that serves as the sample.
    representation
        What is called near: Gower's distance over the known columns (``Mixed``), the Euclidean one, or the
        distance in an embedding.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    Two scores compete. ``influence``: with the k synthetic rows s nearest to a person x, a sample of N rows
    and a density p of it by the smooth kernel K of ``domias_kde``, ``k · log(N / (N + 1)) + Σ log(1 + K(s −
    x) / (N · p(s)))``, which is the gain in log-likelihood if x joins the sample and the bandwidth stays.
    ``sharp influence`` is what ranks people as the bandwidth shrinks: the sum over these rows of ``log(r +
    offset) − log(d + offset)`` where it is positive, d from x to the row, r from the row to the sample. It is
    the stronger one by far.

    Given release and sample, nobody's score depends on who was trained on, so dealing these labels anew among
    the tested people is an exact test. ``attack`` is the share of training people named, ``control`` and
    ``baseline`` that of other people, ``risk`` is ``(attack − control) / (1 − control)``; readings, headline
    and ties are those of ``membership_ratio``.

    References
    ----------
    - Ward, J., Wang, C.-H. and Cheng, G. (2025). Privacy Auditing Synthetic Data Release through Local
      Likelihood Attacks. arXiv.
    - van Breugel, B., Sun, H., Qian, Z. and van der Schaar, M. (2023). Membership Inference Attacks against
      Synthetic Data through Overfitting Detection. AISTATS.
    """

    n_neighbors: int = 5
    offset: float = 0.001

    name: ClassVar[str] = "membership_influence"
    title: ClassVar[str] = "Membership by influence"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="propensity", mechanism="density", auxiliary=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("MembershipInfluence", "n_neighbors", self.n_neighbors, 1)
        check.between("MembershipInfluence", "offset", self.offset, 0, np.inf)

    def suspicions(self, suspects: Suspects, *, rng: Generator) -> dict[str, Floats]:  # noqa: ARG002 - no draws
        """Let each person join the sample."""
        n_neighbors = min(self.n_neighbors, len(suspects.release))
        near = suspects.nearest(suspects.release, suspects.people, n_neighbors)
        to_sample = suspects.nearest(suspects.sample, suspects.release).distance[:, 0]  # (m,)
        gained = np.log(to_sample[near.index] + self.offset) - np.log(near.distance + self.offset)
        coordinates = Coordinates.of(suspects.release, suspects.people, suspects.sample)
        people, release, sample = (
            coordinates.points(table) for table in (suspects.people, suspects.release, suspects.sample)
        )
        kernel = Kernel.rule("scott", len(sample), max(count_varying(suspects.people.schema), 1))
        return {
            "sharp influence": np.maximum(gained, 0).sum(axis=1),
            "influence": influence(
                people, release, sample, near.index, kernel=kernel, n_complete=len(coordinates.complete)
            ),
        }


def influence(
    people: Points, release: Points, sample: Points, near: Indices, *, kernel: Kernel, n_complete: int
) -> Floats:
    """Return how much likelier the synthetic rows ``near`` (n, k) each person get when that person joins.

    One pass over the release gives the density of the sample around all of its rows; then it is k kernels a
    person, where refitting would take a pass over the sample for each.
    """
    n, k = len(sample), near.shape[1]
    log_total = log_density(release, sample, (kernel,), n_complete)[0] + math.log(n)  # (m,) of all kernels
    gaps = people.places[:, None] - release.places[near]  # (n, k, d)
    squares = np.nansum(np.minimum(gaps**2, kernel.most), axis=2)  # a missing number is a mismatch of codes
    mismatches = (people.codes[:, None] != release.codes[near]).sum(axis=2)
    log_own = -kernel.slope * squares - kernel.cost * mismatches  # (n, k)
    joined = np.logaddexp(0, log_own - log_total[near]).sum(axis=1)
    return np.asarray(k * math.log(n / (n + 1)) + joined)
