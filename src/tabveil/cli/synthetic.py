"""Learning files and writing synthetic rows: what is refused, written and said."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import MISSING
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from tabveil import synthesizing
from tabveil.cli import files
from tabveil.cli.progress import progress_bar
from tabveil.errors import ParameterError
from tabveil.frame.files import is_text_file
from tabveil.generators.privacy import WARNING, conditions, state_promise, state_uncovered
from tabveil.networks import INTERRUPTED
from tabveil.synthesizing import GENERATORS, TableModel

_LOUD = "bold red"
_AS_MANY = (
    f"{WARNING}: as many rows are written as were learned from, which tells how many they were; the promise "
    "does not cover that. Give a number with --rows."
)
_GO_ON = "Drawing rows from that model; Ctrl-C again ends."


def synthesize(
    *,
    data: Path,
    out: Path,
    generator: str,
    rows: int | None,
    settings: Sequence[str],
    seed: int | None,
    schema: Path | None,
    missing: tuple[str, ...],
    threads: int | None,
    save: Path | None,
    force: bool,
) -> None:
    """Learn a file, store the model if asked, write rows, and say what to know and what comes next."""
    given = _settings(settings)
    synthesizing.choose(generator, given)  # complains before the long work begins
    target = _target(out, not_over=[data, schema, save], force=force)
    if save is not None:
        _refuse_folder(save)
    with progress_bar(quiet=False) as listener:
        learned = synthesizing.learn(
            data,
            generator=generator,
            settings=given,
            seed=seed,
            schema=schema,
            missing=missing,
            threads=threads,
            progress=listener,
        )
        if save is not None:
            learned.save(save)
    _tell(learned)
    if rows is None and learned.account.privacy is not None:
        Console(stderr=True).print(Text(_AS_MANY, style=_LOUD), soft_wrap=True)
    if INTERRUPTED in learned.account.notes:
        Console(stderr=True).print(_GO_ON)
    n_rows = rows or learned.n_rows or 1
    learned.draw(n_rows, seed=seed or 0).write(target)
    console = Console()
    console.print(Text(f"{out}: {n_rows:,} rows by {generator}, learned from {learned.n_rows:,}."))
    if save is not None:
        console.print(
            Text(f"{save}: the model. It holds what was learned from people: guard it like the data.")
        )
    _say_next(_audit(data, out, schema, missing))


def sample(*, folder: Path, rows: int, out: Path, seed: int, force: bool) -> None:
    """Write rows drawn from a stored model."""
    target = _target(out, not_over=[], force=force)
    if folder.resolve() in target.parents:
        raise ParameterError(f"--out: {out} lies in the model's folder; choose another place.")
    learned = TableModel.load(folder)
    _tell(learned)
    learned.draw(rows, seed=seed).write(target)
    Console().print(Text(f"{out}: {rows:,} rows by {learned.model.name}."))
    _say_next(f"tabveil audit --train FILE --synthetic {shlex.quote(str(out))}")


def generators() -> str:
    """Return what the help says about every generator: its first line, and its settings with defaults."""
    return "\n\n".join(_about(name, kind) for name, kind in GENERATORS.items())


def _about(name: str, kind: type) -> str:
    known = synthesizing.settings_for_users(kind)
    defaults = [_default(key, setting.default) for key, setting in known.items()]
    written = f" [dim]{escape(', '.join(defaults))}[/]" if defaults else ""
    line = synthesizing.summary(kind)
    return f"[bold]{escape(name)}[/]{escape(f': {line}' if line else '')}{written}"


def _default(name: str, value: object) -> str:
    match value:
        case tuple():
            value = ",".join(map(str, value))
        case bool() | None:
            value = str(value).lower()
    return name if value is MISSING else f"{name}={value}"


def _settings(texts: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not mark or not key.strip():
            raise ParameterError(f"--set must look like key=value, got {text!r}.")
        if key.strip() in given:
            raise ParameterError(f"--set: {key.strip()} is given twice.")
        given[key.strip()] = value.strip()
    return given


def _target(out: Path, *, not_over: Sequence[Path | None], force: bool) -> Path:
    """Refuse an output that cannot be written, or that is there already."""
    is_text_file(out)  # refuses unknown suffixes
    target = files.writable("--out", out, not_over=not_over)
    files.refuse_to_replace(out, force=force)
    return target


def _refuse_folder(save: Path) -> None:
    if save.exists():
        raise ParameterError(f"--save: {save} is already there; choose another folder.")
    files.folder("--save", save.resolve().parent)


def _tell(learned: TableModel) -> None:
    """Write notes on standard error, one line each; what weakens a promise, loudly."""
    console = Console(stderr=True)
    for line, style in _lines(learned):
        console.print(Text(line, style=style), soft_wrap=True)


def _lines(learned: TableModel) -> Iterator[tuple[str, str]]:
    yield from map(_line, learned.notes)
    privacy, notes = learned.account.privacy, learned.account.notes
    ours: tuple[str, ...] = ()
    if privacy is not None:
        yield state_promise(privacy), "bold"
        ours = conditions(privacy)
        if privacy.read_from_data and state_uncovered(privacy) not in notes:
            yield _line(state_uncovered(privacy))
    opened = learned.n_rows is None  # a folder may say anything: it must not be taken for our own words
    yield from (_line(f"The model says: {note}" if opened and note not in ours else note) for note in notes)


def _line(note: str) -> tuple[str, str]:
    """Return a note with its style."""
    return note, _LOUD if note.startswith(WARNING) else ""


def _audit(data: Path, out: Path, schema: Path | None, missing: tuple[str, ...]) -> str:
    """Return the audit of what was just written, ready to be typed."""
    words = ["tabveil", "audit", "--train", str(data)]
    control = data.with_name(data.name.replace("train", "control", 1))
    if data.name.startswith("train.") and control.is_file():  # as 'tabveil split' writes them
        words += ["--control", str(control)]
    words += ["--synthetic", str(out)]
    words += [] if schema is None else ["--schema", str(schema)]
    words += [word for text in missing for word in ("--missing", text)]
    return shlex.join(words)


def _say_next(command: str) -> None:
    Console().print(
        Text(f"Audit the rows before they leave the house:\n  {command}", style="dim"), soft_wrap=True
    )
