"""A small table that can be anonymized by head, and the rows of it that take part."""

import numpy as np

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.synthesis.anonymize import KAnonymity, anonymize
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.synthesis.generators.hybrid import GeneralizedRows

JOBS = ("nurse", "doctor", "teacher", "professor")
TREE = {"tree": {"health": ["nurse", "doctor"], "education": ["teacher", "professor"]}}
SCHEMA = Schema(
    (
        Numeric(name="age", low=18, high=80, decimals=0),
        Categorical(name="job", labels=JOBS),
        Numeric(name="pay", low=0, high=10, decimals=None),
        Categorical(name="ill", labels=("no", "yes")),
    )
)


def table(rows, schema=SCHEMA):
    """Rows of (age, job, pay, ill)."""
    return Table(schema=schema, values=np.array(rows, dtype=float))


CLASS = [(21, 0, 1.5, 0), (21, 0, 1.25, 1), (23, 1, 1.75, 0), (28, 0, 1.5, 1), (22, 0, 1.0, 0)]
"""The class of the thesis: five people from 20 to 29, in health, with a pay from 1 to 2."""
OTHERS = [(41, 2, 5.5, 0), (44, 3, 5.0, 1), (49, 3, 5.25, 0)]


def generalized(rows, hierarchies, levels, *, k=1, chosen=None):
    """The rows, generalized by levels; all that are released take part unless some are chosen."""
    original = rows if isinstance(rows, Table) else table(rows)
    built = [
        read_entry(name, entry, None).build(ColumnValues.of(original, name))
        for name, entry in hierarchies.items()
    ]
    found = anonymize(original, built, models=[KAnonymity(k=k)], levels=levels)
    return GeneralizedRows(found=found, chosen=np.arange(len(found.rows)) if chosen is None else chosen)


def people():
    """Eight people in two classes: age in tens, job in sectors, pay in whole numbers."""
    hierarchies = {"age": {"intervals": [10]}, "job": TREE, "pay": {"intervals": [1]}}
    return generalized(CLASS + OTHERS, hierarchies, {"age": 1, "job": 1, "pay": 1})


def drawn(transition, rows, *, n=1, seed=0, of=None):
    """The concrete rows of n transitions of the generalized rows, end to end: (n · rows, columns)."""
    rng = np.random.default_rng(seed)
    back = transition.learn(rows, rng=rng)
    released = rows.table if of is None else of
    again = released.take(np.tile(np.arange(len(released)), n))
    return back.concrete(again, rows.original.schema, rng=rng).values
