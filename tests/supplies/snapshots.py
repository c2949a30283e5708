"""What pages and reports say, word by word, in one file of texts beside the tests that compare it.

Where words are meant to change, write them anew and read the difference before it is committed::

    TABVEIL_RENEW=1 python -m pytest tests/render/audit/test_page.py

Tests of one file then run in one process (without ``-n``), as they write into one file.
"""

import os
from pathlib import Path

RENEW = "TABVEIL_RENEW"
INDENT = "    "


class Snapshot:
    """The texts that the tests of one file compare, each under the name of its test."""

    def __init__(self, tests, name):
        self.file = tests.parent / "said" / f"{tests.stem.removeprefix('test_')}.txt"
        self.name = name

    def __call__(self, text, part=""):
        """Return what was stored for this test, to be compared with what is said now."""
        heading = f"{self.name}: {part}" if part else self.name
        if os.environ.get(RENEW):
            write(self.file, {**read(self.file), heading: text})
        found = read(self.file)
        assert heading in found, f"{self.file.name} has no {heading!r}: run the test with {RENEW}=1"
        return found[heading]


def read(file):
    """Return the texts of a file by their headings; the lines of a text are indented."""
    texts, heading = {}, ""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        if line.startswith(INDENT):
            texts[heading].append(line.removeprefix(INDENT))
        elif line:
            heading = line
            texts[heading] = []
    return {heading: "\n".join(lines) for heading, lines in texts.items()}


def write(file: Path, texts):
    """Write texts in the order of their headings."""
    assert all(text.splitlines() for text in texts.values())
    entries = (
        "\n".join([heading, *(INDENT + line for line in texts[heading].split("\n"))])
        for heading in sorted(texts)
    )
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n\n".join(entries) + "\n", encoding="utf-8")
