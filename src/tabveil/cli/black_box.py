"""Attacking a generator that one owns: what is refused, written and said."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabveil import attacking
from tabveil.cli import files
from tabveil.cli.exit_codes import Interrupted
from tabveil.cli.progress import progress_shown
from tabveil.cli.screen import Screen, show_json
from tabveil.cli.synthetic import read_settings
from tabveil.render.shadow import TITLE, shown
from tabveil.render.shadow_text import shadow_text

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
    try:
        with progress_shown(quiet=quiet) as listener:
            found = attacking.attack(data, settings=read_settings(given), progress=listener, **asked)
    except KeyboardInterrupt:
        if asked["store"] is None:
            raise
        raise Interrupted("interrupted; what was done is kept, run the same command to go on.") from None
    if target == STDOUT:
        show_json(found.json_text().rstrip("\n"))
    elif target is not None:
        found.write(target)
    if not quiet:
        screen = Screen(stderr=json == STDOUT)
        screen.say(TITLE, style="bold")
        screen.print(shadow_text(shown(found)))
