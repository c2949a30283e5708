"""What MkDocs asks while it builds the site: pages without a file, and words put into pages that have one.

It stands beside docs/ and not in it because everything in docs/ becomes part of the site.
"""

import re
from typing import Any

import pages
from mkdocs.structure.files import File, Files

_OUT_OF_DOCS = re.compile(r"\]\(\.\./(benchmarks|examples)/")
_EXAMPLE = re.compile(r"(\]\(examples/\w+)\.py\)")
_INSERTION = re.compile(r"<!-- made: ([a-z ]+) -->")


def on_config(config: Any) -> None:  # noqa: ANN401 - MkDocs' settings
    """List the metrics' own pages in the navigation."""
    (metrics,) = (entry["Metrics"] for entry in config.nav if "Metrics" in entry)
    metrics[1:1] = pages.navigation()


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - MkDocs' settings
    """Add the pages that are made from the program."""
    for place, text in pages.generated().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Fill in what is made from the program; point links to other folders at their pages in the site."""
    return written(markdown)


def written(markdown: str) -> str:
    """Return a page as it stands in the site.

    >>> written("[here](../examples/release_gate.py), [there](../benchmarks/peers.md)")
    '[here](examples/release_gate.md), [there](benchmarks/peers.md)'
    """
    inserted = _INSERTION.sub(lambda found: pages.insertions()[found[1]], markdown)
    return _EXAMPLE.sub(r"\1.md)", _OUT_OF_DOCS.sub(r"](\1/", inserted))
