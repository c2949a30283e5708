"""Every extension point on one page."""

from typing import ClassVar, Protocol

from numpy.random import Generator

from tabveil.result import Labels, Result
from tabveil.table import Split


class Metric(Protocol):
    """A question about a release. Fields are parameters, checked when made; calling it changes nothing."""

    name: ClassVar[str]
    labels: ClassVar[Labels]

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Answer for these tables, or raise :class:`tabveil.errors.NotApplicable` with the reason."""
        ...
