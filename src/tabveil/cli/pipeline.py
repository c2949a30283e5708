"""``tabveil pipeline``: anonymize, sample and generate a table, and audit every stage of that."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tabveil.cli import files
from tabveil.cli.audit import metrics_asked, threshold
from tabveil.cli.files import STDOUT, write_json
from tabveil.cli.options import (
    Drop,
    FailAbove,
    Force,
    Html,
    Json,
    Missing,
    Save,
    Schema,
    Threads,
    asked,
    option,
)
from tabveil.cli.screen import Screen
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from tabveil.workflows.pipeline import PipelineReport


def pipeline(
    *,
    config: Annotated[
        Path, option("FILE", "The pipeline: generator, settings, steps, rows, seed (YAML, JSON).")
    ],
    data: Annotated[Path, option("FILE", "The real rows.")],
    control: Annotated[
        Path | None, option("FILE", "Real rows that nothing learns from; else some are held back.")
    ] = None,
    holdout: Annotated[
        float | None, option("SHARE", "The share of rows to hold back; 0.3 if left out.", show_default=False)
    ] = None,
    by: Annotated[
        str | None, option("COLUMN", "Rows with the same value (one person) stay together.")
    ] = None,
    rows: Annotated[
        int | None, option("N", "How many rows to make; as many as are learned from.", min=1)
    ] = None,
    metrics: Annotated[
        list[str] | None, option("NAME", "Run only this one (see 'tabveil metrics'). Repeatable.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out what takes longer than seconds.")] = False,
    secrets: Annotated[list[str] | None, asked("secrets")] = None,
    known: Annotated[list[str] | None, asked("known")] = None,
    utility: Annotated[
        bool, typer.Option("--utility/--no-utility", help="Whether to measure usefulness, too.")
    ] = True,
    target: Annotated[list[str] | None, asked("target")] = None,
    policy: Annotated[Path | None, asked("policy")] = None,
    fail_above: FailAbove = None,
    schema: Schema = None,
    drop: Drop = None,
    missing: Missing = None,
    seed: Annotated[
        int | None,
        option(
            "N",
            "Same seed, same rows and numbers. If left out: 0; where a promise needs it, a secret one.",
            min=0,
        ),
    ] = None,
    threads: Threads = None,
    title: Annotated[str | None, option("TEXT", "What the report is called.")] = None,
    html: Html = None,
    json: Json = None,
    out: Annotated[
        Path | None, option("FILE", "Write the final rows (.csv, .parquet, .feather ...).")
    ] = None,
    save: Save = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No tables, no progress.")] = False,
) -> int:
    """Run a pipeline."""
    from tabveil.auditing.policy import read_policy
    from tabveil.auditing.verdict import EXIT_CODES
    from tabveil.cli.progress import progress_shown
    from tabveil.workflows.pipeline import run_pipeline

    read = [config, data, control, policy, schema, save]
    if save is not None:
        files.refuse_folder(save)
    html_place, json_place = files.destinations(html=html, json=json, force=force, not_over=read)
    written = [*read, html_place, json_place]
    rows_place = None if out is None else files.rows_file(out, force=force, not_over=written)
    for name, path in (("--data", data), ("--control", control)):
        if path is not None and not path.is_file():
            raise ParameterError(name, f"there is no file {path}.")
    judged_by = None if policy is None and fail_above is None else read_policy(policy)
    if judged_by is not None and fail_above is not None:
        judged_by = judged_by.with_threshold(threshold(fail_above))
    with progress_shown(quiet=quiet) as listener:
        report = run_pipeline(
            data,
            config,
            control=control,
            holdout=holdout,
            by=by,
            rows=rows,
            title=title or "",
            metrics=metrics_asked(metrics) if metrics else None,
            quick=quick,
            secrets=secrets or None,
            known=known or None,
            utility=utility,
            target=target or None,
            policy=judged_by,
            seed=seed,
            schema=schema,
            drop=drop or (),
            missing=tuple(missing or ()),
            threads=threads,
            progress=listener,
        )
    if save is not None:
        report.save(save)
    if rows_place is not None:
        report.write(rows_place)
    write_json(report.to_json(), json_place)
    if html_place is not None:
        report.to_html(html_place)
    if not quiet:
        _show(report, json=json, out=out, save=save, html=html)
    return 0 if judged_by is None else EXIT_CODES[report.verdict.state]


def _show(
    report: "PipelineReport", *, json: Path | None, out: Path | None, save: Path | None, html: Path | None
) -> None:
    from tabveil.render.pipeline.page import summary

    # JSON on standard output is for a program; the tables then go where people look.
    Screen(stderr=json == STDOUT).print(summary(report))
    beside = Screen(stderr=True)
    if out is not None:
        beside.print(Text(f"{out}: {len(report.rows.table):,} rows."), soft_wrap=True)
    if save is not None:
        beside.say(f"{save}: the model. It holds what was learned from people: guard it like the data.")
    if html is not None:
        beside.say(f"The page to read and print: {html}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Anonymize, sample and generate a table, and audit every stage of that.\n\n"
        "The file says how: it names the generator [bold]hybrid[/] and its settings, as for [bold]tabveil "
        "synthesize --config[/]. It may also deduplicate, pseudonymize and perturb the rows, and "
        "filter the release. "
        "Rows are held back as control first. Then four tables are audited, each as if it were the release: "
        "the original rows, the anonymized ones, the final ones (and those before a filter), and those of "
        "the generator where it learns the original rows. So the page shows where the risk goes, what that "
        "costs in usefulness, and what the pipeline changes beside its generator alone. "
        "With [bold]--policy[/] or [bold]--fail-above[/] the exit code tells the verdict on the final rows: "
        "0 within, 1 above, 3 inconclusive.",
        epilog="Examples:\n\n"
        "[cyan]tabveil pipeline --config pipeline.yaml --data patients.csv --html pipeline.html[/]\n\n"
        "[cyan]tabveil pipeline --config p.yaml --data t.csv --control c.csv --out out.csv --save "
        "model[/]\n\n"
        "[cyan]tabveil pipeline --config p.yaml --data d.parquet --quick --rows 5000 --seed 1 --json "
        "run.json[/]",
    )(pipeline)
