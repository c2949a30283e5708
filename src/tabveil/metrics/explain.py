"""What a metric says about itself: the parts of its docstring, for pages that explain it.

The report and the documentation are made from the docstrings, so that a metric is explained in one place. The
sections are numpydoc's; a metric written by a user may have none of them.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Any, Literal, NamedTuple

from tabveil.core.result import Cost, Labels, Result, Threat
from tabveil.core.wording import value_of
from tabveil.protocols import Metric


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


def explain(metric: type[Metric]) -> Explanation:
    """Tell what a metric asks, how it answers, and where it comes from.

    >>> from tabveil.metrics.indicators import ClosestShare
    >>> explain(ClosestShare).question
    'Are synthetic rows closer to training people than to people never seen?'
    >>> [parameter.name for parameter in explain(ClosestShare).parameters]
    ['distance', 'encoding', 'confidence']
    """
    sections = _sections(_docstring(metric))
    question, *summary = _paragraphs(sections.get("", [])) or [metric.name]
    defaults = _defaults(metric)
    return Explanation(
        name=metric.name,
        title=getattr(metric, "title", metric.name),
        cost=getattr(metric, "cost", "quick"),
        extra=getattr(metric, "extra", None),
        on_request=getattr(metric, "on_request", False),
        beside=getattr(metric, "beside", ()),
        without=getattr(metric, "without", ""),
        labels=metric.labels,
        question=question,
        summary=tuple(summary),
        parameters=tuple(
            Parameter(name=name, default=defaults.get(name, ""), description=description)
            for name, description in _parameters(sections.get("Parameters", []))
        ),
        notes=tuple(_paragraphs(sections.get("Notes", []))),
        references=tuple(_MARK.sub("", text) for text in _paragraphs(sections.get("References", []))),
    )


def described(metric: Metric, result: Result, attacker: str | None = None) -> Result:
    """Complete a result by its metric's own words, and by who the attacker was.

    A metric of the user's own may have no words of its own; then it gets general ones, which claim no more
    than that there are scores.
    """
    in_words = getattr(metric, "sentence", general_sentence)
    threat = getattr(metric, "threat", general_threat)
    silent = result.attack is None and not hasattr(metric, "sentence")
    return replace(
        result,
        attacker=attacker,
        title=getattr(metric, "title", metric.name),
        sentence="No score was measured." if silent else in_words(result),
        threat=threat(result),
    )


def general_sentence(result: Result) -> str:
    """Say the scores, whatever they are."""
    told = f"The metric scores {value_of(result.attack)} with the training rows"
    if result.control is not None:
        told += f" and {value_of(result.control)} with rows the generator never saw"
    if result.baseline is not None:
        told += f"; without the release {value_of(result.baseline)}"
    return f"{told}."


def general_threat(result: Result) -> Threat | None:
    """Describe the attacker as far as the labels tell."""
    if result.labels.pillar != "attack":
        return None
    return Threat(
        knows="further data about people" if result.labels.auxiliary else "nothing beyond the release",
        wants="membership" if result.labels.wp29 == "propensity" else result.labels.wp29,
    )


_MARK = re.compile(r"- |\.\. \[[^\]]*\] ")  # what opens an item of a list: a dash, or numpydoc's ".. [1]"
_UNDERLINE = re.compile(r"-{3,}\s*")


def _docstring(metric: type[Metric]) -> str:
    """Return what was written about the class itself, not the signature that dataclasses put in its place."""
    text = inspect.cleandoc(metric.__doc__ or "")
    return "" if is_dataclass(metric) and text.startswith(f"{metric.__name__}(") else text


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section by its heading; what stands before the first has the name ""."""
    found: dict[str, list[str]] = {"": []}
    lines, heading, position = text.splitlines(), "", 0
    while position < len(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if lines[position].strip() and _UNDERLINE.fullmatch(following):
            heading = lines[position].strip()
            found.setdefault(heading, [])
            position += 2
            continue
        found[heading].append(lines[position])
        position += 1
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


def _defaults(metric: type[Metric]) -> dict[str, str]:
    """Return the defaults by name, as in Python: of a dataclass's fields, or of the parameters of init."""
    if is_dataclass(metric):
        return {item.name: repr(_default(item)) for item in fields(metric) if _default(item) is not MISSING}
    try:
        parameters = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError):  # a class made in C may have no signature
        return {}
    return {item.name: repr(item.default) for item in parameters if item.default is not item.empty}


def _default(item: Any) -> Any:  # noqa: ANN401 - a field of any type
    return item.default if item.default_factory is MISSING else item.default_factory()


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
