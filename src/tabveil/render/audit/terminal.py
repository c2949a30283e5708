"""A report on the terminal, readable at 80 columns and without color.

Everything that comes from outside (column names in notes, reasons) is set as plain text, never as markup.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tabveil.auditing.report import Report
from tabveil.auditing.verdict import CopiesVerdict, State, Verdict
from tabveil.core import wording
from tabveil.core.estimate import Estimate
from tabveil.core.result import Result
from tabveil.core.wording import plural
from tabveil.metrics.control.copies import NearCopies
from tabveil.metrics.traces import Trace
from tabveil.metrics.utility import MEANINGS, RULES
from tabveil.render.audit import advice as advice_words
from tabveil.render.audit import properties as property_words
from tabveil.render.audit.evidence import skipped_title, spaces, title_of
from tabveil.render.audit.signing import planted, stable, thresholds_in_words
from tabveil.render.black_box import view as shadow_words
from tabveil.render.black_box.terminal import shadow_text

LEAK = "leak seen"
HINT = "hint"
ABOVE_ZERO = "above zero"
NONE_SEEN = "none seen"
UNCLEAR = "unclear"
NO_BETTER = "uninformative"
NO_ANSWER = "no answer"

_STYLE_OF_FINDING = {LEAK: "bold red", HINT: "yellow", ABOVE_ZERO: "yellow"}

_HEADINGS = {
    "attack": "Attacks: what an intruder gains from the release",
    "indicator": "Indicators: diagnostics, not evidence of anonymity",
    "property": "Properties of the release",
}
STYLES: Mapping[State, str] = {
    "within threshold": "bold",
    "above threshold": "bold red",
    "inconclusive": "bold yellow",
}
_WIDEST_METRIC = 23
MOST_RULES = 5
"""Rules that are listed, those that are broken most."""
MOST_SENSITIVE = 5
"""Sensitive columns whose properties are listed; the page has more, the JSON report all."""

number = partial(wording.number, minus="-")
lower, upper = partial(wording.lower, minus="-"), partial(wording.upper, minus="-")
"""The terminal's minus is the plain one: an old terminal shows "?" for any other."""

_READING = (
    "Gain: the share of people exposed because their data were trained on. Risk: 0 = like fresh data, 1 = "
    "worst. Train: the share of training people an attack succeeds on; control: the same of people the "
    "generator never saw; their difference is the gain. Both are left out where an attack's own score is no "
    "share of people; of indicators they are that score. "
    f"“{LEAK}”: more than chance explains, at the level that the verdict asks for, which counts in how many "
    f"attacks were tried. “{HINT}”: the interval of this attack alone lies above zero, which at 95% happens "
    f"by chance about once in 40; no verdict rests on it, nor on an indicator that is “{ABOVE_ZERO}”. "
    f"“{NONE_SEEN}” covers these metrics only: other ways to find out about people were not tried. "
    f"“{NO_BETTER}”: the attack does no better than guessing without the release."
)


def report_page(report: Report) -> RenderableType:
    """Lay out one report: sizes, a table for each kind of metric, how to read it, what is missing and why."""
    pillars = [pillar for pillar in _HEADINGS if any(r.labels.pillar == pillar for r in report.results)]
    parts: list[RenderableType] = [_inputs(report), Text(), *_verdict(report), *_next(report)]
    for pillar in pillars:
        chosen = [result for result in report.results if result.labels.pillar == pillar]
        parts += [
            Text(),
            Text(_HEADINGS[pillar], style="bold"),
            Text(),
            _results(chosen, report),
        ]
    if pillars:
        parts += [Text(), Text(_READING, style="dim")]
    parts += [*_spaces(report), *_utility(report), *_properties(report), *_power(report), *_shadow(report)]
    if report.skipped:
        parts += [Text(), Text("Not computed", style="bold")]
        parts += [listed_item(f"{skipped_title(report, item)}: {item.why}") for item in report.skipped]
    notes = [*report.notes, *_notes(report.results)]
    if notes:
        parts += [Text(), Text("Notes", style="bold"), *map(listed_item, notes)]
    return Group(*parts)


