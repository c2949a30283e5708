"""Singling out in the contrastive space: descriptions of those synthetic rows that stand apart in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.result import Cost, Setting
from tabveil.core.table import Indices, Split
from tabveil.engines.neighbors import local_outlier_factors
from tabveil.engines.representation import Contrastive
from tabveil.metrics.attacks.attack import NearestRowAttack
from tabveil.metrics.attacks.singling_out.descriptions import DescriptionAttack, Guessed, rows_a_person
from tabveil.metrics.attacks.singling_out.predicates import around_rows, bins, draw_naive
from tabveil.protocols import Representation
from tabveil.tables.matrices.ranked_tables import RankedTable


@dataclass(frozen=True, kw_only=True)
class SinglingOutContrastive(DescriptionAttack, NearestRowAttack):
    """Do descriptions of unusual synthetic rows fit exactly one real person?

    Unusual people are the easiest to recognize. Which synthetic rows are unusual is looked up in a
    contrastive embedding of the release: those that stand apart from the rows around them, by the local
    outlier factor. Each is described by some of its columns: categories must be equal, numbers in the same
    bin, missing values missing. Descriptions that fit exactly one synthetic row single out the person whom
    they fit, if they fit nobody else of all real people.

    Parameters
    ----------
    n_attacks
        The most rows that are described, the most unusual first; None describes all that are unusual.
    n_columns
        On how many columns, besides all of them, to guess.
    n_bins
        Into how many equally wide bins the range of a number is cut.
    contamination
        The share of synthetic rows that counts as unusual; 1 describes all.
    n_neighbors
        How many rows around it a row is compared with.
    deduplicate
        Drop equal rows of train and control first, as Anonymeter does.
    representation
        Where rows stand apart: in an embedding, or by Gower's or the Euclidean distance.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of training people who are singled out, ``control`` that of control people, and
    the gain the difference; ``baseline`` and ``risk`` are as in ``singling_out``. No more people can be
    singled out than rows are described: a contamination of 0.1 sees no more than a tenth of a leak. The
    headline is the configuration with the largest lower bound of its gain, among intervals that hold for all
    of them together (Šidák); each is in ``details``.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    - Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF: Identifying Density-Based Local
      Outliers. SIGMOD.
    """

    n_attacks: int | None = None
    n_columns: tuple[int, ...] = (4, 8, 12)
    n_bins: int = 20
    contamination: float = 1.0
    n_neighbors: int = 20
    representation: Representation = field(default_factory=Contrastive)

    name: ClassVar[str] = "singling_out_contrastive"
    title: ClassVar[str] = "Singling out, contrastive"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    on_request: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("singling_out",)

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check.at_least(owner, "n_bins", self.n_bins, 1)
        check.at_least(owner, "n_neighbors", self.n_neighbors, 1)
        check.positive_share(owner, "contamination", self.contamination)

    def _guesses(
        self,
        tables: Split,
        synthetic: RankedTable,
        different: RankedTable,  # noqa: ARG002 - rows that stand apart have no equals
        *,
        rng: Generator,
    ) -> Iterator[Guessed]:
        """Name each configuration, with its guesses and as many naive ones."""
        unusual, form = self._unusual(tables, rng=rng)[: self.n_attacks], bins(synthetic, self.n_bins)
        d, most = synthetic.n_columns, rows_a_person(tables)
        for n in sorted({*(n for n in self.n_columns if n < d), d}):
            guesses = around_rows(synthetic, form, n, unusual, rng=rng, most=most)
            naive = draw_naive(synthetic, form, n, len(guesses), rng=rng)
            where = "all columns" if n == d else f"{n} columns"
            setting = Setting(label=f"outliers, {where}", n_columns=n)
            yield Guessed(setting=setting, guesses=guesses, naive=naive, judged=True)

    def _unusual(self, tables: Split, *, rng: Generator) -> Indices:
        """Return the synthetic rows that stand apart, the most unusual first."""
        view, names = self.representation.view(tables, rng=rng), tables.schema.names
        factors = local_outlier_factors(
            view.space(names), view.see(tables.synthetic, names), n_neighbors=self.n_neighbors
        )
        n_unusual = int(np.ceil(round(self.contamination * len(factors), 9)))  # 0.1 * 30 is more than 3
        return np.argsort(-factors, kind="stable")[:n_unusual]
