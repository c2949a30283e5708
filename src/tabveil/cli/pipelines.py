"""Running pipelines on files: what is refused, written and said, and the exit code of the verdict."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from tabveil.auditing.policy import Policy, read_policy
from tabveil.auditing.verdict import EXIT_CODES
from tabveil.cli import files
from tabveil.cli.audit import metrics, threshold
from tabveil.cli.progress import progress_shown
from tabveil.cli.screen import Screen, show_json
from tabveil.cli.synthetic import refuse_folder
from tabveil.core.storage.files import write_text
from tabveil.errors import ParameterError
from tabveil.render.pipeline.terminal import pipeline_page
from tabveil.tables.reading.files import is_text_file
from tabveil.workflows.pipeline import PipelineReport, run_pipeline

__all__ = ["Outputs", "metrics", "run"]

STDOUT = Path("-")


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where everything goes."""

    html: Path | None = None
    json: Path | None = None
    out: Path | None = None
    save: Path | None = None
    force: bool = False
    quiet: bool = False

    def targets(self, inputs: Iterable[Path | None]) -> "Outputs":
        """Return the same with the files that are really written; refuse any before the long work begins."""
        taken = [*inputs, self.save]
        if self.out is not None:
            is_text_file(self.out.resolve())  # refuses unknown suffixes
        if self.save is not None:
            refuse_folder(self.save)

        def target(option: str, path: Path | None) -> Path | None:
            if path is None or (option == "--json" and path == STDOUT):
                return path
            taken.append(files.writable(option, path, force=self.force, not_over=taken))
            return taken[-1]

        return replace(
            self,
            html=target("--html", self.html),
            json=target("--json", self.json),
            out=target("--out", self.out),
        )


def run(
    *,
    config: Path,
    data: Path,
    control: Path | None,
    asked: Mapping[str, Any],
    policy: Path | None,
    fail_above: float | None,
    outputs: Outputs,
) -> int:
    """Run a pipeline, audit its stages, write what was asked for; with a policy, the exit code follows it."""
    targets = outputs.targets([config, data, control, policy, asked["schema"]])
    for option, path in (("--data", data), ("--control", control)):
        if path is not None and not path.is_file():
            raise ParameterError(option, f"there is no file {path}.")
    judged_by = _policy(policy, fail_above)
    with progress_shown(quiet=outputs.quiet) as listener:
        report = run_pipeline(data, config, control=control, policy=judged_by, progress=listener, **asked)
    _write(report, targets)
    if not outputs.quiet:
        _show(report, outputs)
    return 0 if judged_by is None else EXIT_CODES[report.verdict.state]


def _policy(path: Path | None, fail_above: float | None) -> Policy | None:
    """Return what the verdict follows; None if nobody asked to be judged."""
    if path is None and fail_above is None:
        return None
    found = read_policy(path)
    return found if fail_above is None else found.with_threshold(threshold(fail_above))


def _write(report: PipelineReport, targets: Outputs) -> None:
    if targets.save is not None:
        report.save(targets.save)
    if targets.out is not None:
        report.write(targets.out)
    if targets.json == STDOUT:
        show_json(report.to_json())
    elif targets.json is not None:
        write_text(targets.json, report.to_json() + "\n")
    if targets.html is not None:
        report.to_html(targets.html)


def _show(report: PipelineReport, outputs: Outputs) -> None:
    # JSON on standard output is for a program; the tables then go where people look.
    Screen(stderr=outputs.json == STDOUT).print(pipeline_page(report))
    beside = Screen(stderr=True)
    if outputs.out is not None:
        beside.print(Text(f"{outputs.out}: {len(report.rows.table):,} rows."), soft_wrap=True)
    if outputs.save is not None:
        beside.say(
            f"{outputs.save}: the model. It holds what was learned from people: guard it like the data."
        )
    if outputs.html is not None:
        beside.say(f"The page to read and print: {outputs.html}")