def _verdict(report: Report) -> list[RenderableType]:
    """Lead with what may be said, and the four risks it rests on."""
    verdict = report.verdict
    state, _, rest = verdict.sentence.partition(": ")
    table = plain_table("risk judged")
    table.columns[0].no_wrap = True
    table.add_column("highest attack", overflow="fold")
    for heading in ("measured", "at most", "accepted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for item in verdict.risks:
        leading = item.leading
        table.add_row(
            item.risk,
            report.titled(leading.metric) if leading else "-",
            _known(None if item.value is None else number(item.value), verdict),
            _known(None if item.high is None else upper(item.high), verdict),
            f"{item.threshold:g}",
            Text(item.state, style=STYLES[item.state]),
        )
    if verdict.copies is not None:
        found = verdict.copies.found
        table.add_row(
            "copies",
            f"{plural(found.equal_train, 'row')} of {found.n_synthetic:,}{_nearly(found.near)}",
            _copied_share(verdict.copies, verdict),
            _known(None if verdict.copies.high is None else upper(verdict.copies.high), verdict),
            f"{verdict.copies.threshold:g}",
            Text(verdict.copies.state, style=STYLES[verdict.copies.state]),
        )
    for trace in verdict.traces:
        if trace.leak_seen or trace.state != "within threshold":
            table.add_row(
                Text(trace.found.title),
                Text(_people_found(trace.found)),
                _known(number(trace.found.share), verdict, proven=trace.found.proven),
                "",
                f"{trace.threshold:g}",
                Text(trace.state, style=STYLES[trace.state]),
            )
    lead = Text.assemble((state.upper(), STYLES[verdict.state]), f": {rest}")
    asked = [] if verdict.control or not report.has_control else [thresholds_in_words(verdict)]
    below: list[RenderableType] = []
    for told in (*asked, *filter(None, [stable(report)]), *planted(report)):
        below += [Text(), Text(told)]
    return [lead, Text(), table, *below]


def _next(report: Report) -> list[RenderableType]:
    """Say what would change the verdict, right below it; the page shows every attack that was repeated."""
    found = advice_words.next_steps(report)
    if found is None:
        return []
    parts: list[RenderableType] = [
        Text(),
        Text(advice_words.TITLE, style="bold"),
        *map(listed_item, found.evidence),
    ]
    if found.remedies:
        table = plain_table("tried on a changed release")
        for heading in ("was up to", "now up to", "utility lost"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("state", no_wrap=True)
        for item in found.remedies:
            worst = item.worst
            table.add_row(
                item.title,
                "" if worst is None else upper(worst.before.high),
                "" if worst is None or worst.after is None else upper(worst.after.high),
                item.lost("-"),
                Text(item.state, style=STYLES[item.state]),
            )
        parts += [Text(), table, Text(), Text(advice_words.IN_BRIEF, style="dim")]
    return [*parts, *map(listed_item, found.further)]


def _known(written: str | None, verdict: Verdict, *, proven: bool = False) -> str:
    """Write a number; against a control that does not fit none is known, but what is proven without it."""
    if written is None:
        return ""
    return "not known" if verdict.control and not proven else written


def _copied_share(copies: CopiesVerdict, verdict: Verdict) -> str:
    share = copies.found.proven_share if copies.proven else copies.value
    return _known(None if share is None else number(share), verdict, proven=copies.proven)


def _people_found(found: Trace) -> str:
    return f"{plural(found.people, 'person', 'people')} of {found.n_people:,}"


def _nearly(near: NearCopies | None) -> str:
    return f", {near.near_train:,} more nearly" if near is not None and near.near_train else ""


def _spaces(report: Report) -> list[RenderableType]:
    found = spaces(report)
    if not found:
        return []
    table = plain_table("metric")
    for heading in ("mixed", "contrastive"):
        table.add_column(f"{heading}, {_level(report)}", no_wrap=True)
    for item in found:
        table.add_row(item.title, _measure(item.mixed), _measure(item.contrastive))
    heading = "The contrastive space beside the mixed distance: gain, or risk"
    return [Text(), Text(heading, style="bold"), Text(), table]


def _utility(report: Report) -> list[RenderableType]:
    if report.utility is None:
        return []
    table = plain_table("utility")
    for heading in ("release", "real rows", "best"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, figure in report.utility.figures.items():
        reference = _value(figure.reference)
        table.add_row(MEANINGS[name].title, _value(figure.value), reference, f"{MEANINGS[name].best:g}")
    if (rules := report.utility.rules) is not None and rules.figure is not None:
        title = f"{RULES.title} ({len(rules.found)} found)"
        table.add_row(title, _value(rules.figure.value), _value(rules.figure.reference), f"{RULES.best:g}")
        for rule in [rule for rule in rules.found if rule.broken.value.low > 0][:MOST_RULES]:
            sentence = rule.sentence([wording.name(column) for column in rule.columns])
            table.add_row(f"  {sentence}", _value(rule.broken.value), _value(rule.broken.reference), "0")
    for target in report.utility.targets:
        table.add_row(f"gap when predicting {target.name}", _value(target.gap), "", "0")
    return [
        Text(),
        Text("Utility: how much the release tells of what real rows tell", style="bold"),
        Text(),
        table,
    ]


def _properties(report: Report) -> list[RenderableType]:
    found = property_words.properties(report)
    if found is None:
        return []
    table = plain_table("property")
    for heading in ("train", "release"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in filter(_is_brief, found.classes):
        table.add_row(row.label, row.train, row.release)
    for item in found.columns[:MOST_SENSITIVE]:
        table.add_row(Text(item.column))
        for row in filter(_is_brief, item.rows):
            table.add_row(f"  {row.label}", row.train, row.release)
    return [
        Text(),
        Text(property_words.TITLE, style="bold"),
        Text(f"Quasi-identifiers: {wording.listed(found.quasi_identifiers)}."),
        Text(),
        table,
        Text(),
        Text(_about_properties(found), style="dim"),
    ]


def _is_brief(row: property_words.Row) -> bool:
    return row.brief


def _about_properties(found: property_words.Shown) -> str:
    said = [property_words.NO_ATTACK, property_words.INVENTED]
    columns = found.columns[:MOST_SENSITIVE]
    if columns:
        said.append(property_words.REFERENCE)
    if any(item.infinite for item in columns):
        said.append(property_words.WHY_INFINITE)
    if found.n_columns > len(columns):
        left = plural(found.n_columns - len(columns), "further sensitive column")
        said.append(f"{left}: see the JSON report.")
    return " ".join(said)


def _power(report: Report) -> list[RenderableType]:
    if report.power is None:
        return []
    table = plain_table("metric")
    table.columns[0].min_width = _WIDEST_METRIC  # reasons are long, and fold
    table.add_column("smallest leak noticed", overflow="fold")
    for item in report.power.detections:
        found = f"{item.smallest:.0%} of rows" if item.smallest else item.reason or "none up to 20%"
        table.add_row(title_of(report, item.metric), found)
    heading = f"Detection power: planted leaks noticed in at least 95% of {report.power.repetitions} trials"
    return [Text(), Text(heading, style="bold"), Text(), table]


def _shadow(report: Report) -> list[RenderableType]:
    found = shadow_words.of_report(report)
    if found is None:
        return []
    return [
        Text(),
        Text(f"{shadow_words.TITLE}: what its owner finds out about single people", style="bold"),
        Text(shadow_words.NO_VERDICT),
        Text(),
        shadow_text(found),
    ]


def _notes(results: Iterable[Result]) -> list[str]:
    """Say what several metrics note alike only once."""
    who: dict[str, list[str]] = {}
    for result in results:
        for note in result.notes:
            who.setdefault(note, []).append(result.full_title)
    return [f"{', '.join(metrics)}: {note}" for note, metrics in who.items()]


def comparison(reports: Mapping[str, Report]) -> RenderableType:
    """Set the risks of several releases side by side: one line a metric, and where it saw a leak."""
    results = [result for report in reports.values() for result in report.results]
    parts: list[RenderableType] = []
    for pillar, heading in _HEADINGS.items():
        metrics = {item.key: item.full_title for item in results if item.labels.pillar == pillar}
        if metrics:
            table = _compared(metrics, reports, attacks=pillar == "attack")
            parts += [Text(heading, style="bold"), Text(), table, Text()]
    return Group(*parts[:-1])


def _compared(metrics: Mapping[str, str], reports: Mapping[str, Report], *, attacks: bool) -> Table:
    table = plain_table("metric")
    table.columns[0].min_width = _WIDEST_METRIC  # so that tables stand under each other
    for name, report in reports.items():
        table.add_column(f"{name}: {_measured(attacks=attacks)}, {_level(report)}", no_wrap=True)
    seen = LEAK if attacks else ABOVE_ZERO
    table.add_column(seen, overflow="fold", min_width=len(ABOVE_ZERO))
    for metric, title in metrics.items():
        found = {name: finding(report, metric) for name, report in reports.items()}
        leaking = [name for name, word in found.items() if word == seen]
        cells = [_cell(_find(report, metric), seen=found[name] == seen) for name, report in reports.items()]
        table.add_row(title, *cells, Text(", ".join(leaking) or "-", style="bold red" if leaking else "dim"))
    return table


def _measured(*, attacks: bool) -> str:
    """Name what :attr:`~tabveil.core.result.Result.measure` is."""
    return "gain" if attacks else "risk"


def _level(report: Report) -> str:
    return f"{report.policy.confidence * 100:.4g}%"


def _find(report: Report, metric: str) -> Result | None:
    return next((result for result in report.results if result.key == metric), None)


def _cell(result: Result | None, *, seen: bool) -> Text:
    return _measure(None if result is None else result.measure, style="bold red" if seen else "")


def _measure(estimate: Estimate | None, *, style: str = "") -> Text:
    if estimate is None:
        return Text("not computed", style="dim")
    return Text(f"{number(estimate.value):>6}  {_interval(estimate, '…')}", style=style)


def _inputs(report: Report) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for role, item in report.inputs.items():
        people = "" if item.people is None else f" of {wording.plural(item.people, 'person', 'people')}"
        grid.add_row(Text(role), Text(f"{item.rows:,} rows{people}, {item.columns} columns"))
    if not report.has_control:
        grid.add_row(Text("control"), Text("none: little can be concluded", style="bold yellow"))
    if report.dropped:
        names = wording.listed([item.name for item in report.dropped])
        grid.add_row(Text("left out"), Text(f"{names}: no metric was shown {_them(report)}"))
    heading = [Text(report.title, style="bold")] if report.title else []
    return Group(*heading, Text(f"tabveil {report.version}, seed {report.seed}", style="dim"), grid)


def _them(report: Report) -> str:
    return "it" if len(report.dropped) == 1 else "them"


def _results(results: Sequence[Result], report: Report) -> Table:
    table = plain_table("metric")
    attacks = any(result.labels.pillar == "attack" for result in results)
    for heading in (_measured(attacks=attacks), f"{_level(report)} interval", "train", "control"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("finding", no_wrap=True)
    for result in results:
        word = finding(report, result.key)
        table.add_row(
            result.full_title,
            Text(_value(result.measure), style=_STYLE_OF_FINDING.get(word, "")),
            _interval(result.measure) if result.measure else "",
            *map(_value, result.shares),
            Text(word, style=_STYLE_OF_FINDING.get(word, "dim")),
        )
    return table


def plain_table(first: str) -> Table:
    """Start a table without a frame; its first column may fold."""
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    table.add_column(first, overflow="fold")
    return table


def finding(report: Report, metric: str) -> str:
    """Put into a word what a metric found, as the verdict judges it.

    Without a control that fits neither silence nor a gain means anything.
    """
    result = _find(report, metric)
    if result is None or result.measure is None:
        return NO_ANSWER
    if not report.has_control or report.verdict.control:
        return UNCLEAR
    if report.verdict.leak_seen(metric):
        return LEAK
    if not result.informative:
        return NO_BETTER
    if result.measure.low <= 0:
        return NONE_SEEN
    return HINT if result.labels.pillar == "attack" else ABOVE_ZERO


def _value(estimate: Estimate | None) -> str:
    return "" if estimate is None else number(estimate.value)


def _interval(estimate: Estimate, to: str = " to ") -> str:
    return f"{lower(estimate.low)}{to}{upper(estimate.high)}"


def listed_item(text: str) -> RenderableType:
    """Write an item of a list."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text("-"), Text(" ".join(text.split())))
    return Padding(grid, (0, 0, 0, 1))
