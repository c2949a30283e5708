"""Running searches: what is imported first, shown at the end, and written."""

from collections.abc import Sequence
from pathlib import Path

from tabveil.benchmark.own_code import import_files
from tabveil.cli import files
from tabveil.cli.exit_codes import NOTHING_FOUND, Interrupted
from tabveil.cli.progress import progress_shown
from tabveil.cli.screen import Screen, show_json
from tabveil.render.tuning import page
from tabveil.render.tuning_text import summary
from tabveil.tuning import tune
from tabveil.writing import write_text

STDOUT = Path("-")


def run(
    *,
    config: Path,
    store: Path,
    workers: int | None,
    scheduler: str | None,
    code: Sequence[Path],
    retry: bool,
    html: Path | None,
    json: Path | None,
    force: bool,
    quiet: bool,
) -> int:
    """Search, show what was found, and write page and numbers."""
    targets: list[Path] = []
    for option, path in (("--html", html), ("--json", json)):
        if path is not None and path != STDOUT:
            targets.append(files.writable(option, path, force=force, not_over=[config, *targets]))
    import_files(code)
    try:
        with progress_shown(quiet=quiet) as listener:
            found = tune(
                config,
                store,
                workers=workers,
                scheduler=scheduler,
                code=code,
                retry=retry,
                progress=listener,
            )
    except KeyboardInterrupt:
        raise Interrupted("interrupted; what was done is kept, run the same command to go on.") from None
    if html is not None:
        write_text(html.resolve(), page(found))
    if json == STDOUT:
        show_json(found.json_text().rstrip("\n"))
    elif json is not None:
        write_text(json.resolve(), found.json_text())
    if not quiet:
        # JSON on standard output is for a program; the table then goes where people look.
        Screen(stderr=json == STDOUT).print(summary(found))
        if html is not None:
            Screen(stderr=True).say(f"The report to read and print: {html}")
    return 0 if found.choice is not None else NOTHING_FOUND
