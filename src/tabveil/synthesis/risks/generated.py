"""Rows from a generator as it is: whatever it betrays is its own doing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Table
from tabveil.protocols import Release
from tabveil.synthesis.risks.fitting import choose, fit_and_draw


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Let a generator learn from training people, with no risk inserted: what it betrays is not known.

    The only level is 1: the generator as it is. What metrics say of it is the risk that is the generator's
    own. Here generators are set side by side, in their
    risks and in their use.

    Parameters
    ----------
    generator
        The name of any generator.
    settings
        Its settings by name. To one that promises privacy all columns count as declared.

    Notes
    -----
    The generator is taken by itself. What ``tabveil synthesize`` does around one (pooling rare labels,
    drawing fresh identifiers) is left out. The facts of a release are the ``epochs`` that the generator
    trained for, ``epsilon`` and ``delta``, each where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Categorical, Schema
    >>> schema = Schema((Categorical(name="sex", labels=("f", "m")),))
    >>> train, release = (Table(schema=schema, values=np.full((4, 1), i)) for i in (0.0, 1.0))
    >>> made = Generated(generator="copy")(train, release, 1.0, rng=np.random.default_rng(0))
    >>> made.rows.column("sex").tolist()
    [0.0, 0.0, 0.0, 0.0]
    """

    generator: str = "trees"
    settings: Mapping[str, object] = field(default_factory=dict)

    name: ClassVar[str] = "generated"
    levels: ClassVar[tuple[float, ...]] = (1.0,)
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("Generated", self.generator, self.settings)

    @classmethod
    def check_level(cls, level: float) -> None:
        """Require the only one."""
        check.one_of("Generated", "level", level, cls.levels)

    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Release:
        """Draw rows from the generator, fitted on train."""
        self.check_level(level)
        synthesizer = choose("Generated", self.generator, self.settings)
        return fit_and_draw("Generated", synthesizer, train, release, rng=rng)[0]
