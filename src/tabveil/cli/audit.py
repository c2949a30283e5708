"""``tabveil audit``: what does a synthetic table reveal about the rows it was learned from?"""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tabveil.auditing.options import OPTIONS
from tabveil.cli.files import STDOUT, destinations, write_json
from tabveil.cli.options import FailAbove, Force, asked, option
from tabveil.cli.screen import Screen
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from tabveil.auditing.report import Report


def audit(
    *,
    config: Annotated[
        Path | None,
        option("FILE", "Read all of this from a file (YAML, JSON); options given here come first."),
    ] = None,
    fail_above: FailAbove = None,
    html: Annotated[
        Path | None, option("FILE", "Write the report as a page to read, print and sign.")
    ] = None,
    json: Annotated[Path | None, option("FILE", "Write the report as JSON; '-' is standard output.")] = None,
    records: Annotated[
        Path | None, option("FILE", "Write scores of single rows (.csv or .parquet). Sensitive.")
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="Only the part to sign: on the page and on the terminal.")
    ] = False,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No table, no progress.")] = False,
    **given: Any,  # noqa: ANN401 - the options of the audit, as they are declared
) -> int:
    """Audit files, show and write what was asked for; the exit code follows a policy if one is given."""
    from tabveil.auditing.audit import conduct
    from tabveil.auditing.report import records_file
    from tabveil.auditing.request import AuditRequest, files_named
    from tabveil.auditing.verdict import ABOVE, EXIT_CODES
    from tabveil.cli.progress import progress_shown
    from tabveil.render.audit.terminal import report_page

    linked = given["tables"] is not None or given["metadata"] is not None
    options = _read(given, alone=config is None and not linked)
    if records is not None:
        records_file(records.resolve())  # its name says how to write it
    json_place, html_place, records_place = destinations(
        json=json, html=html, records=records, force=force, not_over=[*files_named(config, **options)]
    )
    request = AuditRequest.read(config, **options)
    if fail_above is not None:
        request = request.with_threshold(threshold(fail_above))
    if html is not None:
        request = request.for_page()
    with progress_shown(quiet=quiet) as listener:
        report = conduct(request, progress=listener)
    write_json(report.to_json(), json_place, guarded=report.exposed is not None)
    if html_place is not None:
        report.to_html(html_place, brief=brief)
    if records_place is not None:
        report.write_sensitive_records(records_place)
    if not quiet:
        # Everything is done and written by now: who cuts the table off, as head does, keeps the verdict.
        with suppress(BrokenPipeError):
            # JSON on standard output is for a program; the table then goes where people look.
            Screen(stderr=json == STDOUT).print(report_page(report, brief=brief))
        with suppress(BrokenPipeError):
            for line in _reminders(report, html, records):
                Screen(stderr=True).say(line)
    code = EXIT_CODES[report.verdict.state] if request.policy is not None else 0
    # A promise that is refuted is one that somebody asked to be kept, whatever the policy accepts.
    return EXIT_CODES[ABOVE] if report.claim is not None and report.claim.state == "refuted" else code


def _read(given: Mapping[str, Any], *, alone: bool) -> dict[str, Any]:
    """Return settings of the request by name; None is one that was left out, ``alone`` no table may be."""
    options = {name: None if value == [] else value for name, value in given.items()}
    if options["metrics"] is not None:
        options["metrics"] = metrics_asked(options["metrics"])
    if options["auxiliary"] is not None:
        options["auxiliary"] = [_pair(text) for text in options["auxiliary"]]
    for name in ("train", "synthetic"):
        if alone and options[name] is None:
            raise ParameterError(
                f"Missing option '--{name}', or --config with a file that has it. See 'tabveil audit --help'."
            )
    return options


def metrics_asked(texts: Sequence[str]) -> list[Any]:
    """Read metrics, each its name or a mapping written ``{name: linkability, n_neighbors: [1]}``."""
    from tabveil.core.settings import yaml_files

    return [yaml_files.parse(text, "--metrics") if text.lstrip().startswith("{") else text for text in texts]


def _pair(text: str) -> tuple[list[str], list[str]]:
    sides = [[name.strip() for name in side.split(",") if name.strip()] for side in text.split("|")]
    if len(sides) != 2 or not all(sides):  # noqa: PLR2004 - two sources to link
        raise ParameterError(f"--auxiliary must look like 'age,sex|zip,job', got {text!r}.")
    return sides[0], sides[1]


