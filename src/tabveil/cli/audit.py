"""Auditing files: what was asked for, what is written, and the exit code that tells the verdict."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tabveil import auditing, verdict
from tabveil.cli import files
from tabveil.cli.exit_codes import ABOVE, INCONCLUSIVE, WITHIN
from tabveil.cli.progress import progress_bar
from tabveil.errors import ParameterError
from tabveil.render.html import page
from tabveil.render.text import report_page
from tabveil.report import Report
from tabveil.verdict import Policy, State
from tabveil.writing import replacing, write_text

STDOUT = Path("-")
_RECORD_KINDS = (".csv", ".parquet")
_CODES: Mapping[State, int] = {
    "within threshold": WITHIN,
    "above threshold": ABOVE,
    "inconclusive": INCONCLUSIVE,
}


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The files an audit reads."""

    train: Path
    synthetic: Path
    control: Path | None = None
    schema: Path | None = None
    attackers: Path | None = None
    policy: Path | None = None

    def paths(self) -> tuple[Path | None, ...]:
        """Return every file that must not be written over."""
        return tuple(vars(self).values())


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Which metrics to run, what attackers know and want, what to measure beside."""

    metrics: Sequence[str] | None = None
    quick: bool = False
    secrets: Sequence[str] | None = None
    known: Sequence[str] | None = None
    auxiliary: Sequence[str] | None = None
    utility: bool | None = None  # None: if there is a page to show it on
    targets: Sequence[str] | None = None
    power: bool | None = None
    show_values: bool = False

    def pairs(self) -> list[tuple[list[str], list[str]]] | None:
        """Read the column sets to link, each written ``a,b|c,d``."""
        return None if self.auxiliary is None else [_pair(text) for text in self.auxiliary]


def _pair(text: str) -> tuple[list[str], list[str]]:
    sides = [[name.strip() for name in side.split(",") if name.strip()] for side in text.split("|")]
    if len(sides) != 2 or not all(sides):  # noqa: PLR2004 - two sources to link
        raise ParameterError(f"--auxiliary must look like 'age,sex|zip,job', got {text!r}.")
    return sides[0], sides[1]


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where the report goes."""

    json: Path | None = None
    html: Path | None = None
    records: Path | None = None
    quiet: bool = False

    def checked(self, tables: Tables) -> "Outputs":
        """Refuse files that cannot be written, before the long work begins."""
        taken = [*tables.paths()]
        if self.json not in (None, STDOUT):
            taken.append(files.writable("--json", self.json, not_over=taken))
        if self.html is not None:
            taken.append(files.writable("--html", self.html, not_over=taken))
        if self.records is not None:
            if self.records.suffix.lower() not in _RECORD_KINDS:
                kinds = " or ".join(_RECORD_KINDS)
                raise ParameterError(f"--records: the name must end in {kinds}, got {self.records.name}.")
            files.writable("--records", self.records, not_over=taken)
        return self


def audit(
    *,
    tables: Tables,
    asked: Asked,
    outputs: Outputs,
    fail_above: float | None,
    missing: Sequence[str],
    drop_identifiers: bool,
    seed: int,
    threads: int | None,
) -> int:
    """Audit files, show and write what was asked for; the exit code follows a policy if one is given."""
    outputs = outputs.checked(tables)
    policy = _policy(tables.policy, fail_above)
    for_page = outputs.html is not None
    with progress_bar(quiet=outputs.quiet) as listener:
        report = auditing.audit(
            tables.train,
            tables.synthetic,
            tables.control,
            metrics=asked.metrics,
            quick=asked.quick,
            secrets=asked.secrets,
            known=asked.known,
            auxiliary=asked.pairs(),
            attackers=tables.attackers,
            policy=policy,
            utility=for_page if asked.utility is None else asked.utility,
            target=asked.targets,
            power=asked.power if asked.power is not None else None if for_page else False,
            portrait=for_page,
            show_values=asked.show_values,
            seed=seed,
            schema=tables.schema,
            missing=tuple(missing),
            drop_identifiers=drop_identifiers,
            threads=threads,
            progress=listener,
        )
    _hand_over(report, outputs)
    judged = tables.policy is not None or fail_above is not None
    return _CODES[report.verdict.state] if judged else 0


def _policy(path: Path | None, fail_above: float | None) -> Policy:
    policy = verdict.read(path)
    if fail_above is None:
        return policy
    if not 0 < fail_above <= 1:
        raise ParameterError(f"--fail-above: must be above 0 and at most 1, got {fail_above:g}.")
    return policy.with_threshold(fail_above)


def _hand_over(report: Report, outputs: Outputs) -> None:
    if outputs.json == STDOUT:
        sys.stdout.write(report.to_json() + "\n")
    elif outputs.json is not None:
        write_text(outputs.json, report.to_json() + "\n")
    if outputs.html is not None:
        write_text(outputs.html, page(report))
    if outputs.records is not None:
        write_records(report, outputs.records)
    if outputs.quiet:
        return
    # JSON on standard output is for a program; the table then goes where people look.
    Console(stderr=outputs.json == STDOUT).print(report_page(report))
    for line in _reminders(report, outputs):
        Console(stderr=True).print(Text(line), soft_wrap=True)


def _reminders(report: Report, outputs: Outputs) -> list[str]:
    lines = []
    if outputs.html is not None:
        lines.append(f"The report to read, print and sign: {outputs.html}")
    if outputs.records is not None:
        lines.append(
            f"{outputs.records.name} holds scores of single people: guard it like the data themselves."
        )
    if report.exposed is not None:
        lines.append("The report shows values of single people: guard it like the data themselves.")
    return lines


def write_records(report: Report, path: Path) -> None:
    """Write the scores of single rows, as the name's ending says."""
    scores = report.records()
    with replacing(path) as temporary:
        if path.suffix.lower() == ".csv":
            scores.to_csv(temporary, index=False)
        else:
            scores.to_parquet(temporary, index=False)
