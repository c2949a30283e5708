"""Generators whose true privacy is known, and such as promise more than they keep."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabveil.core.table import Schema, Table
from tabveil.synthesis.generators.pategan.accounting import mu_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """A model that releases rows of one number: how many cells it was told are "1", with noise."""

    name: str
    schema: Schema
    value: float

    def sample(self, n_rows, *, rng):
        """Turn a number into rows: so many of its thousands have "1" everywhere."""
        n_ones = int(np.clip(round(n_rows / 2 + self.value * n_rows / 40), 0, n_rows))
        values = np.zeros((n_rows, len(self.schema)))
        values[:n_ones] = 1
        return Table(schema=self.schema, values=values)

    def save(self, folder):
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NoisyCount:
    """Count the rows of ones with Gaussian noise: exactly (ε, δ), unless the noise is changed."""

    epsilon: float = 1.0
    delta: float = 1e-5
    noise: float = 1.0  # times what the promise takes

    name: ClassVar[str] = "noisy_count"

    def fit(self, table, *, rng):
        count = (table.values == 1).all(axis=1).sum()
        return Answer(
            name=self.name,
            schema=table.schema,
            value=count + rng.normal(0, self.noise / mu_of(self.epsilon, self.delta)),
        )

    @classmethod
    def load(cls, folder):
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Told(NoisyCount):
    """Tell whether the canary is there, and lie as often as a pure ε takes: randomized response."""

    delta: float = 0.0

    name: ClassVar[str] = "told"

    def fit(self, table, *, rng):
        there = bool((table.values == 1).all(axis=1).any())
        honest = rng.random() < 1 / (1 + np.exp(-self.epsilon))
        return Answer(name=self.name, schema=table.schema, value=10.0 * (there == honest))
