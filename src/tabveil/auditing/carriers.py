"""Who and what carries a leak: how many rows, which columns, which groups of people.

A group shares a value of a column: a label, a quarter of its numbers, or that it is missing. Its gain, the
share of its training people whom an attack exposes less that of its control people, is compared with the gain
among all others: so a group whose people are easily guessed, trained on or not, is no group that carries a
leak. Nothing is told that fewer than ten people share; single rows are shown only when somebody asks.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr

from tabveil.auditing.advice import ExposedGroup, LeakingColumn, LeakingRows
from tabveil.auditing.report import ExposedRows
from tabveil.auditing.verdict import ABOVE, Verdict
from tabveil.core.estimate import Estimate
from tabveil.core.people import LEAST_SHARED, any_of_person
from tabveil.core.result import Result, Scores
from tabveil.core.sampling import in_order
from tabveil.core.table import Categorical, Column, Floats, Numeric, Split, Table
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.metrics.control.copies import Copies
from tabveil.tables.reading import Layout, LoadedTables, cells_as_text, edges_in_words

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


MOST_GROUPS = 5
"""Groups that are named, those first that are least like chance."""
_STEPS = 10  # round numbers between the quarters

Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Attacked:
    """The people of one table that an attack was tried on, and whom it exposes."""

    table: Table  # their rows
    exposed: Flags  # (n_people,)

    def shared_by(self, rows: Flags) -> tuple[Flags, Flags]:
        """Flag the people with such a row, and those among them who are exposed."""
        members = any_of_person(rows, self.table.people)
        return members, members & self.exposed


def exposed_groups(
    split: Split, layout: Layout, results: Sequence[Result], *, level: float
) -> tuple[ExposedGroup, ...]:
    """Return the groups that carry a leak, as the attack sees it that sees it most clearly.

    ``results`` are those of attacks that see one, ``level`` is how often chance may name any group at all.
    """
    strongest = max(
        (result for result in results if result.gain is not None and len(result.sensitive_scores) == 2),  # noqa: PLR2004
        key=lambda result: result.gain.low if result.gain is not None else -math.inf,
        default=None,
    )
    if strongest is None:
        return ()
    train, control = _attacked(split, strongest)
    tried = []
    for column in split.schema.columns:
        cells = [side.table.column(column.name) for side in (train, control)]
        for label, ours, theirs in _groups(column, cells[0], cells[1], layout):
            found = _compared(
                train.shared_by(ours), control.shared_by(theirs), train.exposed, control.exposed
            )
            if found is not None:
                tried.append((column.name, label, found))
    named = [
        ExposedGroup(
            column=column,
            label=label,
            people=found.people,
            exposed=found.exposed,
            gain=found.gain,
            gain_elsewhere=found.elsewhere,
            p_value=min(found.p_value * len(tried), 1.0),
            metric=strongest.key,
        )
        for column, label, found in tried
    ]
    clear = [group for group in named if group.p_value <= level]
    return tuple(sorted(clear, key=lambda group: (group.p_value, group.column, group.label))[:MOST_GROUPS])


def _attacked(split: Split, result: Result) -> tuple[_Attacked, _Attacked]:
    """Return whom an attack exposes: those with scores from where train leads control most."""
    sides = {item.table: item for item in result.sensitive_scores}
    tables = split.train.take(sides["train"].rows), split.control.take(sides["control"].rows)
    scores = (
        _highest_scores(sides["train"].values, tables[0]),
        _highest_scores(sides["control"].values, tables[1]),
    )
    levels = np.unique(np.concatenate(scores))
    beyond = [1 - np.searchsorted(np.sort(side), levels) / len(side) for side in scores]
    threshold = levels[np.argmax(beyond[0] - beyond[1])]
    train, control = (
        _Attacked(table=table, exposed=side >= threshold) for table, side in zip(tables, scores, strict=True)
    )
    return train, control


def _highest_scores(scores: Floats, table: Table) -> Floats:
    """Return the highest score of each person's rows, in the order of their numbers."""
    if table.people is None:
        return scores
    people, whose = np.unique(table.people, return_inverse=True)
    found = np.full(len(people), -np.inf)
    np.maximum.at(found, whose, scores)
    return found


def _groups(
    column: Column, train: Floats, control: Floats, layout: Layout
) -> Iterator[tuple[str, Flags, Flags]]:
    """Return the groups that a column makes, how they are called, and their rows in train and control."""
    if isinstance(column, Categorical):
        if column.holds == "labels":
            for code, label in enumerate(column.labels):
                yield label, train == code, control == code
    else:
        yield from _quarters(column, train, control, layout)
    if np.isnan(train).any():
        yield "missing", np.isnan(train), np.isnan(control)


