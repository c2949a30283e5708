"""``tabveil benchmark``: judge metrics by a known risk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from tabveil.cli import files
from tabveil.cli.exit_codes import CELLS_FAILED
from tabveil.cli.options import Force, Html, Json, OwnCode, Retry, Scheduler, Workers, option
from tabveil.cli.screen import Screen
from tabveil.core.wording import plural

if TYPE_CHECKING:
    from tabveil.workflows import benchmark
    from tabveil.workflows.benchmark.findings import Findings
    from tabveil.workflows.tuning import SearchFindings

MOST_REASONS = 5

Done = TypeVar("Done")
Found = TypeVar("Found", "Findings", "SearchFindings")

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
    store: Annotated[Path, option("FOLDER", "Where to keep what is found.")],
    workers: Workers = None,
    scheduler: Scheduler = None,
    code: OwnCode = None,
    retry: Retry = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress.")] = False,
) -> int:
    """Run a study."""
    import shlex

    from tabveil.cli.progress import kept
    from tabveil.workflows import benchmark

    asked = {"workers": workers, "scheduler": scheduler, "retry": retry}
    outcome = kept(benchmark.run, config, store, code=code or (), quiet=quiet, **asked)
    if not quiet:
        _tell(Screen(), outcome, store)
        Screen().say(
            f"See what was found:\n  tabveil benchmark report {shlex.quote(str(store))}", style="dim"
        )
    return CELLS_FAILED if outcome.n_failed else 0


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
        Path, typer.Argument(metavar="FOLDER", help="The store of a benchmark.", show_default=False)
    ],
    html: Html = None,
    json: Json = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table.")] = False,
) -> None:
    """Report a study."""
    from tabveil.core.workers import working
    from tabveil.render.benchmark.page import page, summary
    from tabveil.workflows.benchmark.findings import find

    files.destinations(html=html, json=json, force=force)
    with working(warned=None if quiet else Screen(stderr=True).say):
        found = find(store)
    files.write_found(found, page=page, summary=summary, html=html, json=json, quiet=quiet)


def _tell(screen: Screen, outcome: "benchmark.Outcome", store: Path) -> None:
    """Say how many cells there are, why some failed, and what can be done about it."""
    screen.say(
        f"{store}: {plural(outcome.known, 'cell')} known before, {outcome.new:,} new, "
        f"{outcome.n_failed:,} failed."
    )
    reasons = sorted(outcome.failures.items(), key=lambda item: -item[1])
    for why, n in reasons[:MOST_REASONS]:
        screen.say(f"  {n:,} failed: {why}")
    if len(reasons) > MOST_REASONS:
        screen.say(f"  and {plural(len(reasons) - MOST_REASONS, 'further reason')}.")
    if outcome.left:
        screen.say(f"{plural(outcome.left, 'cell')} failed in an earlier run and were not tried again.")
    if outcome.n_failed or outcome.left:
        screen.say("The same command with --retry tries failed cells again.")


def register(root: typer.Typer) -> None:
    """Add both commands, in a group of their own."""
    root.add_typer(app)
