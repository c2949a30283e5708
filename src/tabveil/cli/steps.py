"""Steps beside a generator: ``tabveil filter``, ``deduplicate``, ``pseudonymize``, ``perturb``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tabveil.cli.files import rows_file
from tabveil.cli.options import Drop, Force, Missing, Out, Seed, Threads, asked, option
from tabveil.cli.screen import LOUD, Screen
from tabveil.core.wording import interval, number, value_of
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from tabveil.core.table import Indices
    from tabveil.metrics.utility import Utility

Data = Annotated[Path, option("FILE", "The real rows.")]


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary, no progress; warnings stay.")]


def filter_release(
    *,
    train: Annotated[Path, option("FILE", "The real rows the generator learned from.")],
    synthetic: Annotated[Path, option("FILE", "The rows to be filtered.")],
    control: Annotated[Path, option("FILE", "Real rows the generator never saw: they set the bar.")],
    out: Out,
    near: Annotated[
        float,
        option(
            "SHARE", "Drop rows nearer to a training row than this share of control rows are; 0 drops none."
        ),
    ] = 0.02,
    outliers: Annotated[
        float, option("SHARE", "Then drop this share of the rest: what stands apart most.")
    ] = 0.0,
    utility: Annotated[
        bool, typer.Option("--utility/--no-utility", help="Measure what dropping them costs.")
    ] = True,
    target: Annotated[list[str] | None, asked("target")] = None,
    schema: Annotated[Path | None, asked("column_types")] = None,
    drop: Drop = None,
    missing: Missing = None,
    drop_identifiers: Annotated[
        bool,
        typer.Option(
            "--drop-identifiers/--keep-all",
            help="Do not compare columns that look like identifiers; the rows keep them.",
        ),
    ] = False,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Filter a file."""
    from tabveil.cli.progress import progress_shown
    from tabveil.workflows import steps

    place = rows_file(out, force=force, not_over=[train, synthetic, control, schema])
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
            drop=drop or (),
            missing=missing or (),
            drop_identifiers=drop_identifiers,
            threads=threads,
            progress=listener,
        )
    _write(synthetic, found.kept, place)
    if not quiet:
        _tell(out, found.notes, found.sentences)
        screen = Screen()
        if found.near is not None:
            screen.say(f"  The bar is at {number(found.near.bar)} (Gower's distance).")
        if found.before is not None and found.after is not None:
            headings = ("utility", "before", "after", "interval", "real rows")
            screen.show_rows(headings, _costs(found.before, found.after))
    for warning in found.warnings:
        Screen(stderr=True).say(warning, style=LOUD)


