"""What each generator reaches on 5,000 rows of real tables, what an audit says of it, and what it costs.

``python benchmarks/generators.py`` measures every generator on every table, each pair in a process of its own
with one thread and a time limit, several at once, and renews the tables in benchmarks/generators.md. A pair
that was measured is a JSON file in the folder of ``--cells``: what is there is not measured again.
``--generators`` and ``--tables`` choose, ``--data`` says where the tables are; lines of pairs without such a
file stay as they are. ``--rules`` measures instead how many rows break rules of the table and which pairs are
kept, and renews that section. What else stands in the page was measured by ``generators_gpu.py`` and
``transformer_overfit.py``.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import data
import measure
import numpy as np
import pandas as pd
import rules
from discharges import discharges

from tabveil.auditing.audit import audit
from tabveil.core import workers
from tabveil.core.storage.files import write_text
from tabveil.errors import TabveilError
from tabveil.metrics.utility import measure as utility_of
from tabveil.tables.reading import load_split
from tabveil.workflows.synthesizing import learn

PAGE = Path(__file__).with_name("generators.md")
CELLS = Path(__file__).resolve().parents[1] / ".bench" / "generators"
BEGIN, END = "<!-- measured by generators.py -->", "<!-- end -->"
RULES = "<!-- measured by generators.py --rules -->"
N_ROWS = 5000
MISSING = ("?",)
NETWORKS = ("transformer", "diffusion", "ctgan", "dpctgan")
"""Generators that can learn on a GPU."""
HEADER = [
    *("generator", "verdict", "singling out", "linkability", "inference", "membership"),
    *("told apart", "TVD", "fit, CPU s", "sample, CPU s", "copies"),
]


RULES_HEADER = [
    *("table", "generator", "rules", "rows that break one", "pairs kept"),
    *("labels that ten rows share", "of these drawn", "fit and sample, CPU s"),
]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One line: a generator with its settings, and what was asked of it on Adult (None: nothing)."""

    name: str
    settings: dict = field(default_factory=dict)
    told_apart: float | None = None
    variation: float | None = None
    fit: float | None = None
    sample: float | None = None

    @property
    def title(self):
        settings = ", ".join(f"{key} = {value}" for key, value in self.settings.items())
        return f"`{self.name}`" + (f", {settings}" if settings else "")

    @property
    def key(self):
        return "-".join([self.name, *(f"{key}_{value}" for key, value in self.settings.items())])