def threshold(fail_above: float) -> float:
    """Return a threshold that a risk can have."""
    if not 0 < fail_above <= 1:
        raise ParameterError("--fail-above", f"must be above 0 and at most 1, got {fail_above:g}.")
    return fail_above


def _reminders(report: "Report", html: Path | None, records: Path | None) -> list[str]:
    lines = []
    if html is not None:
        lines.append(f"The report to read, print and sign: {html}")
    if records is not None:
        lines.append(f"{records.name} holds scores of single people: guard it like the data themselves.")
    if report.exposed is not None:
        lines.append("The report shows values of single people: guard it like the data themselves.")
    return lines


_ORDER = (
    *(
        "config",
        "train",
        "synthetic",
        "control",
        "tables",
        "metadata",
        "person_table",
        "schema",
        "metrics",
        "quick",
        "contrastive",
        "secrets",
    ),
    *("known", "auxiliary", "quasi_identifiers", "sensitive", "attackers", "policy", "fail_above", "shadow"),
    *(
        "utility",
        "target",
        "power",
        "advice",
        "missing",
        "drop_identifiers",
        "drop",
        "person",
        "independent_rows",
    ),
    *("initial_risk", "claimed_epsilon", "delta", "neighbors", "split"),
    *("sample", "memory", "seed", "threads", "device", "scheduler", "title", "html", "brief", "json"),
    *("records", "show_values", "force", "quiet"),
)
"""How the help lists options; one that is not named here stands at its end."""


def _signature() -> inspect.Signature:
    """Return the parameters of the command, those of the audit among them, as the parser reads them."""
    own = [item for item in inspect.signature(audit).parameters.values() if item.kind is item.KEYWORD_ONLY]
    declared = [
        inspect.Parameter(
            option.name or field,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[option.kind | None, asked(field)],
        )
        for field, option in OPTIONS.items()
        if option.help
    ]
    places = {name: place for place, name in enumerate(_ORDER)}
    parameters = sorted([*own, *declared], key=lambda item: places.get(item.name, len(places)))
    return inspect.Signature(parameters, return_annotation=int)


audit.__signature__ = _signature()  # type: ignore[attr-defined] # what the parser looks at


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Measure what a synthetic table reveals about the rows it was learned from.\n\n"
        "Files may be CSV (also .gz), Parquet (also a folder of them), Feather or Excel. Every risk is "
        "compared with real rows the generator never saw ([bold]--control[/]): 0 means that the release is "
        "as close to the training rows as fresh data are, 1 is the worst case. With [bold]--policy[/] or "
        "[bold]--fail-above[/] the exit code tells the verdict: 0 within, 1 above, 3 inconclusive, also "
        "where [bold]| head[/] cuts the table off. Exit code 2 and one line on standard error: an input is "
        "at fault.\n\n"
        "Linked tables, such as clients and orders, are audited by person: [bold]--tables[/] names a file "
        "that says how they hang together.\n\n"
        "What is asked for may also stand in a file ([bold]--config[/]), with paths that start at its "
        "folder: settings are called as in Python, such as train, secrets, metrics. [bold]tabveil config[/] "
        "writes the file that repeats an audit.\n\n"
        "[bold]--contrastive[/] trains an embedding on the release, once, and repeats five metrics in it: "
        "leaked rows whose values were moved a little are then nearer than strangers. A file may say how it "
        "is trained, such as contrastive: {epochs: 20, device: cuda}.",
        epilog="Examples:\n\n"
        "[cyan]tabveil audit --train train.csv --control control.csv --synthetic out.csv[/]\n\n"
        "[cyan]tabveil audit --train t.csv --synthetic s.csv --missing '?' --json report.json[/]\n\n"
        "[cyan]tabveil audit --train t.csv --control c.csv --synthetic s.csv --html report.html "
        "--title 'Visits 2024, synthetic v2 (Example Hospital)'[/]\n\n"
        "[cyan]tabveil audit --train t.csv --control c.csv --synthetic s.csv --policy policy.yaml -q[/]\n\n"
        "[cyan]tabveil audit --train t.csv --synthetic s.csv --metrics mmd --json - --quiet[/]\n\n"
        "[cyan]tabveil audit --config audit.yaml --seed 1 --html report.html[/]\n\n"
        "[cyan]tabveil audit --train t.csv --control c.csv --synthetic s.csv --contrastive[/]\n\n"
        "[cyan]tabveil audit --train t.csv --control c.csv --synthetic s.csv "
        "--secrets income --known age --known sex[/]",
    )(audit)
