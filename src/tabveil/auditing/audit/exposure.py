"""The training rows most at risk, with their values: made only when somebody asks to see people."""

from collections.abc import Iterable

import numpy as np

from tabveil.auditing.report import ExposedRows
from tabveil.core.result import Result, Scores
from tabveil.tables.reading import LoadedTables, cells_as_text

MOST = 10


def exposed(results: Iterable[Result], loaded: LoadedTables) -> ExposedRows | None:
    """Return the rows that the attack with the clearest leak scores highest; None where none sees one."""
    leaking = [
        (result.gain.low, result.key, scores)
        for result in results
        for scores in result.scores
        if result.labels.pillar == "attack"
        and scores.table == "train"
        and result.gain
        and result.gain.low > 0
    ]
    if not leaking:
        return None
    _, metric, scores = max(leaking, key=lambda item: item[0])
    rows = _highest(scores)
    columns, texts = cells_as_text(loaded.given.train.take(rows), loaded.layout)
    return ExposedRows(
        metric=metric,
        columns=("row", *columns),
        rows=tuple((str(row), *text) for row, text in zip(rows.tolist(), texts, strict=True)),
    )


def _highest(scores: Scores) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    order = np.lexsort((scores.rows, -scores.values))  # of equals the first rows
    return scores.rows[order[:MOST]]
