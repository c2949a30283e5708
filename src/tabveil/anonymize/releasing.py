"""Generalized rows, back as the kind of table that came in."""

from pathlib import Path
from typing import Any

from tabveil import frame
from tabveil.anonymize.result import Anonymization
from tabveil.frame import Layout
from tabveil.frame.relabeled import as_labels


def to_native(found: Anonymization, layout: Layout) -> Any:  # noqa: ANN401 - whichever library the user works with
    """Return the released rows as pandas, polars or Arrow, as they came; generalized columns are text."""
    return frame.to_native(found.table, _layout(found, layout))


def write(found: Anonymization, layout: Layout, path: str | Path) -> None:
    """Write the released rows to a file, whole or not at all."""
    frame.write(found.table, _layout(found, layout), path)


def _layout(found: Anonymization, layout: Layout) -> Layout:
    generalized = {
        name for place, name in enumerate(found.quasi_identifiers) if any(node[place] for node in found.nodes)
    }
    return as_labels(layout, generalized)
