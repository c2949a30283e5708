"""Training rows as they are, among released ones."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Table
from tabveil.synthesis.risks.planting import LEVELS, Planting


@dataclass(frozen=True, kw_only=True)
class Leaky:
    """Plant exact copies of training people: the plainest leak there is.

    A share ``level`` of the release rows, drawn at random, is replaced by training rows. Where the release
    holds real people whom nobody learned from, as a perfect generator would make them, the risk is the level.

    Notes
    -----
    Rows are drawn without replacement; only where the level asks for more people than train has do all of
    them come again. Never more rows are planted than the level says. For one state of ``rng`` a higher level
    plants the rows of a lower one, and more.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Numeric, Schema
    >>> ages = Schema((Numeric(name="age", low=0, high=99, decimals=0),))
    >>> train = Table(schema=ages, values=np.full((10, 1), 30.0))
    >>> release = Table(schema=ages, values=np.full((10, 1), 60.0))
    >>> leak = Leaky()(train, release, 0.3, rng=np.random.default_rng(0))
    >>> int((leak.column("age") == 30).sum()), len(leak)
    (3, 10)
    """

    name: ClassVar[str] = "leaky"
    levels: ClassVar[tuple[float, ...]] = LEVELS

    @staticmethod
    def check_level(level: float) -> None:
        """Require a share."""
        check.share("Leaky", "level", level)

    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Table:
        """Plant training rows in a share ``level`` of the release."""
        planting = Planting.draw("Leaky", train, release, level, rng=rng)
        return planting.fill(release, train.values[planting.people])
