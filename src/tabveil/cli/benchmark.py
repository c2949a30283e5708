"""What can be asked about benchmarks on the command line: run a study, report what it found.

The work itself is in ``studies``, imported when a command runs: ``--help`` must not wait for pandas.
"""
# ruff: noqa: PLC0415 - see above

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.files import Force, Html, Json
from tabveil.cli.options import OwnCode, Retry, Scheduler, Workers

FOLDER = "FOLDER"
app = typer.Typer(
    name="benchmark",
    invoke_without_command=True,
    rich_markup_mode="rich",
    help="Judge metrics by a risk that is known: insert it, and see what each metric sees.",
    epilog="Begin with [bold]tabveil benchmark run --help[/], which shows a study.",
)


@app.callback()
def _root(context: typer.Context) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    help="Run a study: metrics × risk models × levels × datasets × repeats, from one file.\n\n"
    "The file (YAML, JSON) names datasets, risks and metrics, and says how often each level is repeated. "
    "Whatever is done is kept in the store at once: after an interruption, the same command goes on where it "
    "was, and a changed study runs only what changed. Exit code 1: cells failed in this run; all others are "
    "known, and [bold]--retry[/] tries the failed ones again.\n\n"
    "Metrics, risk models and datasets of your own join by [bold]--with[/]: a Python file that registers "
    "them, such as METRICS.add(Mine). It is run, here and by every worker.",
    epilog="Examples:\n\n"
    "[cyan]tabveil benchmark run study.yaml --store found[/]\n\n"
    "[cyan]tabveil benchmark run study.yaml --store found --workers 8 --retry[/]\n\n"
    "[cyan]tabveil benchmark run study.yaml --store found --with my_metric.py[/]\n\n"
    "[cyan]tabveil benchmark run study.yaml --store found --scheduler tcp://head:8786[/]\n\n"
    "[cyan]tabveil benchmark report found --html found.html[/]\n\n"
    "A study:\n\n"
    "repeats: 10\n\nrows: 1000\n\ndatasets: \\[hospital, {file: patients.csv}]\n\n"
    "risks: \\[{name: leaky, levels: \\[0, 0.01, 0.05, 0.2]}]\n\n"
    "metrics: \\[linkability, membership_distance]",
)
def run(
    *,
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The study.", show_default=False)],
    store: Annotated[Path, typer.Option(metavar=FOLDER, help="Where to keep what is found.")],
    workers: Workers = None,
    scheduler: Scheduler = None,
    code: OwnCode = None,
    retry: Retry = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress.")] = False,
) -> int:
    """Run a study."""
    from tabveil.cli import studies

    return studies.run(
        config=config,
        store=store,
        workers=workers,
        scheduler=scheduler,
        code=tuple(code or ()),
        retry=retry,
        quiet=quiet,
    )


@app.command(
    help="Report what a benchmark found: which metrics to take, score cards, curves, correlations, times.\n\n"
    "Needs the store alone, no data. It can be made while a study still runs, from what is known by then.",
    epilog="Examples:\n\n"
    "[cyan]tabveil benchmark report found[/]\n\n"
    "[cyan]tabveil benchmark report found --html found.html --json found.json[/]",
)
def report(
    *,
    store: Annotated[
        Path, typer.Argument(metavar=FOLDER, help="The store of a benchmark.", show_default=False)
    ],
    html: Html = None,
    json: Json = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table.")] = False,
) -> None:
    """Report a study."""
    from tabveil.cli import studies

    studies.report(store=store, html=html, json=json, force=force, quiet=quiet)