def deduplicate(
    *,
    data: Data,
    out: Out,
    person: Annotated[str | None, option("COLUMN", "The column that says whose row it is.")] = None,
    most: Annotated[int | None, option("N", "How many rows of a person are kept.", min=1)] = None,
    equal: Annotated[
        bool, typer.Option("--drop-equal/--keep-equal", help="Keep rows that are equal in all columns once.")
    ] = True,
    drop: Drop = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Deduplicate a file."""
    from tabveil.cli.progress import progress_shown
    from tabveil.core.workers import tell, working
    from tabveil.workflows import steps

    place = rows_file(out, force=force, not_over=[data])
    with progress_shown(quiet=quiet) as listener, working(listener=listener):
        tell("comparing rows", 0.0)
        gone = drop or ()
        found = steps.deduplicate(data, person=person, most=most, equal=equal, drop=gone, seed=seed)
        tell("writing", 0.9)
        _write(data, found.kept, place, drop=gone)
    if not quiet:
        _tell(out, found.notes, found.sentences)


def pseudonymize(
    *,
    data: Data,
    key: Annotated[Path, option("FILE", "The file of the key; made if there is none, for its owner alone.")],
    out: Out,
    column: Annotated[list[str] | None, option("COLUMN", "A column that names people. Repeatable.")] = None,
    text: Annotated[
        list[str] | None,
        option(
            "COLUMN",
            "A column of free text, in which people are named. Repeatable; if left out, those that look "
            "like it.",
        ),
    ] = None,
    no_text: Annotated[bool, typer.Option("--no-text", help="Leave all free text as it is.")] = False,
    style: Annotated[
        str,
        option(
            "hash|invented",
            "A keyed hash, the same in every file; or an identifier of the same form that nobody has.",
        ),
    ] = "hash",
    drop: Drop = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Pseudonymize a file."""
    from tabveil.cli.progress import progress_shown
    from tabveil.core.workers import tell, working
    from tabveil.tables import reading as frame
    from tabveil.tables.reading.rewriting import replace_raw
    from tabveil.workflows import pseudonyms

    if no_text and text:
        raise ParameterError("--no-text", "--text names columns in which something is to be replaced.")
    texts = () if no_text else text
    place = rows_file(out, force=force, not_over=[data, key])
    with progress_shown(quiet=quiet) as listener, working(listener=listener):
        tell("reading", 0.0)
        found = pseudonyms.pseudonymize(
            data,
            column or (),
            key=key,
            style=style,  # type: ignore[arg-type] # checked where it is used
            texts=texts,
            drop=drop or (),
        )
        tell("writing", 0.8)
        frame.write_raw(replace_raw(frame.read_raw(data, drop or ()), found.replaced), place, like=data)
    if quiet:
        return
    _tell(out, found.notes, found.sentences)
    if found.key_made:
        Screen().say(f"{key}: a new key. Keep it, away from the table, and show it to nobody.")
    Screen().say(pseudonyms.STILL_PERSONAL, style="dim")


def perturb(
    *,
    data: Data,
    out: Out,
    swap: Annotated[
        list[str] | None,
        option(
            "COLUMN", "A column whose values change places among rows. Repeatable: all of a row together."
        ),
    ] = None,
    within: Annotated[
        list[str] | None, option("COLUMN", "A column that is equal in rows that swap. Repeatable.")
    ] = None,
    share: Annotated[float, option("SHARE", "The share of the rows that swap.")] = 1.0,
    noise: Annotated[
        float, option("S", "How far numbers are moved, in standard deviations of their column.")
    ] = 0.0,
    replace: Annotated[
        float, option("P", "The chance of a label to be drawn anew, by how common labels are.")
    ] = 0.0,
    column: Annotated[
        list[str] | None,
        option("COLUMN", "A column that --noise and --replace change. Repeatable; if left out, all others."),
    ] = None,
    schema: Annotated[Path | None, asked("column_types")] = None,
    drop: Drop = None,
    missing: Missing = None,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Perturb a file."""
    from tabveil.cli.progress import progress_shown
    from tabveil.core.workers import tell, working
    from tabveil.tables import reading as frame
    from tabveil.workflows import perturbing

    place = rows_file(out, force=force, not_over=[data, schema])
    with progress_shown(quiet=quiet) as listener, working(listener=listener):
        tell("reading", 0.0)
        found = perturbing.perturb(
            data,
            swap=swap or (),
            within=within or (),
            share=share,
            noise=noise,
            replace=replace,
            columns=column or (),
            seed=seed,
            schema=schema,
            missing=missing or (),
            drop=drop or (),
        )
        tell("writing", 0.8)
        frame.write_raw(found.raw, place, like=data)
    if not quiet:
        _tell(out, found.notes, found.sentences)
    Screen(stderr=True).say(perturbing.NOTHING_PROMISED, style="dim")


def _costs(before: "Utility", after: "Utility") -> list[tuple[str, ...]]:
    """Set the figures of either release side by side, and those of the models trained on them."""
    from tabveil.metrics.utility import MEANINGS

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
    return [
        (title, value_of(was.value), value_of(now.value), interval(now.value), value_of(now.reference))
        for title, was, now in pairs
    ]


def _tell(out: Path, notes: Sequence[str], sentences: Sequence[str]) -> None:
    for note in notes:
        Screen(stderr=True).say(note)
    tell_step(Screen(), sentences, f"{out}")


def tell_step(screen: Screen, sentences: Sequence[str], where: str) -> None:
    """Say what a step did: of which file or step, and below it what else there is to say."""
    for place, sentence in enumerate(sentences):
        screen.say(f"  {sentence}" if place else f"{where}: {sentence}")


def _write(data: Path, rows: "Indices", place: Path, *, drop: Sequence[str] = ()) -> None:
    """Write some rows of a file as they stand in it."""
    from tabveil.tables import reading as frame

    frame.write_raw(frame.take_rows(frame.read_raw(data, drop), rows), place, like=data)


def register(app: typer.Typer) -> None:
    """Add the four commands."""
    app.command(
        "filter",
        help="Drop rows of a release that are too near to training rows, judged by rows never seen.\n\n"
        "The bar is how near control rows come: all rows of the release below it are dropped, and exact "
        "copies beyond what control has. With [bold]--outliers[/] also rows that stand apart. Says what it "
        "costs. It voids a promise of differential privacy, and holes are hints: audit what is left.",
        epilog="Examples:\n\n"
        "[cyan]tabveil filter --train t.csv --control c.csv --synthetic s.csv --out filtered.csv[/]\n\n"
        "[cyan]tabveil filter --train t.csv --control c.csv --synthetic s.csv --outliers 0.01 "
        "--no-utility --out filtered.csv[/]",
    )(filter_release)
    app.command(
        help="Keep equal rows once, and at most so many rows of a person, before a generator learns them.\n\n"
        "Which rows of a person are kept is chosen at random, by the seed and by what they hold. "
        "A row that is left can still be memorized.",
        epilog="Examples:\n\n[cyan]tabveil deduplicate --data patients.csv --out once.csv[/]\n\n"
        "[cyan]tabveil deduplicate --data visits.csv --person patient --most 3 --out fewer.csv[/]",
    )(deduplicate)
    app.command(
        help="Replace identifiers by pseudonyms that only the holder of a key can find again.\n\n"
        "A pseudonym is a keyed hash (HMAC-SHA256): the same value has the same one in every file, as long "
        "as the key is the same. In free text, people are named by the same pseudonyms: what the columns "
        "hold, names after a title, and e-mail addresses, phone and account numbers by their form. Other "
        "names stay. People can still be found by the other columns and by the story: what is left is "
        "personal data. The key is never shown; keep it away from the table.",
        epilog="Examples:\n\n"
        "[cyan]tabveil pseudonymize --data patients.csv --column name --key secret.key --out p.csv[/]\n\n"
        "[cyan]tabveil pseudonymize --data l.csv --column name --text letter --key k --out p.csv[/]\n\n"
        "[cyan]tabveil pseudonymize --data p.csv --column case --style invented --key k --out q.csv[/]",
    )(pseudonymize)
    app.command(
        help="Swap values among rows, or move them by noise, before a generator learns them or as a "
        "release.\n\n"
        "Swapped columns change places together, among rows that are equal in [bold]--within[/]. Numbers are "
        "moved by a normal draw, labels drawn anew. Rows leave in random order. Nothing formal is promised: "
        "audit what comes out against the rows as they were.",
        epilog="Examples:\n\n"
        "[cyan]tabveil perturb --data p.csv --swap town --within region --share 0.5 --out swapped.csv[/]\n\n"
        "[cyan]tabveil perturb --data p.csv --noise 0.1 --replace 0.05 --out noisy.csv[/]",
    )(perturb)
