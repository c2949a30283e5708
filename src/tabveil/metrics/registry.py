"""Which metrics there are, how one is made from its name and parameters, and what it says about itself."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, is_dataclass, replace
from typing import Any, Literal, NamedTuple, Self

from tabveil.core.estimate import CONFIDENCE
from tabveil.core.result import Cost, Labels, Result
from tabveil.core.settings import values
from tabveil.core.settings.registry import (
    Registry,
    as_given,
    check_names,
    completed,
    make,
    name_and_settings,
    settings_of,
)
from tabveil.engines.representation import REPRESENTATIONS, Contrastive
from tabveil.errors import ParameterError
from tabveil.metrics.attacks import ATTACKS
from tabveil.metrics.indicators import INDICATORS
from tabveil.metrics.properties import PROPERTIES
from tabveil.protocols import Metric, Representation


class Parameter(NamedTuple):
    """One parameter of a metric; ``default`` is written as in Python, and empty where there is none."""

    name: str
    default: str
    description: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A metric in words. Texts hold inline markup (see :func:`inline`); a list item begins with ``"- "``.

    ``beside`` names the metrics that ask the same by the mixed distance, the most alike first; ``without`` is
    why an audit passes over one that asks about something which tables may not have.
    """

    name: str
    title: str
    labels: Labels
    question: str
    cost: Cost = "quick"
    extra: str | None = None
    on_request: bool = False
    beside: tuple[str, ...] = ()
    without: str = ""
    summary: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    notes: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


_OF_METRICS = ("name", "title", "labels", "cost", "extra", "on_request", "beside", "without")


def explain(metric: type[Metric]) -> Explanation:
    """Tell what a metric asks, how it answers, and where it comes from.

    A parameter that its docstring leaves out, or only names, is described as in a class that it derives from,
    whose references are its own, too.

    >>> from tabveil.metrics.indicators import ClosestShare
    >>> explain(ClosestShare).question
    'Are synthetic rows closer to training people than to people never seen?'
    >>> [parameter.name for parameter in explain(ClosestShare).parameters]
    ['distance', 'encoding', 'confidence']
    """
    completed(metric, Metric)
    text = inspect.cleandoc(metric.__doc__ or "")
    if is_dataclass(metric) and text.startswith(f"{metric.__name__}("):
        text = ""  # nothing was written: dataclasses put the signature in its place
    sections = _sections(text)
    question, *summary = _paragraphs(sections.get("", [])) or [metric.name]
    try:
        settings = settings_of(metric)
    except (TypeError, ValueError, NameError):  # made in C, or annotated with what is not known here
        settings = {}
    defaults = {key: repr(item.default) for key, item in settings.items() if item.default is not MISSING}
    parameters = dict(_parameters(sections.get("Parameters", [])))
    references = _paragraphs(sections.get("References", []))
    for kind in metric.__mro__[1:] if text else ():
        inherited = _sections(inspect.cleandoc(kind.__doc__ or ""))
        for name, told in _parameters(inherited.get("Parameters", [])):
            if name in defaults and not parameters.get(name):
                parameters[name] = told
        references += _paragraphs(inherited.get("References", []))
    return Explanation(
        **{name: getattr(metric, name) for name in _OF_METRICS},
        question=question,
        summary=tuple(summary),
        parameters=tuple(
            Parameter(name=name, default=defaults.get(name, ""), description=description)
            for name, description in parameters.items()
        ),
        notes=tuple(_paragraphs(sections.get("Notes", []))),
        references=tuple(dict.fromkeys(_MARK.sub("", text) for text in references)),
    )


def described(metric: Metric, result: Result, attacker: str | None = None) -> Result:
    """Complete a result by its metric's words, and by who the attacker was."""
    return replace(
        result,
        attacker=attacker,
        title=metric.title,
        sentence=metric.sentence(result),
        threat=metric.threat(result),
    )


_MARK = re.compile(r"- |\.\. \[[^\]]*\] ")  # what opens an item of a list: a dash, or numpydoc's ".. [1]"
_HEADING = re.compile(r"^(.*\S.*)\n-{3,}[ \t]*$", flags=re.MULTILINE)


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section by its heading; what stands before the first has the name ""."""
    first, *others = _HEADING.split(text)
    found = {"": first.splitlines()}
    for heading, section in zip(others[::2], others[1::2], strict=True):
        found.setdefault(heading.strip(), []).extend(section.splitlines())
    return found


def _paragraphs(lines: list[str]) -> list[str]:
    """Join lines to paragraphs, parted by blank lines or opened by a list mark; examples are left out."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if not line.strip() or _MARK.match(line.lstrip()):
            blocks.append([])
        blocks[-1].append(line.strip())
    texts = (" ".join(filter(None, block)) for block in blocks)
    return [text for text in texts if text and not text.startswith(">>>")]


