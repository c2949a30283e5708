"""Traces in linked tables: keys, whole sets of rows and runs of events of training people.

What a release holds of people the generator never saw, it holds by chance. So the training people of whom it
holds something are compared with the control people of whom it does; of sets and runs only those count that
no other real person has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tabveil.core.estimate import CONFIDENCE, chance_of_difference, difference
from tabveil.core.linked import LinkedRows, LinkedSplit, LinkedTables
from tabveil.core.table import Indices, mix_bits
from tabveil.core.wording import name
from tabveil.metrics.traces import Trace

RUN = 3
"""So many events that follow each other are a run."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Held:
    """What people hold of one kind, as numbers that are equal where it is: each with whose it is."""

    whose: Indices  # (n,)
    what: NDArray[np.generic]  # (n,)
    n_people: int


def keys(split: LinkedSplit, *, confidence: float = CONFIDENCE) -> Trace | None:
    """Look for keys of training people, or of their rows, in the release; None where nothing can be compared.

    A generator that never saw keys makes its own. Where it counts them from one on, they are also those of
    control people, as often as chance has it.
    """
    found = []
    for table, column in _key_columns(split):
        sides = [_keys(people, table, column) for people in _people(split)]
        hit = [_people_with(side, np.unique(sides[2].what)) for side in sides[:2]]
        where = f"{name(table)}, column {name(column)}"
        found.append(
            _compared("keys", "Keys of training people", sides, hit, where=where, confidence=confidence)
        )
    return _told(
        found,
        "The release has keys ({where}) of {train} of train and of {control} of control.",
    )


def sets(split: LinkedSplit, *, confidence: float = CONFIDENCE) -> Trace | None:
    """Look for whole sets of linked rows of training people that no other real person has."""
    found = []
    for table, linked in split.train.linked.items():
        if len(linked.table.schema):
            sides = [_sets(people.linked[table]) for people in _people(split)]
            found.append(_of_lone(sides, "sets", "Whole sets of linked rows", name(table), confidence))
    return _told(
        found,
        "All rows of {where} that one real person has, and no other, stand together in the release for "
        "{train} of train and {control} of control.",
    )


def runs(split: LinkedSplit, *, confidence: float = CONFIDENCE) -> Trace | None:
    """Look for events in a row, with the times between them, that one training person has, and no other.

    Dates may be shifted: what the first event's date was, plays no part.
    """
    found = []
    for table in split.train.linked:
        order = split.linkage[table].order
        if order is not None and order in split.train.linked[table].table.schema.names:
            sides = [_runs(people.linked[table], order) for people in _people(split)]
            found.append(_of_lone(sides, "runs", "Runs of events", name(table), confidence))
    return _told(
        found,
        f"{RUN} events in a row of {{where}}, with the times between them, that one real person has, and no "
        "other, stand in the release for {train} of train and {control} of control.",
    )


def _people(split: LinkedSplit) -> tuple[LinkedTables, LinkedTables, LinkedTables]:
    return split.train, split.control, split.synthetic


def _key_columns(split: LinkedSplit) -> Iterator[tuple[str, str]]:
    """Return the tables and columns of keys that all three databases have, and that name the table's rows."""
    linkage = split.linkage
    for table in (linkage.person, *split.train.linked):
        held = [people.keys_of(table) for people in _people(split)]
        led = {link.on for link in linkage.links if link.through == table}
        borrowed = set() if table == linkage.person else {linkage[table].key} - led
        for column in sorted(set(held[0]) - borrowed):
            if all(column in each for each in held):
                yield table, column


def _keys(people: LinkedTables, table: str, column: str) -> _Held:
    what = people.keys_of(table)[column]
    whose = np.arange(len(people))
    if table != people.linkage.person:
        rows = people.linked[table]
        whose, what = rows.whose, what[rows.rows]
    there = what >= 0
    return _Held(whose=whose[there], what=what[there], n_people=len(people))


def _sets(rows: LinkedRows) -> _Held:
    there = np.flatnonzero(rows.sizes > 0)
    return _Held(whose=there, what=rows.set_hash()[there], n_people=rows.n_people)


def _runs(rows: LinkedRows, order: str) -> _Held:
    """Hash the runs of each person: what each of their rows holds, and the times between them."""
    others = [column for column in rows.table.schema.names if column != order]
    content = rows.table.select(others).row_hash()[rows.rows]
    when, whose = rows.table.column(order)[rows.rows], rows.whose
    n = max(len(whose) - RUN + 1, 0)
    within = whose[:n] == whose[RUN - 1 :]
    hashed: Hashes = np.zeros(n, dtype=np.uint64)
    for step in range(RUN):
        hashed = mix_bits(hashed + content[step : step + n])
        if step:
            gap = when[step : step + n] - when[step - 1 : step - 1 + n] + 0.0
            hashed = mix_bits(hashed ^ gap.view(np.uint64))
            within &= ~np.isnan(gap)
    return _Held(whose=whose[:n][within], what=hashed[within], n_people=rows.n_people)


def _people_with(side: _Held, among: NDArray[np.generic]) -> int:
    """Count the people who hold any of these."""
    return len(np.unique(side.whose[np.isin(side.what, among)]))


def _of_lone(sides: Sequence[_Held], kind: str, title: str, where: str, confidence: float) -> Trace:
    """Compare what one real person alone holds."""
    n_train = sides[0].n_people
    what = np.concatenate([side.what for side in sides[:2]])
    whose = np.concatenate([sides[0].whose, n_train + sides[1].whose])
    different, kinds = np.unique(what, return_inverse=True)
    pairs = np.unique(kinds.astype(np.int64) * (n_train + sides[1].n_people) + whose)
    holders = np.bincount(pairs // (n_train + sides[1].n_people), minlength=len(different))
    lone = np.intersect1d(different[holders == 1], sides[2].what)
    hit = [_people_with(side, lone) for side in sides[:2]]
    return _compared(kind, title, sides, hit, where=where, confidence=confidence)


def _compared(
    kind: str, title: str, sides: Sequence[_Held], hit: Sequence[int], *, where: str, confidence: float
) -> Trace:
    n_train, n_control = sides[0].n_people, sides[1].n_people
    return Trace(
        name=kind,
        title=title,
        sentence=where,
        p_value=chance_of_difference(hit[0], n_train, hit[1], n_control),
        people=hit[0],
        n_people=n_train,
        people_control=hit[1],
        n_control=n_control,
        gain=difference(hit[0], n_train, hit[1], n_control, confidence),
    )


def _told(found: Sequence[Trace], sentence: str) -> Trace | None:
    """Return the surest of what was found, corrected for all that was tried, and say it."""
    if not found:
        return None
    lead = min(found, key=lambda item: (item.p_value, -item.gain.value))
    train, control = (
        f"{people:,} of {n:,} people"
        for people, n in ((lead.people, lead.n_people), (lead.people_control, lead.n_control))
    )
    return replace(
        lead,
        sentence=sentence.format(where=lead.sentence, train=train, control=control),
        p_value=min(1.0, lead.p_value * len(found)),
    )
