"""Which metrics there are, and how one is made from its name, its parameters and what attackers know.

A metric of your own joins with ``METRICS.add``. It is then listed, can be chosen by its name, and takes part
in every audit that names no metrics, unless a parameter of it has no default or it is ``on_request``.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Self

from tabveil.core.estimate import CONFIDENCE
from tabveil.core.settings import values
from tabveil.core.settings.naming import check_names, make, settings_of
from tabveil.core.settings.registry import Registry
from tabveil.engines.representation import REPRESENTATIONS, Contrastive
from tabveil.errors import ParameterError
from tabveil.metrics.attacks import ATTACKS
from tabveil.metrics.indicators import INDICATORS
from tabveil.metrics.properties import PROPERTIES
from tabveil.protocols import Metric, Representation

METRICS: Registry[Metric] = Registry("metric", (*ATTACKS, *INDICATORS, *PROPERTIES))
"""Every registered metric by its name, in the order of the report."""

_OBJECTS: Mapping[Any, Registry[Any]] = {Representation: REPRESENTATIONS}
"""Parameters that are objects, by their type: where to look for those that are given by name."""


def defaults(*, quick: bool = False, words: bool = True) -> tuple[str, ...]:
    """Return what runs unless something else is asked for: all that needs no extra and no parameter.

    What says of itself that it runs ``on_request`` is left out, too, and by a quick audit what takes longer
    than seconds; without ``words``, what reads them (:func:`reads_words`).
    """
    return tuple(
        name
        for name, metric in METRICS.items()
        if _needs_nothing(metric, quick=quick) and (words or not reads_words(metric))
    )


def reads_words(metric: Metric | type[Metric]) -> bool:
    """Tell a metric that reads labels and texts instead of comparing rows."""
    return bool(getattr(metric, "reads_words", False))


def contrastive() -> tuple[str, ...]:
    """Return what looks at a release through an embedding, unless it is told to look otherwise."""
    return tuple(name for name, metric in METRICS.items() if _is_contrastive(metric))


def _is_contrastive(metric: type[Metric]) -> bool:
    representation = settings_of(metric).get("representation")
    return representation is not None and isinstance(representation.default, Contrastive)


def _needs_nothing(metric: type[Metric], *, quick: bool) -> bool:
    affordable = not quick or getattr(metric, "cost", "quick") == "quick"
    complete = all(setting.default is not MISSING for setting in settings_of(metric).values())
    asked_for = getattr(metric, "on_request", False) or getattr(metric, "extra", None) is not None
    return affordable and complete and not asked_for


@dataclass(frozen=True, kw_only=True)
class MetricChoice:
    """A registered metric, and those of its parameters that somebody gave."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, owner: str, given: str | Mapping[str, Any]) -> Self:
        """Read a name, or a mapping of the name and parameters; ``owner`` is who complains.

        >>> MetricChoice.read("audit", {"name": "linkability", "n_neighbors": [1]}).parameters
        {'n_neighbors': (1,)}
        >>> MetricChoice.read("audit", {"name": "linkability", "n_neighbors": "few"})
        Traceback (most recent call last):
        ...
        tabveil.errors.ParameterError: linkability: n_neighbors must be whole numbers such as 1,2, got 'few'.
        """
        name, parameters = _name_and_settings(f"{owner}: metrics", given)
        known = settings_of(METRICS.find(owner, name))
        check_names(name, parameters, known)
        read = {key: read_setting(name, key, value, known[key].hint) for key, value in parameters.items()}
        choice = cls(name=name, parameters=read)
        Knowledge().make(choice)  # the metric itself knows what its parameters may be
        return choice


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What the user says attackers know and want, and how sure intervals must be.

    A metric takes what it has a parameter for.
    """

    secrets: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    auxiliary: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] | None = None
    confidence: float = CONFIDENCE

    def columns(self) -> tuple[str, ...]:
        """Return every column that is named."""
        linked = [name for pair in self.auxiliary or () for side in pair for name in side]
        return (*(self.secrets or ()), *(self.known or ()), *linked)

    def make(self, choice: MetricChoice) -> Metric:
        """Make a metric with what concerns it; what was given to it by name comes first."""
        metric = METRICS[choice.name]
        said = {key: value for key, value in vars(self).items() if value is not None}
        told = {key: value for key, value in said.items() if key in settings_of(metric)}
        return make(metric, {**told, **choice.parameters}, lambda *given: given[2])


def read_setting(owner: str, key: str, value: object, hint: Any) -> Any:  # noqa: ANN401 - whatever type it has
    """Read one parameter by its type; an object may be given by its name, alone or with its settings.

    >>> given = {"name": "euclidean", "encoding": "ordinal"}
    >>> read_setting("linkability", "representation", given, Representation)
    Euclidean(encoding='ordinal')
    """
    if hint in _OBJECTS and isinstance(value, (str, Mapping)):
        name, settings = _name_and_settings(f"{owner}: {key}", value)
        return make(_OBJECTS[hint].find(owner, name), settings, read_setting)
    return values.read(owner, key, value, hint)


def _name_and_settings(owner: str, given: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    settings = {"name": given} if isinstance(given, str) else {str(key): given[key] for key in given}
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise ParameterError(f"{owner}: what has parameters must also have a name.")
    return name, settings
