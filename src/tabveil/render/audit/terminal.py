"""One audit on the terminal: the verdict, every metric, and what is missing and why."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tabveil.auditing.findings import ABOVE_ZERO, HINT, LEAK, finding
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import WITHIN, CopiesVerdict, RiskVerdict, TraceVerdict, Verdict
from tabveil.core import wording
from tabveil.core.estimate import Estimate
from tabveil.core.wording import plural
from tabveil.metrics.utility import RULES
from tabveil.render import black_box
from tabveil.render.audit import advice, linked, measures
from tabveil.render.audit.evidence import Evidence, skipped_title, spaces
from tabveil.render.audit.measures import PropertyRow, PropertyRows, Usefulness
from tabveil.render.audit.view import AuditView, thresholds_in_words
from tabveil.render.console import (
    STYLES,
    interval,
    listed_item,
    number,
    plain_table,
    section,
    state_text,
    upper,
    value,
)

Judged = RiskVerdict | CopiesVerdict | TraceVerdict
HEADINGS = {
    "attack": "Attacks: what an intruder gains from the release",
    "indicator": "Indicators: diagnostics, not evidence of anonymity",
    "property": "Properties of the release",
}
WIDEST_METRIC, WIDEST_RISK = 23, 16
MOST_RULES = 5
"""Rules that are listed, those that are broken most."""
MOST_SENSITIVE = 5
"""Sensitive columns whose properties are listed; the page has more, the JSON report all."""

_STYLE_OF_FINDING = {LEAK: "bold red", HINT: "yellow", ABOVE_ZERO: "yellow"}
_READING = (
    "Gain: the share of people exposed because their data were trained on. Risk: 0 = like fresh data, 1 = "
    "worst. Train: the share of training people an attack succeeds on; control: the same of people the "
    "generator never saw; their difference is the gain. Both are left out where an attack's own score is no "
    "share of people; of indicators they are that score. "
    "“leak seen”: more than chance explains, at the level that the verdict asks for, which counts in how "
    "many attacks were tried. “hint”: the interval of this attack alone lies above zero, which at 95% "
    "happens by chance about once in 40; no verdict rests on it, nor on an indicator that is “above zero”. "
    "“none seen” covers these metrics only: other ways to find out about people were not tried. "
    "“uninformative”: the attack does no better than guessing without the release."
)


def report_page(report: Report, *, brief: bool = False) -> RenderableType:
    """Lay out one report: sizes, a table for each kind of metric, how to read it, what is missing and why.

    ``brief`` stops after what the page has to sign: the verdict, and what to do.
    """
    view = AuditView(report)
    if brief:
        return Group(_inputs(report), Text(), *_verdict(view), *_to_do(report))
    parts: list[RenderableType] = [_inputs(report), Text(), *_verdict(view), *_next(report)]
    if report.linked is not None:
        parts += section(linked.TITLE, *map(Text, linked.in_words(report)))
    shown = {heading: view.of_pillar(pillar) for pillar, heading in HEADINGS.items()}
    for heading, found in shown.items():
        parts += section(heading, Text(), _results(found, report)) if found else []
    if any(shown.values()):
        parts += [Text(), Text(_READING, style="dim")]
    parts += [*_spaces(report), *_utility(view.useful), *_properties(measures.properties(report))]
    parts += _power(view)
    if (access := black_box.of_report(report)) is not None:
        heading = f"{black_box.TITLE}: what its owner finds out about single people"
        parts += section(heading, Text(black_box.NO_VERDICT), Text(), black_box.access_text(access))
    skipped = [f"{skipped_title(report, item)}: {item.why}" for item in report.skipped]
    who: dict[str, list[str]] = {}  # where several metrics note the same, it is said once
    for result in report.results:
        for note in result.notes:
            who.setdefault(note, []).append(result.full_title)
    stamp = () if report.sampled is None else (report.sampled.sentence,)
    notes = [*stamp, *report.notes, *(f"{', '.join(metrics)}: {note}" for note, metrics in who.items())]
    for heading, lines in (("Not computed", skipped), ("Notes", notes)):
        parts += section(heading, *map(listed_item, lines)) if lines else []
    return Group(*parts)


def _inputs(report: Report) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for role, item in report.inputs.items():
        if report.linked is not None:
            columns = plural(item.columns, "column")
            tables = plural(len(report.linked.tables), "table")
            grid.add_row(
                Text(role), Text(f"{plural(item.counted, 'person', 'people')}, {columns} in {tables}")
            )
            continue
        people = "" if item.people is None else f" of {plural(item.people, 'person', 'people')}"
        grid.add_row(
            Text(role), Text(f"{plural(item.rows, 'row')}{people}, {plural(item.columns, 'column')}")
        )
    if not report.has_control:
        grid.add_row(Text("control"), Text("none: little can be concluded", style="bold yellow"))
    if (sampled := report.sampled) is not None:
        of = f"{sampled.train:,} of {sampled.of_train:,} training {sampled.counted}, {sampled.control:,} of "
        of += f"{sampled.of_control:,} control {sampled.counted}; see the notes"
        grid.add_row(Text("a sample"), Text(of, style="bold yellow"))
    if report.dropped:
        names = wording.listed([item.name for item in report.dropped])
        them = "it" if len(report.dropped) == 1 else "them"
        grid.add_row(Text("left out"), Text(f"{names}: no metric was shown {them}"))
    heading = [Text(report.title, style="bold")] if report.title else []
    return Group(*heading, Text(f"tabveil {report.version}, seed {report.seed}", style="dim"), grid)


def _verdict(view: AuditView) -> list[RenderableType]:
    """Lead with what may be said, and the four risks it rests on."""
    report, verdict = view.report, view.report.verdict
    table = plain_table("risk judged")
    table.columns[0].max_width = WIDEST_RISK  # titles of traces are long, and would cut the states off
    table.add_column("highest attack", overflow="fold")
    for heading in ("measured", "at most", "accepted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)

    def row(what: str, by: str, found: str, high: float | None, judged: Judged) -> None:
        most = "" if high is None else _known(upper(high), verdict)
        table.add_row(Text(what), Text(by), found, most, f"{judged.threshold:g}", state_text(judged.state))

    for item in verdict.risks:
        leading = report.titled(item.leading.metric) if item.leading else "-"
        found = "" if item.value is None else _known(number(item.value), verdict)
        row(item.risk, leading, found, item.high, item)
    if (copies := verdict.copies) is not None:
        near, part = copies.found.near, copies.found.proven_share if copies.proven else copies.value
        nearly = f", {near.near_train:,} more nearly" if near is not None and near.near_train else ""
        equal = f"{plural(copies.found.equal_train, *report.a_row)} of {copies.found.n_synthetic:,}{nearly}"
        known = "" if part is None else _known(number(part), verdict, proven=copies.proven)
        row("copies", equal, known, copies.high, copies)
    for trace in verdict.traces:
        if trace.leak_seen or trace.state != WITHIN:
            people = f"{plural(trace.found.people, 'person', 'people')} of {trace.found.n_people:,}"
            share = _known(number(trace.found.share), verdict, proven=trace.found.proven)
            row(trace.found.title, people, share, None, trace)
    parts: list[RenderableType] = [lead(verdict), Text(), table]
    for told in filter(None, (thresholds_in_words(report), *view.trust)):
        parts += [Text(), Text(told)]
    if (claim := report.claim) is not None:
        parts += [
            Text(),
            Text(claim.sentence, style="bold"),
            Text(f"Unit of privacy: {claim.unit_in_words}."),
        ]
    return [*parts, *_before(report)]


def _before(report: Report) -> list[RenderableType]:
    """Set the risk of the training rows themselves beside that of the release."""
    if report.initial is None:
        return []
    table = plain_table("of 100 people")
    for heading in ("before, measured", "at most", "after, measured", "at most"):
        table.add_column(heading, justify="right")
    verdict = report.verdict
    for item, after, most in report.initial.beside(verdict):
        before = _of_people(item.value, item.high)
        left = _of_people(after, most)
        table.add_row(item.risk, *before, *(_known(each, verdict) for each in left))
    return section("Risk before (the training rows themselves) and after", Text(), table)


def _of_people(value: float | None, high: float | None) -> tuple[str, str]:
    """Write a measured gain and its upper bound."""
    return (
        wording.NOT_COMPUTED if value is None else wording.people(value),
        wording.NOT_COMPUTED if high is None else wording.most_people(high),
    )


def lead(verdict: Verdict, what: str = "") -> Text:
    """Write the verdict's sentence, its state in capitals; ``what`` says of which rows it is."""
    return Text.assemble((verdict.state.upper(), STYLES[verdict.state]), f"{what}: {verdict.reasons}")