def _quarters(
    column: Numeric, train: Floats, control: Floats, layout: Layout
) -> Iterator[tuple[str, Flags, Flags]]:
    """Return about a quarter of the numbers each, between round edges that are nobody's value."""
    edges = _round_quartiles(np.concatenate([train, control]), whole=column.integer)
    if not edges:
        return
    words = edges_in_words(np.array(edges), column, layout) or [f"{edge:,.10g}" for edge in edges]
    ends, names = [-np.inf, *edges, np.inf], ["", *words, ""]
    for place in range(len(edges) + 1):
        low, high = names[place], names[place + 1]
        label = f"below {high}" if not low else f"{low} and more" if not high else f"{low} to below {high}"
        ours, theirs = ((side >= ends[place]) & (side < ends[place + 1]) for side in (train, control))
        yield label, ours, theirs


def _round_quartiles(cells: Floats, *, whole: bool) -> list[float]:
    present = cells[~np.isnan(cells)]
    if len(present) < 4 * LEAST_SHARED:
        return []
    quartiles = np.quantile(present, [0.25, 0.5, 0.75])
    spread = float(quartiles[2] - quartiles[0]) or float(np.abs(quartiles).max())
    if spread == 0:
        return []
    step = 10.0 ** math.floor(math.log10(spread / _STEPS * 5))
    if whole:
        step = max(step, 1.0)
    return [float(edge) for edge in np.unique(np.rint(quartiles / step) * step)]


@dataclass(frozen=True, kw_only=True)
class _Comparison:
    """The gain in a group beside that of all others; ``p_value`` is that of one comparison, one-sided."""

    people: int
    exposed: int
    gain: float
    elsewhere: float
    p_value: float


def _compared(
    train: tuple[Flags, Flags], control: tuple[Flags, Flags], exposed_train: Flags, exposed_control: Flags
) -> _Comparison | None:
    """Compare the gain in a group with that elsewhere; None where too few are exposed, or to compare with.

    Rates get one success and one failure more for the variance (Agresti and Caffo 2000), which is too small
    else where none or all are exposed.
    """
    inside = [(int(hit.sum()), int(members.sum())) for members, hit in (train, control)]
    outside = [
        (int(all_exposed.sum()) - hit, len(all_exposed) - n)
        for all_exposed, (hit, n) in zip((exposed_train, exposed_control), inside, strict=True)
    ]
    if inside[0][0] < LEAST_SHARED or min(n for _, n in (*inside, *outside)) < LEAST_SHARED:
        return None
    gain, elsewhere = (sides[0][0] / sides[0][1] - sides[1][0] / sides[1][1] for sides in (inside, outside))
    adjusted = [((hit + 1) / (n + 2), n + 2) for hit, n in (*inside, *outside)]
    rates = [rate for rate, _ in adjusted]
    excess = (rates[0] - rates[1]) - (rates[2] - rates[3])
    error = math.sqrt(sum(rate * (1 - rate) / n for rate, n in adjusted))
    return _Comparison(
        people=inside[0][1],
        exposed=inside[0][0],
        gain=gain,
        elsewhere=elsewhere,
        p_value=float(ndtr(-excess / error)),
    )


MOST_ROWS = 10


def exposed(results: Iterable[Result], loaded: LoadedTables) -> ExposedRows | None:
    """Return the rows that the attack with the clearest leak scores highest; None where none sees one."""
    leaking = [
        (result.gain.low, result.key, scores)
        for result in results
        for scores in result.sensitive_scores
        if result.labels.pillar == "attack"
        and scores.table == "train"
        and result.gain
        and result.gain.low > 0
    ]
    if not leaking:
        return None
    _, metric, scores = max(leaking, key=lambda item: item[0])
    rows = _highest_rows(scores)
    columns, texts = cells_as_text(loaded.given.train.take(rows), loaded.layout)
    return ExposedRows(
        metric=metric,
        columns=("row", *columns),
        rows=tuple((str(row), *text) for row, text in zip(rows.tolist(), texts, strict=True)),
    )


def _highest_rows(scores: Scores) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    order = np.lexsort((scores.rows, -scores.values))  # of equals the first rows
    return scores.rows[order[:MOST_ROWS]]
