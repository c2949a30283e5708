"""What can be asked on the command line: every command with its options and examples.

The work itself is in ``commands``, imported when a command runs: ``--help`` must not wait for pandas.
"""
# ruff: noqa: PLC0415 - see above

import sys
from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import anonymize, attack, benchmark, epsilon, pipeline, steps, synthesize, tune
from tabveil.cli.exit_codes import Commands, end_in_order
from tabveil.cli.files import Force
from tabveil.cli.options import Missing
from tabveil.cli.synthesize import Threads
from tabveil.version import __version__

FORMER_NAMES = {"metric": "metrics", "secret": "secrets"}
"""Options as they were called before they had the names of Python and files; still understood."""

app = typer.Typer(
    name="tabveil",
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda token: FORMER_NAMES.get(token, token),
    },
    help="How much does a synthetic table betray about the people behind it?",
    epilog="Start with [bold]tabveil demo[/]. Then, with your own data: [bold]tabveil split[/] before you "
    "train a generator, [bold]tabveil audit[/] before you release anything.",
)

FILE, TEXT, N = "FILE", "TEXT", "N"
Train = Annotated[Path | None, typer.Option(metavar=FILE, help="The real rows the generator learned from.")]
Synthetic = Annotated[Path | None, typer.Option(metavar=FILE, help="The rows to be released.")]
Control = Annotated[
    Path | None, typer.Option(metavar=FILE, help="Real rows the generator never saw. Give them if you can.")
]
Config = Annotated[
    Path | None,
    typer.Option(
        metavar=FILE, help="Read all of this from a file (YAML, JSON); options given here come first."
    ),
]
SchemaFile = Annotated[
    Path | None, typer.Option(metavar=FILE, help="Column types, as written by 'tabveil schema'.")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Run only this one (see 'tabveil metrics'), or '{name: NAME, parameter: value}'. Repeatable.",
    ),
]
Quick = Annotated[
    bool | None, typer.Option("--quick/--no-quick", help="Leave out what takes longer than seconds.")
]
Contrastive = Annotated[
    bool | None,
    typer.Option(
        "--contrastive/--no-contrastive",
        help="Also attack in a space learned from the release. Takes minutes; needs the extra 'deep'.",
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column attackers want to learn. Repeatable; chosen if left out."),
]
Known = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column attackers know of a person. Repeatable; else all others."),
]
Auxiliary = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B|C,D", help="Two sets of columns that attackers want to link. Repeatable."),
]
QuasiIdentifiers = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column others may know of a person: measures k, l and t, which are no attacks. Repeatable.",
    ),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column for l and t. Repeatable; else secrets that are no quasi-identifiers.",
    ),
]
Attackers = Annotated[
    Path | None, typer.Option(metavar=FILE, help="Attacker profiles: who knows and wants what (YAML, JSON).")
]
PolicyFile = Annotated[
    Path | None,
    typer.Option(metavar=FILE, help="Accepted risks, as written by 'tabveil policy'. Sets the exit code."),
]
FailAbove = Annotated[
    float | None,
    typer.Option(metavar="RISK", help="One threshold for all risks, such as 0.05. Sets the exit code."),
]
Shadow = Annotated[
    Path | None,
    typer.Option(metavar=FILE, help="Show what 'tabveil attack --json' found about the generator."),
]
Utility = Annotated[
    bool | None,
    typer.Option("--utility/--no-utility", help="Measure usefulness too. On if there is a page."),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column models should predict (for usefulness). Repeatable."),
]
Power = Annotated[
    bool | None,
    typer.Option(
        "--power/--no-power",
        help="Plant leaks to see which are noticed. On if there is a page, but for metrics that fit models.",
    ),
]
Advice = Annotated[
    bool | None,
    typer.Option(
        "--advice/--no-advice",
        help="Where the verdict is above or inconclusive, try what would change it. On unless turned off.",
    ),
]
ShowValues = Annotated[
    bool | None,
    typer.Option(
        "--show-values/--hide-values",
        help="Show values of people at risk, and rare labels. Sensitive.",
    ),
]
Title = Annotated[
    str | None,
    typer.Option(
        metavar=TEXT, help="Name of release, dataset and organization, for the report; else the file's name."
    ),
]
Html = Annotated[
    Path | None, typer.Option(metavar=FILE, help="Write the report as a page to read, print and sign.")
]
DropIdentifiers = Annotated[
    bool | None,
    typer.Option(
        "--drop-identifiers/--keep-all",
        help="Leave out columns that look like identifiers, also those that the release lacks.",
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that says whose row it is, where people have several: people are then attacked and "
        "counted, not rows.",
    ),
]
IndependentRows = Annotated[
    bool | None,
    typer.Option(
        "--independent-rows/--look-for-people",
        help="Every row is another person, also where a column looks as if it named people with several.",
    ),
]
Seed = Annotated[int, typer.Option(metavar=N, min=0, help="Same seed, same numbers.")]
Json = Annotated[
    Path | None, typer.Option(metavar=FILE, help="Write the report as JSON; '-' is standard output.")
]
Records = Annotated[
    Path | None,
    typer.Option(metavar=FILE, help="Write scores of single rows (.csv or .parquet). Sensitive."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No table, no progress.")]


def _version(asked: bool) -> None:  # noqa: FBT001 - the shape of a callback
    if asked:
        typer.echo(f"tabveil {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@app.command(
    help="Measure what a synthetic table betrays about the rows it was learned from.\n\n"
    "Files may be CSV (also .gz), Parquet, Feather or Excel. Every risk is compared with real rows the "
    "generator never saw ([bold]--control[/]): 0 means that the release is as close to the training rows as "
    "fresh data are, 1 is the worst case. With [bold]--policy[/] or [bold]--fail-above[/] the exit code "
    "tells the verdict: 0 within, 1 above, 3 inconclusive. Exit code 2 and one line on standard error: an "
    "input is at fault.\n\n"
    "What is asked for may also stand in a file ([bold]--config[/]), with paths that start at its folder: "
    "settings are called as in Python, such as train, secrets, metrics. [bold]tabveil config[/] writes the "
    "file that repeats an audit.\n\n"
    "[bold]--contrastive[/] trains an embedding on the release, once, and repeats five metrics in it: leaked "
    "rows whose values were moved a little are then nearer than strangers. A file may say how it is trained, "
    "such as contrastive: {epochs: 20, device: cuda}.",
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
)
def audit(
    *,
    config: Config = None,
    train: Train = None,
    synthetic: Synthetic = None,
    control: Control = None,
    schema: SchemaFile = None,
    metrics: Metrics = None,
    quick: Quick = None,
    contrastive: Contrastive = None,
    secrets: Secrets = None,
    known: Known = None,
    auxiliary: Auxiliary = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Sensitive = None,
    attackers: Attackers = None,
    policy: PolicyFile = None,
    fail_above: FailAbove = None,
    shadow: Shadow = None,
    utility: Utility = None,
    target: Targets = None,
    power: Power = None,
    advice: Advice = None,
    missing: Missing = None,
    drop_identifiers: DropIdentifiers = None,
    person: Person = None,
    independent_rows: IndependentRows = None,
    seed: Annotated[
        int | None, typer.Option(metavar=N, min=0, help="Same seed, same numbers; 0 if left out.")
    ] = None,
    threads: Threads = None,
    title: Title = None,
    html: Html = None,
    json: Json = None,
    records: Records = None,
    show_values: ShowValues = None,
    force: Force = False,
    quiet: Quiet = False,
) -> int:
    """Audit files."""
    from tabveil.cli import audit as auditing

    return auditing.audit(
        config=config,
        options={
            "train": train,
            "synthetic": synthetic,
            "control": control,
            "title": title,
            "schema": schema,
            "metrics": auditing.metrics(metrics) if metrics else None,
            "quick": quick,
            "contrastive": contrastive,
            "secrets": secrets or None,
            "known": known or None,
            "auxiliary": auditing.pairs(auxiliary) if auxiliary else None,
            "quasi_identifiers": quasi_identifiers or None,
            "sensitive": sensitive or None,
            "attackers": attackers,
            "policy": policy,
            "shadow": shadow,
            "utility": utility,
            "target": target or None,
            "power": power,
            "advice": advice,
            "missing": missing or None,
            "drop_identifiers": drop_identifiers,
            "person": person,
            "independent_rows": independent_rows,
            "seed": seed,
            "threads": threads,
            "show_values": show_values,
        },
        fail_above=fail_above,
        outputs=auditing.Outputs(json=json, html=html, records=records, force=force, quiet=quiet),
    )


@app.command(
    help="Set several releases side by side: risks, verdicts, usefulness.\n\n"
    "Takes the JSON reports that [bold]tabveil audit --json[/] wrote. The order is one of concern, "
    "not a score.",
    epilog="Examples:\n\n[cyan]tabveil compare ctgan.json trees.json --html compare.html[/]",
)
def compare(
    *,
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORT...", help="JSON reports.", show_default=False)
    ],
    html: Annotated[Path | None, typer.Option(metavar=FILE, help="Write the comparison as a page.")] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Compare reports."""
    from tabveil.cli import commands

    commands.compare(reports=reports, html=html, force=force, quiet=quiet)


@app.command(
    help="Write the file that repeats an audit, from its JSON report.\n\n"
    "It says all that was asked for: tables, metrics, attackers, policy, seed. Edit it, keep it beside the "
    "data, and give it to [bold]tabveil audit --config[/].",
    epilog="Examples:\n\n[cyan]tabveil config report.json --out audit.yaml[/]\n\n"
    "[cyan]tabveil audit --config audit.yaml[/]",
)
def config(
    *,
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A JSON report.", show_default=False)],
    out: Annotated[Path | None, typer.Option(metavar=FILE, help="Write it here, not to the screen.")] = None,
    force: Force = False,
) -> None:
    """Write what an audit was asked for."""
    from tabveil.cli import commands

    commands.config(report=report, out=out, force=force)


@app.command(
    help="Write a release policy to edit: accepted risks, confidence, recipient, required metrics.",
    epilog="Examples:\n\n[cyan]tabveil policy --out policy.yaml[/]\n\n"
    "[cyan]tabveil audit --policy policy.yaml --train t.csv --control c.csv --synthetic s.csv[/]",
)
def policy(
    *,
    out: Annotated[Path | None, typer.Option(metavar=FILE, help="Write it here, not to the screen.")] = None,
    force: Force = False,
) -> None:
    """Write a policy."""
    from tabveil.cli import commands

    commands.policy(out=out, force=force)


@app.command(
    help="Hold back control rows before you train a generator.\n\n"
    "Train the generator on [bold]train[/] only and keep [bold]control[/] for the audit: without rows the "
    "generator never saw, an audit concludes little. Rows of one person ([bold]--by[/]) stay together; "
    "without it, rows that are equal in every column do, unless different people coincide by chance. "
    "Both files are of the same kind as the data, or CSV where that is a spreadsheet.",
    epilog="Examples:\n\n[cyan]tabveil split --data patients.csv --control 0.3 --out split[/]\n\n"
    "[cyan]tabveil split --data visits.parquet --control 0.3 --by patient --out split[/]",
)
def split(
    *,
    data: Annotated[Path, typer.Option(metavar=FILE, help="All the real rows you have.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write train and control.")],
    control: Annotated[float, typer.Option(metavar="SHARE", help="The share of rows to hold back.")] = 0.3,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows with the same value (one person) stay together."),
    ] = None,
    independent_rows: Annotated[
        bool, typer.Option("--independent-rows", help="Every row is another person: look for no others.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option(metavar=FILE, help="Accepted risks: what would it take to settle them?")
    ] = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Split a file."""
    from tabveil.cli import commands

    commands.split(
        data=data,
        out=out,
        control=control,
        by=by,
        independent_rows=independent_rows,
        policy=policy,
        seed=seed,
        force=force,
    )


@app.command(
    help="Write down the column types found in a table, to be edited and given to an audit.\n\n"
    "Comments say what to look at first: columns that may be meant in several ways, and how to say which.",
    epilog="Examples:\n\n[cyan]tabveil schema patients.csv --missing '?' --out schema.yaml[/]\n\n"
    "[cyan]tabveil audit --schema schema.yaml --train train.csv --synthetic out.csv[/]",
)
def schema(
    *,
    file: Annotated[Path, typer.Argument(metavar=FILE, help="A table.", show_default=False)],
    missing: Missing = None,
    out: Annotated[Path | None, typer.Option(metavar=FILE, help="Write it here, not to the screen.")] = None,
    force: Force = False,
) -> None:
    """Describe a file."""
    from tabveil.cli import commands

    commands.schema(file=file, missing=missing or (), out=out, force=force)


@app.command(help="List every metric: the question it answers and where it belongs.")
def metrics() -> None:
    """List the metrics."""
    from tabveil.cli import commands

    commands.metrics()


synthesize.register(app)
attack.register(app)
anonymize.register(app)
steps.register(app)
epsilon.register(app)
pipeline.register(app)
tune.register(app)
app.add_typer(benchmark.app)


@app.command(
    help="Audit two releases of a simulated hospital: a clean one, and one with a planted leak.\n\n"
    "Nobody's data are needed, and nothing leaves this machine. Takes a minute or two.",
    epilog="Example:\n\n[cyan]tabveil demo --out demo[/]",
)
def demo(
    *,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to put tables and reports.")] = Path(
        "demo"
    ),
    seed: Seed = 0,
    svg: Annotated[Path | None, typer.Option(hidden=True, help="Draw what is printed.")] = None,
) -> None:
    """Run the demo."""
    from tabveil.cli import demo

    demo.run(out=out, seed=seed, svg=svg)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an old terminal shows "?", it does not stop the audit
    end_in_order()
    app()
