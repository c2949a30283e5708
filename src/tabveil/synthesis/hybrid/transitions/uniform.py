"""Uniform: any value that a generalized one may stand for, all equally likely."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tabveil.core.table import Floats, Table
from tabveil.synthesis.hybrid.transitions.way_back import GeneralizedRows, Stored, WayBack


@dataclass(frozen=True, kw_only=True, eq=False)
class UniformWay(WayBack):
    """Nothing but what the hierarchies say."""

    def draw(self, table: Table, *, rng: Generator) -> list[Floats]:
        """Draw every cell by itself."""
        return [domain.uniform(table.column(domain.name), rng=rng) for domain in self.domains]


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Draw any number of the interval, or any leaf, evenly: no row is asked, and little is kept.

    Columns are drawn by themselves, so what goes together within a class is lost. Where
    values that are missing are generalized together with others, missing is one value among them.
    """

    name: ClassVar[str] = "uniform"
    keeps: ClassVar[str] = ""
    asks_rows: ClassVar[bool] = False
    covers: ClassVar[str] = ""

    def learn(self, rows: GeneralizedRows, *, rng: Generator) -> UniformWay:
        """Take the domains as they are."""
        del rng
        return UniformWay(domains=rows.domains())

    def open(self, stored: Stored) -> UniformWay:
        """Rebuild the way back."""
        stored.own({})
        return UniformWay(domains=stored.domains())
