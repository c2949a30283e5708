"""What MkDocs asks while it builds the site: pages that stand elsewhere, and links as the site needs them.

It stands beside docs/ and not in it because everything in docs/ becomes part of the site.
"""

import re
from pathlib import Path
from typing import Any

import checked_in
import pages
from mkdocs.structure.files import File, Files

_OUT_OF_DOCS = re.compile(r"\]\(\.\./(benchmarks|examples)/")
_INTO_DOCS = re.compile(r"\]\(((?:\.\./)+)docs/")  # of pages that stand beside docs/
_EXAMPLE = re.compile(r"(\]\(examples/\w+)\.py\)")


def on_config(config: Any) -> None:  # noqa: ANN401 - MkDocs' settings
    """List the metrics' own pages in the navigation."""
    (reference,) = (entry["Reference"] for entry in config.nav if "Reference" in entry)
    (metrics,) = (entry["Metrics"] for entry in reference if "Metrics" in entry)
    metrics.extend(pages.navigation())


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - MkDocs' settings
    """Add the pages that stand elsewhere in the repository."""
    for place, text in pages.generated().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:  # noqa: ANN401 - MkDocs' page
    """Point links to other folders at their pages in the site, and leave the first page to its doors."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    return written(markdown)


def on_post_build(config: Any) -> None:  # noqa: ANN401 - MkDocs' settings
    """Write what the search looks through as a script, too: from a disk, browsers read nothing else."""
    folder = Path(config.site_dir) / "search"
    found = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {found}", encoding="utf-8")


def written(markdown: str) -> str:
    """Return a page as it stands in the site.

    >>> written("[here](../examples/release_gate.py), [there](../benchmarks/peers.md)")
    '[here](examples/release_gate.md), [there](benchmarks/peers.md)'
    >>> written("[back](../docs/definitions.md)")
    '[back](../definitions.md)'
    >>> written("[back](../../docs/comparison.md)")
    '[back](../../comparison.md)'
    """
    seen = _INTO_DOCS.sub(r"](\1", checked_in.without_marks(markdown))
    return _EXAMPLE.sub(r"\1.md)", _OUT_OF_DOCS.sub(r"](\1/", seen))
