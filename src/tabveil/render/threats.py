"""Who attacks, with what, for what; and what nobody tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tabveil.auditing import METRICS
from tabveil.render.evidence import question
from tabveil.render.sentences import split_level, split_radius
from tabveil.render.wording import attacker, base, listed, name, title
from tabveil.report import Report
from tabveil.result import Result

ANYBODY = "anybody (worst case)"
REST = "all other data of the person (worst case)"
NEVER_TESTED = (
    (
        "Access to the generator",
        "Somebody who can query or download the model that made the release, not only read the release.",
    ),
    (
        "Several releases combined",
        "Repeated or updated releases about the same people, compared or subtracted from each other.",
    ),
    (
        "Real outside data",
        "No register or social network was really linked; attacks take such knowledge from your own tables.",
    ),
    ("Free text, images, sound", "Names or stories inside text columns are compared as whole values only."),
    (
        "Groups and families",
        "What the release tells about a household, a small village or a team, or about a person's relatives.",
    ),
    (
        "Several rows of one person",
        "Every row counts as one person; visits, orders or moves of one person over time are not joined.",
    ),
    ("Changes over time", "Better attacks and more outside data in later years: repeat the audit."),
)
"""What no audit of this kind tests, so that nobody takes silence for an answer."""


@dataclass(frozen=True, kw_only=True)
class Threat:
    """One attack's attacker."""

    title: str
    who: str
    holds: str
    knows: str
    wants: str


@dataclass(frozen=True, kw_only=True)
class Untested:
    """A metric that gave no answer, with what it would have asked."""

    title: str
    question: str
    reason: str


def threats(report: Report) -> list[Threat]:
    """Describe the attacker behind every attack of the report."""
    return [_threat(result) for result in report.results if result.labels.pillar == "attack"]


def untested(report: Report) -> list[Untested]:
    """List the metrics that were skipped, with their reasons, and those nobody asked for."""
    skipped = [
        Untested(
            title=title(item.metric),
            question=question(item.metric),
            reason=item.reason.removeprefix(f"{base(item.metric)}: "),
        )
        for item in report.skipped
    ]
    met = {base(item.metric) for item in report.results} | {base(item.metric) for item in report.skipped}
    left = [
        Untested(title=title(metric), question=question(metric), reason="Not run in this audit.")
        for metric in METRICS
        if metric not in met
    ]
    return skipped + left


def outliers_attacked(report: Report) -> bool:
    """Tell whether some attack on membership tested outlying people by themselves."""
    return any(result.params.get("tested") in {"outliers", "outlying_members"} for result in report.results)


def _threat(result: Result) -> Threat:
    who = attacker(result.metric)
    knows, wants = _AIMS.get(base(result.metric), _general)(result)
    black_box = result.labels.threat_model == "black-box"
    return Threat(
        title=title(base(result.metric)),
        who=ANYBODY if who is None else f"“{name(who)}”",
        holds="the release and access to the generator" if black_box else "the release only (no-box)",
        knows=knows,
        wants=wants,
    )


def _columns(result: Result, parameter: str) -> str | None:
    given = result.params.get(parameter)
    return listed([str(item) for item in given]) if isinstance(given, (list, tuple)) and given else None


def _configured(result: Result, strip: Callable[[str], str]) -> str | None:
    """List what the configurations are about, where the metric chose by itself."""
    configurations = result.details.get("configurations")
    if not isinstance(configurations, Mapping):
        return None
    return listed(list(dict.fromkeys(strip(str(item)) for item in configurations))) or None


def _singling_out(_: Result) -> tuple[str, str]:
    return "nothing about anybody", "a description that fits exactly one real person"


def _linkability(result: Result) -> tuple[str, str]:
    wants = "that the two parts belong to the same person"
    pairs: Any = result.params.get("auxiliary")
    if not pairs:
        return "two parts of a person's data, cut anywhere in the order of the columns (worst case)", wants
    first = " | ".join(listed([str(item) for item in side], 4) for side in pairs[0])
    more = f" and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
    return f"two parts of a person's data: {first}{more}", wants


def _inference(result: Result) -> tuple[str, str]:
    return _columns(result, "known") or REST, _columns(result, "secrets") or "each column in turn"


def _learned(result: Result) -> tuple[str, str]:
    chosen = _configured(result, lambda text: split_level(text)[0])
    return _columns(result, "known") or REST, _columns(result, "secrets") or chosen or "chosen columns"


def _claimed(result: Result) -> tuple[str, str]:
    chosen = _configured(result, split_radius)
    return _columns(result, "known") or REST, _columns(result, "secrets") or chosen or "chosen columns"


def _voted(result: Result) -> tuple[str, str]:
    known = _columns(result, "known") or "a random part of the person's data, another for each person"
    return known, "all the rest"


def _member(result: Result) -> tuple[str, str]:
    reference = " and a sample of the same population" if base(result.metric).startswith("domias") else ""
    return f"the person's whole row{reference}", "whether the person's data were trained on"


def _general(result: Result) -> tuple[str, str]:
    knows = "further data about people" if result.labels.auxiliary else "nothing beyond the release"
    return knows, "membership" if result.labels.wp29 == "propensity" else result.labels.wp29


_AIMS: Mapping[str, Callable[[Result], tuple[str, str]]] = {
    "singling_out": _singling_out,
    "linkability": _linkability,
    "inference": _inference,
    "ml_inference": _learned,
    "gtcap": _claimed,
    "neighbor_vote": _voted,
    "membership_distance": _member,
    "domias_kde": _member,
    "domias_flow": _member,
}
