"""Every extension point on one page."""

from pathlib import Path
from typing import ClassVar, Protocol

from numpy.random import Generator

from tabveil.result import Cost, Labels, Result, Threat
from tabveil.table import Schema, Split, Table


class Metric(Protocol):
    """A question about a release. Fields are parameters, checked when made; calling it changes nothing.

    It describes itself: a title, where it belongs, what it costs, and what its result says in words. It may
    also say which extra it needs (``extra``) and that larger tables make it weaker (``weaker_when_larger``).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    labels: ClassVar[Labels]
    cost: ClassVar[Cost]

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Answer for these tables, or raise :class:`tabveil.errors.NotApplicable` with the reason."""
        ...

    def sentence(self, result: Result) -> str:
        """Put one of its results into a sentence: what was counted, against what."""
        ...

    def threat(self, result: Result) -> Threat | None:
        """Say what the attacker behind a result knows and wants; None where nobody attacks."""
        ...


class Model(Protocol):
    """A fitted generator: it can be sampled from and stored, nothing else."""

    schema: Schema

    def sample(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows, with values from the domains of the columns learned from."""
        ...

    def save(self, folder: str | Path) -> None:
        """Write the model into a new folder."""
        ...


class Synthesizer(Protocol):
    """A way to learn a table. Fields are settings; fitting returns a model and changes nothing here."""

    name: ClassVar[str]

    def fit(self, table: Table, *, rng: Generator) -> Model:
        """Learn from these rows."""
        ...
