"""``tabveil attack``: what does a generator that you own reveal about single people?"""

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import files
from tabveil.cli.files import STDOUT, write_json
from tabveil.cli.options import Drop, Force, Missing, Scheduler, Schema, Settings, Threads, option
from tabveil.cli.screen import Screen


def attack(
    *,
    data: Annotated[Path, option("FILE", "The real rows that a release is learned from.")],
    generator: Annotated[
        str | None, option("NAME", "See 'tabveil synthesize --help'; trees if left out.")
    ] = None,
    settings: Settings = None,
    config: Annotated[
        Path | None, option("FILE", "A file as 'tabveil synthesize --config' takes it.")
    ] = None,
    command: Annotated[
        str | None, option("TEXT", "A command of your own; also {rows} and {seed} are filled in.")
    ] = None,
    control: Annotated[
        Path | None, option("FILE", "Other real rows, to stand in for targets; else a fifth of the data.")
    ] = None,
    secret: Annotated[
        str | None, option("COLUMN", "Also guess this column's value; as many fits again.")
    ] = None,
    targets: Annotated[int, option("N", "How many people to attack.", min=1)] = 40,
    fits: Annotated[int, option("N", "How many times to fit the generator.", min=40)] = 400,
    rows: Annotated[
        int | None, option("N", "Rows that each fit learns from; all that there are if left out.", min=2)
    ] = None,
    draw: Annotated[
        int | None, option("N", "Rows drawn from each fit; as many as it learns from.", min=1)
    ] = None,
    game: Annotated[
        str,
        option("fixed|redrawn", "One table for all fits but for the targets, or other people for each fit."),
    ] = "fixed",
    rare_labels: Annotated[
        str | None, option("pool|keep", "As in 'tabveil synthesize', pool if left out; not for commands.")
    ] = None,
    schema: Schema = None,
    drop: Drop = None,
    missing: Missing = None,
    seed: Annotated[int, option("N", "Same seed, same numbers.", min=0)] = 0,
    store: Annotated[
        Path | None, option("FOLDER", "Keep every fit here, to go on after an interruption.")
    ] = None,
    workers: Annotated[int | None, option("N", "How many processes to use; one if left out.", min=1)] = None,
    scheduler: Scheduler = None,
    threads: Threads = None,
    time_limit: Annotated[float, option("SECONDS", "How long a command may take for one fit.")] = 600.0,
    size_limit: Annotated[float, option("MB", "How much a command may write for one fit.")] = 1000.0,
    json: Annotated[Path | None, option("FILE", "Write the result as JSON; '-' is standard output.")] = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table, no progress.")] = False,
) -> None:
    """Attack a generator."""
    from tabveil.cli.progress import progress_shown, progress_to_go_on
    from tabveil.cli.synthesize import read_settings
    from tabveil.render.black_box import TITLE, access_text, shown
    from tabveil.workflows import black_box as attacking

    target = files.destination("--json", json, force=force, not_over=[data, config, control, schema])
    showing = progress_shown if store is None else progress_to_go_on
    with showing(quiet=quiet) as listener:
        found = attacking.attack(
            data,
            generator=generator,
            settings=read_settings(settings or ()),
            config=config,
            command=command,
            control=control,
            secret=secret,
            targets=targets,
            fits=fits,
            rows=rows,
            draw=draw,
            game=game,  # type: ignore[arg-type] # checked where it is used
            rare_labels=rare_labels,  # type: ignore[arg-type] # likewise
            schema=schema,
            drop=drop or (),
            missing=tuple(missing or ()),
            seed=seed,
            store=store,
            workers=workers,
            scheduler=scheduler,
            threads=threads,
            time_limit=time_limit,
            size_limit=size_limit,
            progress=listener,
        )
    write_json(found.json_text().rstrip("\n"), target)
    if not quiet:
        screen = Screen(stderr=json == STDOUT)
        screen.say(TITLE, style="bold")
        screen.print(access_text(shown(found)))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Attack a generator that you own: what does it reveal about single people?\n\n"
        "It is fitted again and again, each time with some of the targets and without the others. An "
        "attacker learns from half of the releases who was in, and is tried on the other half. Half of the "
        "targets are the rows that are farthest from all others, half are drawn at random.\n\n"
        "A generator is a name ([bold]--generator[/], with [bold]--set[/]), a file ([bold]--config[/]), or a "
        "command of your own ([bold]--command[/]): it reads {train}, writes {out}, and is started without a "
        "shell, in a folder of its own; files that it names are found from here. With [bold]--store[/] every "
        "fit is kept at once: after an interruption the same command goes on where it was.",
        epilog="Examples:\n\n"
        "[cyan]tabveil attack --data train.csv --generator trees --json attack.json[/]\n\n"
        "[cyan]tabveil attack --data train.csv --generator aim --set epsilon=1 --fits 200 --store fits[/]\n\n"
        "[cyan]tabveil attack --data train.csv --command 'python make.py {train} {out}' --store fits[/]\n\n"
        "[cyan]tabveil attack --data train.csv --config generator.yaml --secret income[/]\n\n"
        "[cyan]tabveil audit --train train.csv --synthetic out.csv --shadow attack.json --html "
        "report.html[/]",
    )(attack)
