"""Are the promises about classes kept? Measured again, in the anonymized rows, by another part of tabveil."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tabveil.core.settings.plain import PlainData
from tabveil.metrics.properties import Properties, SensitiveProperties, measure
from tabveil.synthesis.anonymize import Anonymization
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.synthesis.anonymize.models import (
    ROUNDING,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    PrivacyModel,
    RecursiveDiversity,
)
from tabveil.synthesis.anonymize.summary import Summary
from tabveil.synthesis.generators.hybrid.synthesizer import Hybrid, Stages
from tabveil.tables.reading import Layout


@dataclass(frozen=True, kw_only=True)
class Confirmation(PlainData):
    """One promise that was asked for, and what was measured."""

    asked: str
    measured: float | None  # None for a model that is not known here
    kept: bool | None


@dataclass(frozen=True, kw_only=True)
class AnonymizedTable(PlainData):
    """The rows between anonymization and transition: how they were made, and the classes that they form.

    ``original`` are the rows that came in, by the same columns; ``learned`` those anonymized rows that take
    part after sampling, from which a generator learns.
    """

    summary: Summary
    original: Properties
    anonymized: Properties
    learned: Properties
    confirmations: tuple[Confirmation, ...]

    @classmethod
    def of(cls, hybrid: Hybrid, stages: Stages, layout: Layout) -> Self | None:
        """Measure what the anonymized rows are; None where nothing was anonymized."""
        found = stages.anonymization
        if found is None:
            return None
        columns: dict[str, Any] = {
            "quasi_identifiers": found.quasi_identifiers,
            "sensitive": tuple(
                dict.fromkeys(model.column for model in found.models if model.column is not None)
            ),
            "levels": _levels(hybrid, found, layout),
        }
        anonymized = measure(found.table, reference=found.original, **columns)
        return cls(
            summary=Summary.of(found),
            original=measure(found.original, **columns),
            anonymized=anonymized,
            learned=measure(stages.generalized, reference=found.original, **columns),
            confirmations=tuple(_confirm(model, found, anonymized) for model in found.models),
        )


def _levels(hybrid: Hybrid, found: Anonymization, layout: Layout) -> dict[str, Any]:
    """Return the hierarchies of sensitive columns, as distances by levels need them."""
    trees = {}
    for model in hybrid.models:
        if "hierarchy" in model:
            column = str(model["column"])
            entry = read_entry(column, model["hierarchy"], Path())
            tree = entry.build(ColumnValues.of(found.original, column, layout))
            trees[column] = (tree.cells, tree.codes)
    return trees


def _confirm(model: PrivacyModel, found: Anonymization, measured: Properties) -> Confirmation:
    own = {item.column: item for item in measured.sensitive}
    value: float | None = None
    kept: bool | None = None
    match model:
        case KAnonymity(k=k):
            value, kept = measured.k, measured.k >= k
        case DistinctDiversity(column=column, l=least):
            value, kept = own[column].distinct, own[column].distinct >= least
        case EntropyDiversity(column=column, l=least_entropy):
            value, kept = own[column].entropy, own[column].entropy >= least_entropy - ROUNDING
        case RecursiveDiversity(column=column, l=least):
            (again,) = measure(
                found.table, quasi_identifiers=measured.quasi_identifiers, sensitive=[column], factor=model.c
            ).sensitive
            value, kept = again.recursive, again.recursive >= least
        case Closeness(column=column, t=most):
            value = _distance(own[column], model)
            kept = None if value is None else value <= most + ROUNDING
    return Confirmation(asked=model.in_words(), measured=value, kept=kept)


def _distance(own: SensitiveProperties, model: Closeness) -> float | None:
    by_kind: Mapping[str, float | None] = {
        "equal": own.equal,
        "ordered": own.ordered,
        "hierarchical": own.hierarchical,
    }
    return by_kind[model.distance]
