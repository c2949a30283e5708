"""Auditing files: options turned into a request, what is written, and the exit code of the verdict."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tabveil import auditing
from tabveil.cli import files
from tabveil.cli.progress import progress_bar
from tabveil.errors import ParameterError
from tabveil.render.html import page
from tabveil.render.text import report_page
from tabveil.report import Report, records_file
from tabveil.request import AuditRequest, files_named
from tabveil.verdict import EXIT_CODES
from tabveil.writing import write_text

STDOUT = Path("-")
_REQUIRED = ("train", "synthetic")


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where the report goes."""

    json: Path | None = None
    html: Path | None = None
    records: Path | None = None
    quiet: bool = False

    def checked(self, inputs: Iterable[Path]) -> "Outputs":
        """Refuse files that cannot be written, before the long work begins."""
        taken = [*inputs]
        if self.json not in (None, STDOUT):
            taken.append(files.writable("--json", self.json, not_over=taken))
        if self.html is not None:
            taken.append(files.writable("--html", self.html, not_over=taken))
        if self.records is not None:
            files.writable("--records", records_file(self.records), not_over=taken)
        return self


def audit(
    *, config: Path | None, options: Mapping[str, Any], fail_above: float | None, outputs: Outputs
) -> int:
    """Audit files, show and write what was asked for; the exit code follows a policy if one is given.

    Options are settings of the request by name; None is one that was left out.
    """
    if config is None:
        _require_tables(options)
    outputs = outputs.checked(files_named(config, **options))
    request = AuditRequest.read(config, **options)
    if fail_above is not None:
        request = request.with_threshold(_threshold(fail_above))
    if outputs.html is not None:
        request = request.for_page()
    with progress_bar(quiet=outputs.quiet) as listener:
        report = auditing.conduct(request, progress=listener)
    _hand_over(report, outputs)
    return EXIT_CODES[report.verdict.state] if request.policy is not None else 0


def pairs(texts: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Read the column sets to link, each written ``a,b|c,d``."""
    return [_pair(text) for text in texts]


def _pair(text: str) -> tuple[list[str], list[str]]:
    sides = [[name.strip() for name in side.split(",") if name.strip()] for side in text.split("|")]
    if len(sides) != 2 or not all(sides):  # noqa: PLR2004 - two sources to link
        raise ParameterError(f"--auxiliary must look like 'age,sex|zip,job', got {text!r}.")
    return sides[0], sides[1]


def _require_tables(options: Mapping[str, Any]) -> None:
    for name in _REQUIRED:
        if options[name] is None:
            raise ParameterError(
                f"Missing option '--{name}', or --config with a file that has it. See 'tabveil audit --help'."
            )


def _threshold(fail_above: float) -> float:
    if not 0 < fail_above <= 1:
        raise ParameterError(f"--fail-above: must be above 0 and at most 1, got {fail_above:g}.")
    return fail_above


def _hand_over(report: Report, outputs: Outputs) -> None:
    shows_people = report.exposed is not None
    if outputs.json == STDOUT:
        sys.stdout.write(report.to_json() + "\n")
    elif outputs.json is not None:
        write_text(outputs.json, report.to_json() + "\n", guarded=shows_people)
    if outputs.html is not None:
        write_text(outputs.html, page(report), guarded=shows_people)
    if outputs.records is not None:
        report.write_records(outputs.records)
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
