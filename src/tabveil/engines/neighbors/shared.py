"""Each search once: what several ask of the same rows is searched for by the first, and kept for the others.

Many metrics look from the release to train, from control to the release, or around within a table. Where
things are shared (:func:`tabveil.core.workers.sharing`), a question that was asked before is not searched for
again: the same distance, the same rows to look among, the same rows asked about, whatever their order. Who
asks for fewer neighbors takes the first of more. Answers are those of :class:`Neighbors` and
:class:`NearPeople` to the last bit, whoever asks first.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from threading import Lock
from typing import Any

import numpy as np

from tabveil.core import workers
from tabveil.core.crew import Turn
from tabveil.core.rng import stream
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors import N_OTHERS, NearestRows, NearPeople, Neighbors, Space, to_others

MOST_CELLS = 64_000_000
"""Kept of all answers, at 8 bytes: about those of ten searches of a million rows, two for ten neighbors."""
MOST_ENGINES = 3
"""Kept of the rows that were looked among: three tables' worth of memory."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Search:
    """A question: which reference rows, or rows of different people, are nearest to each query row?"""

    space: Space
    reference: Table
    queries: Table
    n_neighbors: int = 1
    by_person: bool = False

    def alone(self) -> NearestRows:
        """Answer it, and keep nothing."""
        return self.engine(self.reference).nearest(self.queries, self.n_neighbors)

    def engine(self, rows: Table) -> Neighbors | NearPeople:
        """Get ready to look among rows."""
        return (NearPeople if self.by_person else Neighbors)(self.space, rows)


def nearest(search: Search) -> NearestRows:
    """Find the nearest rows, or those of the nearest people; nobody may change the answer.

    A reference that does not stand in the order of its content is searched anew: of equally near rows the
    first counts, and which one that is depends on how they stand.
    """
    ordered = workers.shares() and _in_order(search.reference)
    return _searches().answer(search) if ordered else search.alone()


def nearest_other(
    space: Space, reference: Table, n_neighbors: int = 1, *, by_person: bool = False
) -> NearestRows:
    """Find the nearest *other* rows, or those of other people, of every row."""
    asked = Search(
        space=space, reference=reference, queries=reference, n_neighbors=n_neighbors + 1, by_person=by_person
    )
    near = nearest(asked)
    whose = np.asarray(reference.people) if by_person else np.arange(len(reference))
    return near.without(whose[near.index] == whose[:, None])


def distances(space: Space, reference: Table, queries: Table, n_neighbors: int = 1) -> Floats:
    """Return how far the nearest rows are (m, k), which is the same in whatever order they stand."""
    asked = Search(space=space, reference=reference, queries=queries, n_neighbors=n_neighbors)
    return (_searches().answer(asked) if workers.shares() else asked.alone()).distance


def distances_to_others(space: Space, people: Table, n_others: int = N_OTHERS) -> Floats:
    """Do what :func:`tabveil.engines.neighbors.to_others` does."""
    if people.people is not None or not workers.shares():
        return to_others(space, people, n_others)
    near = nearest_other(space, _ordered(people), min(n_others, len(people) - 1)).distance
    found = np.empty((len(people), 2))
    found[people.content_order] = np.column_stack([near[:, 0], near.mean(axis=1)])
    return found


def nearest_to_some(search: Search, some: Indices) -> NearestRows:
    """Find what is nearest to some of the query rows.

    Where all of them are asked about, too, nobody is searched for twice.
    """
    if n_answered(search) >= search.n_neighbors:
        found = _searches().answer(search)
        return NearestRows(distance=found.distance[some], index=found.index[some])
    return nearest(replace(search, queries=search.queries.take(some)))


def n_answered(search: Search) -> int:
    """Return for how many neighbors it was asked before, or is expected to be; 0 if it would be made anew."""
    shares = workers.shares() and _in_order(search.reference)
    return _searches().n_answered(search) if shares else 0


def expect(searches: Iterable[Search]) -> None:
    """Say what will be asked, before anybody asks: then the first looks for as many neighbors as the last."""
    if workers.shares():
        for search in searches:
            _searches().expect(search)


def _searches() -> "_Searches":
    return workers.shared(("searches",), lambda _: _Searches(), rng=stream(0, "searches"))


def keeping() -> "Keeping":
    """Return where searches are kept, for those of other kinds."""
    return _searches().kept


def _ordered(table: Table) -> Table:
    return table if _in_order(table) else table.take(table.content_order)


def _in_order(table: Table) -> bool:
    hashes = table.row_hash()
    return bool((hashes[1:] >= hashes[:-1]).all())


_Key = tuple[bytes, bytes, int]  # what is looked among, for whom, for how many people


