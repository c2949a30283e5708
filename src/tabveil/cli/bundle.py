"""``tabveil bundle``: all that belongs to a decision in one file, and is it whole?"""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.options import Force, option
from tabveil.cli.screen import Screen
from tabveil.errors import ParameterError


def bundle(
    *,
    report: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="A report, as 'tabveil audit --json' wrote it.", show_default=False
        ),
    ] = None,
    out: Annotated[Path | None, option("FILE.zip", "Where to write the bundle.")] = None,
    check: Annotated[
        Path | None, option("FILE.zip", "Is this bundle whole, and does all of it belong together?")
    ] = None,
    force: Force = False,
) -> None:
    """Write a bundle, or check one."""
    if (report is None) == (check is None):
        raise ParameterError("bundle", "name a report to bundle (with --out), or a bundle with --check.")
    if check is not None:
        _check(check)
    elif report is None or out is None:
        raise ParameterError("bundle", "name the file to write with --out.")
    else:
        _write(report, out, force=force)


def _check(path: Path) -> None:
    from tabveil.render.audit.bundle import check_bundle

    for line in check_bundle(path).lines():
        Screen().say(line)


def _write(report: Path, out: Path, *, force: bool) -> None:
    from tabveil.auditing.report import Report
    from tabveil.render.audit.bundle import bundle as write

    target = files.writable("--out", out, force=force, not_over=[report])
    digest = write(report, target)
    Screen().say(f"{out}: SHA-256 {digest}")
    if Report.read(report).exposed is not None:
        Screen(stderr=True).say("It shows values of single people: guard it like the data themselves.")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Put page, numbers, policy, schema and settings of an audit into one file, with digests of all "
        "of them, to be filed with a decision.\n\n"
        "The same report gives the same bytes. [bold]--check[/] reads a bundle without unpacking it: every "
        "file must be as its digest says, nothing else may stand in it, and page, policy and settings must "
        "follow from the report. Digests find damage; they are no signature. Write the one that is shown "
        "beside your own.",
        epilog="Examples:\n\n[cyan]tabveil bundle report.json --out release.zip[/]\n\n"
        "[cyan]tabveil bundle --check release.zip[/]",
    )(bundle)
