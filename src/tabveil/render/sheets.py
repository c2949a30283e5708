"""The two sheets that are signed: what a printed page says before its annex."""

from collections.abc import Sequence
from dataclasses import dataclass

from tabveil.auditing.report import Report
from tabveil.auditing.verdict import RiskVerdict
from tabveil.core.estimate import Estimate
from tabveil.core.wording import LONGEST_BRIEF, clean, level, listed
from tabveil.render.evidence import Evidence, StateKey
from tabveil.render.threats import ANYBODY, ThreatRow, threat_of

MOST_ATTACKS = 12

Judged = Sequence[tuple[RiskVerdict, Sequence[Evidence]]]


@dataclass(frozen=True, kw_only=True)
class AttackRow:
    """One attack in one line: who tried what, and what came of it."""

    title: str
    knows: str
    wants: str
    exposed: Estimate | None
    state: StateKey


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What the sheets say beside the verdict and what other sections collect."""

    rows: tuple[AttackRow, ...]
    n_more: int
    who: str
    holds: str
    seen: str


def sheet(report: Report, judged: Judged) -> Sheet:
    """Put the attacks in one table, those of nobody in particular first, and sum up detection power."""
    items = [item for _, found in judged for item in found]
    ordered = sorted(items, key=lambda item: item.result.attacker is not None)
    threats = [threat for item in items if (threat := threat_of(item.result)) is not None]
    return Sheet(
        rows=tuple(map(_row, ordered[:MOST_ATTACKS])),
        n_more=max(len(ordered) - MOST_ATTACKS, 0),
        who=_together([threat.who for threat in threats]) or ANYBODY,
        holds=_together([threat.holds for threat in threats]) or "nothing",
        seen=seen_by_risk(report, judged),
    )


def _row(item: Evidence) -> AttackRow:
    threat: ThreatRow | None = threat_of(item.result)
    return AttackRow(
        title=item.title,
        knows="not stated" if threat is None else clean(threat.knows, LONGEST_BRIEF),
        wants="not stated" if threat is None else clean(threat.wants, LONGEST_BRIEF),
        exposed=item.result.measure,
        state=item.state,
    )


def _together(words: Sequence[str]) -> str:
    return listed(list(dict.fromkeys(words)))


def seen_by_risk(report: Report, judged: Judged) -> str:
    """Say the smallest planted leak that some attack on each risk saw."""
    if report.power is None:
        return "Not measured: how small a leak would have been noticed is unknown."
    tried = {item.metric: item.smallest for item in report.power.detections if item.trials}
    found = []
    for risk, items in judged:
        leaks = [tried[item.result.metric] for item in items if item.result.metric in tried]
        seen = [leak for leak in leaks if leak is not None]
        nothing = "none of those tried" if leaks else "not tried"
        found.append(f"{risk.risk} {level(min(seen)) if seen else nothing}")
    return (
        "The smallest planted leak that an attack on each risk noticed in 95% of trials, in shares of the "
        f"release rows: {'; '.join(found)}."
    )
