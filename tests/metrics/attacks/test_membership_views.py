"""Membership over linked rows: planted people are seen in the view that holds them, and nobody else is."""

from dataclasses import replace

import numpy as np
import pytest
from supplies.asked_metrics import as_text
from supplies.linked_people import databases, leaky, moved

from tabveil.core.linked import Link, Linkage, LinkedRows, LinkedSplit, LinkedTables
from tabveil.core.rng import stream
from tabveil.core.table import Numeric, Schema, Table
from tabveil.errors import NothingToAsk
from tabveil.metrics.attacks import MembershipViews, membership_views
from tabveil.metrics.attacks.membership_views import AGREEING, relatives
from tabveil.synthesis.risks import NoisyPeople
from tabveil.tables.linked.summaries import people_tables

SEEN = 0.003


def ask(split, **given):
    return MembershipViews(**given)(people_tables(split).split, rng=stream(0, "views"))


def area(result, view):
    return result.configuration(f"{view}, calibrated, 2·AUC − 1").attack.value


def test_a_clean_release_tells_nothing_in_any_view():
    found = ask(databases())
    assert found.p_value > 0.05
    assert found.gain.low <= 0
    areas = [area(found, view) for view in found.details["views"]]
    assert np.abs(np.array(areas) - 0.5).max() < 0.1


@pytest.mark.parametrize(
    ("parts", "views"),
    [
        ({}, {"own row", "linked rows", "own row and linked rows"}),
        ({"own": False}, {"linked rows", "linked rows by the gaps between events"}),
        ({"linked": False}, {"own row"}),
    ],
)
def test_people_are_seen_whole_by_their_linked_rows_alone_and_by_their_own_alone(parts, views):
    found = ask(leaky(databases(), 30, **parts))
    assert found.p_value < SEEN
    assert 0.06 < found.gain.value < 0.13
    assert found.details["leading_view"] in views


def test_gaps_betray_people_whose_dates_were_moved():
    found = ask(moved(leaky(databases(), 45, own=False), 400))
    assert found.p_value < SEEN
    assert found.details["leading_view"] in {
        "linked rows by the gaps between events",
        "numbers and times of rows alone",
        "linked rows",
        "own row and linked rows",
    }
    gaps, times = (area(found, view) for view in ("linked rows by the gaps between events", "linked rows"))
    assert gaps > times - 0.02


def test_the_order_of_people_means_nothing():
    split = people_tables(leaky(databases(80), 8)).split
    rng = np.random.default_rng(0)
    tables = {
        role: getattr(split, role).take(rng.permutation(len(getattr(split, role))))
        for role in ("train", "control", "synthetic")
    }
    ask_again = MembershipViews()(replace(split, **tables), rng=stream(0, "views"))
    assert as_text(ask_again) == as_text(MembershipViews()(split, rng=stream(0, "views")))


def test_tables_that_are_not_linked_have_nothing_to_ask():
    plain = people_tables(databases(30)).split.select(["born", "sex"])
    with pytest.raises(NothingToAsk, match="no tables are linked"):
        MembershipViews()(plain, rng=stream(0, "views"))


def test_where_people_are_very_many_some_are_attacked(monkeypatch):
    monkeypatch.setattr(membership_views, "MOST_COMPARED", 1.0)
    monkeypatch.setattr(membership_views, "FEWEST_ATTACKED", 50)
    some = ask(leaky(databases(), 100))
    assert some.details["attacked"] == [50, 50]
    assert "50 of train, 50 of control" in some.notes[0]
    assert ask(databases(), n_attacks=20).details["attacked"] == [20, 20]


def test_people_without_rows_and_one_huge_set_are_people_like_others():
    def database(sizes, seed):
        rng = np.random.default_rng(seed)
        link = Link(table="e", key="p", through="people", on="p")
        rows = Table(schema=Schema((Numeric(name="x", low=0, high=1),)), values=rng.random((sum(sizes), 1)))
        whose = np.repeat(np.arange(len(sizes)), sizes)
        return LinkedTables(
            linkage=Linkage(person="people", key="p", links=(link,)),
            own=Table(schema=Schema(()), values=np.zeros((len(sizes), 0))),
            linked={"e": LinkedRows.of(rows, whose, np.arange(len(rows)), len(sizes))},
        )

    split = LinkedSplit(
        train=database([0] * 30 + [1000] + [2] * 30, 1),
        control=database([0] * 30 + [2] * 30, 2),
        synthetic=database([0] * 60, 3),
    )
    assert ask(split).p_value > 0.01
    alike = LinkedSplit(train=database([0] * 9, 1), control=database([0], 1), synthetic=database([0], 1))
    assert ask(alike).p_value > 0.4


def test_who_shares_linked_rows_is_family_unless_everybody_does():
    link = Link(table="e", key="p", through="people", on="p")
    rows = Table(schema=Schema((Numeric(name="x", low=0, high=9),)), values=np.arange(4.0)[:, None])

    def people(person, row, n):
        return LinkedTables(
            linkage=Linkage(person="people", key="p", links=(link,)),
            own=Table(schema=Schema(()), values=np.zeros((n, 0))),
            linked={"e": LinkedRows.of(rows, np.array(person), np.array(row), n)},
        )

    assert relatives(people([0, 1, 2, 3], [0, 1, 0, 2], 5)).tolist() == [0, 1, 0, 3, 4]
    many = list(range(30))
    assert relatives(people(many, [0] * 30, 30)).tolist() == many


def test_what_agrees_is_a_view_of_its_own_and_sees_people_behind_noise():
    clean = databases(200)
    planted = NoisyPeople()(clean.train, clean.synthetic, 0.2, rng=stream(1, "noise"))
    found = ask(replace(clean, synthetic=planted))
    assert found.details["views"][-1] == AGREEING
    assert found.p_value < SEEN
    assert area(found, AGREEING) > 0.55
    assert found.configuration(f"{AGREEING}, 2·AUC − 1").attack.value > 0.55


def test_somebody_who_is_alone_has_no_others_to_be_compared_with():
    split = databases(30)
    one = replace(split, train=split.train.take(np.arange(1)), control=split.control.take(np.arange(1)))
    assert np.isfinite(area(ask(one), AGREEING))
