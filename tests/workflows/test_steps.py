"""Steps beside a generator: what they drop, what they leave, and which attacks they do not stop."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tabveil
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.datasets import hospital
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.errors import NotApplicable, ParameterError, SchemaError
from tabveil.metrics.control.copies import copies
from tabveil.workflows.steps import COINCIDENCE, deduplicate, filter_release, near_rows

N = 1000


@pytest.fixture(scope="module")
def people():
    return {role: hospital(N, seed=seed) for seed, role in enumerate(("train", "control", "clean", "others"))}


def filtered(people, release, **settings):
    return filter_release(people["train"], release, people["control"], measure_utility=False, **settings)


def numbers(*columns, high=100.0):
    schema = Schema((Numeric(name="x", low=0, high=high),))
    return [Table(schema=schema, values=np.array(column, dtype=float)[:, None]) for column in columns]


def labels(*columns):
    schema = Schema((Categorical(name="town", labels=tuple("abcdefghij")),))
    return [Table(schema=schema, values=np.array(column, dtype=float)[:, None]) for column in columns]


def near(train, control, synthetic, share=0.02, seed=0):
    split = Split(train=train, control=control, synthetic=synthetic)
    return near_rows(split, share=share, rng=np.random.default_rng(seed))


def test_copies_are_dropped_and_the_measured_risk_is_gone(people):
    leaky = pd.concat([people["clean"][:950], people["train"][:50]], ignore_index=True)
    found = filtered(people, leaky)
    assert found.near.equal == 50
    assert not set(range(950, 1000)) & set(found.kept.tolist())
    for release, leaks in ((leaky, True), (found.rows, False)):
        report = tabveil.audit(
            people["train"],
            release,
            people["control"],
            metrics=["distance_to_closest", "identical_match_share"],
        )
        assert {result.risk.low > 0 for result in report.results} == {leaks}
        loaded = tabveil.load_split(people["train"], release, people["control"]).split
        assert copies(loaded, rng=np.random.default_rng(0)).seen(0.01) is leaks


def test_a_clean_release_loses_what_control_would(people):
    lost = []
    for seed in range(10, 16):
        found = filtered(people, hospital(N, seed=seed), near=0.1)
        assert found.near.equal == 0
        lost.append(found.n_near / N)
    assert 0.08 < np.mean(lost) < 0.12  # six times a thousand rows: one in ten, and two standard errors


def test_rows_below_the_bar_go_and_rows_beyond_it_stay():
    train, control, release = numbers([0, 50], [4, 10, 20, 70], [3, 5, 48, 80])
    found = near(train, control, release)
    assert found.bar == 0.04
    assert found.rows.tolist() == [0, 2]
    assert (found.equal, found.control_near) == (0, 0)


def test_where_control_equals_train_by_chance_the_release_may_as_well():
    # Three of the eight control rows would stand in for train: each label of theirs counts for 3/8. The six
    # labels of control alone make 2.25, which chance explains. Train's make 4 + 2 * 5/8: three are too many.
    train, control, release = labels(
        [0, 1, 2], [0, 1, 3, 4, 5, 6, 7, 8], [2, 2, 2, 2, 0, 1, 3, 4, 5, 6, 7, 8]
    )
    found = near(train, control, release)
    assert found.bar == 0
    assert len(found.rows) == 3
    assert set(found.rows.tolist()) < {0, 1, 2, 3}  # control shares the others
    assert (found.equal, found.control_near) == (3, 2)
    fewer = near(train, control, release.take(np.array([3, 4, 5, 6, 7, 8, 9, 10, 11])))
    assert len(fewer.rows) == 0


def test_copies_among_coincidences_are_dropped_until_chance_explains_the_rest(people):
    few = {role: table[["age", "sex", "region"]] for role, table in people.items()}
    leaky = pd.concat([few["clean"][:800], few["train"].drop_duplicates(keep=False)[:200]], ignore_index=True)
    clean, found = filtered(few, few["clean"]), filtered(few, leaky)
    assert found.near.bar == clean.near.bar == 0
    assert clean.n_near < 30
    assert 100 < found.n_near < 250
    for release, leaks in ((leaky, True), (found.rows, False)):
        split = tabveil.load_split(few["train"], release, few["control"]).split
        share = copies(split, rng=np.random.default_rng(0)).share
        assert (share.low > 0) is leaks
    assert abs(share.value) < 0.002  # as often as chance, not less: no hole
    assert len(found.warnings) == 1


def test_where_nobody_is_farther_nothing_is_too_near():
    train, control, release = numbers([5, 5], [5, 5, 5], [5, 5])
    assert len(near(train, control, release).rows) == 0


def test_the_order_of_rows_does_not_matter_and_the_seed_does():
    rng = np.random.default_rng(0)
    train, control, release = labels(
        [0, 1, 2, 3], np.arange(40) % 10, [*rng.integers(4, size=60), *rng.integers(10, size=60)]
    )
    turned = release.take(rng.permutation(120))
    dropped = [
        np.sort(table.column("town")[near(train, control, table, share=0.3, seed=seed).rows]).tolist()
        for table, seed in ((release, 0), (turned, 0), (release, 1))
    ]
    assert 0 < len(dropped[0]) < 80
    assert dropped[0] == dropped[1] != dropped[2]


def test_missing_values_and_unseen_labels_are_compared(people):
    release = people["clean"][:100].copy()
    release.loc[release.index[:50], ["age", "cost"]] = np.nan
    release.loc[release.index[:10], "ward"] = "a new one"
    release.loc[release.index[60:]] = people["train"][60:100].to_numpy()
    found = filtered(people, release.astype(people["train"].dtypes.drop(["age", "cost", "triage"])))
    assert found.near.equal == 40
    assert set(range(10)) <= set(found.kept.tolist())


def test_one_row_each():
    train, control, release = (pd.DataFrame({"x": [x], "y": ["a"]}) for x in (0, 10, 40))
    assert len(filter_release(train, release, control, measure_utility=False).rows) == 1
    with pytest.raises(ParameterError, match="all 1 row of the release lie too near"):
        filter_release(train, train, control, measure_utility=False)


def test_what_cannot_be_asked_is_refused(people):
    with pytest.raises(NotApplicable, match="filter: needs at least 1 control row"):
        filter_release(people["train"], people["clean"], measure_utility=False)
    with pytest.raises(ParameterError, match="nothing is to be dropped"):
        filtered(people, people["clean"], near=0)
    with pytest.raises(ParameterError, match="near must be at least 0 and below 1, got 1"):
        filtered(people, people["clean"], near=1)


def test_outliers_are_dropped_by_the_release_alone(people):
    release = people["clean"][:200].copy()
    release.loc[7, ["age", "days", "cost"]] = 3, 300, 900_000
    found = filtered(people, release, near=0, outliers=0.01)
    assert (found.n_outliers, found.n_near, found.warnings) == (2, 0, ())
    assert 7 not in found.kept
    assert len(filtered(people, release, outliers=0.01).warnings) == 2


def test_the_cost_is_measured_before_and_after(people):
    tables = [people[role][["age", "sex", "cost"]][:300] for role in ("train", "clean", "control")]
    heard = []
    found = filter_release(*tables, near=0.5, target="cost", progress=record(heard))
    assert len(found.kept) < 250
    assert found.before.figures.keys() == found.after.figures.keys() >= {"discriminator", "wasserstein"}
    assert found.before.targets[0].name == found.after.targets[0].name == "cost"
    assert found.before.figures["wasserstein"] != found.after.figures["wasserstein"]
    before_utility = heard[: heard.index(0.2)]
    assert before_utility == sorted(before_utility)
    assert heard[-1] > 0.9


def record(heard):
    return lambda _doing, share: heard.append(share)


def test_holes_tell_who_was_trained_on(people):
    """Filtered, a clean release betrays what it did not before: strangers are near to it, members never."""
    release = people["clean"]
    found = filtered(people, release, near=0.2)
    nearer = {}
    for when, rows in (("before", release), ("after", found.rows)):
        asked = pd.concat([people["train"], people["others"]])
        split = tabveil.load_split(asked, rows, people["control"]).split
        distance = Neighbors(Space.gower(split.schema), split.synthetic).nearest(split.train).distance[:, 0]
        nearer[when] = [int(np.sum(half < 0.99 * found.near.bar)) for half in (distance[:N], distance[N:])]
    members, strangers = nearer["before"]
    assert 0.8 < members / strangers < 1.25
    members, strangers = nearer["after"]
    assert members == 0
    assert strangers > 80


def test_equal_rows_are_kept_once_and_the_first_of_them():
    table = pd.DataFrame({"a": [1, 1, 2, 1, None, None], "b": ["x", "x", "x", "y", "z", "z"]})
    found = deduplicate(table)
    assert found.kept.tolist() == [0, 2, 3, 4]
    assert (found.n_equal, found.n_beyond, found.n_persons) == (2, 0, None)
    assert found.rows["b"].tolist() == ["x", "x", "y", "z"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_come_back_as_the_kind_of_table_that_came_in(kind):
    table = kind({"a": [1, 1, 2], "b": ["x", "x", "y"]})
    assert type(deduplicate(table).rows) is type(table)


def visits(n_people=40):
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(n_people), rng.integers(1, 9, n_people))
    return pd.DataFrame({"person": person, "day": rng.permutation(len(person)), "ward": "A"})


def test_a_person_keeps_some_rows_chosen_by_the_seed_not_by_their_order():
    table = visits()
    found = deduplicate(table, person="person", most=3)
    counts = table["person"].value_counts()
    assert found.rows["person"].value_counts().to_dict() == counts.clip(upper=3).to_dict()
    assert found.n_beyond == (counts - 3).clip(lower=0).sum() > 0
    assert found.n_people == (counts > 3).sum()
    assert found.n_persons == 40
    turned = deduplicate(table.sample(frac=1, random_state=1), person="person", most=3).rows
    assert set(turned["day"]) == set(found.rows["day"])
    other = deduplicate(table, person="person", most=3, seed=1).rows
    assert set(other["day"]) != set(found.rows["day"])


def test_which_rows_a_person_keeps_is_fair():
    table = pd.DataFrame({"person": "p", "day": range(10)})
    kept = [deduplicate(table, person="person", most=3, seed=seed).rows["day"] for seed in range(300)]
    times = np.bincount(np.concatenate(kept), minlength=10)
    assert times.min() > 60  # of 90 expected, with a standard deviation of 8
    assert times.max() < 120


def test_equal_rows_may_be_kept_where_people_coincide():
    table = pd.DataFrame({"sex": ["f", "m"] * 50, "ward": ["A", "B", "C", "D"] * 25})
    table["ward"] = np.random.default_rng(0).permutation(table["ward"])
    assert deduplicate(table).notes == (COINCIDENCE,)
    assert len(deduplicate(table).rows) == 8
    limited = deduplicate(table, person="ward", most=10, equal=False)
    assert (len(limited.rows), limited.n_equal) == (40, 0)


def test_people_who_are_not_named_are_refused():
    table = pd.DataFrame({"person": ["a", None, "", "b"], "day": range(4)})
    with pytest.raises(SchemaError, match="2 rows of 4 have no value in 'person'"):
        deduplicate(table, person="person", most=1)
    with pytest.raises(ParameterError, match=r"no column 'persn'\. Did you mean 'person'"):
        deduplicate(table, person="persn", most=1)
    with pytest.raises(ParameterError, match="person and most go together"):
        deduplicate(table, person="person")
    with pytest.raises(ParameterError, match="most must be >= 1, got 0"):
        deduplicate(table, person="person", most=0)
    with pytest.raises(ParameterError, match="nothing is to be dropped"):
        deduplicate(table, equal=False)
    with pytest.raises(SchemaError, match="has no rows"):
        deduplicate(table[:0])
    assert len(deduplicate(table[:1], person="person", most=1).rows) == 1


def test_what_stands_in_a_table_once_can_still_be_copied(people):
    """Deduplication makes nobody hard to learn by heart: a generator that copies still copies."""
    often = pd.concat([people["train"][:200], *[people["train"][:1]] * 200])
    shares = {}
    for when, table in (("before", often), ("after", deduplicate(often).rows)):
        release = tabveil.synthesize(
            table, generator="copy", rows=400, rare_labels="keep", identifiers="learn"
        )
        shares[when] = (release["cost"] == people["train"]["cost"][0]).mean()
        report = tabveil.audit(table, release, people["control"], metrics="identical_match_share")
        assert report["identical_match_share"].risk.low > 0.9
    assert shares["before"] > 0.4
    assert shares["after"] < 0.05