def _known(written: str, verdict: Verdict, *, proven: bool = False) -> str:
    """Write a number; against a control that does not fit none is known, but what is proven without it."""
    return "not known" if verdict.control and not proven else written


def _next(report: Report) -> list[RenderableType]:
    """Say what would change the verdict, right below it; the page shows every attack that was repeated."""
    found = advice.next_steps(report)
    if found is None:
        return []
    parts = section(advice.TITLE, *map(listed_item, found.evidence))
    if found.remedies:
        table = plain_table("tried on a changed release", "highest attack", "utility lost")
        table.add_column("state", no_wrap=True)
        before = advice.highest_before(found)
        table.add_row(
            "nothing changed", "" if before is None else upper(before), "", state_text(report.verdict.state)
        )
        for item in found.remedies:
            worst = item.remedy.worst
            table.add_row(
                item.title,
                "" if worst is None or worst.after is None else upper(worst.after.high),
                item.lost("-"),
                state_text(item.remedy.state),
            )
        parts += [Text(), table, Text(), Text(advice.IN_BRIEF, style="dim")]
    return [*parts, *map(listed_item, found.further)]


def _to_do(report: Report) -> list[RenderableType]:
    found = advice.to_do(report)
    lines = [Text(found.first, style="bold"), *map(listed_item, found.lines)]
    return section("What to do", *lines)


