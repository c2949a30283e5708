"""``tabveil split``: hold back control rows."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tabveil.cli import files
from tabveil.cli.options import Force, NumbersSeed, option
from tabveil.cli.screen import Screen

RECORD = "split.json"


def split(
    *,
    data: Annotated[Path, option("FILE", "All the real rows you have.")],
    out: Annotated[Path, option("FOLDER", "Where to write train and control.")],
    control: Annotated[float, option("SHARE", "The share of rows to hold back.")] = 0.3,
    by: Annotated[
        str | None, option("COLUMN", "Rows with the same value (one person) stay together.")
    ] = None,
    independent_rows: Annotated[
        bool, typer.Option("--independent-rows", help="Every row is another person: look for no others.")
    ] = False,
    policy: Annotated[
        Path | None, option("FILE", "Accepted risks: what would it take to settle them?")
    ] = None,
    seed: NumbersSeed = 0,
    force: Force = False,
) -> None:
    """Split a file."""
    from tabveil.auditing.policy import RISKS, Policy, read_policy
    from tabveil.core.storage.files import write_text
    from tabveil.tables import reading as frame
    from tabveil.tables.holdout import count_people, in_words, parted_people, split_rows
    from tabveil.tables.lot import SplitRecord
    from tabveil.tables.reading.files import ending_of_parts

    accepted = read_policy(policy) if policy is not None else Policy()
    folder = files.folder("--out", out)
    ending = ending_of_parts(data)
    targets: dict[Path, Path] = {}
    for part in (folder / f"train{ending}", folder / f"control{ending}"):
        targets[part] = files.writable("--out", part, force=force, not_over=[data, *targets.values()])
    noted = files.writable("--out", folder / RECORD, force=force, not_over=[data, *targets.values()])
    table = frame.read_raw(data)
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
        columns = frame.person_columns(data)
        if columns:
            Screen().print(Text(parted_people(columns), style="bold"))
    told = in_words(
        *sizes,
        threshold=min(map(accepted.thresholds.of, RISKS)),
        confidence=accepted.confidence,
        counted="rows" if by is None else "people",
    )
    Screen().print(Text(told))
    Screen().print("Train the generator on the first only; give both to 'tabveil audit'.", style="dim")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Hold back control rows before you train a generator.\n\n"
        "Train the generator on [bold]train[/] only and keep [bold]control[/] for the audit: without rows "
        "the generator never saw, an audit concludes little. Rows of one person ([bold]--by[/]) stay "
        "together; without it, rows that are equal in every column do, unless different people coincide by "
        "chance. Both files are of the same kind as the data, or CSV where that is a spreadsheet.",
        epilog="Examples:\n\n[cyan]tabveil split --data patients.csv --control 0.3 --out split[/]\n\n"
        "[cyan]tabveil split --data visits.parquet --control 0.3 --by patient --out split[/]",
    )(split)
