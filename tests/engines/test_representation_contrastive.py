"""Attacks in a contrastive embedding: trained on what an attacker has, once for all who look through it."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from supplies.populations import population, split

import tabveil
from tabveil.auditing.power import measure
from tabveil.core import workers as sharing_module
from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import MOST_KEPT, shared, sharing
from tabveil.engines.embedding import Embedding
from tabveil.engines.representation import UNION, Contrastive
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks import Inference, Linkability, MembershipDistance, NeighborVote
from tabveil.metrics.registry import MetricChoice

SMALL = {"width": 32, "layers": 1, "dimension": 12, "epochs": 6, "batch_size": 128}
NEAR = Contrastive(**SMALL)

needs_torch = pytest.mark.usefixtures("torch")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def trained(monkeypatch):
    """The tables that an embedding was trained on, in turn."""
    tables = []
    fit = Embedding.fit

    def counted(self, table, *, rng):
        tables.append(table)
        return fit(self, table, rng=rng)

    monkeypatch.setattr(Embedding, "fit", counted)
    return tables


def fresh():
    return population("mixed", (150, 150, 150), seed=5)


def copy():
    return replace(fresh(), synthetic=fresh().train)


def ask(metric, tables):
    return metric(tables, rng=stream(3, metric.name))


@needs_torch
@pytest.mark.parametrize("attack", [Linkability, Inference, MembershipDistance, NeighborVote])
def test_a_copy_is_seen_and_fresh_rows_are_not(attack):
    metric = attack(representation=NEAR)
    low, high = ask(metric, fresh()).risk, ask(metric, copy()).risk
    assert high.low > 0.1
    assert high.value > 0.4
    assert low.low <= 0
    assert abs(low.value) < 0.3


@needs_torch
def test_an_embedding_learns_from_the_release_alone(trained):
    tables = fresh()
    one = NEAR.view(tables, rng=np.random.default_rng(0))
    other = NEAR.view(
        split(tables.schema, tables.control.values[:9], tables.train.values[:9], tables.synthetic.values),
        rng=np.random.default_rng(0),
    )
    known = tables.schema.names[:3]
    np.testing.assert_array_equal(one.see(tables.train, known).values, other.see(tables.train, known).values)
    assert [len(table) for table in trained] == [150, 150]


@needs_torch
def test_what_is_not_known_is_masked():
    tables = fresh()
    view = NEAR.view(tables, rng=np.random.default_rng(0))
    known = ("age", "sex")
    changed = tables.train.values.copy()
    changed[:, [1, 2, 4]] = 0
    other = split(tables.schema, changed, tables.control.values, tables.synthetic.values).train
    np.testing.assert_array_equal(view.see(tables.train, known).values, view.see(other, known).values)
    space = view.space(known)
    assert (space.power, len(space.measured), space.matched) == (2, 12, ())


@needs_torch
def test_a_reference_is_learned_from_where_there_is_one(trained):
    tables = fresh()
    both = replace(NEAR, train_on="release_and_reference")
    both.view(tables, rng=np.random.default_rng(0), reference=tables.control.take(np.arange(40)))
    assert [len(table) for table in trained] == [190]
    with pytest.raises(NotApplicable, match="needs an attack that holds real rows back as a reference"):
        both.view(tables, rng=np.random.default_rng(0))


@needs_torch
def test_the_union_is_labeled(trained):
    found = ask(MembershipDistance(representation=replace(NEAR, train_on="union")), fresh())
    assert [len(table) for table in trained] == [450]
    assert UNION in found.notes
    assert found.to_json()["params"]["representation"]["settings"]["train_on"] == "union"
    assert UNION not in ask(MembershipDistance(representation=NEAR), fresh()).notes


@needs_torch
def test_an_audit_trains_once_for_all_its_attacks(trained):
    train, control, release = (tabveil.datasets.hospital(60, seed=seed) for seed in (1, 2, 3))
    attacks = [attack(representation=NEAR) for attack in (Linkability, Inference, NeighborVote)]
    names = [attack.name for attack in attacks]
    report = tabveil.audit(train, release, control, metrics=[*attacks, "mmd"], seed=4)
    assert len(trained) == 1
    alone = tabveil.audit(train, release, control, metrics=attacks[-1:], seed=4)
    assert len(trained) == 2
    assert alone[names[-1]].risk == report[names[-1]].risk, "who came first has no part in it"
    other = tabveil.audit(train, release, control, metrics=attacks[-1:], seed=5)
    assert other[names[-1]].risk != report[names[-1]].risk


@needs_torch
def test_what_is_shared_is_what_rows_settings_and_seed_say(trained):
    tables = fresh()
    names = tables.schema.names

    def seen(kind, tables, seed=0):
        with sharing(seed):
            view = kind.view(tables, rng=np.random.default_rng(9))
        return view.see(fresh().train, names[:2]).values

    with sharing(0):
        NEAR.view(tables, rng=np.random.default_rng(1))
        back = Split(
            train=tables.train, control=tables.control, synthetic=tables.synthetic.take(np.arange(150)[::-1])
        )
        NEAR.view(back.select(names[::-1]), rng=np.random.default_rng(2))
        assert len(trained) == 1
        replace(NEAR, jitter=0.2).view(tables, rng=np.random.default_rng(1))
        NEAR.view(copy(), rng=np.random.default_rng(1))
        assert len(trained) == 3
    one = seen(NEAR, tables)
    np.testing.assert_array_equal(one, seen(NEAR, tables))
    np.testing.assert_array_equal(one, seen(NEAR, back))
    assert not np.array_equal(one, seen(NEAR, tables, seed=1))


def test_few_things_are_kept():
    made = []

    def make(name):
        return shared((name,), lambda _: made.append(name), rng=np.random.default_rng(0))

    with sharing(0):
        for name in [*"abcd", "a", "e", "a", "b"]:
            make(name)
    assert made == [*"abcd", "e", "b"]  # b was not asked for the longest
    assert MOST_KEPT == 4
    make("a")
    make("a")
    assert made[-2:] == ["a", "a"]  # nothing is kept where nothing is shared


def test_what_is_kept_is_found_by_the_next_block_of_the_same_seed():
    sharing_module._kept.cache_clear()
    made = []

    def lot(seed, *, kept):
        with sharing(seed, kept=kept):
            return shared(("lot",), lambda rng: made.append(seed) or rng.random(), rng=None)

    first = lot(1, kept=True)
    assert lot(1, kept=True) == first
    assert made == [1]
    assert lot(1, kept=False) == first
    assert made == [1, 1]
    assert lot(2, kept=True) != first
    assert lot(1, kept=True) == first  # work on several seeds may be mixed
    assert made == [1, 1, 2]
    sharing_module._kept.cache_clear()
    assert lot(1, kept=True) == first  # made again, and the same
    assert made == [1, 1, 2, 1]


def test_settings_are_written_as_far_as_they_are_not_the_preset_s():
    assert repr(Contrastive()) == "Contrastive()"
    assert repr(Contrastive(preset="paper")) == "Contrastive(preset='paper')"
    assert repr(Contrastive(epochs=5, train_on="union")) == "Contrastive(epochs=5, train_on='union')"
    assert repr(Contrastive(preset="paper", epochs=60)) == "Contrastive(preset='paper', epochs=60)"


def test_it_is_chosen_by_its_name():
    settings = {"name": "contrastive", "preset": "paper", "epochs": 5, "dimension": "by_columns"}
    choice = MetricChoice.read("audit", {"name": "linkability", "representation": settings})
    expected = Contrastive(preset="paper", epochs=5)
    assert choice.parameters["representation"] == expected
    choice = MetricChoice.read("audit", {"name": "inference", "representation": "contrastive"})
    assert choice.parameters["representation"] == Contrastive()
    with pytest.raises(ParameterError, match="train_on must be one of"):
        MetricChoice.read("audit", {"name": "inference", "representation": {**settings, "train_on": "all"}})


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(NotApplicable, match=r"contrastive: needs PyTorch: pip install tabveil\[deep\]"):
        ask(Linkability(representation=NEAR), fresh())
    with pytest.raises(ParameterError, match=r"embedding: needs PyTorch: pip install tabveil\[deep\]"):
        Embedding().fit(fresh().train, rng=np.random.default_rng(0))


@needs_torch
def test_power_that_must_be_affordable_leaves_it_out():
    attacks = [("slow", MembershipDistance(representation=NEAR)), ("quick", MembershipDistance())]
    found = measure(attacks, fresh(), rng=np.random.default_rng(0), repetitions=1, learners=False)
    tried = {item.metric: bool(item.trials) for item in found.detections}
    assert tried == {"slow": False, "quick": True}
