"""Things of a user's own, derived from no class of ours: each joins by one registration."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels, Result, Threat
from tabveil.core.table import Numeric, Schema, Table


@dataclass(frozen=True, kw_only=True)
class ToyAttack:
    """Is the first number of a person found in the release?

    A number is found where a synthetic row has it.

    Parameters
    ----------
    half
        The half width of the interval.

    Notes
    -----
    ``attack`` and ``control`` are the shares found; ``risk`` is their difference. There is no ``baseline``.
    """

    name: ClassVar[str] = "toy_attack"
    title: ClassVar[str] = "A toy that looks for numbers"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="inference", mechanism="uniqueness")
    cost: ClassVar[str] = "quick"

    half: float = 0.01

    def __call__(self, split, *, rng):
        """Look."""
        first = next(c.name for c in split.schema.columns if isinstance(c, Numeric))
        train, control = (
            float(np.isin(table.column(first), split.synthetic.column(first)).mean())
            for table in (split.train, split.control)
        )
        return Result(
            metric=self.name,
            labels=self.labels,
            params={"half": self.half},
            risk=self._around(train - control),
            attack=self._around(train),
            control=self._around(control),
        )

    def _around(self, value):
        return Estimate(value=value, low=value - self.half, high=value + self.half, n=1)

    def sentence(self, result):
        """Say what was found."""
        return f"The toy found {result.attack.value:.0%} of numbers."

    def threat(self, result):
        """Say who looks."""
        return Threat(knows="a number that the toy was told", wants="to see it again")


class ToyGenerator:
    """Deal out the first rows again, as a toy would."""

    name = "toy_generator"

    def __init__(self, repeat: int = 1) -> None:
        self.repeat = repeat

    def fit(self, table, *, rng):
        """Remember the first rows."""
        return ToyModel(table.take(np.arange(min(5, len(table)))), self.repeat)

    @classmethod
    def load(cls, folder):
        """Open what the model wrote."""
        stored = json.loads((Path(folder) / "toy.json").read_text())
        rows = Table(schema=Schema.from_json(stored["schema"]), values=np.array(stored["rows"], dtype=float))
        return ToyModel(rows, stored["repeat"])


class ToyModel:
    """The first rows."""

    name = ToyGenerator.name

    def __init__(self, rows, repeat):
        self.rows, self.repeat, self.schema = rows, repeat, rows.schema

    def sample(self, n_rows, *, rng):
        """Deal them out in turn."""
        return self.rows.take(np.arange(n_rows) // self.repeat % len(self.rows))

    def save(self, folder):
        """Write them down."""
        Path(folder).mkdir()
        rows = [[None if np.isnan(cell) else cell for cell in row] for row in self.rows.values.tolist()]
        stored = {"schema": self.schema.to_json(), "rows": rows, "repeat": self.repeat}
        (Path(folder) / "toy.json").write_text(json.dumps(stored))


@dataclass(frozen=True, kw_only=True)
class ToyRisk:
    """Plant the first training person over and over, as a toy would."""

    name: ClassVar[str] = "toy_risk"
    levels: ClassVar[tuple[float, ...]] = (0.0, 0.5, 1.0)

    def __call__(self, train, release, level, *, rng):
        """Plant."""
        values = np.array(release.values)
        values[: int(level * len(release))] = train.values[0]
        return Table(schema=release.schema, values=values)
