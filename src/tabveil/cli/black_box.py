"""Attacking a generator that one owns: what is refused, written and said."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabveil.cli import files
from tabveil.cli.progress import progress_shown, progress_to_go_on
from tabveil.cli.screen import Screen, show_json
from tabveil.cli.synthetic import read_settings
from tabveil.render.black_box.terminal import access_text
from tabveil.render.black_box.view import TITLE, shown
from tabveil.workflows import black_box as attacking

STDOUT = Path("-")
_INPUTS = ("config", "control", "schema")


def attack(
    *,
    data: Path,
    json: Path | None,
    force: bool,
    quiet: bool,
    given: Sequence[str],
    asked: Mapping[str, Any],
) -> None:
    """Attack, show and write what was found."""
    target = json
    if json is not None and json != STDOUT:
        inputs = [data, *(asked[name] for name in _INPUTS)]
        target = files.writable("--json", json, force=force, not_over=inputs)
    showing = progress_shown if asked["store"] is None else progress_to_go_on
    with showing(quiet=quiet) as listener:
        found = attacking.attack(data, settings=read_settings(given), progress=listener, **asked)
    if target == STDOUT:
        show_json(found.json_text().rstrip("\n"))
    elif target is not None:
        found.write(target)
    if not quiet:
        screen = Screen(stderr=json == STDOUT)
        screen.say(TITLE, style="bold")
        screen.print(access_text(shown(found)))
