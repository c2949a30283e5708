"""Running searches: what is imported first, shown at the end, and written."""

from collections.abc import Sequence
from pathlib import Path

from tabveil.cli.exit_codes import NOTHING_FOUND
from tabveil.cli.findings import require_writable, write_found
from tabveil.cli.progress import progress_to_go_on
from tabveil.render.tuning.page import page
from tabveil.render.tuning.terminal import summary
from tabveil.workflows.cells.own_code import import_files
from tabveil.workflows.tuning import tune


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
    require_writable(html, json, force=force, not_over=[config])
    import_files(code)
    with progress_to_go_on(quiet=quiet) as listener:
        found = tune(
            config,
            store,
            workers=workers,
            scheduler=scheduler,
            code=code,
            retry=retry,
            progress=listener,
        )
    write_found(found, page=page, summary=summary, html=html, json=json, quiet=quiet)
    return 0 if found.choice is not None else NOTHING_FOUND
