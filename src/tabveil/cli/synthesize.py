"""``tabveil synthesize`` and ``tabveil sample``: learn a table and draw rows, draw more rows."""

from collections.abc import Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text
from typer.core import TyperCommand

from tabveil.cli import databases
from tabveil.cli.files import refuse_folder, rows_file
from tabveil.cli.new_people import write_new_people
from tabveil.cli.options import (
    Drop,
    Force,
    Metadata,
    Missing,
    Out,
    PersonTable,
    Save,
    Schema,
    Seed,
    Settings,
    Tables,
    Threads,
    option,
)
from tabveil.cli.screen import LOUD, Screen
from tabveil.cli.steps import tell_step
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from tabveil.auditing.report import Report
    from tabveil.auditing.verdict import Verdict
    from tabveil.workflows.pipeline import StepTaken
    from tabveil.workflows.synthesizing import SyntheticRows, TableModel
    from tabveil.workflows.synthesizing.configuration import SynthesisFile

_EXAMPLES = (
    "Examples:\n\n"
    "[cyan]tabveil synthesize --data train.csv --generator trees --out out.csv[/]\n\n"
    "[cyan]tabveil synthesize --data t.parquet --rows 5000 --save model --out s.parquet[/]\n\n"
    "[cyan]tabveil synthesize --data t.csv --generator copy --set noise=0.1 --out s.csv[/]\n\n"
    "[cyan]tabveil synthesize --data t.csv --schema schema.yaml --missing '?' --out s.csv[/]\n\n"
    "[cyan]tabveil synthesize --data train.csv --control control.csv --out out.csv[/]\n\n"
    "[cyan]tabveil synthesize --data train.csv --config pipeline.yaml --out out.csv[/]\n\n"
    "[cyan]tabveil synthesize --tables split/db.yaml --out split/synthetic[/]"
)


_NOT_LINKED = "schemas stand in the database file, and an audit of people is a command of its own."


