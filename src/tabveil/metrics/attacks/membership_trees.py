"""Membership by trees: is a person likelier in what the release teaches than in what a sample does?"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.result import Labels
from tabveil.core.table import Floats, Table
from tabveil.metrics.attacks.sampled import SampledAttack, Suspects, mean_rank
from tabveil.synthesis.generators.trees.chain import grow_chain
from tabveil.tables.matrices.ordinal import Codes, CountedValues


@dataclass(frozen=True, kw_only=True)
class MembershipTrees(SampledAttack):
    """Is a person likelier in what trees learn from the release than in what they learn from a sample?

    As in DOMIAS people are scored by the ratio of two densities. Both are chains of decision trees, one for
    each column given those before it: they take numbers, categories and missing values as they are. The
    sample is a part of control that is held back and never tested.

    Parameters
    ----------
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    n_permutations
        How often labels are dealt anew for the exact test.
    min_leaf
        The fewest rows in a leaf of a tree.
    reference_share
        The share of control that serves as the sample.
    representation
        What is called near: Gower's distance over the known columns (``Mixed``), the Euclidean one, or the
        distance in an embedding.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

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
        """Compare how likely people are."""
        of_sample, of_release = self._losses(suspects, rng=rng)
        found = {
            "tree ratio": of_sample - of_release,
            "difference": suspects.to_sample - suspects.to_release,
            "distance": -suspects.to_release,
        }
        return {**found, "mean of ranks": mean_rank(*found.values())}

    def _losses(self, suspects: Suspects, *, rng: Generator) -> tuple[Floats, Floats]:
        """Return the negative log-likelihoods (n,) of the people by trees of the sample and of the release.

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

        return losses(suspects.sample), losses(suspects.release)
