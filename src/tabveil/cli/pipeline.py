"""What can be asked about pipelines on the command line: run one, and audit every stage of it.

The work itself is in ``pipelines``, imported when a command runs: ``--help`` must not wait for pandas.
"""
# ruff: noqa: PLC0415 - see above

from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.files import Force, Html, Json
from tabveil.cli.options import Missing, Schema
from tabveil.cli.synthesize import FILE, N, Save, Threads

COLUMN, TEXT = "COLUMN", "TEXT"
_HELP = (
    "Anonymize, sample and generate a table, and audit every stage of that.\n\n"
    "The file says how: it names the generator [bold]hybrid[/] and its settings, as for [bold]tabveil "
    "synthesize --config[/]. It may also deduplicate and pseudonymize the rows, and filter the release. "
    "Rows are held back as control first. Then four tables are audited, each as if it were the release: the "
    "original rows, the anonymized ones, the final ones (and those before a filter), and those of the "
    "generator where it learns the original rows. So the page shows where the risk goes, what that costs in "
    "usefulness, and what the pipeline changes beside its generator alone. "
    "With [bold]--policy[/] or [bold]--fail-above[/] the exit code tells the verdict on the final rows: "
    "0 within, 1 above, 3 inconclusive."
)
_EXAMPLES = (
    "Examples:\n\n"
    "[cyan]tabveil pipeline --config pipeline.yaml --data patients.csv --html pipeline.html[/]\n\n"
    "[cyan]tabveil pipeline --config p.yaml --data t.csv --control c.csv --out out.csv --save model[/]\n\n"
    "[cyan]tabveil pipeline --config p.yaml --data d.parquet --quick --rows 5000 --seed 1 --json run.json[/]"
)


def pipeline(
    *,
    config: Annotated[
        Path,
        typer.Option(metavar=FILE, help="The pipeline: generator, settings, steps, rows, seed (YAML, JSON)."),
    ],
    data: Annotated[Path, typer.Option(metavar=FILE, help="The real rows.")],
    control: Annotated[
        Path | None,
        typer.Option(metavar=FILE, help="Real rows that nothing learns from; else some are held back."),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="The share of rows to hold back; 0.3 if left out.", show_default=False
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar=COLUMN, help="Rows with the same value (one person) stay together.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar=N, min=1, help="How many rows to make; as many as are learned from.")
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run only this one (see 'tabveil metrics'). Repeatable."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out what takes longer than seconds.")] = False,
    secrets: Annotated[
        list[str] | None,
        typer.Option(
            metavar=COLUMN, help="A column attackers want to learn. Repeatable; chosen if left out."
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar=COLUMN, help="A column attackers know of a person. Repeatable; else all others."
        ),
    ] = None,
    utility: Annotated[
        bool, typer.Option("--utility/--no-utility", help="Whether to measure usefulness, too.")
    ] = True,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar=COLUMN, help="A column models should predict (for usefulness). Repeatable."),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar=FILE, help="Accepted risks, as written by 'tabveil policy'. Sets the exit code."
        ),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(metavar="RISK", help="One threshold for all risks, such as 0.05. Sets the exit code."),
    ] = None,
    schema: Schema = None,
    missing: Missing = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar=N,
            min=0,
            help="Same seed, same rows and numbers. If left out: 0; where a promise needs it, a secret one.",
        ),
    ] = None,
    threads: Threads = None,
    title: Annotated[str | None, typer.Option(metavar=TEXT, help="What the report is called.")] = None,
    html: Html = None,
    json: Json = None,
    out: Annotated[
        Path | None, typer.Option(metavar=FILE, help="Write the final rows (.csv, .parquet, .feather ...).")
    ] = None,
    save: Save = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No tables, no progress.")] = False,
) -> int:
    """Run a pipeline."""
    from tabveil.cli import pipelines

    return pipelines.run(
        config=config,
        data=data,
        control=control,
        asked={
            "holdout": holdout,
            "by": by,
            "rows": rows,
            "title": title or "",
            "metrics": pipelines.metrics(metrics) if metrics else None,
            "quick": quick,
            "secrets": secrets or None,
            "known": known or None,
            "utility": utility,
            "target": target or None,
            "seed": seed,
            "schema": schema,
            "missing": tuple(missing or ()),
            "threads": threads,
        },
        policy=policy,
        fail_above=fail_above,
        outputs=pipelines.Outputs(html=html, json=json, out=out, save=save, force=force, quiet=quiet),
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(help=_HELP, epilog=_EXAMPLES)(pipeline)