class Teaching(TyperCommand):
    """A command whose help lists the registered generators, looked up only when somebody asks."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - the parser's own objects
        """Write the help."""
        self.epilog = f"Generators, with their settings for --set:\n\n{generators()}\n\n{_EXAMPLES}"
        super().format_help(ctx, formatter)


def synthesize(
    *,
    data: Annotated[Path | None, option("FILE", "The real rows to learn from.")] = None,
    tables: Tables = None,
    metadata: Metadata = None,
    person_table: PersonTable = None,
    out: Annotated[
        Path,
        option("FILE", "Where to write the rows (.csv, .parquet, .feather ...); of linked tables a folder."),
    ],
    generator: Annotated[str | None, option("NAME", "How to learn; see below. If left out: trees.")] = None,
    config: Annotated[
        Path | None,
        option(
            "FILE",
            "A YAML or JSON file with generator, settings, rows, seed, schema and more, also steps "
            "before and after (deduplicate, pseudonymize, perturb, filter); what is given here replaces "
            "what it says.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        option("N", "How many rows to draw, of linked tables how many people; as many as the data.", min=1),
    ] = None,
    settings: Settings = None,
    seed: Annotated[
        int | None,
        option("N", "Same seed, same rows. If left out: 0; private generators take a secret one.", min=0),
    ] = None,
    schema: Schema = None,
    drop: Drop = None,
    missing: Missing = None,
    rare_labels: Annotated[
        str | None,
        option(
            "pool|keep",
            "Labels that fewer than ten rows share: learn them as 'other' (if left out), or as they are.",
        ),
    ] = None,
    identifiers: Annotated[
        str | None,
        option(
            "fresh|drop|learn",
            "Columns that name people: fresh ones of the same form (if left out), left out, or learned "
            "as they are.",
        ),
    ] = None,
    control: Annotated[
        Path | None,
        option(
            "FILE", "Real rows that are not learned from: what was made is audited with them, and judged."
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        option("FILE", "Judge by this policy instead of the default, and let the exit code follow."),
    ] = None,
    threads: Threads = None,
    save: Save = None,
    force: Force = False,
) -> int:
    """Learn a file and write rows, or linked tables and write people."""
    database = databases.asked_database(tables, metadata, person_table, data)
    if database is not None:
        databases.refuse(databases.NOT_DROPPED, drop=drop or None)
        databases.refuse(_NOT_LINKED, config=config, schema=schema, save=save, control=control, policy=policy)
        return write_new_people(
            database,
            out,
            [tables, metadata],
            command=databases.audit_command(tables, metadata, person_table, data),
            generator=generator or "trees",
            settings=read_settings(settings or ()),
            n_people=rows,
            seed=seed,
            missing=tuple(missing or ()),
            rare_labels=rare_labels or "pool",
            identifiers=identifiers or "fresh",
            threads=threads,
            force=force,
        )
    assert data is not None
    from tabveil.cli.progress import progress_shown
    from tabveil.core.workers import working
    from tabveil.tables.reading import declare
    from tabveil.workflows import synthesizing
    from tabveil.workflows.pipeline.settings import RealRows, perturbed
    from tabveil.workflows.synthesizing import configuration
    from tabveil.workflows.synthesizing.configuration import SynthesisFile

    said = SynthesisFile() if config is None else configuration.read(config)
    if generator is not None and said.generator not in (None, generator):
        raise ParameterError("--generator", f"{config} has settings of {said.generator}; change them there.")
    generator = generator or said.generator or "trees"
    given: dict[str, Any] = {**said.settings, **read_settings(settings or ())}
    rows, schema, absent = rows or said.rows, schema or said.schema, tuple(missing or said.missing)
    seed = said.seed if seed is None else seed
    chosen = synthesizing.choose(generator, given)  # complains before the long work begins
    _require_control(control, policy, filtering=said.filter is not None)
    target = rows_file(out, not_over=[data, config, schema, save, control, policy], force=force)
    if save is not None:
        refuse_folder(save)
    real, gone = RealRows.of(data=data, control=control).without(drop or ()), tuple(drop or ())
    real = real.deduplicated(said.deduplicate, seed=seed or 0).pseudonymized(said.pseudonymize)
    types = declare.read(schema).about_rest(gone) if gone else schema
    learned_from, changed = perturbed(
        real.get("data"), said, chosen, seed=seed or 0, schema=types, missing=absent
    )
    for step in (*real.steps, *changed):
        _tell_step(step)
    with progress_shown(quiet=False) as listener, working(threads=threads, listener=listener):
        learned = synthesizing.learn(
            learned_from,
            generator=generator,
            settings=given,
            seed=seed,
            schema=types,
            missing=absent,
            rare_labels=rare_labels or said.rare_labels or "pool",  # type: ignore[arg-type] # checked there
            identifiers=identifiers or said.identifiers or "fresh",  # type: ignore[arg-type] # likewise
            deduplicated=said.deduplicate,
        )
        if save is not None:
            learned.save(save)
    _tell(learned, as_many=rows is None)
    drawn = _draw(learned, rows or learned.n_rows or 1, seed=seed or 0, threads=threads)
    # Identifiers have no place in an audit where the rows lack them, or carry some that are nobody's. A
    # private generator may have learned others that were not declared, which then stay in.
    unnamed = bool(learned.left_out) or (bool(learned.fresh) and learned.account.privacy is None)
    asked: dict[str, Any] = {
        "train": real.get("data"),
        "control": real.get("control"),
        "schema": types,
        "missing": absent,
        "drop_identifiers": unnamed,
        "threads": threads,
    }
    if said.filter is not None:
        drawn = _filtered(drawn, said, learned, seed=seed or 0, **asked)
    report = None if control is None else _audited(drawn, target, policy=policy, person=said.person, **asked)
    drawn.write(target)
    n_rows = len(drawn.table)
    Screen().print(Text(f"{out}: {n_rows:,} rows by {generator}, learned from {learned.n_rows:,}."))
    if save is not None:
        Screen().print(
            Text(f"{save}: the model. It holds what was learned from people: guard it like the data.")
        )
    if report is None:
        Screen().say(
            "Not audited: whether these rows are within any policy is not known. Hold rows back with "
            "'tabveil split' and name them with --control."
        )
        _say_next(_audit(data, out, schema, absent, drop=gone, without_identifiers=unnamed))
        return 0
    return _say_verdict(report.verdict, judged=policy is not None)


def sample(
    *,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A stored model.", show_default=False)],
    rows: Annotated[int, option("N", "How many rows to draw.", min=1)],
    out: Out,
    seed: Seed = 0,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Draw rows from a stored model."""
    import shlex

    from tabveil.workflows.synthesizing import TableModel

    target = rows_file(out, not_over=folder.rglob("*"), force=force)
    if folder.resolve() in target.parents:
        raise ParameterError("--out", f"{out} lies in the model's folder; choose another place.")
    learned = TableModel.load(folder)
    _tell(learned)
    _draw(learned, rows, seed=seed, threads=threads).write(target)
    Screen().print(Text(f"{out}: {rows:,} rows by {learned.model.name}."))
    _say_next(f"tabveil audit --train FILE --synthetic {shlex.quote(str(out))}")


