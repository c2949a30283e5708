"""Doing what was asked on the command line (audits: ``audit``)."""

from collections.abc import Sequence
from pathlib import Path

from rich.padding import Padding
from rich.text import Text

from tabveil.auditing.policy import RISKS, Policy, read_policy, template
from tabveil.auditing.report import Report
from tabveil.cli import files
from tabveil.cli.screen import Screen, show
from tabveil.core.storage.files import write_text
from tabveil.metrics.registry import METRICS
from tabveil.render.comparison.side_by_side import compare as side_by_side
from tabveil.render.comparison.terminal import ranking
from tabveil.tables import reading as frame
from tabveil.tables.holdout import count_people, in_words, parted_people, split_rows
from tabveil.tables.reading.files import ending_of_parts


def split(
    *,
    data: Path,
    out: Path,
    control: float,
    by: str | None,
    independent_rows: bool,
    policy: Path | None,
    seed: int,
    force: bool,
) -> None:
    """Write train and control files of the same kind as the data; those of a spreadsheet as text.

    Say, too, whether rows of one person seem to be parted, and what such a control will be able to settle.
    """
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


def schema(*, file: Path, missing: Sequence[str], out: Path | None, force: bool) -> None:
    """Write or show the column types of a table."""
    if out is not None:
        out = files.writable("--out", out, force=force, not_over=[file])
    text = frame.describe(file, missing=tuple(missing))
    if out is None:
        show(text)
    else:
        write_text(out, text)


def policy(*, out: Path | None, force: bool) -> None:
    """Write or show a policy with every default, explained."""
    if out is None:
        show(template())
        return
    write_text(files.writable("--out", out, force=force), template())


def config(*, report: Path, out: Path | None, force: bool) -> None:
    """Write or show the file that repeats an audit, with paths that lead to the tables from where it is."""
    if out is not None:
        out = files.writable("--out", out, force=force, not_over=[report])
    stored = Report.read(report)
    if out is None:
        show(stored.config())
    else:
        write_text(out, stored.config(folder=out.parent))


def compare(*, reports: Sequence[Path], html: Path | None, force: bool, quiet: bool) -> None:
    """Show reports side by side, and write the page."""
    if html is not None:
        html = files.writable("--html", html, force=force, not_over=reports)
    compared = side_by_side(reports)
    if html is not None:
        compared.to_html(html)
    if not quiet:
        Screen().print(ranking(compared.reports))


def metrics() -> None:
    """Show every metric with its question and labels."""
    console = Screen()
    for name, metric in METRICS.items():
        question = (metric.__doc__ or "").strip().partition("\n")[0]
        labels = metric.labels
        auxiliary = "with auxiliary data" if labels.auxiliary else "without auxiliary data"
        where = f"{labels.pillar}, {labels.wp29}, by {labels.mechanism}, {labels.threat_model}, {auxiliary}"
        title = getattr(metric, "title", name)
        console.print(Text.assemble((name, "bold"), "" if title == name else f": {title}"))
        console.print(Padding(Text(question), (0, 0, 0, 2)))
        console.print(Padding(Text(where, style="dim"), (0, 0, 0, 2)))
