"""``tabveil tune``: search settings of a generator."""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.exit_codes import NOTHING_FOUND
from tabveil.cli.options import Drop, Force, Html, Json, OwnCode, Retry, Scheduler, Workers, option


def tune(
    *,
    config: Annotated[Path, option("FILE", "The search.")],
    store: Annotated[Path, option("FOLDER", "Where to keep what is measured.")],
    drop: Drop = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    code: OwnCode = None,
    retry: Retry = False,
    html: Html = None,
    json: Json = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table, no progress.")] = False,
) -> int:
    """Search settings."""
    from tabveil.cli.progress import kept
    from tabveil.render.tuning.page import page, summary
    from tabveil.workflows import tuning

    files.destinations(html=html, json=json, force=force, not_over=[config])
    asked = {"workers": workers, "scheduler": scheduler, "retry": retry, "drop": drop or ()}
    found = kept(tuning.tune, config, store, code=code or (), quiet=quiet, **asked)
    files.write_found(found, page=page, summary=summary, html=html, json=json, quiet=quiet)
    return 0 if found.choice is not None else NOTHING_FOUND


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Search settings of a generator, a pipeline above all, for the best trade-offs of privacy and "
        "usefulness.\n\n"
        "The file (YAML, JSON) names the data, what is fixed, what may be changed, and what counts. A part "
        "of the rows is held out from the start: the configuration to take under the policy is checked on "
        "it, since the best of many looks better than it is. A configuration that cannot be run stops "
        "nothing and is listed. Whatever is measured is kept in the store at once: after an interruption, "
        "the same command goes on where it was and ends with the same numbers. Small spaces are searched on "
        "a grid, others with Optuna (the extra 'tune'). Exit code 1: no configuration has numbers.",
        epilog="Examples:\n\n"
        "[cyan]tabveil tune --config tune.yaml --store found[/]\n\n"
        "[cyan]tabveil tune --config tune.yaml --store found --workers 8 --html found.html[/]\n\n"
        "[cyan]tabveil tune --config tune.yaml --store found --retry --json found.json[/]\n\n"
        "A search:\n\n"
        "data: patients.csv\n\ngenerator: hybrid\n\n"
        "settings: {hierarchies: {age: {intervals: \\[5, 10, 20]}, sex: auto}}\n\n"
        "search: {models.0.k: \\[5, 10, 20], sampling.beta: \\[0.5, 1], transition: \\[uniform, "
        "conditional]}\n\n"
        "objectives: {privacy: \\[linkability, membership_distance], utility: discriminator}",
    )(tune)
