"""What can be asked about generators on the command line: learn a table and draw rows, draw more rows.

The work itself is in ``synthetic``, imported when a command runs: ``--help`` must not wait for pandas.
"""
# ruff: noqa: PLC0415 - see above

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tabveil.cli.files import Force
from tabveil.cli.options import Missing, Schema

FILE, FOLDER, N = "FILE", "FOLDER", "N"
Out = Annotated[
    Path, typer.Option(metavar=FILE, help="Where to write the rows (.csv, .parquet, .feather ...).")
]
Threads = Annotated[
    int | None, typer.Option(metavar=N, min=1, help="How many threads to use; all cores if left out.")
]
Save = Annotated[
    Path | None, typer.Option(metavar=FOLDER, help="Keep the model here, to draw more rows later. Sensitive.")
]
Seed = Annotated[int, typer.Option(metavar=N, min=0, help="Same seed, same rows.")]

_SYNTHESIZE = (
    "Learn a table and write new rows that look like it.\n\n"
    "The rows have the columns, types and formats of the data. They can still betray the people behind them: "
    "audit them before they leave the house. Hold back rows with [bold]tabveil split[/] first and name them "
    "with --control: the rows are then audited before they are written. "
    "Ctrl-C while a network is trained keeps its best state up to then."
)
_EXAMPLES = (
    "Examples:\n\n"
    "[cyan]tabveil synthesize --data train.csv --generator trees --out out.csv[/]\n\n"
    "[cyan]tabveil synthesize --data t.parquet --rows 5000 --save model --out s.parquet[/]\n\n"
    "[cyan]tabveil synthesize --data t.csv --generator copy --set noise=0.1 --out s.csv[/]\n\n"
    "[cyan]tabveil synthesize --data t.csv --schema schema.yaml --missing '?' --out s.csv[/]\n\n"
    "[cyan]tabveil synthesize --data train.csv --control control.csv --out out.csv[/]\n\n"
    "[cyan]tabveil synthesize --data train.csv --config pipeline.yaml --out out.csv[/]"
)


class Teaching(TyperCommand):
    """A command whose help lists the registered generators, looked up only when somebody asks."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - the parser's own objects
        """Write the help."""
        from tabveil.cli.synthetic import generators

        self.epilog = f"Generators, with their settings for --set:\n\n{generators()}\n\n{_EXAMPLES}"
        super().format_help(ctx, formatter)


def synthesize(
    *,
    data: Annotated[Path, typer.Option(metavar=FILE, help="The real rows to learn from.")],
    out: Out,
    generator: Annotated[
        str | None, typer.Option(metavar="NAME", help="How to learn; see below. If left out: trees.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar=FILE,
            help="A YAML or JSON file with generator, settings, rows, seed, schema and more, also steps "
            "before and after (deduplicate, pseudonymize, filter); what is given here replaces what it says.",
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar=N, min=1, help="How many rows to draw; as many as the data.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the generator. Repeatable."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar=N,
            min=0,
            help="Same seed, same rows. If left out: 0; private generators take a secret one.",
        ),
    ] = None,
    schema: Schema = None,
    missing: Missing = None,
    rare_labels: Annotated[
        str | None,
        typer.Option(
            metavar="pool|keep",
            help="Labels that fewer than ten rows share: learn them as others (if left out), or as they are.",
        ),
    ] = None,
    identifiers: Annotated[
        str | None,
        typer.Option(
            metavar="fresh|drop|learn",
            help="Columns that name people: fresh ones of the same form (if left out), left out, or learned "
            "as they are.",
        ),
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option(
            metavar=FILE,
            help="Real rows that are not learned from: what was made is audited with them, and judged.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar=FILE,
            help="Judge by this policy instead of the default, and let the exit code follow.",
        ),
    ] = None,
    threads: Threads = None,
    save: Save = None,
    force: Force = False,
) -> int:
    """Learn a file and write rows."""
    from tabveil.cli import synthetic

    return synthetic.synthesize(
        data=data,
        out=out,
        generator=generator,
        config=config,
        rows=rows,
        settings=settings or (),
        seed=seed,
        schema=schema,
        missing=tuple(missing or ()),
        rare_labels=rare_labels,  # type: ignore[arg-type] # checked where it is used
        identifiers=identifiers,  # type: ignore[arg-type] # likewise
        control=control,
        policy=policy,
        threads=threads,
        save=save,
        force=force,
    )


def sample(
    *,
    folder: Annotated[Path, typer.Argument(metavar=FOLDER, help="A stored model.", show_default=False)],
    rows: Annotated[int, typer.Option(metavar=N, min=1, help="How many rows to draw.")],
    out: Out,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Draw rows from a stored model."""
    from tabveil.cli import synthetic

    synthetic.sample(folder=folder, rows=rows, out=out, seed=seed, threads=threads, force=force)


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command(cls=Teaching, help=_SYNTHESIZE, epilog=_EXAMPLES)(synthesize)
    app.command(
        help="Draw more rows from a model that [bold]tabveil synthesize --save[/] stored.\n\n"
        "The seed of the first release draws its rows again; another seed draws fresh ones.",
        epilog="Example:\n\n[cyan]tabveil sample model --rows 5000 --seed 1 --out more.csv[/]",
    )(sample)
