"""Rows from a generator that was made to memorize: how leaks come about in practice."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Table
from tabveil.protocols import Release, Synthesizer
from tabveil.synthesis.generators import Account
from tabveil.synthesis.risks.fitting import choose, fit_and_draw, require_setting

EPOCHS = 300
"""How often each row may be looked at, unless settings say so: enough to reach twice the least loss."""


@dataclass(frozen=True, kw_only=True)
class Overfit:
    """Let a generator memorize training people: its loss on others rises to a multiple of its minimum.

    The level is that multiple. At 1.0 the generator is as good as it gets, at 2.0 rows it never saw are twice
    as unlikely to it, in logarithms, because it repeats those it saw.

    Parameters
    ----------
    generator
        The name of a generator that can memorize on purpose: it has a setting ``overfit``.
    settings
        Its other settings by name. Where it trains in epochs, 300 are allowed unless told otherwise.

    Notes
    -----
    The facts of a release are the ``ratio`` that was reached, from the losses in the model's history, and how
    many ``epochs`` it took (the trees: sizes of leaves that were tried). The ratio is a little more than the
    level, as training stops at the first epoch beyond it, or less where the epochs or the leaves came to an
    end before. It is left out where nothing was learned, as in a table of constant columns.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in ("age", "income")))
    >>> rng = np.random.default_rng(0)
    >>> train, release = (Table(schema=schema, values=rng.random((90, 2))) for _ in range(2))
    >>> made = Overfit(generator="trees")(train, release, 1.2, rng=rng)
    >>> len(made.rows), made.facts["ratio"] >= 1.2
    (90, True)
    """

    generator: str = "transformer"
    settings: Mapping[str, object] = field(default_factory=dict)

    name: ClassVar[str] = "overfit"
    levels: ClassVar[tuple[float, ...]] = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_setting("Overfit", self.generator, "overfit", "can memorize on purpose")
        self._synthesizer(self.levels[0])

    @staticmethod
    def check_level(level: float) -> None:
        """Require a multiple."""
        check.at_least("Overfit", "level", level, 1)
        check.between("Overfit", "level", level, 0, math.inf)

    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Release:
        """Draw rows from a generator whose held-out loss is ``level`` times its minimum."""
        self.check_level(level)
        made, told = fit_and_draw("Overfit", self._synthesizer(level), train, release, rng=rng)
        return Release(rows=made.rows, facts={**_ratio(told, level), **made.facts})

    def _synthesizer(self, level: float) -> Synthesizer:
        return choose(
            "Overfit",
            self.generator,
            self.settings,
            by_level={"overfit": level},
            otherwise={"epochs": EPOCHS},
        )


def _ratio(told: Account, level: float) -> dict[str, float]:
    """Return how many times its minimum the held-out loss of the model is; nothing where there is no loss.

    The minimum itself is kept where that is asked for, and the last round otherwise.
    """
    losses = [epoch.validation for epoch in told.history if epoch.validation is not None]
    if not losses or not min(losses) > 0:
        return {}
    return {"ratio": 1.0 if level == 1 else losses[-1] / min(losses)}
