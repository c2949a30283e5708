"""``tabveil split``: hold back control rows, or people with all their rows of linked tables."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tabveil.cli import databases, files
from tabveil.cli.options import Drop, Force, Metadata, NumbersSeed, PersonTable, Tables, option
from tabveil.cli.screen import Screen

if TYPE_CHECKING:
    from tabveil.auditing.policy import Policy
    from tabveil.tables.linked import Database

RECORD = "split.json"


def split(
    *,
    data: Annotated[Path | None, option("FILE", "All the real rows you have.")] = None,
    tables: Tables = None,
    metadata: Metadata = None,
    person_table: PersonTable = None,
    out: Annotated[Path, option("FOLDER", "Where to write train and control.")],
    control: Annotated[
        float, option("SHARE", "The share of rows to hold back; of people, where tables are linked.")
    ] = 0.3,
    by: Annotated[
        str | None, option("COLUMN", "Rows with the same value (one person) stay together.")
    ] = None,
    independent_rows: Annotated[
        bool, typer.Option("--independent-rows", help="Every row is another person: look for no others.")
    ] = False,
    policy: Annotated[
        Path | None, option("FILE", "Accepted risks: what would it take to settle them?")
    ] = None,
    drop: Drop = None,
    seed: NumbersSeed = 0,
    force: Force = False,
) -> None:
    """Split a file."""
    from tabveil.auditing.policy import Policy, read_policy
    from tabveil.core.storage.files import write_text
    from tabveil.tables import reading as frame
    from tabveil.tables.holdout import count_people, parted_people, split_rows
    from tabveil.tables.lot import SplitRecord
    from tabveil.tables.reading.files import ending_of_parts

    accepted = read_policy(policy) if policy is not None else Policy()
    database = databases.asked_database(tables, metadata, person_table, data)
    if database is not None:
        databases.refuse("their keys say whose rows are whose.", by=by, independent_rows=independent_rows)
        databases.refuse(databases.NOT_DROPPED, drop=drop or None)
        read = [tables, metadata, policy]
        _split_tables(database, out, read, control=control, policy=accepted, seed=seed, force=force)
        return
    assert data is not None
    folder = files.folder("--out", out)
    ending = ending_of_parts(data)
    targets: dict[Path, Path] = {}
    for part in (folder / f"train{ending}", folder / f"control{ending}"):
        targets[part] = files.writable("--out", part, force=force, not_over=[data, *targets.values()])
    noted = files.writable("--out", folder / RECORD, force=force, not_over=[data, *targets.values()])
    table = frame.read_raw(data, drop or ())
    parts = split_rows(table, control=control, by=by, seed=seed)
    sizes = []
    for (part, target), rows in zip(targets.items(), parts, strict=True):
        taken = frame.take_rows(table, rows)
        frame.write_raw(taken, target, like=data)
        sizes.append(len(rows) if by is None else count_people(taken, by))
        Screen().print(Text(f"{part}: {len(rows):,} rows"))
    record = SplitRecord(
        control=control, by=by, seed=seed, train_rows=len(parts[0]), control_rows=len(parts[1])
    )
    if record.doubt(*targets.values()) is None:  # a spreadsheet's rows are others as text
        write_text(noted, f"{json.dumps(record.to_json(), indent=2, ensure_ascii=False)}\n")
        Screen().print(Text(f"{folder / RECORD}: how they were divided, for 'tabveil audit --split'"))
    if by is None and not independent_rows:
        columns = frame.person_columns(data, drop=drop or ())
        if columns:
            Screen().print(Text(parted_people(columns), style="bold"))
    if drop:
        Screen().print(Text(f"Left out of both, as asked: {frame.listed_columns(drop)}."))
    _say_what_is_settled(sizes[0], sizes[1], accepted, counted="rows" if by is None else "people")
    Screen().print("Train the generator on the first only; give both to 'tabveil audit'.", style="dim")


def _say_what_is_settled(n_train: int, n_control: int, policy: "Policy", *, counted: str) -> None:
    from tabveil.auditing.policy import RISKS
    from tabveil.tables.holdout import in_words

    threshold = min(map(policy.thresholds.of, RISKS))
    told = in_words(n_train, n_control, threshold=threshold, confidence=policy.confidence, counted=counted)
    Screen().print(Text(told))


def _split_tables(
    database: "Database",
    out: Path,
    read: list[Path | None],
    *,
    control: float,
    policy: "Policy",
    seed: int,
    force: bool,
) -> None:
    """Deal people, write their rows of all tables into two folders, and a file for what comes next."""
    from tabveil.core.settings.yaml_files import to_yaml
    from tabveil.core.storage.files import write_text
    from tabveil.tables import reading as frame
    from tabveil.tables.linked.dealing import DATA, deal
    from tabveil.tables.linked.folders import places_in

    dealt = deal(database, control=control, seed=seed)
    came = places_in(dealt.database.given[DATA], DATA)
    origins = {table: Path(came[table]) for table in dealt.database.linkage.tables}
    folder = files.folder("--out", out)
    sides = {"train": dealt.train, "control": dealt.control}
    targets = {
        side: databases.places("--out", folder / side, origins, force=force, not_over=read) for side in sides
    }
    file = files.writable("--out", folder / databases.FILE, force=force, not_over=[*read, *origins.values()])
    for table, origin in origins.items():
        rows = frame.read_raw(origin)
        for side, taken in sides.items():
            frame.write_raw(frame.take_rows(rows, taken[table]), targets[side][table], like=origin)
    said = dealt.database.to_file(train="train/", control="control/", synthetic="synthetic/")
    write_text(file, to_yaml(said))
    for note in dealt.notes:
        Screen(stderr=True).say(note)
    person = dealt.database.linkage.person
    for side, taken in sides.items():
        rows_of = ", ".join(f"{len(rows):,} {table}" for table, rows in taken.items() if table != person)
        Screen().say(f"{folder / side}: {len(taken[person]):,} people ({person}) with {rows_of}")
    for told in filter(None, (dealt.together, dealt.twice)):
        Screen().say(told)
    _say_what_is_settled(*dealt.n_people, policy, counted="people")
    Screen().say(
        f"Train the generator on {folder / 'train'} only and let it write to {folder / 'synthetic'}; then\n"
        f"  tabveil audit --tables {folder / databases.FILE}",
        style="dim",
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Hold back control rows before you train a generator.\n\n"
        "Train the generator on [bold]train[/] only and keep [bold]control[/] for the audit: without rows "
        "the generator never saw, an audit concludes little. Rows of one person ([bold]--by[/]) stay "
        "together; without it, rows that are equal in every column do, unless different people coincide by "
        "chance. Both files are of the same kind as the data, or CSV where that is a spreadsheet. They have "
        "all its columns but those that [bold]--drop[/] leaves out. Of linked tables ([bold]--tables[/]) "
        "people are held back with all their rows, and people who share rows stay together.",
        epilog="Examples:\n\n[cyan]tabveil split --data patients.csv --control 0.3 --out split[/]\n\n"
        "[cyan]tabveil split --data visits.parquet --control 0.3 --by patient --out split[/]\n\n"
        "[cyan]tabveil split --tables db.yaml --control 0.3 --out split[/]",
    )(split)
