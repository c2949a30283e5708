"""``tabveil audit-epsilon``: does a private generator keep the ε that it states?"""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.exit_codes import Interrupted
from tabveil.cli.files import STDOUT, write_json
from tabveil.cli.options import Force, Json, Settings, Workers, option
from tabveil.cli.screen import Screen


def audit_epsilon(
    *,
    generator: Annotated[str, option("NAME", "The generator.")],
    epsilon: Annotated[float | None, option("E", "The promise; the generator's own if left out.")] = None,
    delta: Annotated[float | None, option("D", "Its δ; the generator's own if left out.")] = None,
    fits: Annotated[
        int, option("N", "Fits in each of the two worlds. Decide on it beforehand.", min=2)
    ] = 1000,
    alpha: Annotated[float, option("A", "The chance that a bound is above the truth, at most.")] = 0.05,
    rows: Annotated[int, option("N", "Rows of each release.", min=1)] = 100,
    settings: Settings = None,
    accounting: Annotated[
        str | None,
        option(
            "any|concentrated|gaussian",
            "What the promise rests on, and so what proves it broken; else what is known of it.",
        ),
    ] = None,
    code: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE", help="A Python file with generators of your own. Repeatable."),
    ] = None,
    seed: Annotated[int | None, option("N", "Repeats an audit; secret seeds if left out.", min=0)] = None,
    workers: Workers = None,
    store: Annotated[
        Path | None, option("FOLDER", "Keep what was fitted; the same command goes on where it was.")
    ] = None,
    json: Json = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No text, no progress.")] = False,
) -> int:
    """Audit a promise."""
    import json as json_text

    from tabveil.cli.progress import progress_shown
    from tabveil.cli.synthesize import read_settings
    from tabveil.workflows import epsilon as epsilons
    from tabveil.workflows.cells.own_code import import_files

    target = files.destination("--json", json, force=force)
    if store is not None:
        files.folder("--store", store)
    import_files(code or ())
    try:
        with progress_shown(quiet=quiet) as listener:
            found = epsilons.audit_epsilon(
                generator,
                epsilon=epsilon,
                delta=delta,
                fits=fits,
                alpha=alpha,
                rows=rows,
                settings=read_settings(settings or ()),
                accounting=accounting,  # type: ignore[arg-type] # checked where it is used
                code=code or (),
                seed=seed,
                workers=workers,
                store=store,
                progress=listener,
            )
    except KeyboardInterrupt:
        kept = "what was done is kept, run the same command to go on" if store else "nothing is kept"
        raise Interrupted(f"interrupted; {kept}.") from None
    numbers = {"state": found.state, "proven": found.proven, **found.to_json()}
    write_json(json_text.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False), target)
    if not quiet:
        # JSON on standard output is for a program; the text then goes where people look.
        screen = Screen(stderr=json == STDOUT)
        for line in found.lines():
            screen.say(line)
    return found.exit_code


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        name="audit-epsilon",
        help="Does a private generator keep the ε it states?\n\n"
        "Fits it many times in two invented worlds that differ in one row, lets somebody guess from each "
        "release which world it comes from, and says which ε the guesses prove, beside the promise. Nobody's "
        "data are needed. Half of the fits choose how to guess, half are tested.\n\n"
        "It says whether the promise is broken, and how strong a violation so many fits could have seen. No "
        "violation seen is no proof: noise hides much from whoever sees releases alone. Exit code 0: no "
        "violation seen; 1: violated; 3: inconclusive, because so few fits could prove nothing, or one row "
        "shows more than promised by a bound that is no proof for this mechanism; 2: an input is at "
        "fault.\n\n"
        "Generators of your own join by [bold]--with[/]: a Python file that registers them with "
        "GENERATORS.add. It is run, here and by every worker.",
        epilog="Examples:\n\n"
        "[cyan]tabveil audit-epsilon --generator aim --epsilon 1[/]\n\n"
        "[cyan]tabveil audit-epsilon --generator pategan --epsilon 4 --fits 2000 --workers 2 --store "
        "fits[/]\n\n"
        "[cyan]tabveil audit-epsilon --generator aim --epsilon 1 --delta 1e-5 --json found.json "
        "--quiet[/]\n\n"
        "[cyan]tabveil audit-epsilon --with mine.py --generator mine --epsilon 1 --delta 1e-5 "
        "--accounting gaussian[/]",
    )(audit_epsilon)
