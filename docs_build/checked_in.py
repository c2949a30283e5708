"""What is made from the program and kept in pages, so that these can be read in the repository as well.

``make pages`` writes it anew after a change of a docstring, an option or a default; a test says when to.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import command_line
import metric_pages
import pages

from tabveil.auditing.report_schema import report_schema

MADE = "made by `make pages`"
_PART = re.compile(
    r"^<!-- made: (?P<what>[a-z ]+) -->\n(?:(?:(?!<!-- made: ).)*?^<!-- end -->\n)?",
    flags=re.MULTILINE | re.DOTALL,
)
_MARKS = re.compile(r"^<!-- (?:made: [a-z ]+|end|made by .*) -->\n+", flags=re.MULTILINE)


def current(docs: Path) -> dict[Path, str]:
    """Return every page that is made, wholly or in parts, with the text it should have."""
    whole = {**metric_pages.pages(), "command_line.md": command_line.page()}
    parts = pages.insertions()
    written = [*sorted(docs.glob("*.md")), docs.parent / "ARCHITECTURE.md"]
    filled = {path: fill(path.read_text(encoding="utf-8"), parts) for path in written}
    return {
        **{path: text for path, text in filled.items() if _PART.search(text)},
        **{docs / place: f"<!-- {MADE} -->\n\n{text}" for place, text in whole.items()},
        docs / "report.schema.json": f"{json.dumps(report_schema(), indent=1, ensure_ascii=False)}\n",
    }


def fill(page: str, parts: Mapping[str, str]) -> str:
    r"""Put what is made between the marks that ask for it.

    >>> fill("<!-- made: sum -->\nold\n<!-- end -->\nrest\n", {"sum": "2"})
    '<!-- made: sum -->\n\n2\n\n<!-- end -->\nrest\n'
    """
    return _PART.sub(
        lambda found: f"<!-- made: {found['what']} -->\n\n{parts[found['what']]}\n\n<!-- end -->\n", page
    )


def without_marks(page: str) -> str:
    r"""Return a page as its readers see it.

    >>> without_marks("<!-- made: sum -->\n\n2\n\n<!-- end -->\n\nrest\n")
    '2\n\nrest\n'
    """
    return _MARKS.sub("", page)


def main() -> None:
    """Write what is not current."""
    wanted = current(metric_pages.DOCS)
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in set((metric_pages.DOCS / "metrics").glob("*.md")) - set(wanted):
        path.unlink()


if __name__ == "__main__":
    main()
