"""tabveil beside Anonymeter 1.1.0: the same attacks on the same rows, CPU seconds of both in one run.

``make bench-peers`` prints the tables (a quarter of an hour, nearly all of it Anonymeter's; ``--quick``
leaves the longest runs out). Anonymeter lives in an environment of its own and is only called, through its
public interface (peers/anonymeter_side.py).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import data
from measure import machine, markdown, warm

from tabveil.core.rng import stream
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.metrics.attacks.inference import Inference
from tabveil.metrics.attacks.linkability import Linkability
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOut
from tabveil.synthesis.risks import Leaky
from tabveil.tables.reading import load_split, to_native

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".bench" / "anonymeter" / "bin" / "python"
ROLES = ("train", "control", "synthetic")
N_ATTACKS, FEWER_ATTACKS = 2000, 500
COLUMNS = range(3, 13)
SECRET = "income"
N_TIED = 64  # equally near rows looked at; where there are more, either answer is taken to be possible

HEADER = ["what", "tabveil", "Anonymeter", "ratio", "ratio with reading", "asked", "held"]
PAGE = Path(__file__).parent / "peers.md"
TITLE = "# Beside Anonymeter 1.1.0\n\n`make bench-peers` prints these tables (a quarter of an hour).\n"
INTRODUCTION = f"""\
CPU seconds, all threads. *thirds*: Adult in three sets of 16,280 rows; *leak20*: the same with a fifth of the
release replaced by train rows; *full*: 32,561 train, 16,281 control and 32,561 CTGAN rows, so that singling
out is corrected for the size of control on both sides. Each run goes from tables to a risk with its control
and baseline. tabveil reads three dataframes once for all attacks (thirds {{thirds:.3f}} s, full
{{full:.3f}} s); the fifth column adds that to every attack. {N_ATTACKS:,} attacks unless said otherwise;
Anonymeter drops equal rows before singling out, tabveil does not; what tabveil looks for beside that, sets of
columns that are kept, is left out.
*extended*: by the slope between {FEWER_ATTACKS} and {N_ATTACKS:,} attacks.
"""
COUNTS = """## Equal success counts

