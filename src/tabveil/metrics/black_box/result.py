"""What the shadow attack found: typed data, to JSON and back. Nobody's values, no position of a row.

A target is a number, and how vulnerable it is among all rows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tabveil.core import check
from tabveil.core.estimate import Estimate
from tabveil.core.result import Input
from tabveil.core.storage.files import write_text
from tabveil.core.storage.plain import PlainData
from tabveil.errors import ParameterError
from tabveil.metrics.black_box.pool import Group, Rules


@dataclass(frozen=True, kw_only=True)
class TargetRisk:
    """What came of one target: the area under its curve, or the share of its secrets guessed right."""

    number: int  # from 1
    group: Group
    rank: int  # by vulnerability, 1 the most vulnerable of all rows
    found: Estimate
    seen: bool  # above chance at a level that counts in how many targets were tried


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The share of members found where this share of others is taken for members; None: too few fits."""

    false_positives: float
    true_positives: Estimate | None


@dataclass(frozen=True, kw_only=True)
class GroupRisk:
    """The targets of one group together: the mean of what was found, and the curve's far left."""

    group: Group
    n_targets: int
    found: Estimate
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """One attack of all targets; ``chance`` is what guessing comes to."""

    name: str
    chance: float
    targets: tuple[TargetRisk, ...]
    groups: tuple[GroupRisk, ...]
    secret: str | None = None  # the column that was guessed
    n_values: int | None = None

    @property
    def n_seen(self) -> int:
        """How many targets were told apart more often than chance explains."""
        return sum(target.seen for target in self.targets)

    @property
    def strongest(self) -> TargetRisk:
        """The target whose lower bound is highest."""
        return max(self.targets, key=lambda target: target.found.low)


@dataclass(frozen=True, kw_only=True)
class ShadowResult(PlainData):
    """What somebody with access to the generator finds out about single people."""

    version: str
    seed: int
    data: Input
    generator: str
    settings: Mapping[str, Any]
    game: Rules
    n_fits: int
    n_rows: int  # that each fit learned from
    n_drawn: int  # of each release
    confidence: float
    attacks: tuple[Attacked, ...]
    notes: tuple[str, ...] = ()
    kind: str = field(default="shadow")

    def __post_init__(self) -> None:
        if self.kind != "shadow" or not self.attacks or not all(item.targets for item in self.attacks):
            raise ValueError("not what a shadow attack found")

    def __getitem__(self, name: str) -> Attacked:
        for attacked in self.attacks:
            if attacked.name == name:
                return attacked
        raise KeyError(name)

    def json_text(self) -> str:
        """Return the result as JSON text; equal for equal attacks, however often interrupted."""
        return json.dumps(self.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the result, whole or not at all."""
        write_text(Path(path), self.json_text())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what ``tabveil attack --json`` wrote."""
        where = Path(path).name
        try:
            check.ordinary_file("shadow", Path(path))
            return cls.from_json(json.loads(Path(path).read_text(encoding="utf-8")))
        except ParameterError:
            raise
        except FileNotFoundError:
            raise ParameterError(where, "there is no such file.") from None
        except OSError as error:
            raise ParameterError(where, f"cannot be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ParameterError(
                where, "not what this version's 'tabveil attack --json' writes; run the attack again."
            ) from None