RUNS = (
    Run(name="trees", told_apart=0.58, variation=0.025, fit=1),
    Run(name="trees", settings={"preset": "published"}),
    Run(name="transformer", told_apart=0.57, variation=0.027, fit=60, sample=6),
    Run(name="diffusion", told_apart=0.80, variation=0.04, fit=300),
    Run(name="ctgan", told_apart=0.97, variation=0.093, fit=250),
    Run(name="aim", settings={"epsilon": 1.0}, told_apart=0.88, variation=0.065, fit=10),
    Run(name="aim", settings={"epsilon": 10.0}),
    Run(name="dpctgan", settings={"epsilon": 1.0}),
    Run(name="dpctgan", settings={"epsilon": 10.0}),
    Run(name="pategan", settings={"epsilon": 1.0}),
    Run(name="pategan", settings={"epsilon": 10.0}),
    Run(name="marginals"),
    Run(name="copy"),
)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A table: its file, what it is, and what no generator should learn."""

    file: str | None  # simulated discharges without one
    what: str
    identifiers: tuple[str, ...] = ()
    one_a: str | None = None  # rows that repeat this are the same person

    def people(self, folder):
        """Return all rows, one a person, without what no generator should learn."""
        people = discharges(2 * N_ROWS) if self.file is None else pd.read_parquet(folder / self.file)
        if self.one_a is not None:
            people = people.drop_duplicates(self.one_a)
        return people.drop(columns=list(self.identifiers))

    def rows(self, folder, seed):
        """Return rows to learn from and rows held out: 5,000 each, or as many as there are."""
        people = self.people(folder)
        order = np.random.default_rng(seed).permutation(len(people))
        parts = order[:N_ROWS], order[N_ROWS : 2 * N_ROWS]
        return tuple(people.iloc[part].reset_index(drop=True) for part in parts)


SOURCES = {
    "adult": Source(file="adult.parquet", what="Adult: 15 columns, half categories"),
    "census": Source(file="census_income_kdd.parquet", what="Census income: 42 columns, most categories"),
    "diabetes": Source(
        file="diabetes130.parquet",
        what="Hospital encounters, one a patient: 48 columns, most categories, many rare codes",
        identifiers=("encounter_id", "patient_nbr"),
        one_a="patient_nbr",
    ),
    "loans": Source(file="loans.parquet", what="Loans: 55 columns, most numbers, job titles as free text"),
    "nhanes": Source(
        file="nhanes.parquet",
        what="Health survey: 77 columns, most numbers, 43 % of the cells missing",
        identifiers=("ID",),
    ),
}


SIMULATED = Source(file=None, what="Hospital discharges, simulated: codes beside descriptions")


def one_of_rules(run, source, folder, seed):
    """Fit and draw in this process; return which rules hold in the rows drawn."""
    train, _ = source.rows(folder, seed)
    train = train.replace(list(MISSING), None)
    start = measure.cpu_seconds()
    model = learn(train, generator=run.name, settings=run.settings, seed=seed)
    drawn = model.draw(N_ROWS, seed=seed).native()
    taken = measure.cpu_seconds() - start
    return {**rules.kept(train, drawn), **rules.labels_kept(train, drawn), "cpu": taken}


NOTHING = {"rules": 0, "broken": 0.0, "pairs": None, "shared": 0, "drawn": 0, "cpu": 0.0}


def rules_line(source, run, found):
    """Set what was found into a line."""
    if "failed" in found:
        return [source.what, run.title, found["failed"], *[""] * (len(RULES_HEADER) - 3)]
    pairs = "" if found["pairs"] is None else f"{found['pairs']:.1%}"
    return [
        *(source.what.partition(":")[0], run.title, f"{found['rules']}"),
        *(f"{found['broken']:.1%}", pairs, f"{found['shared']}", f"{found['drawn']}", f"{found['cpu']:.1f}"),
    ]


def one(run, source, folder, seed, device):
    """Fit, draw, audit and measure in this process; return plain numbers."""
    train, control = source.rows(folder, seed)
    settings = (
        {**run.settings, "device": device} if run.name in NETWORKS and device != "cpu" else run.settings
    )
    given = {"generator": run.name, "settings": settings, "seed": seed, "missing": MISSING}
    learn(train[:50], **given)  # load and compile
    start = measure.cpu_seconds()
    model = learn(train, **given)
    fitted = measure.cpu_seconds()
    drawn = model.draw(N_ROWS, seed=seed).native()
    sampled = measure.cpu_seconds()
    report = audit(train, drawn, control, missing=MISSING, seed=seed)
    split = load_split(train, drawn, control, missing=MISSING).split
    figures = utility_of(split, rng=np.random.default_rng(seed)).figures
    leading = {item.risk: item.leading for item in report.verdict.risks}
    return {
        "verdict": report.verdict.state,
        "risks": {
            name: None
            if found is None or found.gain is None
            else {"metric": found.metric, "value": found.gain.value, "high": found.gain.high}
            for name, found in leading.items()
        },
        "told_apart": figures["discriminator"].value.value,
        "variation": figures["total_variation"].value.value,
        "copies": float(np.isin(split.synthetic.row_hash(), split.train.row_hash()).mean()),
        "fit": fitted - start,
        "sample": sampled - fitted,
        "notes": [*model.notes, *model.account.notes],
        "machine": measure.machine() + (", networks on a GPU" if device != "cpu" else ""),
    }


def cell(run, table, arguments):
    """Return the file of a pair."""
    kind = "rules-" if arguments.rules else ""
    return arguments.cells / f"{kind}{table}-{run.key}-{arguments.seed}.json"


def apart(run, table, arguments):
    """Measure one pair in a process of its own, unless that was done before; say how it went."""
    path = cell(run, table, arguments)
    if path.exists():
        return f"{path.stem}: known"
    command = [sys.executable, __file__, "--cell", run.key, table, "--seed", str(arguments.seed)]
    command += ["--data", str(arguments.data), "--device", arguments.device]
    command += ["--rules"] if arguments.rules else []
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=arguments.limit,
            env={**os.environ, **threads},
            check=False,
        )
    except subprocess.TimeoutExpired:
        found = {"failed": f"stopped after {arguments.limit:,} s"}
    else:
        lines = done.stdout.splitlines()
        found = json.loads(lines[-1]) if done.returncode == 0 and lines else {"failed": _reason(done.stderr)}
    write_text(path, json.dumps(found, indent=1) + "\n")
    return f"{path.stem}: {found.get('verdict') or found.get('failed') or found.get('broken')}"


def _reason(text):
    return (text.strip().splitlines() or ["ended without a word"])[-1][:200]


def line(run, found, *, targets):
    """Set what was found beside what was asked."""
    if "failed" in found:
        return [run.title, found["failed"], *[""] * (len(HEADER) - 2)]

    def asked(name, written):
        limit = getattr(run, name) if targets else None
        if limit is None:
            return written
        return f"{written} (≤ {limit:g})" if found[name] <= limit else f"**{written}** (≤ {limit:g})"

    state = found["verdict"].removesuffix(" threshold")
    return [
        run.title,
        f"**{state}**" if state == "above" else state,
        *(_risk(found["risks"][name]) for name in HEADER[2:6]),
        asked("told_apart", f"{found['told_apart']:.3f}"),
        asked("variation", f"{found['variation']:.3f}"),
        asked("fit", f"{found['fit']:.1f}"),
        asked("sample", f"{found['sample']:.2f}"),
        f"{found['copies']:.1%}",
    ]


def _risk(found):
    return "" if found is None else f"{found['value']:.3f} (up to {found['high']:.3f})"


def page(text, arguments):
    """Return the page with what the cells say."""
    parts, machines = [], set(machines_of(text))
    for table, source in SOURCES.items():
        rows = []
        for run in RUNS:
            path = cell(run, table, arguments)
            if path.exists():
                found = json.loads(path.read_text(encoding="utf-8"))
                machines.add(found.get("machine"))
                rows.append(line(run, found, targets=table == "adult"))
            elif (stood := standing(text, source, run)) is not None:
                rows.append(stood)
        if rows:
            parts.append(f"### {source.what}\n\n{measure.markdown(HEADER, rows)}")
    where = "; ".join(sorted(machines - {None}))
    measured = f"\n\n{where}; one thread each; seed {arguments.seed}.\n\n" + "\n\n".join(parts) + "\n\n"
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + measured + text[end:]


def machines_of(text):
    """Return the machines that the page names."""
    stood = text[text.index(BEGIN) + len(BEGIN) : text.index("; one thread each; seed")]
    return [part.strip() for part in stood.split(";")]


def standing(text, source, run):
    """Return the cells of a line of the page, None if it has none."""
    _, there, after = text.partition(f"### {source.what}\n")
    for each in after.partition("###")[0].splitlines() if there else ():
        cells = [part.strip() for part in each.strip("| ").split(" | ")]
        if cells[0] == run.title:
            return [*cells, *[""] * (len(HEADER) - len(cells))]
    return None


def rules_page(text, arguments):
    """Return the page with what the cells say about rules; other lines stay as they stand."""
    start = text.index(RULES) + len(RULES)
    end = text.index(END, start)
    stood = [[part.strip() for part in each.strip("|").split("|")] for each in text[start:end].splitlines()]
    rows = []
    for table, source in {"discharges": SIMULATED, **SOURCES}.items():
        for run in RUNS:
            path = cell(run, table, arguments)
            if path.exists():
                rows.append(rules_line(source, run, json.loads(path.read_text(encoding="utf-8"))))
            else:
                rows += [each for each in stood if each[:2] == rules_line(source, run, NOTHING)[:2]]
    return f"{text[:start]}\n\n{measure.markdown(RULES_HEADER, rows)}\n\n{text[end:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=data.FOLDER, help="the folder of the tables")
    parser.add_argument("--cells", type=Path, default=CELLS, help="a JSON file for each pair")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to renew, with its two marks")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="pairs at once")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one pair")
    parser.add_argument("--generators", nargs="*", help="by name; all if left out")
    parser.add_argument("--tables", nargs="*", choices=[*SOURCES, "discharges"], help="all if left out")
    parser.add_argument("--rules", action="store_true", help="rules broken and pairs kept, nothing else")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where networks learn")
    parser.add_argument("--cell", nargs=2, metavar=("KEY", "TABLE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cell is not None:
        key, table = arguments.cell
        run = next(run for run in RUNS if run.key == key)
        try:
            with workers.working(threads=1):
                if arguments.rules:
                    source = SOURCES.get(table, SIMULATED)
                    found = one_of_rules(run, source, arguments.data, arguments.seed)
                else:
                    found = one(run, SOURCES[table], arguments.data, arguments.seed, arguments.device)
                print(json.dumps(found))
        except TabveilError as error:
            sys.exit(str(error))
        return
    arguments.cells.mkdir(parents=True, exist_ok=True)
    chosen = [run for run in RUNS if not arguments.generators or run.name in arguments.generators]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        every = ["discharges", *SOURCES] if arguments.rules else list(SOURCES)
        pairs = [(run, table) for run in chosen for table in arguments.tables or every]
        for said in pool.map(lambda pair: apart(*pair, arguments), pairs):
            print(said, flush=True)
    renew = rules_page if arguments.rules else page
    write_text(arguments.page, renew(arguments.page.read_text(encoding="utf-8"), arguments))


if __name__ == "__main__":
    main()
