"""The definition of a neighbor, written as plainly as possible: the oracle for the engine."""

import numpy as np


def nearest(space, reference, queries, k, *, skip_self=False):
    """Return distances and indices (m, k) by comparing every pair, ties by the lower index."""
    total = sum(
        (_cost(queries, reference, name, None, None, 1) for name in space.matched),
        start=np.zeros((len(queries), len(reference))),
    )
    numbers = np.zeros_like(total)
    for column in space.measured:
        if column.weight > 0:
            numbers += np.minimum(
                _cost(queries, reference, column.name, column.weight, column.decimals, space.power),
                1.0 if space.saturated else np.inf,
            )
        total += (
            np.isnan(queries.column(column.name))[:, None] != np.isnan(reference.column(column.name))[None, :]
        )
    total = total + numbers
    if skip_self:
        np.fill_diagonal(total, np.inf)
    index = np.argsort(total, axis=1, kind="stable")[:, :k]
    distance = np.take_along_axis(total, index, axis=1)
    rooted = space.power == 2 and not space.saturated
    return np.round((np.sqrt(distance) if rooted else distance) / space.divisor, 12), index


def _cost(queries, reference, name, weight, places, power):
    a, b = queries.column(name)[:, None], reference.column(name)[None, :]
    if weight is None:
        return (np.nan_to_num(a, nan=-1) != np.nan_to_num(b, nan=-1)).astype(float)
    if places is not None:
        a, b, weight = np.round(a * 10.0**places), np.round(b * 10.0**places), weight / 10.0**places
    return np.nan_to_num((np.abs(a - b) * weight) ** power, nan=0.0)
