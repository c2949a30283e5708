"""Doing what was asked on the command line."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from tabveil import auditing, frame
from tabveil.cli import files
from tabveil.cli.progress import progress_bar
from tabveil.errors import ParameterError
from tabveil.holdout import split_rows
from tabveil.render.text import report_page
from tabveil.result import Report
from tabveil.writing import replacing, write_text

STDOUT = Path("-")
_RECORD_KINDS = (".csv", ".parquet")


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The files an audit reads."""

    train: Path
    synthetic: Path
    control: Path | None = None
    schema: Path | None = None

    def paths(self) -> tuple[Path | None, ...]:
        """Return every file that must not be written over."""
        return (self.train, self.synthetic, self.control, self.schema)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which metrics to run, and what attackers know and want."""

    metrics: Sequence[str] | None = None
    quick: bool = False
    secrets: Sequence[str] | None = None
    known: Sequence[str] | None = None
    auxiliary: Sequence[str] | None = None
    attackers: Path | None = None

    def pairs(self) -> list[tuple[list[str], list[str]]] | None:
        """Read the column sets to link, each written ``a,b|c,d``."""
        return None if self.auxiliary is None else [_pair(text) for text in self.auxiliary]


def _pair(text: str) -> tuple[list[str], list[str]]:
    sides = [[name.strip() for name in side.split(",") if name.strip()] for side in text.split("|")]
    if len(sides) != 2 or not all(sides):  # noqa: PLR2004 - two sources to link
        raise ParameterError(f"--auxiliary must look like 'age,sex|zip,job', got {text!r}.")
    return sides[0], sides[1]


def audit(
    *,
    tables: Tables,
    asked: Asked,
    missing: Sequence[str],
    drop_identifiers: bool,
    seed: int,
    threads: int | None,
    json: Path | None,
    records: Path | None,
    quiet: bool,
) -> None:
    """Audit files, show the table, write what was asked for."""
    json_file = (
        files.writable("--json", json, not_over=tables.paths()) if json not in (None, STDOUT) else None
    )
    records_file = _records_file(records, not_over=(*tables.paths(), json_file))
    with progress_bar(quiet=quiet) as listener:
        report = auditing.audit(
            tables.train,
            tables.synthetic,
            tables.control,
            metrics=asked.metrics,
            quick=asked.quick,
            secrets=asked.secrets,
            known=asked.known,
            auxiliary=asked.pairs(),
            attackers=asked.attackers,
            seed=seed,
            schema=tables.schema,
            missing=tuple(missing),
            drop_identifiers=drop_identifiers,
            threads=threads,
            progress=listener,
        )
    _hand_over(report, json=json, json_file=json_file, records_file=records_file, quiet=quiet)


def _records_file(records: Path | None, *, not_over: Sequence[Path | None]) -> Path | None:
    if records is None:
        return None
    if records.suffix.lower() not in _RECORD_KINDS:
        raise ParameterError(
            f"--records: the name must end in {' or '.join(_RECORD_KINDS)}, got {records.name}."
        )
    return files.writable("--records", records, not_over=not_over)


def _hand_over(
    report: Report, *, json: Path | None, json_file: Path | None, records_file: Path | None, quiet: bool
) -> None:
    if json_file:
        write_text(json_file, report.to_json() + "\n")
    if records_file:
        write_records(report, records_file)
    if json == STDOUT:
        sys.stdout.write(report.to_json() + "\n")
    if not quiet:
        # JSON on standard output is for a program; the table then goes where people look.
        Console(stderr=json == STDOUT).print(report_page(report))
        if records_file:
            Console(stderr=True).print(
                Text(f"{records_file.name} holds scores of single people: guard it like the data themselves.")
            )


def write_records(report: Report, path: Path) -> None:
    """Write the scores of single rows, as the name's ending says."""
    scores = report.records()
    with replacing(path) as temporary:
        if path.suffix.lower() == ".csv":
            scores.to_csv(temporary, index=False)
        else:
            scores.to_parquet(temporary, index=False)


def split(*, data: Path, out: Path, control: float, by: str | None, seed: int, force: bool) -> None:
    """Write train and control files of the same kind as the data."""
    table = frame.read_raw(data)
    train_rows, control_rows = split_rows(table, control=control, by=by, seed=seed)
    folder = files.folder("--out", out)
    ending = "".join(data.suffixes[-2:]) if data.suffix.lower() == ".gz" else data.suffix
    targets = {folder / f"train{ending}": train_rows, folder / f"control{ending}": control_rows}
    for target in targets:
        files.writable("--out", target, not_over=[data])
        _refuse_to_replace(target, force=force)
    for target, rows in targets.items():
        frame.write_raw(table.take(rows), target, like=data)
        Console().print(Text(f"{target}: {len(rows):,} rows"))
    Console().print("Train the generator on the first only; give both to 'tabveil audit'.", style="dim")


def schema(*, file: Path, missing: Sequence[str], out: Path | None, force: bool) -> None:
    """Write or show the column types of a table."""
    if out is not None:
        out = files.writable("--out", out, not_over=[file])
        _refuse_to_replace(out, force=force)
    text = frame.describe(file, missing=tuple(missing))
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)


def _refuse_to_replace(path: Path, *, force: bool) -> None:
    if path.exists() and not force:
        raise ParameterError(f"{path} is already there; add --force to replace it.")


def metrics() -> None:
    """Show every metric with its question and labels."""
    console = Console()
    for name, metric in auditing.METRICS.items():
        question = (metric.__doc__ or "").strip().splitlines()[0]
        labels = metric.labels
        auxiliary = "with auxiliary data" if labels.auxiliary else "without auxiliary data"
        where = f"{labels.pillar}, {labels.wp29}, by {labels.mechanism}, {labels.threat_model}, {auxiliary}"
        console.print(Text(name, style="bold"))
        console.print(Padding(Text(question), (0, 0, 0, 2)))
        console.print(Padding(Text(where, style="dim"), (0, 0, 0, 2)))