def _say_verdict(verdict: "Verdict", *, judged: bool) -> int:
    """Say how the audit ended, and return the exit code that follows."""
    from tabveil.auditing.verdict import ABOVE, EXIT_CODES
    from tabveil.synthesis.generators.privacy import WARNING

    loud = verdict.state == ABOVE
    text = f"{WARNING}: {verdict.sentence}" if loud else verdict.sentence
    Screen(stderr=loud).say(text, style=LOUD if loud else "bold")
    return EXIT_CODES[verdict.state] if judged else 0


def _require_control(control: Path | None, policy: Path | None, *, filtering: bool) -> None:
    """Refuse what no audit could answer, before the long work begins."""
    from tabveil.auditing.policy import read_policy

    if filtering and control is None:
        raise ParameterError("filter", "needs --control, rows that say how near is too near.")
    if policy is not None and control is None:
        raise ParameterError("--policy", "needs --control, rows that the generator does not learn from.")
    if control is not None and not control.is_file():
        raise ParameterError("--control", f"there is no file {control}.")
    read_policy(policy)


def _tell_step(taken: "StepTaken") -> None:
    """Say what a step around the generator did, and what to know about it."""
    tell_step(Screen(), taken.sentences, taken.title)
    beside = Screen(stderr=True)
    for note in (*taken.notes, *taken.warnings):
        beside.say(*_line(note))


def _filtered(
    drawn: "SyntheticRows",
    said: "SynthesisFile",
    learned: "TableModel",
    **about: Any,  # noqa: ANN401 - passed on
) -> "SyntheticRows":
    """Drop rows that are too near to those learned from, and say how many and what that voids."""
    from tabveil.cli.progress import progress_shown
    from tabveil.workflows.pipeline.settings import filtered

    with progress_shown(quiet=False, title="filter: ") as listener:
        fewer, taken = filtered(drawn, said, learned, **about, progress=listener)
    _tell_step(taken)
    return fewer


def _audited(drawn: "SyntheticRows", target: Path, **asked: Any) -> "Report":  # noqa: ANN401 - passed on as they are
    """Audit rows as they will stand in their file: what was read as a file is compared with a file."""
    import tempfile

    from tabveil.auditing import audit as auditing
    from tabveil.cli.progress import progress_shown

    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder) / target.name
        drawn.write(trial)
        with progress_shown(quiet=False, title="audit: ") as listener:
            return auditing.audit(synthetic=trial, **asked, advice=False, progress=listener)


def _draw(learned: "TableModel", rows: int, *, seed: int, threads: int | None) -> "SyntheticRows":
    from tabveil.cli.progress import progress_shown
    from tabveil.core.workers import tell, working

    with progress_shown(quiet=False) as listener, working(threads=threads, listener=listener):
        tell("drawing rows", 0.0)
        return learned.draw(rows, seed=seed)


def generators() -> str:
    """Return what the help says about every generator: its first line, and its settings with defaults."""
    from tabveil.workflows import synthesizing

    told = []
    for name, kind in synthesizing.GENERATORS.items():
        known = synthesizing.settings_for_users(kind)
        defaults = [_default(key, setting.default) for key, setting in known.items()]
        written = f" [dim]{escape(', '.join(defaults))}[/]" if defaults else ""
        line = synthesizing.summary(kind)
        told.append(f"[bold]{escape(name)}[/]{escape(f': {line}' if line else '')}{written}")
    return "\n\n".join(told)


