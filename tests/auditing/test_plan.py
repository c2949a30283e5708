"""What an audit will do is settled before any table is read; what several metrics ask is found out once."""

from collections import Counter

import pytest

from tabveil import audit
from tabveil.datasets import hospital
from tabveil.engines.neighbors import Neighbors, NeighborsWithout


@pytest.fixture
def searched(monkeypatch):
    """How often each search was made: by which space, for which rows, among which; in whatever order."""
    made = Counter()

    def rows(table):
        return tuple(sorted(table.row_hash().tolist()))

    def nearest(self, queries, n_neighbors=1, search=Neighbors.nearest):
        made[self.space, rows(self._reference), rows(queries)] += 1
        return search(self, queries, n_neighbors)

    def nearest_without(self, queries, *given, search=NeighborsWithout.nearest, **named):
        if not (given or named):
            made[self.space, self.spaces, rows(queries), self.index.reference[0].tobytes()] += 1
        return search(self, queries, *given, **named)

    monkeypatch.setattr(Neighbors, "nearest", nearest)
    monkeypatch.setattr(NeighborsWithout, "nearest", nearest_without)
    return made


def test_each_search_is_made_once_in_an_audit(searched):
    train, control, fresh = (hospital(250, seed=seed) for seed in (1, 2, 3))
    report = audit(train, fresh, control, metrics=None, quick=True, seed=4)
    names = {result.metric for result in report.results}
    assert {"nearest_neighbors", "adversarial_accuracy", "closest_share", "membership_distance"} <= names
    again = {key: times for key, times in searched.items() if times > 1}
    lots = [key for key in again if len(key[0].names) < len(train.columns)]  # by some columns, ties by lot
    assert len(again) == len(lots)
    assert len(searched) > 20