def _key(search: Search) -> _Key:
    """Return what an answer depends on, but for the number of rows: the first of more are the nearest.

    That does not hold for people: distances are rounded before equally near ones are told apart.
    """
    space = repr(search.space).encode()  # a space of many columns takes long to hash, again and again
    among = _digest(search.reference, space, whose=search.by_person)
    return among, _digest(search.queries), search.n_neighbors if search.by_person else 0


def _digest(table: Table, space: bytes = b"", *, whose: bool = False) -> bytes:
    """Return what tells rows from others, whatever their order, and by whose they are, and by a space."""
    digest = blake2b(space, digest_size=16)
    for numbers in (table.row_hash(), *([np.asarray(table.people)] if whose else [])):
        digest.update((numbers if _in_order(table) else numbers[table.content_order]).tobytes())
    return digest.digest()


@dataclass(kw_only=True, eq=False)
class KeptSearch:
    """Something that was found, or is being found by whoever has the turn; who waits lends the core."""

    found: Any = None
    turn: Turn = field(default_factory=Turn)
    n_cells: int = 0


class Keeping:
    """What was found, the last that was asked for at the end.

    Several threads may ask: everything has a lock of its own, so that it is found once.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self._kept: OrderedDict[tuple[Any, ...], KeptSearch] = OrderedDict()
        self._n_cells = 0

    def get(self, key: tuple[Any, ...]) -> KeptSearch:
        """Return what was kept, or an empty place for it."""
        with self.lock:
            kept = self._kept.setdefault(key, KeptSearch())
            self._kept.move_to_end(key)
            return kept

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        with self.lock:
            return key in self._kept

    def count(self, key: tuple[Any, ...], n_cells: int) -> None:
        """Say how large something has become; let go of what was not asked for longest, if that is needed."""
        with self.lock:
            kept = self._kept.get(key)
            if kept is not None:  # else another thread let go of it meanwhile
                self._n_cells += n_cells - kept.n_cells
                kept.n_cells = n_cells
            while self._n_cells > MOST_CELLS and len(self._kept) > 1:
                self._n_cells -= self._kept.popitem(last=False)[1].n_cells


class _Searches:
    """The searches of one piece of work."""

    def __init__(self) -> None:
        self.kept = Keeping()
        self._engines: OrderedDict[bytes, tuple[Neighbors | NearPeople, Table]] = OrderedDict()
        self._expected: dict[_Key, int] = {}

    def expect(self, search: Search) -> None:
        """Remember that it will be asked."""
        key = _key(search)
        self._expected[key] = max(search.n_neighbors, self._expected.get(key, 0))

    def n_answered(self, search: Search) -> int:
        """Return for how many neighbors it was asked, or will be."""
        key = _key(search)
        found = self.kept.get(key).found if key in self.kept else None
        return max(_n_neighbors(found), self._expected.get(key, 0))

    def answer(self, search: Search) -> NearestRows:
        """Search, unless it was asked before."""
        key = _key(search)
        kept = self.kept.get(key)
        with kept.turn:
            if _n_neighbors(kept.found) < search.n_neighbors:
                n_neighbors = max(search.n_neighbors, self._expected.get(key, 0))
                kept.found = self._search(key, replace(search, n_neighbors=n_neighbors))
                self.kept.count(key, kept.found.distance.size + kept.found.index.size)
            found = kept.found
        return _as_they_stand(found, search.n_neighbors, search.queries)

    def _search(self, key: _Key, search: Search) -> NearestRows:
        """Answer for rows in the order of their content."""
        among, queries, _ = key
        with self.kept.lock:
            known = self._engines.pop(among, None)
        if known is None:
            rows = _ordered(search.reference)
            known = search.engine(rows), rows
        engine, rows = known
        with self.kept.lock:
            self._engines[among] = known
            while len(self._engines) > MOST_ENGINES:
                self._engines.popitem(last=False)
        # Its own rows need not be arranged again.
        own = len(rows) == len(search.queries) and queries == _digest(rows)
        found = engine.nearest(rows if own else _ordered(search.queries), search.n_neighbors)
        for numbers in (found.distance, found.index):
            numbers.flags.writeable = False
        return found


def _n_neighbors(found: NearestRows | None) -> int:
    return 0 if found is None else int(found.distance.shape[1])


def _as_they_stand(found: NearestRows, n_neighbors: int, queries: Table) -> NearestRows:
    """Return the first neighbors of query rows, from what was found for them in order."""
    distance, index = found.distance[:, :n_neighbors], found.index[:, :n_neighbors]
    if not _in_order(queries):
        place = np.empty(len(queries), dtype=np.int64)
        place[queries.content_order] = np.arange(len(queries))
        distance, index = distance[place], index[place]
    return NearestRows(distance=distance, index=index)
