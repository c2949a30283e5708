"""Which columns hold free text, and what they are to those who compare rows.

A text is neither a category, for hardly two rows share one, nor an identifier, for it tells something about
people. Rows are compared by how many words it has. What its words repeat is another question, for metrics
that read them (``written``).
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tabveil.core.table import Categorical, Numeric
from tabveil.tables.reading.encode import EncodedColumn
from tabveil.tables.reading.identifiers import FEWEST_ROWS, MANY, names_people
from tabveil.tables.reading.infer import Declaration
from tabveil.tables.reading.layout import ColumnLayout
from tabveil.tables.reading.raw_column import Kind, Texts
from tabveil.tables.reading.wording import listed
from tabveil.tables.words import Words

SEVERAL = 6
"""Words that half of the different texts must have: names have fewer, and so have most labels."""


def is_free_text(encoded: EncodedColumn, declared: Declaration | None = None) -> bool:
    """Tell a column of free text: declared so; or mostly different strings of several words in train.

    Not a column whose name says that it names people or where they live, nor one whose author listed its
    labels, as that of a categorical type.
    """
    if declared is not None:
        return declared.type == "text"
    texts = next(iter(encoded.unbound.values()))
    if not isinstance(texts, Texts) or texts.levels or encoded.place.kind is not Kind.LABELS:
        return False
    if texts.counts.sum() < FEWEST_ROWS or names_people(encoded.column.name):
        return False
    different = texts.counts > 0
    if different.sum() < MANY * texts.counts.sum():
        return False
    held = texts.texts.filter(pa.array(different)).to_pylist()
    return float(np.median(Words.of(held).counts)) >= SEVERAL


def as_word_counts(encoded: EncodedColumn) -> EncodedColumn:
    """Return a column of texts as the number of words of each; what is digested of it stays the text."""
    assert isinstance(encoded.column, Categorical), "texts are labels"
    words = Words.of(encoded.column.labels).counts.astype(np.float64)  # (n_labels,)
    cells = {role: _spread(words, each) for role, each in encoded.cells.items()}
    held = np.concatenate([each[~np.isnan(each)] for each in cells.values()])
    low, high = (float(held.min()), float(held.max())) if len(held) else (0.0, 0.0)
    whole = pa.int64()
    return replace(
        encoded,
        column=Numeric(name=encoded.column.name, low=low, high=high, decimals=0),
        cells=cells,
        place=ColumnLayout(label=encoded.place.label, kind=Kind.NUMBER, type=whole, plain=whole),
        notes=(),
        markers=(),
    )


def _spread(
    words: np.ndarray[tuple[int], np.dtype[np.float64]], codes: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Give every row the count of its text; NaN for missing."""
    return np.append(words, np.nan)[np.where(np.isnan(codes), len(words), codes).astype(np.int64)]


def note(names: list[str]) -> tuple[str, ...]:
    """Say how texts are looked at."""
    if not names:
        return ()
    how = "rows are compared by how many words it has, and its passages are read by text_replay"
    return (f"Free text in {listed(names)}: {how}.",)
