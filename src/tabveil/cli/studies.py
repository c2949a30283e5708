"""Running studies and reporting them: what is imported first, said at the end, and written."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from tabveil.cli.exit_codes import CELLS_FAILED
from tabveil.cli.findings import require_writable, write_found
from tabveil.cli.progress import progress_to_go_on
from tabveil.cli.screen import Screen
from tabveil.core.wording import plural
from tabveil.render.benchmark.page import page
from tabveil.render.benchmark.terminal import summary
from tabveil.workflows import benchmark
from tabveil.workflows.benchmark.findings import find
from tabveil.workflows.cells.own_code import import_files

MOST_REASONS = 5


def run(
    *,
    config: Path,
    store: Path,
    workers: int | None,
    scheduler: str | None,
    code: Sequence[Path],
    retry: bool,
    quiet: bool,
) -> int:
    """Run a study, and say what came of it; cells that failed in this run set the exit code."""
    import_files(code)
    with progress_to_go_on(quiet=quiet) as listener:
        outcome = benchmark.run(
            config,
            store,
            workers=workers,
            scheduler=scheduler,
            code=code,
            retry=retry,
            progress=listener,
        )
    if not quiet:
        _tell(outcome, store)
    return CELLS_FAILED if outcome.n_failed else 0


def _tell(outcome: benchmark.Outcome, store: Path) -> None:
    """Say how many cells there are, why some failed, and what can be done next."""
    screen = Screen()
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
    screen.say(f"See what was found:\n  tabveil benchmark report {shlex.quote(str(store))}", style="dim")


def report(*, store: Path, html: Path | None, json: Path | None, force: bool, quiet: bool) -> None:
    """Show the score cards of a store, and write page and numbers."""
    require_writable(html, json, force=force, not_over=[])
    write_found(find(store), page=page, summary=summary, html=html, json=json, quiet=quiet)
