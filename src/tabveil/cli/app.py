"""The program: its commands, each of which stands in a file of its own.

A command says its options and does what is asked; what is heavy it imports when it runs, because ``--help``
must not wait for pandas. To add one, write its file and name it here.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli import (
    anonymize,
    attack,
    audit,
    audit_epsilon,
    benchmark,
    bundle,
    compare,
    config,
    demo,
    metrics,
    pipeline,
    policy,
    schema,
    split,
    steps,
    synthesize,
    tune,
)
from tabveil.cli.exit_codes import Commands, end_in_order
from tabveil.core.ending import OUR_FAULT, end_with
from tabveil.version import __version__

COMMANDS = (
    *(audit, compare, config, bundle, policy, split, schema, metrics, synthesize, attack, anonymize, steps),
    *(audit_epsilon, pipeline, tune, benchmark, demo),
)
"""In the order of the help."""

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
    help="How much does a synthetic table reveal about the people behind it?",
    epilog="Start with [bold]tabveil demo[/]. Then, with your own data: [bold]tabveil split[/] before you "
    "train a generator, [bold]tabveil audit[/] before you release anything.",
)


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


for command in COMMANDS:
    command.register(app)


def main() -> None:
    """Run the command line."""
    end_with(OUR_FAULT)  # until there is another code
    _require_streams()
    end_in_order()
    app()


def _require_streams() -> None:
    """Let what is printed go nowhere where who called closed that, not into the first file that is opened."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an old terminal shows "?", it does not stop the audit
