"""Attacks on membership by somebody who owns a sample of the population: rows that are never tested."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.crew import once
from tabveil.core.estimate import mean_ranks
from tabveil.core.result import Labels, Result
from tabveil.core.sampling import in_order
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.engines.neighbors import NearestRows, Neighbors
from tabveil.metrics.attacks.domias.density_ratios import Kernel, count_varying, log_density, set_aside
from tabveil.metrics.attacks.roc import DECIMALS, PooledAttack, pool
from tabveil.protocols import View
from tabveil.synthesis.generators.trees.chain import grow_chain
from tabveil.tables.matrices.ordinal import Codes, CountedValues
from tabveil.tables.matrices.points import Coordinates, Points


@dataclass(frozen=True, kw_only=True, eq=False)
class Suspects:
    """The people under attack, blind to who was trained on, and what the attacker has: release and sample."""

    people: Table
    release: Table
    sample: Table
    view: View

    def nearest(self, table: Table, queries: Table, n_neighbors: int = 1) -> NearestRows:
        """Find the nearest rows of a table around others, as the attacker sees them."""
        names = self.people.schema.names
        rows, asked = self.view.see(table, names), self.view.see(queries, names)
        return Neighbors(self.view.space(names), rows).nearest(asked, n_neighbors)

    @once
    def to_release(self) -> Floats:
        """How far the nearest synthetic row is from each person (n,)."""
        return self.nearest(self.release, self.people).distance[:, 0]

    @once
    def to_sample(self) -> Floats:
        """How far the nearest row of the sample is from each person (n,)."""
        return self.nearest(self.sample, self.people).distance[:, 0]

    def beside_distances(self, name: str, score: Floats) -> dict[str, Floats]:
        """Return a score with those by distances alone, and the mean of the ranks of all three."""
        difference = self.to_sample - self.to_release
        found = {name: score, "difference": difference, "distance": -self.to_release}
        return {**found, "mean of ranks": mean_rank(*found.values())}


@dataclass(frozen=True, kw_only=True)
class SampledAttack(PooledAttack):
    """What attacks have in common whose attacker owns a sample of the population.

    Parameters
    ----------
    reference_share
        The share of control that serves as the sample.
    """

    reference_share: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check.between(type(self).__name__, "reference_share", self.reference_share, 0, 1)

    @abstractmethod
    def suspicions(self, suspects: Suspects, *, rng: Generator) -> dict[str, Floats]:
        """Return scores (n,) of the people by their names, the one that gives the curve first.

        The negative ``"distance"`` to the release is one whose ties are broken by that to the sample.
        """

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack, and compare members with others."""
        split.require_control(self.name, 2)
        reference, attacked = set_aside(split, self.reference_share, self.n_attacks, rng=rng)
        people = pool(*attacked)
        release, sample = in_order(split.synthetic).table, in_order(reference).table
        blind = Split(train=people, control=sample, synthetic=release)
        view = self.representation.view(blind, rng=rng, reference=sample)
        suspects = Suspects(people=people, release=release, sample=sample, view=view)
        found = self.suspicions(suspects, rng=rng)
        lot = rng.permutation(len(people)).astype(np.float64)
        suspicion: dict[str, tuple[Floats, Floats | None]] = {
            name: (score, mean_ranks(suspects.to_sample) * len(lot) + lot if name == "distance" else lot)
            for name, score in found.items()
        }
        return self.conclude(attacked, suspicion, rng=rng, details={"n_reference": len(reference)})


def mean_rank(*scores: Floats) -> Floats:
    """Return the mean of the ranks (n,) that several scores give.

    >>> mean_rank(np.array([1.0, 5.0, 9.0]), np.array([0.3, 0.1, 0.2])).tolist()
    [2.0, 1.5, 2.5]
    """
    return np.asarray(np.mean([mean_ranks(np.round(score, DECIMALS)) for score in scores], axis=0))


