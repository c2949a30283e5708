"""Auditing files: options turned into a request, what is written, and the exit code of the verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabveil.auditing import audit as auditing
from tabveil.auditing.report import Report, records_file
from tabveil.auditing.request import AuditRequest, files_named
from tabveil.auditing.verdict import EXIT_CODES
from tabveil.cli import files
from tabveil.cli.progress import progress_shown
from tabveil.cli.screen import Screen, show_json
from tabveil.core.settings import yaml_files
from tabveil.core.storage.files import write_text
from tabveil.errors import ParameterError
from tabveil.render.audit.terminal import report_page

STDOUT = Path("-")
_REQUIRED = ("train", "synthetic")


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where the report goes."""

    json: Path | None = None
    html: Path | None = None
    records: Path | None = None
    force: bool = False
    quiet: bool = False

    def targets(self, inputs: Iterable[Path]) -> "Outputs":
        """Return the same with the files that are really written; refuse any before the long work begins."""
        taken = [*inputs]

        def target(option: str, path: Path | None) -> Path | None:
            if path is None or path == STDOUT:
                return path
            taken.append(files.writable(option, path, force=self.force, not_over=taken))
            return taken[-1]

        if self.records is not None:
            records_file(self.records.resolve())  # its name says how to write it
        return replace(
            self,
            json=target("--json", self.json),
            html=target("--html", self.html),
            records=target("--records", self.records),
        )


def audit(
    *, config: Path | None, options: Mapping[str, Any], fail_above: float | None, outputs: Outputs
) -> int:
    """Audit files, show and write what was asked for; the exit code follows a policy if one is given.

    Options are settings of the request by name; None is one that was left out.
    """
    if config is None:
        _require_tables(options)
    targets = outputs.targets(files_named(config, **options))
    request = AuditRequest.read(config, **options)
    if fail_above is not None:
        request = request.with_threshold(threshold(fail_above))
    if outputs.html is not None:
        request = request.for_page()
    with progress_shown(quiet=outputs.quiet) as listener:
        report = auditing.conduct(request, progress=listener)
    _write(report, targets)
    _show(report, outputs)
    return EXIT_CODES[report.verdict.state] if request.policy is not None else 0


def metrics(texts: Sequence[str]) -> list[Any]:
    """Read metrics, each its name or a mapping written ``{name: linkability, n_neighbors: [1]}``."""
    return [yaml_files.parse(text, "--metrics") if text.lstrip().startswith("{") else text for text in texts]


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


def threshold(fail_above: float) -> float:
    """Return a threshold that a risk can have."""
    if not 0 < fail_above <= 1:
        raise ParameterError("--fail-above", f"must be above 0 and at most 1, got {fail_above:g}.")
    return fail_above


def _write(report: Report, targets: Outputs) -> None:
    shows_people = report.exposed is not None
    if targets.json == STDOUT:
        show_json(report.to_json())
    elif targets.json is not None:
        write_text(targets.json, report.to_json() + "\n", guarded=shows_people)
    if targets.html is not None:
        report.to_html(targets.html)
    if targets.records is not None:
        report.write_records(targets.records)


def _show(report: Report, outputs: Outputs) -> None:
    if outputs.quiet:
        return
    # JSON on standard output is for a program; the table then goes where people look.
    Screen(stderr=outputs.json == STDOUT).print(report_page(report))
    for line in _reminders(report, outputs):
        Screen(stderr=True).say(line)


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
