"""Would a measure fit into the memory that is left? Asked before it begins, for to die of it helps nobody.

What a search arranges is cut to what is left (:mod:`tabveil.engines.neighbors.streamed`), and whole tables
stand on disk. What a measure holds beyond that was measured, as bytes for each cell of the largest table that
it is shown (:attr:`tabveil.protocols.Metric.cell_bytes`).
"""

from tabveil.core import memory, workers
from tabveil.core.table import Split
from tabveil.errors import NotApplicable
from tabveil.protocols import Metric

ALONE = 24 * 2**20
"""What a measure takes of itself: compiled loops that are loaded, answers of some thousand people."""


def needed(metric: Metric, split: Split) -> int:
    """Return about how many bytes a measure takes beside the tables."""
    return ALONE + int(metric.cell_bytes * _rows(split) * len(split.schema))


def _rows(split: Split) -> int:
    return max(len(split.train), len(split.control), len(split.synthetic))


def require_room(metric: Metric, split: Split) -> None:
    """Refuse a measure that would take more memory than is left."""
    left, takes = memory.left(), needed(metric, split)
    if left is None or takes <= left:
        return
    allowed = (workers.current().memory or 0) + takes - left
    raise NotApplicable(
        metric.name,
        f"needs about {memory.shown(takes)} of memory for tables of {_rows(split):,} rows, where "
        f"{memory.shown(left)} are left. Allow it {memory.shown(1.1 * allowed)} (--memory), or leave columns "
        "out in a schema.",
    )
