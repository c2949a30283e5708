"""``tabveil anonymize``, and what proposes to it: ``tabveil hierarchies``, ``tabveil quasi-identifiers``."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tabveil.cli import files
from tabveil.cli.files import STDOUT, write_json, write_or_show
from tabveil.cli.options import Drop, Force, Html, Json, Missing, Shown, Table, option
from tabveil.cli.screen import LOUD, Screen
from tabveil.core.wording import joined, name, number, percent, plural

if TYPE_CHECKING:
    from tabveil.metrics.properties import Properties
    from tabveil.synthesis.anonymize.proposing import ColumnReason, Proposal
    from tabveil.synthesis.anonymize.releasing import Summary


def anonymize(
    *,
    data: Annotated[Path, option("FILE", "The real rows.")],
    config: Annotated[Path, option("FILE", "What is asked for (YAML, JSON).")],
    out: Annotated[Path, option("FILE", "Where to write the generalized rows (.csv, .parquet ...).")],
    drop: Drop = None,
    html: Html = None,
    json: Json = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress.")] = False,
) -> None:
    """Anonymize a file."""
    import json as json_text

    from tabveil.cli.progress import progress_shown
    from tabveil.core.storage.files import write_text
    from tabveil.metrics.properties import WEAKNESSES
    from tabveil.render.anonymize import page
    from tabveil.workflows import anonymizing

    targets = [files.rows_file(out, force=force, not_over=[data, config])]
    for given, path in (("--html", html), ("--json", json)):
        if path is not None and path != STDOUT:
            targets.append(files.writable(given, path, force=force, not_over=[data, config, *targets]))
    with progress_shown(quiet=quiet) as listener:
        found = anonymizing.anonymize(data, config, drop=drop or (), progress=listener)
    found.write(targets[0])
    summary, measured = found.summary, found.properties
    if html is not None:
        write_text(html.resolve(), page(summary, measured, WEAKNESSES, title=name(data.name)))
    said = {"summary": dataclasses.asdict(summary), "properties": dataclasses.asdict(measured)}
    text = json_text.dumps(_finite(said), ensure_ascii=False, indent=1)
    write_json(text, targets[-1] if json not in (None, STDOUT) else json)
    if not quiet:
        _tell(Screen(stderr=json == STDOUT), summary, measured, out)


def hierarchies(
    *,
    file: Table,
    column: Annotated[
        list[str] | None, option("COLUMN", "A quasi-identifier. Repeatable; all columns if left out.")
    ] = None,
    drop: Drop = None,
    missing: Missing = None,
    out: Shown = None,
    force: Force = False,
) -> None:
    """Propose hierarchies."""
    from tabveil.workflows import anonymizing

    if out is not None:
        files.writable("--out", out, force=force, not_over=[file])
    text = anonymizing.hierarchies(file, column or (), drop=drop or (), missing=missing or ())
    write_or_show(text, out, force=force, not_over=[file])


def quasi_identifiers(
    *,
    file: Table,
    drop: Drop = None,
    missing: Missing = None,
    json: Json = None,
    force: Force = False,
) -> None:
    """Propose quasi-identifiers."""
    import json as json_text

    from tabveil.workflows import anonymizing

    target = files.destination("--json", json, force=force, not_over=[file])
    found = anonymizing.quasi_identifiers(file, drop=drop or (), missing=missing or ())
    write_json(json_text.dumps(dataclasses.asdict(found), ensure_ascii=False, indent=1), target)
    _tell_proposal(Screen(stderr=json == STDOUT), found)


def _finite(data: Any) -> Any:  # noqa: ANN401 - plain data
    """Let numbers that JSON does not have be null."""
    match data:
        case float() if not math.isfinite(data):
            return None
        case dict():
            return {key: _finite(value) for key, value in data.items()}
        case list() | tuple():
            return [_finite(value) for value in data]
        case _:
            return data


def _tell(screen: Screen, summary: "Summary", measured: "Properties", out: Path) -> None:
    kept = summary.n_rows - summary.n_suppressed
    classes = plural(summary.n_classes, "class", "classes")
    screen.say(
        f"{out}: {plural(kept, 'row')} of {summary.n_rows:,} in {classes}, "
        f"the smallest of {plural(summary.smallest, 'row')}; {summary.n_suppressed:,} suppressed."
    )
    screen.say(f"Promised and measured: {'; '.join(summary.models)}.")
    for telling in summary.telling:
        screen.say(f"WARNING: {telling.sentence}", style=LOUD)
    if summary.telling:
        screen.say(
            f"k is {summary.smallest:,} by the quasi-identifiers alone, and "
            f"{summary.smallest_with_telling:,} with such columns. Generalize them, too, or list them under "
            "'drop'."
        )
    for own in measured.sensitive:
        screen.say(
            f"  {name(own.column)}: {plural(own.distinct, 'different value')} in the least varied class, at "
            f"most {number(own.equal)} from the whole table, {own.information_gain:.2g} bits told on average."
        )
    loss = number(summary.loss) if summary.loss <= 1 else f"{summary.loss:,.1f}"
    screen.say(f"{summary.loss_model}: {loss}, {_certainty(summary)}.")
    rows = []
    for column in summary.columns:
        levels = ", then ".join(f"{level}" for level in column.levels)
        rows.append((Text(name(column.name)), f"{levels} of {column.n_levels - 1}", number(column.loss)))
    screen.show_rows(("column", "level", "loss"), rows)


def _certainty(summary: "Summary") -> str:
    looked = f"{summary.n_looked_at:,} of {summary.n_nodes:,} nodes looked at"
    if summary.n_rounds > 1:
        return f"recoded locally in {summary.n_rounds} rounds ({looked} in the first)"
    if summary.proven:
        return f"the least possible ({looked}, the others ruled out)"
    return f"not proven to be the least: at least {summary.at_least:.4g} is lost ({looked})"


def _tell_proposal(screen: Screen, found: "Proposal") -> None:
    """Rank the columns: those that set most rows apart by themselves, then those that do so together."""
    together = {column: (place, share) for place, (column, share) in enumerate(found.together, start=1)}

    def rank(item: "ColumnReason") -> tuple[bool, bool, float, float]:
        place, _ = together.get(item.name, (len(together) + 1, 0.0))
        return item.naming, item.alone < HALF, place, -max(item.alone, item.added)

    rows = []
    for column in sorted(found.columns, key=rank):
        with_other = f"{percent(column.with_partner)} with {name(column.partner)}" if column.partner else ""
        values, alone = f"{column.n_values:,}", percent(column.alone)
        rows.append((Text(name(column.name)), values, alone, Text(with_other), _why(column, together)))
    screen.show_rows(("column", "values", "alone", "with one other", "ask first"), rows)
    screen.say("Percentages are shares of rows that nobody else is like, by the values of these columns.")
    if found.together:
        names = joined([name(column) for column in together])
        share, rows_there = percent(found.together[-1][1]), plural(found.n_rows, "row")
        screen.say(
            f"Ask first whether others may know {names}: together they set {share} of {rows_there} apart. "
            "They were chosen one after the other, each time the column that sets most rows apart."
        )
    screen.say("The table does not tell which columns others know. That is for you to decide.", "dim")


HALF = 0.5
"""A column that sets so many rows apart needs no other."""


def _why(column: "ColumnReason", together: Mapping[str, tuple[int, float]]) -> str:
    if column.naming:
        return "seems to name people: drop it"
    if column.alone >= HALF:
        return "enough by itself"
    if column.name not in together:
        return ""
    place, share = together[column.name]
    return f"{place}: {percent(share)}" if place == 1 else f"{place}: {percent(share)} with those above"


def register(app: typer.Typer) -> None:
    """Add the three commands."""
    app.command(
        help="Generalize a table as little as its promises allow (k-anonymity, l-diversity, t-closeness).\n\n"
        "The file says which columns are quasi-identifiers, what their values may be generalized to, what "
        "every group of equal rows must promise, and how many rows may be left out; "
        "[bold]tabveil hierarchies[/] proposes one. The optimum is exact, or said not to be proven. "
        "A promise about groups is a property, no proof against every attacker.",
        epilog="Examples:\n\n"
        "[cyan]tabveil anonymize --data patients.csv --config anonymize.yaml --out released.csv[/]\n\n"
        "[cyan]tabveil anonymize --data p.csv --config a.yaml --out r.csv --html how.html --json how.json[/]",
    )(anonymize)
    app.command(
        help="Propose a file to edit for [bold]tabveil anonymize[/]: a hierarchy for each column.\n\n"
        "Numbers get rounded quantile cuts, dates calendar units, codes prefixes, labels their frequency. "
        "Labels that fewer than ten rows share are not written into it.",
        epilog="Examples:\n\n[cyan]tabveil hierarchies patients.csv --out anonymize.yaml[/]\n\n"
        "[cyan]tabveil hierarchies patients.csv --column age --column sex[/]",
    )(hierarchies)
    app.command(
        "quasi-identifiers",
        help="Show which columns set people apart, alone and together: of those, ask first whether others "
        "may know them.\n\n"
        "A quasi-identifier is a column that others may know of a person. The table does not tell which "
        "these are: this ranks the columns, and you decide.",
        epilog="Examples:\n\n[cyan]tabveil quasi-identifiers patients.csv[/]\n\n"
        "[cyan]tabveil quasi-identifiers patients.csv --missing '?' --json -[/]",
    )(quasi_identifiers)
