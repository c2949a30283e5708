"""Generalized rows, back as the kind of table that came in, but not in the order in which they came.

A row in the place of a person is that person's, however general its values are.
"""

from pathlib import Path
from typing import Any

from tabveil.core.rng import stream
from tabveil.core.sampling import random_order
from tabveil.core.table import Table
from tabveil.synthesis.anonymize.result import Anonymization
from tabveil.tables import reading as frame
from tabveil.tables.reading import Layout
from tabveil.tables.reading.layout import as_labels


def to_native(found: Anonymization, layout: Layout) -> Any:  # noqa: ANN401 - whichever library the user works with
    """Return the released rows as pandas, polars or Arrow, as they came; generalized columns are text.

    They are in random order.
    """
    return frame.to_native(_shuffled(found), _layout(found, layout))


def write(found: Anonymization, layout: Layout, path: str | Path) -> None:
    """Write the released rows to a file, in random order, whole or not at all."""
    frame.write(_shuffled(found), _layout(found, layout), path)


def _shuffled(found: Anonymization) -> Table:
    return found.table.take(random_order(found.table, rng=stream(0, "anonymize order")))


def _layout(found: Anonymization, layout: Layout) -> Layout:
    generalized = {
        name for place, name in enumerate(found.quasi_identifiers) if any(node[place] for node in found.nodes)
    }
    return as_labels(layout, generalized)
