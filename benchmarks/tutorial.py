"""Do what docs/tutorial.md says: for its pictures, or with real tables in the place of its people.

``python benchmarks/tutorial.py`` follows the page in a folder that is removed afterwards, and renews its
pictures of the terminal (80 columns) and of pages. It takes two or three minutes and needs a Chromium.
``python benchmarks/tutorial.py NAME ...`` takes the table of that name from `../shared/data` instead, through
the steps for a table of one's own (``all``: each of them). Both print the seconds of every command, wall and
CPU of all threads.
"""

import os
import pty
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path

import data
from measure import machine, markdown
from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import TerminalTheme

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path += [str(ROOT / "tests"), str(ROOT / "docs_build")]

from small_pictures import small  # noqa: E402 - of docs_build
from supplies.browser import screenshot  # noqa: E402 - of tests
from supplies.page_commands import blocks  # noqa: E402 - of tests

PAGE = (DOCS / "tutorial.md").read_text(encoding="utf-8")
COLUMNS = 80
THEME = TerminalTheme(
    (22, 27, 34),
    (220, 226, 232),
    [
        (60, 66, 74),
        (255, 123, 114),
        (86, 211, 130),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (118, 227, 234),
        (220, 226, 232),
    ],
)
TERMINALS = {
    "split": ("split --data", None, None),
    "audit": ("--json first.json", None, "Each risk would be"),
    "next": ("--json first.json", "What next", "Highest attack:"),
    "compare": ("tabveil compare", None, None),
    "bundle": ("bundle --check", None, None),
}
"""The picture: words of its command, and the lines from which and to which it is shown."""

PARTS = {
    "above": ("first", "verdict"),
    "within": ("second", "verdict"),
    "gaps": ("second", "gaps"),
    "sign": ("second", "signature"),
}
"""The picture: its page, and the section of it that is shown."""

BANK = """\
person: {table: clients, key: client}
linked:
  dispositions: {key: client, id: disposition}
  accounts: {key: account, through: dispositions, id: account}
  orders: {key: account, through: accounts, id: order}
  loans: {key: account, through: accounts, id: loan}
  cards: {key: disposition, through: dispositions, id: card}
data: bank_1999/
"""
"""Linked tables, as docs/linked.md says."""

OWN = {
    "adult": {"missing": "?"},
    "census_income_kdd": {"missing": "?", "rows": 20_000},
    "diabetes130": {"missing": "?", "drop": "encounter_id", "person": "patient_nbr"},
    "loans": {},
    "nhanes": {"drop": "ID"},
    "bank_1999/clients": {"drop": "client"},
    "bank_1999": {},
}
"""The table, and what somebody who has it says by the checklist of the page."""


