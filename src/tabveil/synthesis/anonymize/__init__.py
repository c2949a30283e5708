"""Anonymization: generalize quasi-identifiers as little as privacy models allow, and say what was lost.

>>> import numpy as np
>>> from tabveil.core.table import Numeric, Schema, Table
>>> ages = Table(schema=Schema((Numeric(name="age", low=31, high=48, decimals=0),)),
...              values=np.array([[31.0], [38.0], [42.0], [48.0]]))
>>> decades = Hierarchy(
...     column="age",
...     leaves=("31", "38", "42", "48"),
...     cells=np.array([31.0, 38.0, 42.0, 48.0]),
...     codes=np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]]),
...     labels=(("31", "38", "42", "48"), ("30-39", "40-49"), ("*",)),
... )
>>> found = anonymize(ages, [decades], models=[KAnonymity(k=2)])
>>> found.nodes, found.n_suppressed, round(found.loss, 3), found.table.schema["age"].labels
(((1,),), 0, 0.333, ('30-39', '40-49'))
"""

from tabveil.synthesis.anonymize.anonymizing import Anonymization, anonymize
from tabveil.synthesis.anonymize.hierarchy import Hierarchy
from tabveil.synthesis.anonymize.losses import (
    LOSSES,
    AverageClassSize,
    Discernibility,
    Entropy,
    GeneralizationLoss,
    LossModel,
)
from tabveil.synthesis.anonymize.privacy_models import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    PrivacyModel,
    RecursiveDiversity,
)

__all__ = [
    "LOSSES",
    "Anonymization",
    "AverageClassSize",
    "Closeness",
    "Discernibility",
    "DistinctDiversity",
    "Entropy",
    "EntropyDiversity",
    "GeneralizationLoss",
    "Hierarchy",
    "KAnonymity",
    "LossModel",
    "PrivacyModel",
    "RecursiveDiversity",
    "anonymize",
]