def _parameters(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Give name and description; ``first, second : type`` stands for two parameters that share one."""
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line and not line[0].isspace():
            blocks.append((line, []))
        elif blocks:
            blocks[-1][1].append(line.strip())
    for heading, description in blocks:
        for name in heading.split(":")[0].split(","):
            yield name.strip().lstrip("*"), " ".join(filter(None, description))


Kind = Literal["text", "code", "emphasis", "strong"]

_INLINE = re.compile(
    r"``(?P<code>.+?)``"
    r"|(?::[\w:-]+:)?`(?P<role>[^`]+)`"
    r"|(?<![\w*])\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*(?![\w*])"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
)


def inline(text: str) -> list[tuple[Kind, str]]:
    """Cut a text into pieces of one kind each, for a renderer to escape and to mark up.

    ``code`` in double backquotes, *emphasis*, **strong**, and roles, of which only the name remains. Nothing
    is escaped here, and no character is lost but the marks.

    >>> inline("*Lower* is worse: ``1 - a``, as :class:`~tabveil.x.ClosestShare` has it, 2 * 3 * 4.")
    ... # doctest: +NORMALIZE_WHITESPACE
    [('emphasis', 'Lower'), ('text', ' is worse: '), ('code', '1 - a'), ('text', ', as '),
     ('code', 'ClosestShare'), ('text', ' has it, 2 * 3 * 4.')]
    """
    pieces: list[tuple[Kind, str]] = []
    end = 0
    for found in _INLINE.finditer(text):
        if found.start() > end:
            pieces.append(("text", text[end : found.start()]))
        pieces.append(_piece(found))
        end = found.end()
    if end < len(text):
        pieces.append(("text", text[end:]))
    return pieces


def _piece(found: re.Match[str]) -> tuple[Kind, str]:
    match found.lastgroup:
        case "emphasis" | "strong" as kind:
            return kind, found[kind]
        case "role":
            title = found["role"].split(" <")[0]
            return "code", title[1:].rpartition(".")[2] if title.startswith("~") else title
        case _:
            return "code", found["code"]


METRICS: Registry[Metric] = Registry("metric", (*ATTACKS, *INDICATORS, *PROPERTIES), Metric)
"""Every registered metric by its name, in the order of the report."""

_OBJECTS: Mapping[Any, Registry[Any]] = {Representation: REPRESENTATIONS}
"""Parameters that are objects, by their type: where to look for those that are given by name."""


def defaults(*, quick: bool = False, words: bool = True) -> tuple[str, ...]:
    """Return what runs unless something else is asked for: all that needs no extra and no parameter.

    What says of itself that it runs ``on_request`` is left out, too, and by a quick audit what takes longer
    than seconds; without ``words``, what reads them (:attr:`tabveil.protocols.Metric.reads_words`).
    """
    return tuple(
        name
        for name, metric in METRICS.items()
        if not (metric.on_request or metric.extra is not None)
        and (metric.cost == "quick" or not quick)
        and all(setting.default is not MISSING for setting in settings_of(metric).values())
        and (words or not metric.reads_words)
    )


def contrastive() -> tuple[str, ...]:
    """Return what looks at a release through an embedding, unless it is told to look otherwise."""
    near = {name: settings_of(metric).get("representation") for name, metric in METRICS.items()}
    return tuple(
        name for name, setting in near.items() if setting and isinstance(setting.default, Contrastive)
    )


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
        name, parameters = name_and_settings(given, ParameterError(owner, "metrics", _NAMELESS))
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
        return make(metric, {**told, **choice.parameters}, as_given)


def read_setting(owner: str, key: str, value: object, hint: Any) -> Any:  # noqa: ANN401 - whatever type it has
    """Read one parameter by its type; an object may be given by its name, alone or with its settings.

    >>> given = {"name": "euclidean", "encoding": "ordinal"}
    >>> read_setting("linkability", "representation", given, Representation)
    Euclidean(encoding='ordinal')
    """
    if hint in _OBJECTS and isinstance(value, (str, Mapping)):
        name, settings = name_and_settings(value, ParameterError(owner, key, _NAMELESS))
        return make(_OBJECTS[hint].find(owner, name), settings, read_setting)
    return values.read(owner, key, value, hint)


_NAMELESS = "what has parameters must also have a name."
