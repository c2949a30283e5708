"""What is done around an audit: compare, repeat and judge it, and get tables and metrics ready for it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tabveil.cli import files
from tabveil.cli.files import write_or_show
from tabveil.cli.options import Force, Missing, NumbersSeed, Shown, Table, option
from tabveil.cli.screen import Screen, show


def compare(
    *,
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORT...", help="JSON reports.", show_default=False)
    ],
    html: Annotated[Path | None, option("FILE", "Write the comparison as a page.")] = None,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table, no progress.")] = False,
) -> None:
    """Compare reports."""
    from tabveil.render.comparison import side_by_side

    if html is not None:
        html = files.writable("--html", html, force=force, not_over=reports)
    compared = side_by_side.compare(reports)
    if html is not None:
        compared.to_html(html)
    if not quiet:
        Screen().print(side_by_side.ranking(compared.reports))


def config(
    *,
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A JSON report.", show_default=False)],
    out: Shown = None,
    force: Force = False,
) -> None:
    """Write what an audit was asked for."""
    from tabveil.auditing.report import Report
    from tabveil.core.storage.files import write_text

    if out is not None:
        out = files.writable("--out", out, force=force, not_over=[report])
    stored = Report.read(report)
    if out is None:
        show(stored.config())
    else:
        write_text(out, stored.config(folder=out.parent))


def policy(*, out: Shown = None, force: Force = False) -> None:
    """Write a policy."""
    from tabveil.auditing.policy import template

    write_or_show(template(), out, force=force)


def split(
    *,
    data: Annotated[Path, option("FILE", "All the real rows you have.")],
    out: Annotated[Path, option("FOLDER", "Where to write train and control.")],
    control: Annotated[float, option("SHARE", "The share of rows to hold back.")] = 0.3,
    by: Annotated[
        str | None, option("COLUMN", "Rows with the same value (one person) stay together.")
    ] = None,
    independent_rows: Annotated[
        bool, typer.Option("--independent-rows", help="Every row is another person: look for no others.")
    ] = False,
    policy: Annotated[
        Path | None, option("FILE", "Accepted risks: what would it take to settle them?")
    ] = None,
    seed: NumbersSeed = 0,
    force: Force = False,
) -> None:
    """Split a file."""
    from tabveil.auditing.policy import RISKS, Policy, read_policy
    from tabveil.tables import reading as frame
    from tabveil.tables.holdout import count_people, in_words, parted_people, split_rows
    from tabveil.tables.reading.files import ending_of_parts

    accepted = read_policy(policy) if policy is not None else Policy()
    folder = files.folder("--out", out)
    ending = ending_of_parts(data)
    targets: dict[Path, Path] = {}
    for part in (folder / f"train{ending}", folder / f"control{ending}"):
        targets[part] = files.writable("--out", part, force=force, not_over=[data, *targets.values()])
    table = frame.read_raw(data)
    parts = split_rows(table, control=control, by=by, seed=seed)
    sizes = []
    for (part, target), rows in zip(targets.items(), parts, strict=True):
        taken = frame.take_rows(table, rows)
        frame.write_raw(taken, target, like=data)
        sizes.append(len(rows) if by is None else count_people(taken, by))
        Screen().print(Text(f"{part}: {len(rows):,} rows"))
    if by is None and not independent_rows:
        columns = frame.person_columns(data)
        if columns:
            Screen().print(Text(parted_people(columns), style="bold"))
    told = in_words(
        *sizes,
        threshold=min(map(accepted.thresholds.of, RISKS)),
        confidence=accepted.confidence,
        counted="rows" if by is None else "people",
    )
    Screen().print(Text(told))
    Screen().print("Train the generator on the first only; give both to 'tabveil audit'.", style="dim")


def schema(*, file: Table, missing: Missing = None, out: Shown = None, force: Force = False) -> None:
    """Describe a file."""
    from tabveil.tables import reading as frame

    if out is not None:
        files.writable("--out", out, force=force, not_over=[file])
    write_or_show(frame.describe(file, missing=tuple(missing or ())), out, force=force, not_over=[file])


def metrics() -> None:
    """List the metrics."""
    from rich.padding import Padding

    from tabveil.metrics.registry import METRICS

    console = Screen()
    for name, metric in METRICS.items():
        question = (metric.__doc__ or "").strip().partition("\n")[0]
        labels = metric.labels
        auxiliary = "with auxiliary data" if labels.auxiliary else "without auxiliary data"
        where = f"{labels.pillar}, {labels.wp29}, by {labels.mechanism}, {labels.threat_model}, {auxiliary}"
        title = metric.title
        console.print(Text.assemble((name, "bold"), "" if title == name else f": {title}"))
        console.print(Padding(Text(question), (0, 0, 0, 2)))
        console.print(Padding(Text(where, style="dim"), (0, 0, 0, 2)))


def register(app: typer.Typer) -> None:
    """Add the six commands."""
    app.command(
        help="Set several releases side by side: risks, verdicts, usefulness.\n\n"
        "Takes the JSON reports that [bold]tabveil audit --json[/] wrote. The order is one of concern, "
        "not a score.",
        epilog="Examples:\n\n[cyan]tabveil compare ctgan.json trees.json --html compare.html[/]",
    )(compare)
    app.command(
        help="Write the file that repeats an audit, from its JSON report.\n\n"
        "It says all that was asked for: tables, metrics, attackers, policy, seed. Edit it, keep it beside "
        "the data, and give it to [bold]tabveil audit --config[/].",
        epilog="Examples:\n\n[cyan]tabveil config report.json --out audit.yaml[/]\n\n"
        "[cyan]tabveil audit --config audit.yaml[/]",
    )(config)
    app.command(
        help="Write a release policy to edit: accepted risks, confidence, recipient, required metrics.",
        epilog="Examples:\n\n[cyan]tabveil policy --out policy.yaml[/]\n\n"
        "[cyan]tabveil audit --policy policy.yaml --train t.csv --control c.csv --synthetic s.csv[/]",
    )(policy)
    app.command(
        help="Hold back control rows before you train a generator.\n\n"
        "Train the generator on [bold]train[/] only and keep [bold]control[/] for the audit: without rows "
        "the generator never saw, an audit concludes little. Rows of one person ([bold]--by[/]) stay "
        "together; without it, rows that are equal in every column do, unless different people coincide by "
        "chance. Both files are of the same kind as the data, or CSV where that is a spreadsheet.",
        epilog="Examples:\n\n[cyan]tabveil split --data patients.csv --control 0.3 --out split[/]\n\n"
        "[cyan]tabveil split --data visits.parquet --control 0.3 --by patient --out split[/]",
    )(split)
    app.command(
        help="Write down the column types found in a table, to be edited and given to an audit.\n\n"
        "Comments say what to look at first: columns that may be meant in several ways, and how to say "
        "which.",
        epilog="Examples:\n\n[cyan]tabveil schema patients.csv --missing '?' --out schema.yaml[/]\n\n"
        "[cyan]tabveil audit --schema schema.yaml --train train.csv --synthetic out.csv[/]",
    )(schema)
    app.command(help="List every metric: the question it answers and where it belongs.")(metrics)
