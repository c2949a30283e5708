"""``tabveil synthesize --tables``: learn people with their linked rows, and write new ones."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tabveil.cli import databases
from tabveil.cli.screen import Screen

if TYPE_CHECKING:
    from tabveil.tables.linked import Database


def write_new_people(
    database: "Database",
    out: Path,
    read: Iterable[Path | None],
    *,
    command: str,
    n_people: int | None,
    seed: int | None,
    threads: int | None,
    force: bool,
    **asked: Any,  # noqa: ANN401 - as learn_tables takes it
) -> int:
    """Learn a database, write as many people into a folder, and say how to audit them.

    ``command`` names the database again, in an audit.
    """
    from tabveil.cli.progress import progress_shown
    from tabveil.core.workers import working
    from tabveil.errors import ParameterError
    from tabveil.tables.linked.folders import places_in
    from tabveil.workflows.databases import learn_tables
    from tabveil.workflows.databases.database_model import ROLES
    from tabveil.workflows.synthesizing import choose

    choose(asked["generator"], asked["settings"])  # complains before anything is made
    role = next((role for role in ROLES if role in database.given), None)
    if role is None:
        raise ParameterError("--tables", "the file names no train: where are the tables to learn from?")
    places: Mapping[str, Any] = places_in(database.given[role], role)
    origins = {table: Path(places[table]) for table in database.linkage.tables if table in places}
    targets = databases.places("--out", out, origins, force=force, not_over=read)
    with progress_shown(quiet=False) as listener:
        learned = learn_tables(database, seed=seed, threads=threads, progress=listener, **asked)
        beside = Screen(stderr=True)
        for note in learned.notes:
            beside.say(note)
        with working(threads=threads, listener=listener):
            drawn = learned.draw(n_people or learned.read.n_people, seed=seed or 0)
    for table, rows in drawn.tables.items():
        rows.write(targets[table])
    person = learned.linkage.person
    linked = ", ".join(
        f"{len(rows.table):,} {table}" for table, rows in drawn.tables.items() if table != person
    )
    told = f"{out}: {drawn.n_people:,} people ({person}) by {learned.generator} with {linked}, learned from "
    Screen().print(Text(f"{told}{learned.read.n_people:,} people."))
    Screen().say(
        "Keys are new: whole numbers of a length that no key learned from has. Every linked row belongs to "
        "somebody."
    )
    Screen().say("Not audited: whether these people are within any policy is not known.")
    synthetic = database.given.get("synthetic")
    same = isinstance(synthetic, (str, Path)) and Path(synthetic).resolve() == out.resolve()
    words = command if same else f"{command} --synthetic {shlex.quote(str(out))}"
    Screen().say(f"Audit them before you release them:\n  {words}", style="dim")
    return 0
