"""Which metrics run, and what each is told about attackers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Self

from tabveil import check
from tabveil.attackers import Attacker
from tabveil.attacks import ATTACKS
from tabveil.errors import ParameterError
from tabveil.estimate import CONFIDENCE
from tabveil.indicators import INDICATORS
from tabveil.protocols import Metric

METRICS: Mapping[str, type[Metric]] = {metric.name: metric for metric in (*ATTACKS, *INDICATORS)}
"""Every registered metric by its name, in the order of the report."""

DEFAULT = tuple(name for name, metric in METRICS.items() if getattr(metric, "extra", None) is None)
"""What runs unless something else is asked for: all that needs no extra."""

SLOW = frozenset(name for name, metric in METRICS.items() if getattr(metric, "cost", "quick") != "quick")
"""What a quick audit leaves out."""


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What the user says attackers know and want, and how sure intervals must be.

    A metric takes what it has a parameter for.
    """

    secrets: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    auxiliary: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] | None = None
    confidence: float = CONFIDENCE

    @classmethod
    def of(
        cls,
        secrets: Iterable[str] | None,
        known: Iterable[str] | None,
        auxiliary: Iterable[tuple[Iterable[str], Iterable[str]]] | None,
        *,
        confidence: float,
    ) -> Self:
        """Take what was given in any kind of list."""
        return cls(
            confidence=confidence,
            secrets=_columns("secrets", secrets),
            known=_columns("known", known),
            auxiliary=None if auxiliary is None else tuple((tuple(a), tuple(b)) for a, b in auxiliary),
        )

    def columns(self) -> tuple[str, ...]:
        """Return every column that is named."""
        linked = [name for pair in self.auxiliary or () for side in pair for name in side]
        return (*(self.secrets or ()), *(self.known or ()), *linked)

    def make(self, metric: type[Metric]) -> Metric:
        """Make the metric with what concerns it."""
        given = {
            name: value for name in _parameters(metric) if (value := getattr(self, name, None)) is not None
        }
        return metric(**given)


def _columns(name: str, given: Iterable[str] | None) -> tuple[str, ...] | None:
    if isinstance(given, str):
        raise ParameterError(f"audit: {name} must be a list of columns, got the text {given!r}.")
    return None if given is None else tuple(given)


def _parameters(metric: type[Metric]) -> set[str]:
    return {item.name for item in fields(metric)} if is_dataclass(metric) else set()


def choose(
    metrics: str | Metric | Iterable[str | Metric | type[Metric]] | None,
    knowledge: Knowledge,
    *,
    quick: bool,
) -> tuple[Metric, ...]:
    """Turn names, classes and objects into metric objects; a name given twice counts once."""
    if metrics is None:
        names = [name for name in DEFAULT if not (quick and name in SLOW)]
        return tuple(knowledge.make(METRICS[name]) for name in names)
    asked = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if not asked:
        raise ParameterError("audit: metrics is empty; leave it out to run all of them.")
    check.known_names("audit", "metric", [item for item in asked if isinstance(item, str)], METRICS)
    return tuple(_made(item, knowledge) for item in dict.fromkeys(asked))


def _made(item: str | Metric | type[Metric], knowledge: Knowledge) -> Metric:
    if isinstance(item, str):
        return knowledge.make(METRICS[item])
    metric: Metric = item() if isinstance(item, type) else item
    if not (callable(metric) and hasattr(metric, "name") and hasattr(metric, "labels")):
        raise ParameterError(f"audit: metrics must be names or metric objects, got {type(item).__name__}.")
    return metric


def by_attackers(
    profiles: Iterable[Attacker], names: Iterable[str], *, confidence: float
) -> list[tuple[str, Metric]]:
    """Let each attacker, by name, try every chosen attack they have the knowledge for."""
    made = []
    for profile in profiles:
        links = None if profile.links is None else (profile.links,)
        knowledge = Knowledge(
            secrets=profile.wants, known=profile.knows, auxiliary=links, confidence=confidence
        )
        for name in names:
            parameters = _parameters(METRICS[name]) if name in METRICS else set()
            if ("secrets" in parameters and profile.wants) or ("auxiliary" in parameters and links):
                made.append((profile.name, knowledge.make(METRICS[name])))
    return made
