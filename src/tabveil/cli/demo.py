"""``tabveil demo``: two releases of a simulated hospital, one clean and one with a planted leak."""

import os
import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tabveil.cli import files
from tabveil.cli.options import NumbersSeed, option
from tabveil.cli.screen import Screen
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from numpy.random import Generator

    from tabveil.auditing.report import Report
    from tabveil.core.table import Table

N_TRAIN, N_CONTROL, N_RELEASE = 6000, 6000, 6000
COPIED, SHAKEN = 0.05, 0.05  # shares of the leaky release
POLICY = {"recipient": "a research group (simulated)", "context": "shared once, for a demonstration"}
_TABLES = ("train", "control", "clean", "leaky")
_ABOUT = "README.txt"
_PICTURE = 'class="tabveil-title"'
_FIRST_LINE = "Made by 'tabveil demo'. Nobody in these tables exists.\n"


def demo(
    *,
    out: Annotated[Path, option("FOLDER", "Where to put tables and reports.")] = Path("demo"),
    seed: NumbersSeed = 0,
    svg: Annotated[Path | None, typer.Option(hidden=True, help="Draw what is printed.")] = None,
) -> None:
    """Make the tables, audit both releases, show the difference, say what to try next."""
    from tabveil.core.storage.files import write_text
    from tabveil.render.audit.page import page
    from tabveil.render.comparison.side_by_side import comparison

    folder = _own_folder(out)
    picture = None
    if svg is not None:  # one of the demo is drawn anew
        ours = svg.is_file() and _PICTURE in svg.read_text(encoding="utf-8", errors="replace")
        picture = files.writable("--svg", svg, force=ours)
    console = Screen(record=picture is not None, width=80 if picture else None)
    _write_tables(folder, seed)
    reports = {name: _audit(folder, name, seed) for name in ("clean", "leaky")}
    for name, report in reports.items():
        write_text(folder / f"{name}.json", report.to_json() + "\n")
        write_text(folder / f"{name}.html", page(report))
    console.print(comparison(reports))
    console.print()
    console.print(Text(_explanation(reports)))
    if picture:
        write_text(picture, drawing(console))
    console.print()
    console.say(_next(out), style="dim")  # commands to copy


def plant(train: "Table", fresh: "Table", *, rng: "Generator") -> "Table":
    """Copy training rows into one half of a release as they are, others into the other half shaken."""
    import numpy as np

    from tabveil.core.table import Table
    from tabveil.synthesis.risks import Leaky, Noisy

    shaking = Noisy(sigma=0.02, lam=0, p=0, reading="multiplicative")
    some, others = map(train.take, np.array_split(np.arange(len(train)), 2))
    first, second = map(fresh.take, np.array_split(np.arange(len(fresh)), 2))
    copied = Leaky()(some, first, 2 * COPIED, rng=rng)
    shaken = shaking(others, second, 2 * SHAKEN, rng=rng)
    return Table(schema=fresh.schema, values=np.concatenate([copied.values, shaken.values]))


def _write_tables(folder: Path, seed: int) -> None:
    """Draw everybody from one population and deal them out, so that a clean release is truly fresh."""
    import numpy as np

    from tabveil.core.rng import stream
    from tabveil.core.storage.files import replacing, write_text
    from tabveil.datasets import hospital
    from tabveil.tables import reading as frame

    people = frame.load_table(hospital(N_TRAIN + N_CONTROL + 2 * N_RELEASE, seed=seed))
    bounds = np.cumsum([0, N_TRAIN, N_CONTROL, N_RELEASE, N_RELEASE])
    parts = [people.table.take(np.arange(a, b)) for a, b in pairwise(bounds)]
    tables = dict(zip(_TABLES, parts, strict=True))
    tables["leaky"] = plant(tables["train"], tables["leaky"], rng=stream(seed, "demo"))
    about = (
        f"{_FIRST_LINE}\n"
        "train.csv    real patients, as far as the demo is concerned: a generator learned from them\n"
        "control.csv  patients the generator never saw\n"
        "clean.csv    a release of fresh patients, as a perfect generator would make it\n"
        f"leaky.csv    the same, but {COPIED:.0%} of its rows are copies of train.csv and\n"
        f"             {SHAKEN:.0%} are copies whose laboratory values and cost are shaken by about 2%,\n"
        "             and whose dates by some days\n"
        "clean.html, leaky.html  the audits, to read, print and sign\n"
        "clean.json, leaky.json  the same for programs\n"
    )
    write_text(folder / _ABOUT, about)
    for name, table in tables.items():
        with replacing(folder / f"{name}.csv") as temporary:
            frame.to_native(table, people.layout).to_csv(temporary, index=False)


