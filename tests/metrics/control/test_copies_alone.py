"""Copies that stand without a control: counted by hand, planted, and not seen where nothing was copied."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tabveil import audit
from tabveil.core.sampling import group_equal_rows
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.datasets import hospital
from tabveil.metrics.control.copies import copies, lone_copies
from tabveil.tables.reading import load_split

THREE = Schema(tuple(Numeric(name=name, low=0, high=9) for name in "abc"))


def table(rows, people=None):
    values = np.array(rows, dtype=float).reshape(-1, 3)
    return Table(schema=THREE, values=values, people=None if people is None else np.array(people))


def found(train, release, people=None):
    split = Split(train=table(train, people), control=table([]), synthetic=table(release))
    groups = group_equal_rows(split.synthetic, split.train)
    return lone_copies(split, *groups)


def test_who_is_alone_by_hand():
    train = [(1, 1, 1), (2, 2, 2), (2, 2, 3), (4, 4, 4), (4, 4, 4), (5, 6, 7)]
    one = found(train, [(1, 1, 1), (1, 1, 1), (2, 2, 2), (4, 4, 4), (5, 6, 8)])
    assert (one.rows, one.people) == (2, 1)  # (2, 2, 2) has a neighbor, (4, 4, 4) a twin
    assert found(train, [(9, 9, 9)]).p_value == 1.0


def test_chance_by_hand():
    # Two people have no company but each other, and would meet: (2 + 1) × 3 of 6. One pair agrees but for c,
    # in which two of 15 pairs agree: odds 2 to 13, which is less.
    train = [(1, 1, 1), (2, 2, 2), (2, 2, 3), (4, 4, 4), (4, 4, 4), (5, 6, 3)]
    assert found(train, [(1, 1, 1)]).expected == pytest.approx(1.0)
    # Without twins nobody meets, but the pair that agrees but for c might: a third of all agree in it.
    train = [(1, 1, 1), (2, 2, 1), (2, 2, 3), (4, 5, 4)]
    odds = (1 / 6) / (5 / 6)
    assert found(train, [(1, 1, 1)]).expected == pytest.approx(min(3 * (2 * odds + 1) / 4, 1.0))


def test_rows_of_one_person_are_no_company():
    train, release = [(1, 1, 1), (1, 1, 1), (1, 1, 2), (5, 6, 7)], [(1, 1, 1), (1, 1, 2)]
    assert found(train, release).people == 0
    one = found(train, release, people=[7, 7, 7, 8])
    assert (one.rows, one.people) == (2, 1)


def split_of(train, release, control):
    return load_split(train, release, control).split


def test_copies_of_unusual_people_are_proven_and_fresh_rows_are_not():
    train, control, fresh = (hospital(600, seed=seed) for seed in (1, 2, 3))
    clean = copies(split_of(train, fresh, control), rng=np.random.default_rng(0))
    assert clean.proven_p > 0.05
    leaky = pd.concat([train[:60], fresh[60:]], ignore_index=True)
    seen = copies(split_of(train, leaky, control), rng=np.random.default_rng(0))
    assert seen.proven_people > 50
    assert seen.proven_p < 1e-9
    without = copies(split_of(train, leaky, None), rng=np.random.default_rng(0))
    assert (without.proven, without.proven_p) == (seen.proven, seen.proven_p)
    assert type(seen).from_json(seen.to_json()) == seen


@pytest.mark.parametrize("columns", [3, 5, 8])
@pytest.mark.parametrize("unlike", [False, True])
def test_clean_releases_prove_nothing(columns, unlike):
    for seed in range(8):
        rows = hospital(1800, seed=seed)
        chosen = np.random.default_rng(seed).choice(rows.columns, columns, replace=False)
        rows = rows[list(chosen)]
        if unlike:  # no two rows of a table are equal: chance must not look like proof
            rows = rows.drop_duplicates()
        n = len(rows) // 3
        train, control, fresh = (rows.iloc[k * n : (k + 1) * n].reset_index(drop=True) for k in range(3))
        split = split_of(train, fresh, control)
        groups = group_equal_rows(split.synthetic, split.train)
        assert lone_copies(split, *groups).p_value > 0.004


def test_the_order_of_rows_does_not_matter():
    train, fresh = hospital(300, seed=1), hospital(300, seed=2)
    split = split_of(train, pd.concat([train[:20], fresh[20:]]), None)
    turned = replace(split, train=split.train.take(np.arange(300)[::-1]))
    first, second = (lone_copies(one, *group_equal_rows(one.synthetic, one.train)) for one in (split, turned))
    assert first == second


def test_a_bad_control_protects_no_leak():
    train, control, fresh = (hospital(1200, seed=seed) for seed in (1, 2, 3))
    control["age"] = control["age"] + 9
    leaky = pd.concat([train[:60], fresh[60:]], ignore_index=True)
    above = audit(train, leaky, control, metrics="linkability", advice=False)
    assert above.verdict.control
    assert above.verdict.state == "above threshold"
    assert above.verdict.copies.proven
    assert "That is certain without the control." in above.verdict.sentence
    clean = audit(train, fresh, control, metrics="linkability", advice=False)
    assert clean.verdict.state == clean.verdict.copies.state == "inconclusive"
