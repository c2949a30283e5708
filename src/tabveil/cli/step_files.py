"""Steps beside a generator, file to file: what is refused, written and said."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table as Grid

from tabveil.cli import files
from tabveil.cli.progress import progress_shown
from tabveil.cli.screen import Screen
from tabveil.core.table import Indices
from tabveil.core.wording import interval, number, value_of
from tabveil.core.workers import tell, working
from tabveil.metrics.utility import MEANINGS, Utility
from tabveil.tables import reading as frame
from tabveil.tables.reading.files import is_text_file
from tabveil.tables.reading.rewriting import replace_raw
from tabveil.workflows import pseudonyms, steps
from tabveil.workflows.pseudonyms import Style
from tabveil.workflows.steps import FilteredRelease

_LOUD = "bold red"


def filter_release(
    *,
    train: Path,
    synthetic: Path,
    control: Path,
    out: Path,
    near: float,
    outliers: float,
    utility: bool,
    target: tuple[str, ...],
    schema: Path | None,
    missing: tuple[str, ...],
    drop_identifiers: bool,
    seed: int,
    threads: int | None,
    force: bool,
    quiet: bool,
) -> None:
    """Write the rows of a release that are left, and say which are not and what that costs."""
    place = _target(out, [train, synthetic, control, schema], force=force)
    with progress_shown(quiet=quiet) as listener:
        found = steps.filter_release(
            train,
            synthetic,
            control,
            near=near,
            outliers=outliers,
            measure_utility=utility and not quiet,
            target=target or None,
            seed=seed,
            schema=schema,
            missing=missing,
            drop_identifiers=drop_identifiers,
            threads=threads,
            progress=listener,
        )
    _write(synthetic, found.kept, place)
    aside = Screen(stderr=True)
    if not quiet:
        for note in found.notes:
            aside.say(note)
        tell_filtered(Screen(), found, f"{out}")
    for warning in found.warnings:
        aside.say(warning, style=_LOUD)


def tell_filtered(screen: Screen, found: FilteredRelease, where: str) -> None:
    """Say how many rows are left, why the others are not, and what that costs."""
    tell_step(screen, found.sentences, where)
    if found.near is not None:
        screen.say(f"  The bar is at {number(found.near.bar)} (Gower's distance).")
    if found.before is not None and found.after is not None:
        screen.print(_cost(found.before, found.after))


def _cost(before: Utility, after: Utility) -> Grid:
    """Set the figures of either release side by side, and those of the models trained on them."""
    grid = Grid(
        "utility", "before", "after", "interval", "real rows", box=None, pad_edge=False, header_style="dim"
    )
    pairs = [
        (MEANINGS[key].title, figure, after.figures[key])
        for key, figure in before.figures.items()
        if key in after.figures
    ]
    later = {target.name: target for target in after.targets}
    pairs += [
        (f"Predicting {target.name} ({target.score})", target.figure, later[target.name].figure)
        for target in before.targets
        if target.name in later
    ]
    for title, was, now in pairs:
        grid.add_row(
            title, value_of(was.value), value_of(now.value), interval(now.value), value_of(now.reference)
        )
    return grid


def deduplicate(
    *,
    data: Path,
    out: Path,
    person: str | None,
    most: int | None,
    equal: bool,
    seed: int,
    force: bool,
    quiet: bool,
) -> None:
    """Write the rows that are kept."""
    place = _target(out, [data], force=force)
    with progress_shown(quiet=quiet) as listener, working(listener=listener):
        tell("comparing rows", 0.0)
        found = steps.deduplicate(data, person=person, most=most, equal=equal, seed=seed)
        tell("writing", 0.9)
        _write(data, found.kept, place)
    if not quiet:
        for note in found.notes:
            Screen(stderr=True).say(note)
        tell_step(Screen(), found.sentences, f"{out}")


def tell_step(screen: Screen, sentences: Sequence[str], where: str) -> None:
    """Say what a step did: of which file or step, and below it what else there is to say."""
    for place, sentence in enumerate(sentences):
        screen.say(f"  {sentence}" if place else f"{where}: {sentence}")


def pseudonymize(
    *,
    data: Path,
    columns: Sequence[str],
    texts: Sequence[str] | None,
    key: Path,
    out: Path,
    style: Style,
    force: bool,
    quiet: bool,
) -> None:
    """Write a table with pseudonyms; a new key is made only once the table was read."""
    place = _target(out, [data, key], force=force)
    with progress_shown(quiet=quiet) as listener, working(listener=listener):
        tell("reading", 0.0)
        found = pseudonyms.pseudonymize(data, columns, key=key, style=style, texts=texts)
        tell("writing", 0.8)
        frame.write_raw(replace_raw(frame.read_raw(data), found.replaced), place, like=data)
    if quiet:
        return
    for note in found.notes:
        Screen(stderr=True).say(note)
    tell_step(Screen(), found.sentences, f"{out}")
    if found.key_made:
        Screen().say(f"{key}: a new key. Keep it, away from the table, and show it to nobody.")
    Screen().say(pseudonyms.STILL_PERSONAL, style="dim")


def _target(out: Path, not_over: Sequence[Path | None], *, force: bool) -> Path:
    """Refuse an output that cannot be written, or that is there already."""
    is_text_file(out.resolve())  # refuses unknown suffixes
    return files.writable("--out", out, force=force, not_over=not_over)


def _write(data: Path, rows: Indices, place: Path) -> None:
    """Write some rows of a file as they stand in it."""
    frame.write_raw(frame.take_rows(frame.read_raw(data), rows), place, like=data)
