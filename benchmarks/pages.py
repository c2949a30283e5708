"""What does a whole page cost, for tables as wide as users bring them?

``python benchmarks/pages.py`` measures it, part by part, and writes pages.md. ``--beside FOLDER`` measures
the tabveil in another checkout (``git worktree add FOLDER COMMIT``) on the same tables, in the same run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import data
from measure import cpu_seconds, machine, markdown

HERE = Path(__file__).resolve().parent
LIMIT = 60
SPLIT = 0.3
FILES = ("train", "control", "synthetic")
PARTS = {
    "power": "detection power",
    "utility": "utility",
    "ml_inference": "inference by a trained model",
    "others": "all other metrics",
    "rest": "reading, portrait, page",
}
PAGE = """# Two pages

`make bench-pages` writes this page: `tabveil audit --train --control --synthetic --html` for loans of
`../shared/data`, of which `tabveil split` made 7,000 rows train and 3,000 control, and from which
`tabveil synthesize` drew as many rows. First all 55 columns, then 34 of them: all texts, among them one with
thousands of labels, and the numbers with most different values.

Measured on {machine}.{beside}

CPU seconds (user + system) on one thread, from files to the page; compiled code is loaded, as on any run but
the first.

{table}

Detection power tries no metrics that fit models to each release, unless `--power` asks for it.
"""


def columns(name):
    """Return the table of a page: all columns of the loans, or 34."""
    loans = data.read("loans.parquet")
    if name == "7,000 × 55":
        return loans
    numbers = loans.select_dtypes("number")
    texts = [column for column in loans.columns if column not in numbers.columns]
    most = numbers.nunique().sort_values(ascending=False, kind="stable").index[: 34 - len(texts)]
    return loans[[column for column in loans.columns if column in {*texts, *most}]]


def prepare(name, folder):
    """Split the table and draw a release, as a user would."""
    columns(name).to_csv(folder / "all.csv", index=False)
    tabveil("split", "--data", folder / "all.csv", "--control", SPLIT, "--out", folder)
    out = folder / "synthetic.csv"
    tabveil("synthesize", "--data", folder / "train.csv", "--generator", "trees", "--out", out)


def tabveil(*words):
    started = [sys.executable, "-c", "from tabveil.cli import main; main()", *map(str, words)]
    subprocess.run(started, check=True, capture_output=True)


def measured(folder, source):
    """Return the CPU seconds of each part, from a process of its own that has run a small page before."""
    path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, __file__, "--page", str(folder)],
        check=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return json.loads(done.stdout)


def make_page(folder):
    """Make a page and say what each of its steps took."""
    from tabveil.auditing import audit as auditing  # noqa: PLC0415 - of the checkout that is measured
    from tabveil.auditing.request import AuditRequest  # noqa: PLC0415 - likewise
    from tabveil.render.audit.page import page  # noqa: PLC0415 - likewise

    def request(**tables):
        return AuditRequest.read(**tables, threads=1).for_page()

    def few(name):
        return data.pd.read_csv(folder / f"{name}.csv").head(100)

    page(auditing.conduct(request(**{name: few(name) for name in FILES})))
    clock = Clock()
    tables = {name: folder / f"{name}.csv" for name in FILES}
    text = page(auditing.conduct(request(**tables), progress=clock.hear))
    clock.hear("page", 1.0)
    print(json.dumps({"steps": clock.seconds, "bytes": len(text)}))


class Clock:
    """CPU seconds by the step that was being done, as a listener hears of it."""

    def __init__(self):
        self.step, self.start, self.seconds = "reading the tables", cpu_seconds(), Counter()

    def hear(self, doing, share):  # noqa: ARG002 - a listener hears both
        now = cpu_seconds()
        self.seconds[self.step] += now - self.start
        self.step, self.start = doing.split(":")[0], now


def by_part(steps):
    """Add up what belongs together."""
    rest = {"reading the tables", "portrait", "done", "page"}
    found = Counter()
    for step, seconds in steps.items():
        found[step if step in PARTS else "rest" if step in rest else "others"] += seconds
    return [*(found[part] for part in PARTS), sum(found.values())]


def main(argv=None):
    parser = argparse.ArgumentParser(description="Measure what a whole page costs.")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout to measure, too")
    parser.add_argument("--page", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.page:
        make_page(options.page)
        return
    sources = {"now": HERE.parent / "src"}
    note = ""
    if options.beside:
        sources = {"before": options.beside / "src", **sources}
        commit = subprocess.run(
            ["git", "-C", options.beside, "rev-parse", "--short", "HEAD"],
            check=True,
            capture_output=True,
            text=True,
        )
        note = f" *Before* is commit {commit.stdout.strip()}, on the same tables in the same run."
    found = {}
    for name in ("7,000 × 55", "7,000 × 34"):
        with tempfile.TemporaryDirectory() as place:
            prepare(name, Path(place))
            for when, source in sources.items():
                found[f"{name}, {when}"] = by_part(measured(Path(place), source)["steps"])
    rows = [
        [title, *(f"{seconds[position]:.1f}" for seconds in found.values())]
        for position, title in enumerate([*PARTS.values(), f"all (asked: ≤ {LIMIT})"])
    ]
    text = PAGE.format(machine=machine(), beside=note, table=markdown(["CPU s", *found], rows))
    print(text)
    (HERE / "pages.md").write_text(text)


if __name__ == "__main__":
    main()
