"""Linkability in the contrastive space: two parts of a person's data, each placed with the other masked."""

from dataclasses import dataclass, field
from typing import ClassVar

from tabveil.core.result import Cost
from tabveil.engines.representation import Contrastive
from tabveil.metrics.attacks.linkability import Linkability
from tabveil.protocols import Representation


@dataclass(frozen=True, kw_only=True)
class LinkabilityContrastive(Linkability):
    """Can somebody with a learned sense of nearness tell that two parts of a person's data belong together?

    As ``linkability``, in a contrastive embedding of the release: for each real person the attacker looks up
    the nearest synthetic rows by one set of columns, all others masked in the person's row and in the release
    alike, and again by another set. The two parts are linked if some synthetic row is among both.

    A careful attacker acts only on sure guesses: at the level of 10 %, say, a guess succeeds if it is right
    and as sure as the surest 10 % of those about control rows. A guess is surer the nearer the rows are on
    both sets together.

    Parameters
    ----------
    n_neighbors
        How many nearest synthetic rows to look up; each number is a configuration.
    auxiliary
        Pairs of disjoint sets of columns to link; all of them are attacked. None splits the columns in two.
    n_splits
        How many of the possible splits are attacked; None attacks all, as in the paper.
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    representation
        What is called near: the distance in an embedding that is trained on the release.
    calibrated
        Whether guesses are also ranked by how near the rows are for somebody with so many other people
        around, and all configurations are tested together by dealing labels anew.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of training people whose two parts are linked, ``control`` the same for people
    never seen, ``baseline`` the chance that rows picked at random meet. ``risk = (attack - control) / (1 -
    control)``: 0 where training people are linked no more often than others, 1 where all of them are.

    The splits are those of ``linkability``: here, and only here, the order of columns matters. The headline
    is the configuration with the largest lower bound, among intervals that hold for all of them together
    (Šidák); each is in ``details``.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2023). A Unified Framework for Quantifying
      Privacy Risk in Synthetic Data. Proceedings on Privacy Enhancing Technologies.
    """

    representation: Representation = field(default_factory=Contrastive)

    name: ClassVar[str] = "linkability_contrastive"
    title: ClassVar[str] = "Linkability, contrastive"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    on_request: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("linkability",)
