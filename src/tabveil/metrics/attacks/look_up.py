"""The nearest synthetic row of every attacked row, for one secret after the other.

Somebody who does not know the secret looks for a person by the columns they know. Where each column is the
secret in turn, these searches differ in one column, and one walk through the release does for all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core.sampling import shuffled_rows
from tabveil.core.settings.registry import completed
from tabveil.core.table import Floats, Indices, Split
from tabveil.core.workers import part, tell
from tabveil.engines.neighbors import Neighbors, NeighborsWithout, Space
from tabveil.metrics.attacks.guessing import Halves, draw_halves, rarity, seen_by, ties_matter
from tabveil.protocols import View

Names = tuple[str, ...]
Rarity = tuple[Floats, Floats] | tuple[None, None]

MOST_ROWS = 100_000  # of a release: in a larger one, searches by fewer columns gain more than a shared walk
ANSWERS_AT_ONCE = 4_000_000  # held in memory: for so many rows times secrets


@dataclass(frozen=True, kw_only=True, eq=False)
class Lookups:
    """The nearest synthetic rows by what is known beside one secret; train first, then control."""

    order: Indices  # (n_synthetic,) the synthetic rows, as the lot put them: the first of equals is taken
    index: tuple[Indices, Indices]  # (n,) each, places in that order
    confidence: tuple[Floats, Floats]  # (n,) each, the negative distance
    rarity: Rarity  # (n,) each, where ties of confidence matter
    seen: Split | None = None  # all rows as somebody sees them who knows the rest, if looked up by it alone


def look_up(
    targets: Split, view: View, known: Mapping[str, Names], *, rng: Generator
) -> Iterator[tuple[str, Lookups]]:
    """Look up the train and control rows of ``targets`` by what is known beside each secret, in this order.

    The draws, and so the answers, are the same on either road.
    """
    secrets, done = list(known), 0
    together = completed(view, View).columnwise and len(targets.synthetic) <= MOST_ROWS
    most = max(ANSWERS_AT_ONCE // (len(targets.train) + len(targets.control)), 1) if together else 1
    while done < len(secrets):
        batch = secrets[done : done + most]
        with part(done / len(secrets), (done + len(batch)) / len(secrets)):
            found = (
                _together(targets, view, {secret: known[secret] for secret in batch}, rng=rng)
                if together
                else [_alone(targets, view, known[batch[0]], rng=rng)]
            )
            tell("comparing rows", 1.0)
        yield from zip(batch, found, strict=True)
        done += len(batch)


def _alone(targets: Split, view: View, known: Names, *, rng: Generator) -> Lookups:
    """Search by the columns known beside one secret."""
    order = shuffled_rows(targets.synthetic, rng=rng)
    space, seen = view.space(known), seen_by(view, targets, known)
    neighbors = Neighbors(space, seen.synthetic.take(order))
    train, control = (neighbors.nearest(table) for table in (seen.train, seen.control))
    confidence = -train.distance[:, 0], -control.distance[:, 0]
    needed = ties_matter(confidence[1], people=seen.control.people)
    return Lookups(
        order=order,
        index=(train.index[:, 0], control.index[:, 0]),
        confidence=confidence,
        rarity=rarity(space, seen, rng=rng) if needed else (None, None),
        seen=seen,
    )


def _together(targets: Split, view: View, known: Mapping[str, Names], *, rng: Generator) -> list[Lookups]:
    """Search once for several secrets, each of them left out in turn."""
    names = tuple(sorted(set().union(*known.values())))
    space, spaces = view.space(names), [view.space(rest) for rest in known.values()]
    seen = seen_by(view, targets, names)
    neighbors = NeighborsWithout(space, seen.synthetic, spaces)
    with part(0, 0.4):
        train = neighbors.nearest(seen.train)
    with part(0.4, 0.6):
        control = neighbors.nearest(seen.control)
    confidence = -train.distance, -control.distance  # (n, s) each
    orders: list[Indices] = []
    halves: dict[int, Halves] = {}
    for position, rest in enumerate(known.values()):
        orders.append(shuffled_rows(targets.synthetic, rng=rng))
        if ties_matter(confidence[1][:, position], people=seen.control.people):
            halves[position] = draw_halves(seen.select(rest), rng=rng)
    with part(0.6, 0.8):
        index = train.first(orders), control.first(orders)
    with part(0.8, 1):
        rare = _rarities(space, [spaces[position] for position in halves], seen, list(halves.values()))
    found = dict(zip(halves, rare, strict=True))
    return [
        Lookups(
            order=order,
            index=(index[0][:, position], index[1][:, position]),
            confidence=(confidence[0][:, position], confidence[1][:, position]),
            rarity=found.get(position, (None, None)),
        )
        for position, order in enumerate(orders)
    ]


def _rarities(
    space: Space, spaces: Sequence[Space], seen: Split, halves: Sequence[Halves]
) -> list[tuple[Floats, Floats]]:
    """Do what :func:`tabveil.metrics.attacks.guessing.rarity` does, by several spaces at once."""
    if not spaces:
        return []
    twice = [part for part in spaces for _ in range(2)]
    among = [half for item in halves for half in (~item.held, item.held)]
    neighbors = NeighborsWithout(space, seen.control, twice)
    train, control = (neighbors.nearest(table, among).distance for table in (seen.train, seen.control))

    def picked(distance: Floats, position: int, half: Indices) -> Floats:
        return distance[np.arange(len(distance)), 2 * position + half]

    return [
        (
            picked(train, position, item.of_train.astype(np.int64)),
            picked(control, position, (~item.held).astype(np.int64)),
        )
        for position, item in enumerate(halves)
    ]