@dataclass(frozen=True, kw_only=True)
class MembershipRatio(SampledAttack):
    """Is the release nearer to a person than a sample of the population is?

    The attacker owns a sample of the same population. A person to whom the release is nearer than the sample
    was probably trained on. The sample is a part of control that is held back and never tested.

    Parameters
    ----------
    n_attacks, n_permutations
    offset
        What is added to distances before their logarithm is taken, so that 0 is not infinitely far from the
        smallest other one.

    Notes
    -----
    With d to the nearest synthetic row and r to the nearest row of the sample, four scores compete:
    ``log(r + offset) − log(d + offset)``, the difference ``r − d``, the plain ``−d``, and the mean of the
    ranks of these three. Ties are broken at random, those of ``−d`` by r first.

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
        ratio = np.log(suspects.to_sample + self.offset) - np.log(suspects.to_release + self.offset)
        return suspects.beside_distances("log ratio", ratio)


@dataclass(frozen=True, kw_only=True)
class MembershipTrees(SampledAttack):
    """Is a person likelier in what trees learn from the release than in what they learn from a sample?

    As in DOMIAS people are scored by the ratio of two densities. Both are chains of decision trees, one for
    each column given those before it: they take numbers, categories and missing values as they are. The
    sample is a part of control that is held back and never tested.

    Parameters
    ----------
    n_attacks, n_permutations
    min_leaf
        The fewest rows in a leaf of a tree.

    Notes
    -----
    Columns are visited in the order of how many different values they have. The score is the sum over columns
    of the logarithm of how likely a person's value is in the leaf that the values before it lead to, in trees
    grown from the release, less that in trees grown from the sample. With d to the nearest synthetic row and
    r to the nearest row of the sample, ``r − d``, ``−d`` and the mean of the ranks of these three compete.

    Given release and sample, nobody's score depends on who was trained on, so dealing these labels anew among
    the tested people is an exact test. ``attack`` is the share of training people named, ``control`` and
    ``baseline`` that of other people, ``risk`` is ``(attack − control) / (1 − control)``; readings, headline
    and ties are those of ``membership_ratio``. It sees most where the release was itself drawn from
    trees.

    References
    ----------
    - van Breugel, B., Sun, H., Qian, Z. and van der Schaar, M. (2023). Membership Inference Attacks against
      Synthetic Data through Overfitting Detection. AISTATS.
    - Reiter, J. P. (2005). Using CART to Generate Partially Synthetic Public Use Microdata. Journal of
      Official Statistics 21(3).
    """

    min_leaf: int = 5

    name: ClassVar[str] = "membership_trees"
    title: ClassVar[str] = "Membership by trees"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="propensity", mechanism="density", auxiliary=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("MembershipTrees", "min_leaf", self.min_leaf, 1)

    def suspicions(self, suspects: Suspects, *, rng: Generator) -> dict[str, Floats]:
        """Compare how likely people are by trees of the sample, and by trees of the release.

        Both chains know the values of either table, so that one scale serves both.
        """
        owned = np.concatenate([suspects.sample.values, suspects.release.values])
        columns = suspects.people.schema.columns
        visits = sorted(range(len(columns)), key=lambda k: (len(np.unique(owned[:, k])), columns[k].name))
        levels = [CountedValues.of(columns[k], owned[:, k]) for k in visits]

        def encode(table: Table) -> Codes:
            codes = [each.codes(table.values[:, k]) for k, each in zip(visits, levels, strict=True)]
            return np.ascontiguousarray(np.column_stack(codes))

        people = encode(suspects.people)

        def losses(table: Table) -> Floats:
            chain = grow_chain(levels, encode(table), min_leaf=self.min_leaf, rng=rng)
            return np.asarray(chain.losses(people).sum(axis=1))

        of_sample, of_release = losses(suspects.sample), losses(suspects.release)  # negative log-likelihoods
        return suspects.beside_distances("tree ratio", of_sample - of_release)


@dataclass(frozen=True, kw_only=True)
class MembershipInfluence(SampledAttack):
    """Would the synthetic rows around a person be likelier if the sample of the population had that person?

    The attacker owns a sample of the population (a part of control that is held back and never tested), and
    asks for each person how much likelier the nearest synthetic rows become when the person joins it. A
    person whom they are copied from makes them far likelier.

    Parameters
    ----------
    n_attacks, n_permutations
    n_neighbors
        How many of the nearest synthetic rows are looked at.
    offset
        What is added to distances before their logarithm is taken.

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
