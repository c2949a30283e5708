"""Where do rows lie in the space that attacks learned, and where the synthetic rows that stand apart in it?

The same map as that of rows as they are, of the vectors in their place; and no more can be read off it: rows
that stand apart are counted in fields, too, which each hold enough of them.
"""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from tabveil.core.sampling import count_share
from tabveil.core.table import Floats, Split
from tabveil.engines.neighbors import local_outlier_factors
from tabveil.metrics.portrait.cells import (
    SHARE_DIGITS,
    count_rows,
    ends_of,
    fields_across,
    hidden,
    sample_rows,
    shares_of,
)
from tabveil.metrics.portrait.pictures import Map, Outlying, OutlyingCell
from tabveil.metrics.portrait.projection import Projection
from tabveil.protocols import Representation

MOST_ROWS = 10_000  # of real rows, and of synthetic ones: each is compared with all others of its kind
OUTLYING = 0.1  # the share of the synthetic rows that are shown as standing apart
N_NEIGHBORS = 20
LEAST_ACROSS = 2  # fields for those who stand apart


def map_learned(
    split: Split, representation: Representation, *, rng: Generator
) -> tuple[Map, tuple[str, ...]]:
    """Draw the map of real and synthetic rows as a representation sees them; and say what it leaves out."""
    (real, synthetic), notes = sample_rows(split, MOST_ROWS, "The map of the learned space", rng=rng)
    view, names = representation.view(split, rng=rng), split.schema.names
    vectors = view.see(real, names), view.see(synthetic, names)
    projection = Projection.of_vectors(vectors[0])
    places = projection.places(vectors[0]), projection.places(vectors[1])
    drawn = count_rows(places, fields_across(min(len(real), len(synthetic))), projection.explained)
    factors = local_outlier_factors(view.space(names), vectors[1], n_neighbors=N_NEIGHBORS)
    return replace(drawn, outlying=_outlying(places, factors)), notes


def _outlying(places: tuple[Floats, Floats], factors: Floats) -> Outlying | None:
    """Count the synthetic rows with the largest factors in fields; None where no field holds enough."""
    first = np.argsort(-factors, kind="stable")[: count_share(OUTLYING, len(factors))]
    if not len(first):
        return None
    across = fields_across(len(first), LEAST_ACROSS)
    shares = shares_of(places[1][first], ends_of(places), across)
    shown = np.flatnonzero(~np.isnan(shares))
    if not len(shown):
        return None
    return Outlying(
        share=OUTLYING,
        n_neighbors=N_NEIGHBORS,
        columns=across,
        rows=across,
        cells=tuple(
            OutlyingCell(x=field % across, y=field // across, share=round(float(shares[field]), SHARE_DIGITS))
            for field in shown.tolist()
        ),
        hidden=hidden(shares),
    )
