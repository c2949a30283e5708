"""Anonymizing files: what is read, said at the end, and written."""

import dataclasses
import json as json_text
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table as Grid
from rich.text import Text

from tabveil.cli import files
from tabveil.cli.progress import progress_shown
from tabveil.cli.screen import Screen, show, show_json
from tabveil.core.storage.files import write_text
from tabveil.core.wording import name, number, percent, plural
from tabveil.core.workers import part, tell, working
from tabveil.metrics.properties import WEAKNESSES, Properties, measure
from tabveil.render.anonymize.page import page
from tabveil.synthesis.anonymize import configuration, releasing
from tabveil.synthesis.anonymize.anonymizing import Anonymization
from tabveil.synthesis.anonymize.building import ColumnValues
from tabveil.synthesis.anonymize.proposing import Proposal, propose, template
from tabveil.synthesis.anonymize.releasing import Summary
from tabveil.tables import reading as frame
from tabveil.tables.reading import LoadedTable

STDOUT = Path("-")


def anonymize(
    *, data: Path, config: Path, out: Path, html: Path | None, json: Path | None, force: bool, quiet: bool
) -> None:
    """Generalize a table, write it, and say what that cost."""
    targets: list[Path] = []
    for option, path in (("--out", out), ("--html", html), ("--json", json)):
        if path is not None and path != STDOUT:
            targets.append(files.writable(option, path, force=force, not_over=[data, config, *targets]))
    asked = configuration.read(config)
    with progress_shown(quiet=quiet) as listener, working(listener=listener):
        tell("reading", 0.0)
        loaded = frame.load_table(data, schema=asked.schema, missing=asked.missing)
        with part(0.1, 0.9):
            found = configuration.apply(asked, loaded)
        tell("writing", 0.9)
        releasing.write(found, loaded.layout, targets[0])
        measured = _measure(found, asked, loaded)
    summary = Summary.of(found)
    if html is not None:
        write_text(html.resolve(), page(summary, measured, WEAKNESSES, title=name(data.name)))
    if json == STDOUT:
        show_json(_json(summary, measured).rstrip("\n"))
    elif json is not None:
        write_text(json.resolve(), _json(summary, measured))
    if not quiet:
        _tell(Screen(stderr=json == STDOUT), summary, measured, out)


def _measure(found: Anonymization, asked: configuration.Configuration, loaded: LoadedTable) -> Properties:
    """Measure what was promised in what is released, beside the table that came in."""
    trees = {
        column: entry.build(ColumnValues.of(loaded.table, column, loaded.layout))
        for column, entry in asked.sensitive_hierarchies.items()
    }
    return measure(
        found.table,
        quasi_identifiers=found.quasi_identifiers,
        sensitive=asked.sensitive,
        reference=found.original,
        levels={column: (tree.cells, tree.codes) for column, tree in trees.items()},
    )


def _json(summary: Summary, measured: Properties) -> str:
    said = {"summary": dataclasses.asdict(summary), "properties": dataclasses.asdict(measured)}
    return json_text.dumps(_finite(said), ensure_ascii=False, indent=1) + "\n"


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


def _tell(screen: Screen, summary: Summary, measured: Properties, out: Path) -> None:
    kept = summary.n_rows - summary.n_suppressed
    classes = plural(summary.n_classes, "class", "classes")
    screen.say(
        f"{out}: {plural(kept, 'row')} of {summary.n_rows:,} in {classes}, "
        f"the smallest of {plural(summary.smallest, 'row')}; {summary.n_suppressed:,} suppressed."
    )
    screen.say(f"Promised and measured: {'; '.join(summary.models)}.")
    for own in measured.sensitive:
        screen.say(
            f"  {name(own.column)}: {plural(own.distinct, 'different value')} in the least varied class, at "
            f"most {number(own.equal)} from the whole table, {own.information_gain:.2g} bits told on average."
        )
    screen.say(f"{summary.loss_model}: {_loss(summary)}, {_certainty(summary)}.")
    grid = Grid("column", "level", "loss", box=None, pad_edge=False, header_style="dim")
    for column in summary.columns:
        levels = ", then ".join(f"{level}" for level in column.levels)
        grid.add_row(Text(name(column.name)), f"{levels} of {column.n_levels - 1}", number(column.loss))
    screen.print(grid)


def _loss(summary: Summary) -> str:
    return number(summary.loss) if summary.loss <= 1 else f"{summary.loss:,.1f}"


def _certainty(summary: Summary) -> str:
    looked = f"{summary.n_looked_at:,} of {summary.n_nodes:,} nodes looked at"
    if summary.n_rounds > 1:
        return f"recoded locally in {summary.n_rounds} rounds ({looked} in the first)"
    if summary.proven:
        return f"the least possible ({looked}, the others ruled out)"
    return f"not proven to be the least: at least {summary.at_least:.4g} is lost ({looked})"


def hierarchies(
    *, file: Path, columns: Sequence[str], missing: Sequence[str], out: Path | None, force: bool
) -> None:
    """Write or show a file that asks for anonymization."""
    if out is not None:
        out = files.writable("--out", out, force=force, not_over=[file])
    text = template(frame.load_table(file, missing=missing), columns)
    if out is None:
        show(text)
    else:
        write_text(out, text)


def quasi_identifiers(*, file: Path, missing: Sequence[str], json: Path | None, force: bool) -> None:
    """Show which columns set people apart."""
    if json is not None and json != STDOUT:
        json = files.writable("--json", json, force=force, not_over=[file])
    found = propose(frame.load_table(file, missing=missing))
    text = json_text.dumps(dataclasses.asdict(found), ensure_ascii=False, indent=1)
    if json == STDOUT:
        show_json(text)
    elif json is not None:
        write_text(json, f"{text}\n")
    _tell_proposal(Screen(stderr=json == STDOUT), found)


def _tell_proposal(screen: Screen, found: Proposal) -> None:
    grid = Grid(
        "column", "values", "alone", "with one other", "", box=None, pad_edge=False, header_style="dim"
    )
    for column in sorted(found.columns, key=lambda item: (item.naming, -max(item.alone, item.added))):
        with_other = f"{percent(column.with_partner)} with {name(column.partner)}" if column.partner else ""
        note = "seems to name people: drop it" if column.naming else "candidate" if column.likely else ""
        grid.add_row(
            Text(name(column.name)), f"{column.n_values:,}", percent(column.alone), Text(with_other), note
        )
    screen.print(grid)
    if found.together:
        names = ", ".join(name(column) for column, _ in found.together)
        screen.say(f"Together, {names} set {percent(found.together[-1][1])} of {found.n_rows:,} rows apart.")
    screen.say(
        "Shares of rows that nobody else is like. Which of these columns others know, you decide.", "dim"
    )
