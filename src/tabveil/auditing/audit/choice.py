"""Which metrics run, and which of them each attacker tries."""

from collections.abc import Collection, Iterable
from typing import Any

from tabveil.auditing.attackers import Attacker
from tabveil.auditing.request import AuditRequest
from tabveil.core.settings.naming import make, settings_of, values_of
from tabveil.engines.networks import load_torch, require_device
from tabveil.engines.representation import Contrastive
from tabveil.metrics.registry import MetricChoice, contrastive, defaults
from tabveil.protocols import Metric


def choose(request: AuditRequest) -> list[Metric]:
    """Return the metrics to run, each told what concerns it."""
    asked = list(request.metrics or [MetricChoice(name=name) for name in defaults(quick=request.quick)])
    if request.contrastive is not None:
        asked += _through(request.contrastive, without={item.name for item in asked})
    knowledge = request.knowledge
    return [knowledge.make(item) if isinstance(item, MetricChoice) else item for item in asked]


def _through(space: Contrastive, *, without: Collection[str]) -> list[MetricChoice]:
    """Choose what looks through an embedding, unless it was asked for by name; refuse what cannot be trained.

    An attack that was chosen by its name is skipped where its extra is not installed. Whoever asks for the
    embedding itself should know at once.
    """
    load_torch(space.name)
    require_device(space.name, space.device)
    return [
        MetricChoice(name=name, parameters={"representation": space})
        for name in contrastive()
        if name not in without
    ]


def by_attackers(attackers: Iterable[Attacker], metrics: Iterable[Metric]) -> list[tuple[str, Metric]]:
    """Let each attacker, by name, try every chosen attack they have the knowledge for."""
    return [
        (attacker.name, _tried_by(attacker, metric))
        for attacker in attackers
        for metric in metrics
        if _can_try(attacker, metric)
    ]


def _can_try(attacker: Attacker, metric: Metric) -> bool:
    parameters = settings_of(type(metric))
    return ("secrets" in parameters and attacker.wants is not None) or (
        "auxiliary" in parameters and attacker.links is not None
    )


def _tried_by(attacker: Attacker, metric: Metric) -> Metric:
    """Return the metric with this attacker's knowledge in the place of any other."""
    links = None if attacker.links is None else (attacker.links,)
    knows: dict[str, Any] = {"secrets": attacker.wants, "known": attacker.knows, "auxiliary": links}
    parameters = values_of(metric)
    told = {key: value for key, value in knows.items() if key in parameters}
    return make(type(metric), {**parameters, **told}, lambda *given: given[2])