def _audit(folder: Path, name: str, seed: int) -> "Report":
    from tabveil.auditing import audit as auditing
    from tabveil.cli.progress import progress_shown

    with progress_shown(quiet=False, title=f"{name} release: ") as listener:
        return auditing.audit(
            folder / "train.csv",
            folder / f"{name}.csv",
            folder / "control.csv",
            title=f"The {name} release of a simulated hospital",
            policy=POLICY,
            utility=True,
            power=True,
            portrait=True,
            seed=seed,
            progress=listener,
        )


def _own_folder(out: Path) -> Path:
    """Make the folder, but never write over files that the demo did not make."""
    folder = files.folder("--out", out)
    about = folder / _ABOUT
    ours = about.is_file() and about.read_text(encoding="utf-8", errors="replace").startswith(_FIRST_LINE)
    names = [f"{name}.csv" for name in _TABLES]
    names += ["clean.json", "leaky.json", "clean.html", "leaky.html", _ABOUT]
    taken = [name for name in names if (folder / name).exists()]
    if taken and not ours:
        raise ParameterError("--out", f"{out} already has a file {taken[0]}; choose another folder.")
    return folder


def _explanation(reports: "dict[str, Report]") -> str:
    from tabveil.auditing.findings import LEAK, finding

    counts = {}
    for name, report in reports.items():
        attacks = [result.key for result in report.results if result.labels.pillar == "attack"]
        counts[name] = f"{sum(finding(report, key) == LEAK for key in attacks)} of {len(attacks)}"
    return (
        "Both releases imitate the same simulated hospital, and by eye they look alike. "
        f"The clean one holds fresh patients only: {counts['clean']} attacks see a leak. "
        f"In the leaky one, {COPIED:.0%} of the rows are copies of training patients and {SHAKEN:.0%} are "
        f"copies with slightly shaken numbers: {counts['leaky']} attacks see it. "
        "Gain is the share of training patients about whom an attack is right because they were trained on; "
        "the risk of an indicator says how far a release goes from fresh data (0) to the worst case (1). "
        "Both are measured against control patients the generator never saw."
        "\n\n" + "\n".join(f"{name}: {report.verdict.sentence}" for name, report in reports.items())
    )


def _next(out: Path) -> str:
    """Say where the files are and which command comes next."""
    program = _program()
    return (
        "Open in a browser, to read, print and sign:\n"
        f"  {out / 'leaky.html'}\n"
        f"  {out / 'clean.html'}\n"
        f"Tables are in {out}{os.sep} too (README.txt says which is which).\n"
        "The full table of one release:\n"
        f"  {program} audit --train {out / 'train.csv'} --control {out / 'control.csv'} \\\n"
        f"    --synthetic {out / 'leaky.csv'}\n"
        "With your own data, begin before you train a generator:\n"
        f"  {program} split --data FILE --control 0.3 --out split"
    )


def _program() -> str:
    """Spell the program so that it can be typed: 'make demo' leaves its environment inactive."""
    if shutil.which("tabveil"):
        return "tabveil"
    return os.path.relpath(Path(sys.executable).with_name("tabveil"))


def drawing(console: Screen) -> str:
    """Return what a recording console printed as a picture that loads nothing from anywhere."""
    picture = console.export_svg(title="tabveil demo", unique_id="tabveil")
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # web fonts
    picture = re.sub(r"\s*<!--.*?-->", "", picture, flags=re.DOTALL)
    return picture.replace("Fira Code, monospace", "monospace")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        help="Audit two releases of a simulated hospital: a clean one, and one with a planted leak.\n\n"
        "Nobody's data are needed, and nothing leaves this machine. Takes a minute or two.",
        epilog="Example:\n\n[cyan]tabveil demo --out demo[/]",
    )(demo)
