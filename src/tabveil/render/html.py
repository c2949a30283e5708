"""What all pages share: one self-contained HTML file with our style sheets, and one way to write values.

No script, nothing loaded from anywhere, every text from outside escaped and cleaned on its way in. A kind of
report joins with a template in ``templates`` that extends ``base.html.j2``, and a function that calls
:func:`laid_out` with what the template writes.
"""

import datetime as dt
import math
from enum import Enum
from functools import cache, partial
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tabveil.auditing.policy import RISKS
from tabveil.core import wording
from tabveil.core.people import LEAST_SHARED_IN_WORDS
from tabveil.metrics.registry import inline
from tabveil.metrics.utility import MEANINGS
from tabveil.render import svg

MANY_NAMES = 40
SYMBOLS = {"within": "●", "above": "▲", "inconclusive": "◇", "diagnostic": "○"}
_WORDING = (
    *("number", "percent", "upper_percent", "level", "interval", "people", "least_people", "most_people"),
    *("name", "cell", "begin", "listed", "duration"),
)
"""How values are written: each by the function of this name."""
_TAGS = {"code": "code", "emphasis": "em", "strong": "strong"}


class Undated(Enum):
    """Stands for the date of a page that has none."""

    UNDATED = "undated"


UNDATED = Undated.UNDATED


def laid_out(
    template: str,
    *titles: str,
    kind: str,
    made: dt.date | Undated | None,
    **parts: Any,  # noqa: ANN401 - whatever the template writes
) -> str:
    """Fill a template: under the first title that says something, else what ``kind`` of page it is.

    ``made`` is the page's date, today if there is none; an undated page does not show one.
    """
    title = next(filter(None, (wording.clean(given, wording.LONGEST_TITLE) for given in titles)), kind)
    date = ""
    if not isinstance(made, Undated):
        day = made or dt.datetime.now(tz=dt.UTC).date()
        date = f"{day.day} {day:%B %Y}"
    sheet = resources.files("tabveil.render").joinpath("templates", "page.css").read_text(encoding="utf-8")
    # Paper repeats title and date in the margin of every sheet.
    head = f"@page{{@top-left{{content:{_spelled(title)}}}@top-right{{content:{_spelled(date)}}}}}"
    style = Markup(f"{svg.STYLE}\n{sheet}\n{head}")  # noqa: S704 - our own sheets, and code points
    return (
        _environment().get_template(template).render(title=title, kind=kind, made=date, style=style, **parts)
    )


def _spelled(text: str) -> str:
    """Write a text for a style sheet by the numbers of its characters, so that none can end it."""
    return '"' + "".join(f"\\{ord(char):x} " for char in wording.clean(text, 80)) + '"'


@cache
def _environment() -> Environment:
    """Make the environment: escaping on, a missing name is an error, every value written by one rule."""
    made = Environment(
        loader=PackageLoader("tabveil.render"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_written,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        **{name: getattr(wording, name) for name in _WORDING},
        "prose": _prose,
        "brief": partial(wording.clean, longest=wording.LONGEST_BRIEF),
        "all_listed": partial(wording.listed, most=MANY_NAMES),
        "said": wording.setting,
    }
    made.globals |= {
        "svg": svg,
        "SYMBOLS": SYMBOLS,
        "WORDS": svg.WORDS,
        "MEANINGS": MEANINGS,
        "RISKS": RISKS,
        "LEAST_SHARED": LEAST_SHARED_IN_WORDS,
        "plural": wording.plural,
        "verb": wording.verb,
        "state_key": svg.state_key,
    }
    return made


def _written(value: Any) -> Any:  # noqa: ANN401 - whatever a template writes
    """Clean texts, and write no number that is none."""
    if isinstance(value, str):
        return value if isinstance(value, Markup) else wording.clean(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return wording.NOT_COMPUTED
    return value


def _prose(text: str) -> Markup:
    """Turn the inline marks of a docstring into elements."""
    pieces = [
        Markup(f"<{_TAGS[kind]}>{escape(piece)}</{_TAGS[kind]}>") if kind in _TAGS else escape(piece)  # noqa: S704 - escaped
        for kind, piece in inline(text)
    ]
    return Markup("").join(pieces)
