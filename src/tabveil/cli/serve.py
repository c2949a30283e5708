"""``tabveil serve``: the audit as pages, for people who do not use a terminal."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from tabveil.cli.options import option
from tabveil.cli.screen import Screen
from tabveil.errors import ParameterError

_MODULES = ("starlette", "uvicorn")


def serve(
    *,
    folder: Annotated[Path, option("FOLDER", "Where the tables are, and where projects are kept.")],
    port: Annotated[
        int, option("N", "The port on 127.0.0.1; 0 takes one that is free.", min=0, max=65535)
    ] = 0,
    at_once: Annotated[
        int, option("N", "So many audits and other jobs run at the same time; more wait.", min=1, max=16)
    ] = 1,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser, or only show the link.")
    ] = True,
) -> None:
    """Serve a folder."""
    if any(importlib.util.find_spec(name) is None for name in _MODULES):
        raise ParameterError("serve", "needs the extra 'web': pip install 'tabveil[web]'.")
    if importlib.util.find_spec("fcntl") is None:
        raise ParameterError("serve", "runs on Linux and macOS.")
    from tabveil.web.server import Served, open_browser

    screen = Screen(stderr=True)
    served = Served(folder, port=port, at_once=at_once, failed=lambda error: _complain(screen, error))
    Screen().say(f"tabveil serves {folder} on this machine alone. Open it by this link, which is good once:")
    Screen().say(served.link)
    Screen().say(
        "Ctrl-C ends the server; jobs that run go on, and are there when it starts again.", style="dim"
    )
    if browser:
        open_browser(served.link)
    served.run()


def _complain(screen: Screen, error: Exception) -> None:
    """Say what went wrong inside, without a value: the page says less."""
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    screen.say(f"tabveil: a page failed ({type(error).__name__} in {place.name}, line {place.lineno}).")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Open the audit as pages in a browser, for people who do not use a terminal.\n\n"
        "Choose files below the folder, say who attacks and what is accepted, watch the audit run, read its "
        "report, compare releases and sign one. Nothing leaves this machine: the server listens on "
        "127.0.0.1, files are read where they lie, and the link that is shown opens the pages for one "
        "browser, once.\n\n"
        "A project is a folder in that folder: what was asked, as files that the other commands read, what "
        "was found, and who signed. What runs is a process of its own; closing the browser or ending the "
        "server loses nothing. Needs the extra [bold]web[/] (pip install 'tabveil\\[web]'), and Linux or "
        "macOS.",
        epilog="Examples:\n\n[cyan]tabveil serve --folder data[/]\n\n"
        "[cyan]tabveil serve --folder data --port 8000 --no-browser[/]\n\n"
        "From another machine, through SSH: [cyan]ssh -L 8000:127.0.0.1:8000 HOST[/], and there "
        "[cyan]tabveil serve --folder data --port 8000 --no-browser[/]; then open the link here.",
    )(serve)
