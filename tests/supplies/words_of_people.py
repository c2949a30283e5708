"""Tables of invented words, for metrics that read them."""

import numpy as np

from tabveil.core.table import Categorical, Schema, Split, Table


def joined(starts, ends):
    return [f"{start}{end}" for start in starts for end in ends]


FIRST = joined(("An", "Be", "Cla", "Do", "El", "Fri", "Gu"), ("na", "rt", "lo", "mi"))
LAST = joined(("Ac", "Bru", "Czy", "Del", "Ef", "Fon"), ("ker", "mann", "sky", "ton"))
VOCABULARY = joined("bcdfghjklmnpqrstvwxz", ("a", "eno", "ilu", "opa", "urin"))


def split_of(train, control, synthetic, **holds):
    """Make the tables of columns of strings; None is missing."""
    columns, cells = [], {"train": [], "control": [], "synthetic": []}
    tables = {"train": train, "control": control, "synthetic": synthetic}
    for name in train:
        labels = sorted({text for table in tables.values() for text in table[name] if text is not None})
        codes = {text: float(code) for code, text in enumerate(labels)} | {None: np.nan}
        columns.append(Categorical(name=name, labels=tuple(labels), holds=holds.get(name, "labels")))
        for role, table in tables.items():
            cells[role].append([codes[text] for text in table[name]])
    schema = Schema(tuple(columns))
    return Split(
        **{
            role: Table(schema=schema, values=np.array(own, dtype=float).reshape(len(columns), -1).T)
            for role, own in cells.items()
        }
    )


def texts(n, rng, *, least=12, most=40):
    """Write texts of invented words."""
    return [" ".join(rng.choice(VOCABULARY, rng.integers(least, most))) for _ in range(n)]


def split_of_texts(train, control, synthetic):
    return split_of({"notes": train}, {"notes": control}, {"notes": synthetic}, notes="text")


def names(n, rng):
    """Draw full names, nearly all different: a first name, a middle one, a surname and a part of it."""
    return [
        f"{rng.choice(FIRST)} {rng.choice(FIRST)} {rng.choice(LAST)}-{rng.choice(LAST)}" for _ in range(n)
    ]
