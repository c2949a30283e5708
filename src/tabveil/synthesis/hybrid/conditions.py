"""Under which conditions sampling and generalizing are differentially private, and which of them are broken.

The theorem (see ``promises``) speaks of an algorithm whose only look at a record, beside generalizing it by a
rule that was fixed before, is to count its class. Whatever else asks the rows voids it.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from tabveil.core.table import Categorical, Column, Numeric, Schema
from tabveil.synthesis.hybrid.promises import SampledPrivacy
from tabveil.synthesis.hybrid.sampling import Sampling
from tabveil.synthesis.hybrid.transitions import Transition

if TYPE_CHECKING:
    from tabveil.synthesis.hybrid.generalizing import Generalizing

MOST_LISTED = 10_000
"""Whole numbers: of a column with more, a hierarchy has only those of the rows."""


def broken(
    generalizing: "Generalizing | None",
    sampling: Sampling,
    transition: Transition,
    *,
    schema: Schema | None = None,
    declared: Collection[str] | None = None,
) -> tuple[str, ...]:
    """Return why nothing is promised, the weightiest first; nothing if all conditions hold.

    ``declared`` are the columns of which a schema file says everything; None where nobody knows, as where a
    schema is handed over as public.
    """
    if generalizing is None:
        return ("nothing is generalized",)
    names = () if schema is None else schema.names
    conditions = (
        (generalizing.levels is None, "the levels were searched for, which asks the rows"),
        (bool(generalizing.automatic), "hierarchies were made from the values of the rows"),
        (
            any(model.column is not None for model in generalizing.models),
            "classes are also suppressed for their sensitive values",
        ),
        (
            bool(set(names) - set(generalizing.quasi_identifiers)),
            "columns without a hierarchy are learned as they are",
        ),
        (
            schema is not None and not all(map(_can_be_listed, schema.columns)),
            "not all values of a column can be listed, so its hierarchy is made from those of the rows",
        ),
        (generalizing.asked.suppression < 1, "whether anything is released depends on the rows"),
        (
            sampling.when != "before" or sampling.stratified or sampling.beta == 1,
            "records are not sampled one by one before they are generalized",
        ),
        (transition.asks_rows, "the transition asks the rows"),
        (
            declared is not None and bool(set(names) - set(declared)),
            "labels or ranges of columns were read from the rows, as no schema declares them",
        ),
    )
    reasons = tuple(reason for holds, reason in conditions if holds)
    if not reasons and SampledPrivacy.of(sampling.beta, generalizing.k) is None:
        return (f"k = {generalizing.k} is too small for beta = {sampling.beta:g}",)
    return reasons


def _can_be_listed(column: Column) -> bool:
    """Whether a hierarchy covers all values that a column may have, whichever rows there are."""
    match column:
        case Categorical():
            return True
        case Numeric(low=low, high=high):
            return column.integer and high - low < MOST_LISTED
