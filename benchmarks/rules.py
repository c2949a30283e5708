"""Do drawn rows keep the rules of a table: what determines what, which code has which description?"""

import numpy as np
import pandas as pd

SHARED, COVERED = 10, 0.5
"""A rule counts if half of the rows have a value of its source that ten rows share: else it says nothing."""


def rules_of(train):
    """Return which column determines which in all rows, and its pairs: {(source, column): {value: value}}."""
    found = {}
    texts = train.astype(object).where(train.notna(), None)
    codes = {name: pd.factorize(train[name], use_na_sentinel=False)[0] for name in train.columns}
    for source in train.columns:
        counts = np.bincount(codes[source])
        if len(counts) < 2 or counts[counts >= SHARED].sum() < COVERED * len(train):
            continue
        for column in train.columns:
            if column == source or codes[column].max() == 0:
                continue
            first = np.zeros(len(counts), dtype=np.int64)
            first[codes[source]] = codes[column]
            if (first[codes[source]] == codes[column]).all():
                found[source, column] = dict(zip(texts[source], texts[column], strict=True))
    return found


def kept(train, drawn):
    """Return how many rules there are, the shares of rows that break one, and of pairs that train has."""
    rules = rules_of(train)
    rows = drawn.astype(object).where(drawn.notna(), None)
    broken, n_pairs, n_kept = np.zeros(len(drawn), dtype=bool), 0, 0
    for (source, column), told in rules.items():
        both = list(zip(rows[source], rows[column], strict=True))
        broken |= np.array([told.get(value, other) != other for value, other in both])
        if (column, source) in rules and source < column:
            there = set(told.items())
            n_pairs += len(rows)
            n_kept += sum(pair in there for pair in both)
    return {
        "rules": len(rules),
        "broken": float(broken.mean()),
        "pairs": n_kept / n_pairs if n_pairs else None,
    }


def labels_kept(train, drawn):
    """Return of the labels of texts that ten rows share how many are drawn, and how many labels there are."""
    there = shared = again = new = 0
    for name in train.columns[train.dtypes.map(lambda kind: kind.kind not in "iufM")]:
        counts = train[name].value_counts()
        values = set(drawn[name].dropna().unique())
        there += len(counts)
        shared += int((counts >= SHARED).sum())
        again += len(values & set(counts.index))
        new += len(values - set(counts.index))
    return {"labels": there, "shared": shared, "drawn": again, "new": new}
