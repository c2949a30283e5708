"""Who and what carries a leak: how many rows, and which columns."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator

from tabveil.auditing.advice import LeakingColumn, LeakingRows
from tabveil.auditing.verdict import Verdict
from tabveil.auditing.verdict.judgment import ABOVE
from tabveil.core.estimate import Estimate
from tabveil.core.result import Result
from tabveil.core.sampling import in_order
from tabveil.core.table import Categorical, Floats, Split, Table
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.metrics.control.copies import Copies

MOST_COLUMNS = 5
"""Columns that are named; those with the largest weights."""


def leaking_rows(copies: Copies, verdict: Verdict, n_people: int) -> LeakingRows:
    """Count rows of the release, and people whom the strongest attack exposes; nobody is shown.

    ``n_people`` are in train.
    """
    near = copies.near
    gains = [
        item.gain.value
        for risk in verdict.risks
        for item in risk.metrics
        if item.state == ABOVE and item.gain is not None
    ]
    return LeakingRows(
        n_synthetic=copies.n_synthetic,
        equal=copies.equal_train,
        expected=copies.expected or 0.0,
        near=0 if near is None else near.near_train,
        near_expected=0.0 if near is None else near.expected,
        people=round(max(gains) * n_people) if gains else None,
        n_train=n_people,
    )


def leaking_columns(split: Split, results: Sequence[Result], *, rng: Generator) -> tuple[LeakingColumn, ...]:
    """Rank the columns by what speaks for each: the attacks that are above, and the distances of all rows.

    Each source deals out a weight of one to the columns: inference by the gain about each, singling out by
    the descriptions with each, and distances by how much nearer in it the release is to its nearest training
    rows than to its nearest control rows.
    """
    gains = _gains(results)
    descriptions = _descriptions(results)
    sources = [
        _nearer(split, rng=rng),
        {column: gain.value for column, gain in gains.items()},
        {column: float(count) for column, count in descriptions.items()},
    ]
    shares = [_dealt(source) for source in sources if any(value > 0 for value in source.values())]
    weights = {
        column: sum(share.get(column, 0.0) for share in shares) / len(shares) if shares else 0.0
        for column in split.schema.names
    }
    ranked = sorted(
        (column for column in weights if weights[column] > 0), key=lambda item: (-weights[item], item)
    )
    return tuple(
        LeakingColumn(
            column=column,
            weight=weights[column],
            gain=gains.get(column),
            descriptions=descriptions.get(column),
        )
        for column in ranked[:MOST_COLUMNS]
    )


def _dealt(source: Mapping[str, float]) -> dict[str, float]:
    positive = {column: max(value, 0.0) for column, value in source.items()}
    total = sum(positive.values())
    return {column: value / total for column, value in positive.items()}


def _gains(results: Sequence[Result]) -> dict[str, Estimate]:
    """Return the largest gain about each column, over the attacks that infer it."""
    found: dict[str, Estimate] = {}
    for result in results:
        for item in result.columns:
            if item.gain is not None and (
                item.column not in found or item.gain.value > found[item.column].value
            ):
                found[item.column] = item.gain
    return found


def _descriptions(results: Sequence[Result]) -> dict[str, int]:
    """Count the descriptions that single out training people rather than others, by column."""
    found: dict[str, float] = {}
    for result in results:
        for item in result.combinations:
            for column in item.columns:
                found[column] = found.get(column, 0.0) + item.train - item.control
    return {column: round(count) for column, count in found.items() if count > 0}


def _nearer(split: Split, *, rng: Generator) -> dict[str, float]:
    """Return by how much nearer the release is to train than to as many control rows, in each column."""
    n = min(len(split.train), len(split.control))
    to_train, to_control = (
        _distances(split.synthetic, in_order(table.take(table.sample(n, rng=rng))).table)
        for table in (split.train, split.control)
    )  # (n_columns,)
    return dict(zip(split.schema.names, (to_control - to_train).tolist(), strict=True))


def _distances(rows: Table, others: Table) -> Floats:
    """Return the mean distance in each column (n_columns,) from rows to the nearest of others."""
    nearest = others.values[Neighbors(Space.gower(rows.schema), others).nearest(rows).index[:, 0]]
    means = np.empty(len(rows.schema))
    for position, column in enumerate(rows.schema.columns):
        ours, theirs = rows.values[:, position], nearest[:, position]
        missing = np.isnan(ours), np.isnan(theirs)
        if isinstance(column, Categorical):
            apart = (ours != theirs).astype(np.float64)
        else:
            apart = np.abs(ours - theirs) / (column.width or 1.0)
        means[position] = np.where(missing[0] | missing[1], missing[0] != missing[1], apart).mean()
    return means
