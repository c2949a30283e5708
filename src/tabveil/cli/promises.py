"""Auditing promises of privacy: what is refused first, written, said, and told by the exit code."""

import json as json_text
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabveil.cli import files
from tabveil.cli.exit_codes import Interrupted
from tabveil.cli.progress import progress_shown
from tabveil.cli.screen import Screen, show_json
from tabveil.cli.synthetic import read_settings
from tabveil.core.storage.files import write_text
from tabveil.workflows.cells.own_code import import_files
from tabveil.workflows.epsilon import EpsilonFinding, audit_epsilon

STDOUT = Path("-")


def audit(
    *,
    generator: str,
    options: Mapping[str, Any],
    settings: Sequence[str],
    code: Sequence[Path],
    json: Path | None,
    force: bool,
    quiet: bool,
) -> int:
    """Audit a generator's ε, and say what that proves; the exit code is that of the finding's state."""
    target = json
    if json is not None and json != STDOUT:
        target = files.writable("--json", json, force=force)
    store = options["store"]
    if store is not None:
        files.folder("--store", store)
    import_files(code)
    try:
        with progress_shown(quiet=quiet) as listener:
            found = audit_epsilon(
                generator, settings=read_settings(settings), code=code, progress=listener, **options
            )
    except KeyboardInterrupt:
        kept = "what was done is kept, run the same command to go on" if store else "nothing is kept"
        raise Interrupted(f"interrupted; {kept}.") from None
    if target == STDOUT:
        show_json(_text(found))
    elif target is not None:
        write_text(target, _text(found) + "\n")
    if not quiet:
        # JSON on standard output is for a program; the text then goes where people look.
        screen = Screen(stderr=json == STDOUT)
        for line in found.lines():
            screen.say(line)
    return found.exit_code


def _text(found: EpsilonFinding) -> str:
    data = {"state": found.state, "proven": found.proven, **found.to_json()}
    return json_text.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
