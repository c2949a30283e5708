"""What a search found: every configuration with its two numbers, the best trade-offs, and the one to take.

Stored as JSON: table, figure and page need nothing else.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tabveil.auditing.verdict.policy import Risk
from tabveil.core.settings.plain import PlainData
from tabveil.workflows.tuning.objectives import Judged, Score


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One configuration: what was changed, all its settings, and what it came to, or why to nothing."""

    number: int
    point: Mapping[str, Any]
    settings: Mapping[str, Any]
    score: Score | None = None
    within: bool = False  # every attack's upper end is within the policy's threshold
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The configuration to take under the policy; if none is ``within`` it, the one that comes nearest."""

    number: int
    within: bool


@dataclass(frozen=True, kw_only=True)
class Check:
    """The chosen configuration on rows that the search never used.

    The search chose the best of many, and part of what made it best was chance: so much more risk and so much
    more loss there is on other people (``optimism_*``: the check's number minus the search's).
    """

    score: Score | None = None
    within: bool = False
    optimism_privacy: float | None = None
    optimism_loss: float | None = None
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rows:
    """How many rows there are, on either side, and in a trial."""

    dataset: str
    all: int
    columns: int
    searched: int
    held_out: int
    train: int
    control: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked for, as the report tells it; ``metrics`` are the titles of metrics by their names."""

    version: str
    title: str
    seed: int
    repeats: int
    searcher: str
    space_size: int | None
    trials: int
    generator: str
    settings: Mapping[str, Any]
    search: Mapping[str, Any]
    metrics: Mapping[str, str]
    by: Judged
    utility: str
    target: tuple[str, ...]
    thresholds: Mapping[str, float]  # of each attack, by its name
    risks: Mapping[str, Risk]
    confidence: float
    not_searched: tuple[str, ...]  # attacks that the policy requires and the search did not ask


@dataclass(frozen=True, kw_only=True)
class Tuned(PlainData):
    """Everything a search found; ``front`` are the numbers of configurations that no other beats in both."""

    asked: Asked
    rows: Rows
    tried: tuple[Tried, ...]
    front: tuple[int, ...]
    choice: Choice | None
    check: Check | None

    def of(self, number: int) -> Tried:
        """Return a configuration by its number."""
        return self.tried[number - 1]

    @property
    def failed(self) -> tuple[Tried, ...]:
        """Those that came to nothing."""
        return tuple(item for item in self.tried if item.score is None)

    def json_text(self) -> str:
        """Return the text of a file."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
