"""What of real people reappears, one kind and one place after the other: counts and names of columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tabveil.core.estimate import Estimate
from tabveil.core.result import Configuration
from tabveil.core.wording import NOT_COMPUTED, interval, name, number, share_of
from tabveil.render.evidence import Evidence

TITLE = "What of real people reappears"
MOST_SHOWN = 40
"""Rows of a table on the page; all are in the JSON report."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kind of values, or one length of passages, in one place."""

    label: str
    train: str
    control: str
    risk: str


def rows(item: Evidence) -> tuple[Row, ...]:
    """Return the rows of one metric's table, in its own order."""
    return tuple(_row(found) for found in item.result.configurations[:MOST_SHOWN])


def _row(found: Configuration) -> Row:
    risk = found.risk
    return Row(
        label=name(found.name),
        train=_counted(found.facts, "train_people", found.attack),
        control=_counted(found.facts, "control_people", found.control),
        risk=NOT_COMPUTED if risk is None else f"{number(risk.value)} ({interval(risk)})",
    )


def _counted(facts: Mapping[str, Any], key: str, share: Estimate | None) -> str:
    """Write a count with its share; a report of somebody else may lack either."""
    if share is None:
        return NOT_COMPUTED
    count = facts.get(key)
    return f"{count:,} ({share_of(share)})" if isinstance(count, int) else share_of(share)


def left_out(item: Evidence) -> int:
    """Count the rows that are not shown."""
    return max(len(item.result.configurations) - MOST_SHOWN, 0)