def _results(results: Sequence[Evidence], report: Report) -> Table:
    attacks = any(item.result.labels.pillar == "attack" for item in results)
    headings = (measured(attacks=attacks), f"{level_of(report)} interval", "train", "control")
    table = plain_table("metric", *headings)
    table.add_column("finding", no_wrap=True)
    for item in results:
        word = finding(report, item.result.key)
        table.add_row(
            item.title,
            Text(value(item.result.measure), style=_STYLE_OF_FINDING.get(word, "")),
            interval(item.result.measure) if item.result.measure else "",
            *map(value, item.result.shares),
            Text(word, style=_STYLE_OF_FINDING.get(word, "dim")),
        )
    return table


def measured(*, attacks: bool) -> str:
    """Name what :attr:`~tabveil.core.result.Result.measure` is."""
    return "gain" if attacks else "risk"


def level_of(report: Report) -> str:
    """Write how sure the intervals are."""
    return f"{report.policy.confidence * 100:.4g}%"


def with_interval(estimate: Estimate | None, *, style: str = "") -> Text:
    """Write an estimate and its interval in one cell."""
    if estimate is None:
        return Text("not computed", style="dim")
    return Text(f"{number(estimate.value):>6}  {interval(estimate, '…')}", style=style)


def _spaces(report: Report) -> list[RenderableType]:
    pairs = spaces(report)
    if not pairs:
        return []
    table = plain_table("metric")
    for heading in ("outside", "in the space"):
        table.add_column(f"{heading}, {level_of(report)}", no_wrap=True)
    for item in pairs:
        table.add_row(item.title, with_interval(item.mixed), with_interval(item.contrastive))
    return section("The contrastive space beside the same attacks outside it: gain, or risk", Text(), table)


def _utility(useful: Usefulness | None) -> list[RenderableType]:
    if useful is None:
        return []
    table = plain_table("utility", "release", "real rows", "best")
    for place, (title, _, figure) in enumerate(useful.fidelity):
        of = f"  {title.lower()}" if place else title
        table.add_row(of, value(figure.value), value(figure.reference), "1")
    for meaning, figure in useful.figures:
        found = f" ({len(useful.rules)} found)" if meaning is RULES else ""
        reference, best = value(figure.reference), f"{meaning.best:g}"
        table.add_row(f"{meaning.title}{found}", value(figure.value), reference, best)
    for sentence, broken in [rule for rule in useful.rules if rule[1].value.low > 0][:MOST_RULES]:
        table.add_row(f"  {sentence}", value(broken.value), value(broken.reference), "0")
    for target in useful.utility.targets:
        table.add_row(f"gap when predicting {target.name}", value(target.gap), "", "0")
    said = [Text(text) for text in (useful.told_by, useful.left_out) if text]
    more = [line for text in said for line in (Text(), text)]
    return section("Utility: how much the release tells of what real rows tell", Text(), table, *more)


def _properties(found: PropertyRows | None) -> list[RenderableType]:
    if found is None:
        return []
    table = plain_table("property", "train", "release")

    def add(rows: Iterable[PropertyRow], indent: str = "") -> None:
        for row in rows:
            if row.brief:
                table.add_row(f"{indent}{row.label}", row.train, row.release)

    add(found.classes)
    columns = found.columns[:MOST_SENSITIVE]
    for item in columns:
        table.add_row(Text(item.column))
        add(item.rows, indent="  ")
    said = [measures.NO_ATTACK, measures.INVENTED]
    if columns:
        said.append(measures.REFERENCE)
    if any(item.infinite for item in columns):
        said.append(measures.WHY_INFINITE)
    if found.n_columns > len(columns):
        left = plural(found.n_columns - len(columns), "further sensitive column")
        said.append(f"{left}: see the JSON report.")
    declared = f"Quasi-identifiers: {wording.listed(found.quasi_identifiers)}."
    about = Text(" ".join(said), style="dim")
    return section(measures.TITLE, Text(declared), Text(), table, Text(), about)


def _power(view: AuditView) -> list[RenderableType]:
    power = view.report.power
    if power is None:
        return []
    table = plain_table("metric")
    table.columns[0].min_width = WIDEST_METRIC  # reasons are long, and fold
    table.add_column("smallest leak noticed", overflow="fold")
    for row, _ in view.detections:
        table.add_row(
            row.label,
            f"{row.smallest:.0%} of {view.report.a_row[1]}"
            if row.smallest
            else row.reason or "none up to 20%",
        )
    heading = f"Detection power: planted leaks noticed in at least 95% of {power.repetitions} trials"
    return section(heading, Text(), table)