def pictures():
    """Follow the page, and photograph what it shows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        printed = follow(folder)
        for picture, (words, first, last) in TERMINALS.items():
            (command,) = (each for each in printed if words in each)
            photograph(picture, terminal(command, cut(printed[command], first, last)), folder)
        for picture, (page, section) in PARTS.items():
            text = (folder / f"{page}.html").read_text(encoding="utf-8")
            photograph(picture, only(text, section), folder)


def follow(folder):
    """Do what the page says; returns what every command printed."""
    printed = {}
    for block in blocks(PAGE, "python", "yaml", "bash"):
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
            continue
        for line in block.text.replace("\\\n", " ").strip().splitlines():
            command = " ".join(line.split())
            printed[command] = run(command, folder)[0]
    return printed


def run(command, folder):
    """Run a command whose output goes to a terminal; returns what stands there, and the seconds."""
    program, *words = shlex.split(command)
    words = words if program == "python" else ["-m", "tabveil", *words]
    ours, theirs = pty.openpty()
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(COLUMNS), "LINES": "50", "TERM": "xterm-256color"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        found = b""
        try:
            while more := os.read(ours, 1 << 16):
                found += more
        except OSError:  # the other end was closed
            pass
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    wall = time.monotonic() - begun
    print(f"{wall:6.1f} s, CPU {cpu:6.1f} s, code {process.returncode}: {command[:60]}", flush=True)
    return found.decode().replace("\r\n", "\n"), wall, cpu


def cut(text, first, last):
    """Return the lines from one that begins so to one that does, without it; … stands for the rest."""
    lines = text.rstrip("\n").split("\n")
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    begin = 0 if first is None else next(k for k, line in enumerate(plain) if line.startswith(first))
    end = len(lines) if last is None else next(k for k, line in enumerate(plain) if line.startswith(last))
    shown = ["…"] * (begin > 0) + lines[begin:end] + ["…"] * (end < len(lines))
    return "\n".join(shown)


def terminal(command, text):
    """Return a page that looks like the terminal."""
    console = Console(width=COLUMNS, record=True, file=StringIO(), force_terminal=True, legacy_windows=False)
    console.print(f"[bold]$[/] {command}", highlight=False)
    for line in AnsiDecoder().decode(text):
        console.print(line, highlight=False, soft_wrap=True)
    code = console.export_html(theme=THEME, inline_styles=True, code_format="{code}")
    return (
        '<!doctype html><meta charset="utf-8"><body style="margin:0;background:#161b22;color:#dce2e8">'
        f'<pre style="margin:0;padding:18px 20px;display:inline-block;width:{COLUMNS}ch;'
        "white-space:pre-wrap;word-break:break-all;font:15px/1.35 'DejaVu Sans Mono',monospace\">"
        f"{code}</pre>"
    )


def only(page, section):
    """Return a page of which one section is shown: the verdict with the title, others alone."""
    head = "" if section == "verdict" else ".masthead,"
    hidden = f"{head}.annex,footer,main nav{{display:none}}body{{padding-bottom:0}}"
    away = f"main section:not(#{section}){{position:absolute;left:-9999px}}"  # not hidden: they are counted
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    return page.replace("</head>", f"<style>{hidden}{away}</style></head>", 1)


def photograph(name, text, folder):
    """Write the picture of a page, without what is empty below."""
    page, raw, picture = folder / "shown.html", folder / "shown.png", DOCS / f"tutorial_{name}.png"
    page.write_text(text, encoding="utf-8")
    pixels, _ = screenshot(page, raw, width=770 if name in TERMINALS else 1000, height=1800)
    picture.write_bytes(small(pixels))
    print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB")


def own(name):
    """Take a real table through the steps of the page; returns a line of the table of seconds."""
    said = OWN[name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (policy,) = (block for block in blocks(PAGE, "yaml") if block.title == "policy.yaml")
        (folder / policy.title).write_text(policy.text, encoding="utf-8")
        steps, size = (linked if name == "bank_1999" else single)(name, said, folder)
        taken = [run(f"tabveil {step}", folder) for step in steps]
        audit = next(k for k, step in enumerate(steps) if step.startswith("audit"))
        state = re.search(r"(WITHIN|ABOVE) THRESHOLD|INCONCLUSIVE[^.]*", taken[audit][0])
        print(" ".join(taken[audit][0].split())[:1200])
    wall, cpu = (sum(each[k] for each in taken) for k in (1, 2))
    verdict = " ".join(state[0].lower().split()) if state else "none"
    return [name, size, verdict, f"{taken[audit][2]:.0f}", f"{cpu:.0f}", f"{wall:.0f}"]


def single(name, said, folder):
    table = data.read(f"{name}.parquet")
    table = table.sample(said["rows"], random_state=0) if "rows" in said else table
    table.to_parquet(folder / "people.parquet", index=False)
    missing = f" --missing '{said['missing']}'" if "missing" in said else ""
    run(f"tabveil schema people.parquet --out schema.yaml{missing}", folder)
    schema = folder / "schema.yaml"
    text = schema.read_text(encoding="utf-8").replace("drop: []", f"drop: [{said.get('drop', '')}]")
    by = f" --by {said['person']}" if "person" in said else ""
    schema.write_text(f"{text}\nperson: {said['person']}\n" if by else text, encoding="utf-8")
    parts = "--train split/train.parquet --control split/control.parquet --synthetic synthetic.parquet"
    size = f"{len(table):,} × {table.shape[1]}"
    return [
        f"split --data people.parquet --control 0.4 --out split --policy policy.yaml{by}",
        "synthesize --data split/train.parquet --schema schema.yaml --out synthetic.parquet",
        f"audit {parts} --schema schema.yaml --policy policy.yaml --html report.html --json report.json",
        "bundle report.json --out release.zip",
        "bundle --check release.zip",
    ], size


def linked(name, _, folder):
    shutil.copytree(data.FOLDER / name, folder / name)
    (folder / "db.yaml").write_text(BANK, encoding="utf-8")
    return [
        "split --tables db.yaml --control 0.4 --out split --policy policy.yaml",
        "synthesize --tables split/db.yaml --out split/synthetic",
        "audit --tables split/db.yaml --policy policy.yaml --html report.html --json report.json",
        "bundle report.json --out release.zip",
        "bundle --check release.zip",
    ], "6 linked tables, 5,369 people"


def main():
    names = list(OWN) if sys.argv[1:] == ["all"] else sys.argv[1:]
    if not names:
        pictures()
        return
    head = ["table", "rows × columns", "verdict", "audit, CPU s", "all, CPU s", "all, wall s"]
    rows = []
    for name in names:
        rows.append(own(name))
        print(rows[-1], flush=True)
    print(f"{machine()}\n\n{markdown(head, rows)}")


if __name__ == "__main__":
    main()