def _default(name: str, value: object) -> str:
    match value:
        case tuple():
            value = ",".join(map(str, value))
        case bool() | None:
            value = str(value).lower()
    return name if value is MISSING else f"{name}={value}"


def read_settings(texts: Sequence[str]) -> dict[str, str]:
    """Return the settings that were given as key=value."""
    given: dict[str, str] = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not mark or not key.strip():
            raise ParameterError(f"--set must look like key=value, got {text!r}.")
        if key.strip() in given:
            raise ParameterError("--set", f"{key.strip()} is given twice.")
        given[key.strip()] = value.strip()
    return given


def _tell(learned: "TableModel", *, as_many: bool = False) -> None:
    """Write notes on standard error, one line each; what weakens a promise, loudly.

    ``as_many`` rows are drawn as were learned from, which tells how many these were.
    """
    from tabveil.engines.networks import INTERRUPTED
    from tabveil.synthesis.generators.privacy import WARNING, conditions, state_promise, state_uncovered

    console = Screen(stderr=True)
    for note in learned.notes:
        console.say(*_line(note))
    privacy, notes = learned.account.privacy, learned.account.notes
    ours: tuple[str, ...] = ()
    if privacy is not None:
        console.say(state_promise(privacy), style="bold")
        console.say(*_line(learned.for_people))
        ours = conditions(privacy)
        if privacy.read_from_data and state_uncovered(privacy) not in notes:
            console.say(*_line(state_uncovered(privacy)))
    opened = learned.n_rows is None  # a folder may say anything: it must not be taken for our own words
    for note in notes:
        console.say(*_line(f"The model says: {note}" if opened and note not in ours else note))
    if learned.for_people and privacy is None:
        console.say(*_line(learned.for_people))
    if as_many and privacy is not None:
        console.say(
            f"{WARNING}: as many rows are written as were learned from, which tells how many they were; the "
            "promise does not cover that. Give a number with --rows.",
            style=LOUD,
        )
    if INTERRUPTED in notes and not opened:
        console.say("Drawing rows from that model; Ctrl-C again ends.")


def _line(note: str) -> tuple[str, str]:
    """Return a note with its style."""
    from tabveil.synthesis.generators.privacy import WARNING

    return note, LOUD if note.startswith(WARNING) else ""


def _audit(
    data: Path,
    out: Path,
    schema: Path | None,
    missing: tuple[str, ...],
    *,
    drop: Sequence[str],
    without_identifiers: bool,
) -> str:
    """Return the audit of what was just written, ready to be typed."""
    import shlex

    words = ["tabveil", "audit", "--train", str(data)]
    control = data.with_name(data.name.replace("train", "control", 1))
    if data.name.startswith("train.") and control.is_file():  # as 'tabveil split' writes them
        words += ["--control", str(control)]
    words += ["--synthetic", str(out)]
    words += [] if schema is None else ["--schema", str(schema)]
    words += [word for text in missing for word in ("--missing", text)]
    words += [word for column in drop for word in ("--drop", column)]
    words += ["--drop-identifiers"] if without_identifiers else []
    return shlex.join(words)


def _say_next(command: str) -> None:
    Screen().say(f"Audit the rows before you release them:\n  {command}", style="dim")


def register(app: typer.Typer) -> None:
    """Add both commands."""
    app.command(
        cls=Teaching,
        help="Learn a table and write new rows that look like it.\n\n"
        "The rows have the columns, types and formats of the data. They can still reveal data of the people "
        "behind them: audit them before you release them. Hold back rows with [bold]tabveil split[/] first "
        "and name them with --control: the rows are then audited before they are written. Of linked tables "
        "([bold]--tables[/]) people are drawn with all their rows. "
        "Ctrl-C while a network is trained keeps its best state up to then.",
        epilog=_EXAMPLES,
    )(synthesize)
    app.command(
        help="Draw more rows from a model that [bold]tabveil synthesize --save[/] stored.\n\n"
        "The seed of the first release draws its rows again; another seed draws fresh ones.",
        epilog="Example:\n\n[cyan]tabveil sample model --rows 5000 --seed 1 --out more.csv[/]",
    )(sample)
