"""The page a data protection officer reads, questions, files and signs: one self-contained HTML file.

No script, nothing loaded from anywhere, every text from outside escaped and cleaned on its way in.
"""

import datetime as dt
import math
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from tabveil.auditing.policy import COMMON_THRESHOLDS, RISKS, WHY_THE_DEFAULT, Policy
from tabveil.auditing.report import Report
from tabveil.core import wording
from tabveil.core.people import LEAST_SHARED_IN_WORDS
from tabveil.metrics.registry import inline
from tabveil.metrics.utility import DOWNSTREAM, MEANINGS
from tabveil.render import svg
from tabveil.render.audit import advice as advice_words
from tabveil.render.audit import evidence as replay
from tabveil.render.audit import properties as property_words
from tabveil.render.audit import sections, signing
from tabveil.render.audit.evidence import attacks, diagnostics, reappearing, spaces, state_key, title_of
from tabveil.render.audit.sections import secrets
from tabveil.render.audit.signing import DROPPED, never_tested, outliers_attacked, sheet, threats, untested
from tabveil.render.audit.utility import BY_COLUMN, SCORES, usefulness
from tabveil.render.black_box import view as shadow_words
from tabveil.render.comparison import view as comparison

TITLE = "Privacy audit of a synthetic table"
MANY_NAMES = 40
SYMBOLS = {"within": "●", "above": "▲", "inconclusive": "◇", "diagnostic": "○"}
WORDS = {
    "within": "within threshold",
    "above": "above threshold",
    "inconclusive": "inconclusive",
    "diagnostic": "diagnostic",
}


def page(report: Report, *, title: str = "", made: dt.date | None = None) -> str:
    """Lay out one report as a page to read, print and sign.

    ``title`` stands in the place of the report's own; ``made`` is the page's date, today if left out.
    """
    shown = heading(title) or heading(report.title) or TITLE
    risks = [(risk, attacks(report, risk)) for risk in report.verdict.risks]
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            title=shown,
            kind=TITLE,
            made=dated(made),
            style=style_sheet(shown, made),
            report=report,
            verdict=report.verdict,
            state=state_key(report.verdict.state),
            risks=risks,
            diagnostics=diagnostics(report),
            reappearing=reappearing(report),
            threats=threats(report),
            untested=untested(report),
            never_tested=never_tested(report),
            outliers=sections.outliers(report),
            outliers_attacked=outliers_attacked(report),
            curves=sections.curves(report),
            rates=sections.rates(report),
            secrets=secrets(report),
            spaces=spaces(report),
            properties=property_words.properties(report),
            shadow=shadow_words.of_report(report),
            next=advice_words.next_steps(report),
            detections=sections.detections(report),
            planted=sections.planted(report),
            sheet=sheet(report, risks),
            notes=sections.notes(report),
            required=", ".join(title_of(report, metric) for metric in report.policy.required),
            useful=None if report.utility is None else usefulness(report.utility),
            shows_values=report.exposed is not None or bool(report.settings.get("show_values")),
            default_policy=Policy(recipient=report.policy.recipient, context=report.policy.context),
            ran={
                risk.risk: ", ".join(item.title for item in items) or "no attack ran" for risk, items in risks
            },
        )
    )


def comparison_page(
    reports: Mapping[str, Report], *, title: str = "Releases compared", made: dt.date | None = None
) -> str:
    """Set several reports side by side, those of most concern first."""
    compared = comparison.compare(reports)
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            title=heading(title),
            kind="Privacy audits of synthetic tables",
            made=dated(made),
            style=style_sheet(title, made),
            compared=compared,
            points=comparison.points(compared),
            warnings=comparison.warnings(reports),
        )
    )


def heading(title: str) -> str:
    """Clean a title from outside."""
    return wording.clean(title, wording.LONGEST_TITLE)


def dated(made: dt.date | None) -> str:
    """Write the day a page was made, today if none is given."""
    day = made or dt.datetime.now(tz=dt.UTC).date()
    return f"{day.day} {day:%B %Y}"


def style_sheet(title: str, made: dt.date | None) -> Markup:
    """Put the style sheets together; paper repeats title and date in the margin of every sheet."""
    sheet = resources.files("tabveil.render").joinpath("templates", "page.css").read_text(encoding="utf-8")
    head = f"@page{{@top-left{{content:{_spelled(title)}}}@top-right{{content:{_spelled(dated(made))}}}}}"
    return Markup(f"{svg.STYLE}\n{sheet}\n{head}")  # noqa: S704 - our own sheets, and code points


def _spelled(text: str) -> str:
    """Write a text for a style sheet by the numbers of its characters, so that none can end it."""
    return '"' + "".join(f"\\{ord(char):x} " for char in wording.clean(text, 80)) + '"'


@cache
def environment() -> Environment:
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
        "prose": _prose,
        "number": wording.number,
        "percent": wording.percent,
        "interval": wording.interval,
        "least_people": wording.least_people,
        "most_people": wording.most_people,
        "people": wording.people,
        "upper_percent": wording.upper_percent,
        "level": wording.level,
        "name": wording.name,
        "cell": wording.cell,
        "begin": wording.begin,
        "brief": partial(wording.clean, longest=wording.LONGEST_BRIEF),
        "listed": wording.listed,
        "all_listed": partial(wording.listed, most=MANY_NAMES),
        "said": wording.setting,
        "duration": wording.duration,
    }
    made.globals |= {
        "svg": svg,
        "SYMBOLS": SYMBOLS,
        "WORDS": WORDS,
        "MEANINGS": MEANINGS,
        "DOWNSTREAM": DOWNSTREAM,
        "BY_COLUMN": BY_COLUMN,
        "SCORES": SCORES,
        "LEAST_SHARED": LEAST_SHARED_IN_WORDS,
        "WHY_THE_DEFAULT": WHY_THE_DEFAULT,
        "plural": wording.plural,
        "state_key": state_key,
        "bars": lambda items: [item.bar for item in items],
        "power_rows": lambda items: [item.row for item in items],
        "RISKS": RISKS,
        "DROPPED": DROPPED,
        "PROPERTIES": property_words,
        "REPLAY": replay,
        "SHADOW": shadow_words,
        "NEXT": advice_words,
        "SIGNING": signing,
        "COMMON_THRESHOLDS": COMMON_THRESHOLDS,
        "FIGURES": comparison.FIGURES,
    }
    return made


def _written(value: Any) -> Any:  # noqa: ANN401 - whatever a template writes
    """Clean texts, and write no number that is none."""
    if isinstance(value, str):
        return value if isinstance(value, Markup) else wording.clean(value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return wording.NOT_COMPUTED
    return value


_TAGS = {"code": "code", "emphasis": "em", "strong": "strong"}


def _prose(text: str) -> Markup:
    """Turn the inline marks of a docstring into elements."""
    pieces = [
        Markup(f"<{_TAGS[kind]}>{escape(piece)}</{_TAGS[kind]}>") if kind in _TAGS else escape(piece)  # noqa: S704 - escaped
        for kind, piece in inline(text)
    ]
    return Markup("").join(pieces)
