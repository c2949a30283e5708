"""Rows from a generator that promises privacy: less and less noise stands between people and the release."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Table
from tabveil.protocols import Release, Synthesizer
from tabveil.synthesis.generators.privacy import PUBLIC
from tabveil.synthesis.risks.fitting import choose, fit_and_draw, require_setting


@dataclass(frozen=True, kw_only=True)
class Private:
    """Let a generator with differential privacy learn from training people, with less noise at each level.

    The level is ε: at 1 nobody changes the release much, at 100 the promise says nothing any more. How much a
    release really betrays at an ε is not known beforehand: ε is a bound of it.

    Parameters
    ----------
    generator
        The name of a generator that promises privacy.
    settings
        Its other settings by name. The papers' PATE-GAN is ``generator="pategan"`` with
        ``settings={"teachers": "networks"}``.

    Notes
    -----
    All columns count as declared: labels, ranges and decimals are taken from the schema, which describes
    train and rows that nobody learned from alike, and never from train. So the noise alone protects people,
    and ε says all that is promised. The facts of a release are ``epsilon`` and ``delta`` as the generator
    accounted for them, which may be less than was allowed, and ``epochs`` where it trained in epochs.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Categorical, Schema
    >>> schema = Schema((Categorical(name="sex", labels=("f", "m")),))
    >>> train, release = (Table(schema=schema, values=np.arange(40.0).reshape(40, 1) % 2) for _ in range(2))
    >>> made = Private()(train, release, 5, rng=np.random.default_rng(0))
    >>> len(made.rows), made.facts
    (40, {'epsilon': 5.0, 'delta': 1e-09})
    """

    generator: str = "aim"
    settings: Mapping[str, object] = field(default_factory=dict)

    name: ClassVar[str] = "private"
    levels: ClassVar[tuple[float, ...]] = (1, 5, 10, 50, 100)
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_setting("Private", self.generator, PUBLIC, "promises privacy")
        require_setting("Private", self.generator, "epsilon", "promises an epsilon")
        self._synthesizer(self.levels[0])

    @staticmethod
    def check_level(level: float) -> None:
        """Require an ε above 0."""
        check.between("Private", "level", level, 0, math.inf)

    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Release:
        """Draw rows from a generator that promises ε = ``level``."""
        self.check_level(level)
        return fit_and_draw("Private", self._synthesizer(level), train, release, rng=rng)[0]

    def _synthesizer(self, level: float) -> Synthesizer:
        return choose("Private", self.generator, self.settings, by_level={"epsilon": level})