Inference of income on leak20, all rows. Equally near rows may differ in the secret, and whoever meets them
draws: *certain* successes do not depend on it, *possible* ones do. Each count must lie between, on the scale
of its tool: tabveil divides a number by its range in all three tables, so that train and control are measured
alike; Anonymeter by its range in the release and the table under attack, which is another for each of them.
"""


class Anonymeter:
    """A process in Anonymeter's environment that answers tasks, one line each."""

    def __init__(self, folder):
        side = Path(__file__).parent / "peers" / "anonymeter_side.py"
        self.process = subprocess.Popen(
            [PYTHON, side, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, **task):
        print(f"Anonymeter: {task}", file=sys.stderr)
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("Anonymeter ended without an answer.")
        return json.loads(line)

    def seconds(self, **task):
        return self.run(**task)["seconds"]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One line of the table."""

    what: str
    seconds: float
    peer_seconds: float
    reading: float
    least_ratio: float
    note: str = ""

    def cells(self):
        ratio = self.peer_seconds / self.seconds
        return [
            self.what,
            f"{self.seconds:.3f}",
            f"{self.peer_seconds:.1f}{self.note}",
            f"{ratio:.0f} ×",
            f"{self.peer_seconds / (self.seconds + self.reading):.0f} ×",
            f"≥ {self.least_ratio:g} ×",
            "yes" if ratio >= self.least_ratio else "**no**",
        ]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables:
    """Three tables: where Anonymeter finds them, and as tabveil has read them."""

    name: str
    split: object
    reading: float
    peer: Anonymeter

    def timed(self, *metrics):
        return sum(
            warm(lambda metric=metric: metric(self.split, rng=stream(0, "peers"))) for metric in metrics
        )

    def compared(self, what, metrics, peer_seconds, least_ratio, note=""):
        return Compared(
            what=f"{what}, {self.name}",
            seconds=self.timed(*metrics),
            peer_seconds=peer_seconds,
            reading=self.reading,
            least_ratio=least_ratio,
            note=note,
        )


def people():
    """Return thirds, thirds with a fifth of the release leaked, and full, as dataframes."""
    adult = data.read("adult.parquet")
    train, control, release = data.adult_thirds()
    loaded = load_split(train, release)
    planted = Leaky()(loaded.split.train, loaded.split.synthetic, 0.2, rng=stream(0, "leak20"))
    leak20 = to_native(planted, loaded.layout)
    ctgan = data.read("adult_ctgan.parquet")[: data.N_FULL].set_axis(adult.columns, axis=1)
    tables = {
        "thirds": (train, control, release),
        "leak20": (train, control, leak20),
        "full": (adult[: data.N_FULL], adult[data.N_FULL :], ctgan),
    }
    return {name: [table.reset_index(drop=True) for table in three] for name, three in tables.items()}


def read(name, three, peer, folder):
    """Hand the tables over to Anonymeter and read them."""
    for role, table in zip(ROLES, three, strict=True):
        table.to_parquet(Path(folder) / f"{name}_{role}.parquet")
    train, control, synthetic = three
    reading = warm(lambda: load_split(train, synthetic, control))
    split = load_split(train, synthetic, control).split
    return Tables(name=name, split=split, reading=reading, peer=peer)


def inference_of_all(leak20):
    """Attack all rows, measured to the end; also compare the successes."""
    answer = leak20.peer.run(attack="inference", data=leak20.name, secret=SECRET, n_attacks=None)
    metric = Inference(secrets=(SECRET,))
    row = leak20.compared("inference, all rows", [metric], answer["seconds"], 300)
    counts = metric(leak20.split, rng=stream(0, "peers")).configuration(SECRET).facts
    lines = []
    for side in ("train", "control"):
        targets = getattr(leak20.split, side)
        peer_split = replace(leak20.split, train=targets, control=targets).with_own_ranges()
        for tool, count, split in (
            ("tabveil", int(counts[f"successes_{side}"]), leak20.split),
            ("Anonymeter", answer[side], peer_split),
        ):
            certain, possible = bounds(split, side)
            held = "yes" if certain <= count <= possible else "**no**"
            lines.append([side, tool, str(count), str(certain), str(possible), held])
    return row, markdown(["rows", "tool", "successes", "certain", "possible", "held"], lines)


def bounds(split, side):
    """Count the rows whose every nearest synthetic row, and those of which some, has the right secret."""
    names = [name for name in split.schema.names if name != SECRET]
    known, targets = split.select(names), getattr(split, side)
    nearest = Neighbors(Space.gower(known.schema), known.synthetic).nearest(getattr(known, side), N_TIED)
    tied = nearest.distance <= nearest.distance[:, :1] + 1e-9
    right = split.synthetic.column(SECRET)[nearest.index] == targets.column(SECRET)[:, None]
    more = tied.all(axis=1)  # there may be further ones, of either kind
    certain = (right | ~tied).all(axis=1) & ~more
    return int(certain.sum()), int(((right & tied).any(axis=1) | more).sum())


def inference(tables, *, extended):
    task = {"attack": "inference", "data": tables.name, "secret": SECRET}
    seconds = tables.peer.seconds(**task, n_attacks=N_ATTACKS)
    metric = Inference(secrets=(SECRET,), n_attacks=N_ATTACKS)
    rows = [tables.compared("inference", [metric], seconds, 100)]
    if extended:
        fewer = tables.peer.seconds(**task, n_attacks=FEWER_ATTACKS)
        each = (seconds - fewer) / (2 * (N_ATTACKS - FEWER_ATTACKS))  # train and control
        whole = seconds + each * (len(tables.split.train) + len(tables.split.control) - 2 * N_ATTACKS)
        rows.append(
            tables.compared("inference, all rows", [Inference(secrets=(SECRET,))], whole, 300, " (extended)")
        )
    return rows


def linkability(tables):
    names = tables.split.schema.names
    pair = (names[:7], names[7:])
    task = {"attack": "linkability", "data": tables.name, "auxiliary": pair, "n_attacks": N_ATTACKS}
    return [
        tables.compared(
            f"linkability, k = {k}",
            [Linkability(n_neighbors=(k,), auxiliary=(pair,), n_attacks=N_ATTACKS)],
            tables.peer.seconds(**task, n_neighbors=k),
            80,
        )
        for k in (1, 10)
    ]


def singling_out(tables, *, multivariate):
    task = {"attack": "singling_out", "data": tables.name, "n_attacks": N_ATTACKS}
    rows = [
        tables.compared(
            "singling out, one column",
            [SinglingOut(n_columns=(), widths=(), column_sets=False, n_attacks=N_ATTACKS)],
            tables.peer.seconds(**task, n_columns=None),
            50,
        )
    ]
    if multivariate:
        seconds = sum(tables.peer.seconds(**task, n_columns=n) for n in COLUMNS)
        # tabveil's time holds one column too, which is always part of the attack.
        metric = SinglingOut(n_columns=tuple(COLUMNS), widths=(), column_sets=False, n_attacks=N_ATTACKS)
        what = f"singling out, sum over {COLUMNS[0]} to {COLUMNS[-1]} columns"
        rows.append(tables.compared(what, [metric], seconds, 100))
    return rows


def available():
    """Tell whether Anonymeter is installed (``make bench-peers`` installs it)."""
    return PYTHON.exists()


def section(*, quick=False):
    """Run everything and return the Markdown text."""
    with tempfile.TemporaryDirectory() as folder:
        peer = Anonymeter(folder)
        thirds, leak20, full = (read(name, three, peer, folder) for name, three in people().items())
        rows, counts = [], ""
        if not quick:
            row, counts = inference_of_all(leak20)
            rows.append(row)
        for tables in (thirds, full):
            rows += inference(tables, extended=tables is full or quick)
            rows += linkability(tables)
            rows += singling_out(tables, multivariate=not quick)
        peer.process.stdin.close()
        peer.process.wait()
    parts = [
        INTRODUCTION.format(thirds=thirds.reading, full=full.reading),
        markdown(HEADER, [row.cells() for row in rows]) + "\n",
    ]
    return "\n".join([*parts, *([COUNTS, counts + "\n"] if counts else [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out Anonymeter's longest runs")
    parser.add_argument("--write", action="store_true", help=f"put the tables into benchmarks/{PAGE.name}")
    options = parser.parse_args()
    if not available():
        sys.exit("Anonymeter is not installed: make bench-peers does it.")
    text = "\n".join([TITLE, f"Measured on {machine()}.\n", section(quick=options.quick)])
    print(text)
    if options.write:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
