"""The search of the lattice: its optimum equals brute force, and the release keeps what it promises."""

import contextlib
import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies.made_hierarchies import hierarchy, problems

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.properties import measure
from tabveil.synthesis.anonymize import (
    LOSSES,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    GeneralizationLoss,
    KAnonymity,
    RecursiveDiversity,
    anonymize,
)

AGES = hierarchy("age", [0, 0, 1, 1], [0, 0, 0, 0])
TOWNS = hierarchy("town", [0, 0, 0])
SECRET_TREE = hierarchy("secret", [0, 0, 1, 1], [0, 0, 0, 0])


def people(*rows):
    schema = Schema(
        (
            Categorical(name="age", labels=AGES.leaves),
            Categorical(name="town", labels=TOWNS.leaves),
            Numeric(name="secret", low=0, high=3, decimals=0),
        )
    )
    return Table(schema=schema, values=np.array(rows, dtype=float).reshape(-1, 3))


def test_a_table_of_six_by_hand():
    table = people((0, 0, 0), (0, 0, 1), (1, 1, 2), (2, 2, 0), (3, 2, 1), (3, 2, 0))
    found = anonymize(table, [AGES, TOWNS], models=[KAnonymity(k=2)])
    # Level 0: rows 1, 2 and 5, 6 stay; two rows are suppressed. Age: (4/4 + 2·1 - 6/4) / (6 - 6/4) = 1/3,
    # town: (4/3 + 2 - 2) / 4 = 1/3, so 1/3. Ages in pairs: only the third is suppressed, by its town.
    # Age: (5/2 + 1 - 3/2) / 4.5 = 4/9, town: (5/3 + 1 - 2) / 4 = 1/6: sqrt(13/9 · 7/6) - 1.
    assert found.nodes == ((1, 0),)
    assert found.loss == pytest.approx(math.sqrt(13 / 9 * 7 / 6) - 1)
    assert found.column_losses == pytest.approx([4 / 9, 1 / 6])
    assert found.n_suppressed == 1
    assert found.rows.tolist() == [0, 1, 3, 4, 5]
    assert found.class_sizes.tolist() == [2, 3]
    assert found.classes.tolist() == [0, 0, 1, 1, 1]
    assert found.table.schema["age"].labels == ("age1.0", "age1.1")
    assert found.table.schema["town"] == table.schema["town"]
    assert found.table.column("secret").tolist() == [0, 1, 0, 1, 0]
    assert found.levels.tolist() == [[1, 0], [1, 0]]
    assert found.values.tolist() == [[0, 0], [1, 2]]
    assert found.leaves_of(1, "age").tolist() == [2, 3]
    assert found.leaves_of(1, "town").tolist() == [2]
    assert found.way[-1].loss == pytest.approx(found.loss)
    assert found.proven
    assert found.at_least == pytest.approx(found.loss)


def test_no_row_may_be_suppressed():
    table = people((0, 0, 0), (0, 0, 1), (1, 1, 2), (2, 2, 0), (3, 2, 1), (3, 2, 0))
    found = anonymize(table, [AGES, TOWNS], models=[KAnonymity(k=2)], suppression=0)
    assert (found.nodes, found.n_suppressed) == (((1, 1),), 0)


def test_a_limit_of_rows_is_kept_exactly():
    table = people(*[(0, 0, 0)] * 38, (1, 1, 0), (2, 2, 0))
    for suppression, wanted in ((0.05, 2), (0.049, 1)):
        found = anonymize(table, [AGES, TOWNS], models=[KAnonymity(k=5)], suppression=suppression)
        assert found.n_suppressed == wanted


def test_what_is_promised_of_nobody_cannot_be_released():
    table = people((0, 0, 0), (1, 1, 1))
    with pytest.raises(NotApplicable, match="no row can be released"):
        anonymize(table, [AGES, TOWNS], models=[KAnonymity(k=3)])
    with pytest.raises(NotApplicable, match="at most 1 of 2 rows suppressed"):
        anonymize(table, [AGES, TOWNS], models=[KAnonymity(k=3)], suppression=0.5)
    with pytest.raises(NotApplicable, match="no rows"):
        anonymize(people(), [AGES, TOWNS], models=[KAnonymity(k=3)])


@pytest.mark.parametrize(
    ("trees", "models", "message"),
    [
        ([], [KAnonymity(k=2)], "at least one quasi-identifier"),
        ([AGES], [], "at least one privacy model"),
        ([AGES, AGES], [KAnonymity(k=2)], "'age' has two hierarchies"),
        ([AGES], [DistinctDiversity(column="age", l=2)], "'age' is sensitive and a quasi-identifier"),
        ([AGES], [DistinctDiversity(column="secrets", l=2)], "Did you mean 'secret'"),
        ([AGES], [Closeness(column="secret", t=0.1, distance="hierarchical")], "need its hierarchy"),
    ],
)
def test_what_cannot_be_asked(trees, models, message):
    with pytest.raises(ParameterError, match=message):
        anonymize(people((0, 0, 0)), trees, models=models)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: KAnonymity(k=0), "k must be >= 1"),
        (lambda: DistinctDiversity(column="x", l=0), "l must be >= 1"),
        (lambda: EntropyDiversity(column="x", l=0.5), "l must be >= 1"),
        (lambda: RecursiveDiversity(column="x", l=1, c=2), "l must be >= 2"),
        (lambda: RecursiveDiversity(column="x", l=2, c=0), "c must lie between"),
        (lambda: Closeness(column="x", t=1.5), "t must lie from 0 to 1"),
        (lambda: Closeness(column="x", t=0.5, distance="far"), "distance must be one of"),
        (lambda: GeneralizationLoss(mean="harmonic"), "mean must be one of"),
    ],
)
def test_models_know_what_they_may_be(model, message):
    with pytest.raises(ParameterError, match=message):
        model()


# Brute force: every node, from rows and dictionaries alone.


def generalized(table, own, node):
    """Each row's generalized quasi-identifiers."""
    return [
        tuple(
            int(item.codes[level, int(row[place])])
            for place, (item, level) in enumerate(zip(own, node, strict=True))
        )
        for row in table.values
    ]


def keeps(rows, everyone, models):
    """Whether the secrets of one class keep all promises."""
    counts = Counter(rows)
    shares = {value: count / len(rows) for value, count in counts.items()}
    for model in models:
        match model:
            case KAnonymity(k=k):
                good = len(rows) >= k
            case DistinctDiversity(l=least):
                good = len(counts) >= least
            case EntropyDiversity(l=least):
                good = -sum(p * math.log(p) for p in shares.values()) >= math.log(least) - 1e-12
            case RecursiveDiversity(l=least, c=c):
                ranked = sorted(counts.values(), reverse=True)
                good = ranked[0] < c * sum(ranked[least - 1 :])
            case Closeness(t=t, distance=distance):
                good = away(shares, everyone, distance) <= t + 1e-12
        if not good:
            return False
    return True


def away(shares, everyone, distance):
    n = sum(everyone.values())
    extra = {value: shares.get(value, 0) - count / n for value, count in everyone.items()}
    if distance == "equal":
        return sum(abs(e) for e in extra.values()) / 2
    if distance == "ordered":
        ahead = itertools.accumulate(extra[value] for value in sorted(extra))
        return sum(map(abs, ahead)) / max(len(extra) - 1, 1)
    pairs = {0: 0.0, 1: 0.0}
    moved = 0.0
    for pair in pairs:
        mine = [e for value, e in extra.items() if SECRET_TREE.codes[1, int(value)] == pair]
        moved += min(sum(max(e, 0) for e in mine), sum(max(-e, 0) for e in mine)) / 2
        pairs[pair] = sum(mine)
    return moved + min(sum(max(e, 0) for e in pairs.values()), sum(max(-e, 0) for e in pairs.values()))


def brute_loss(name, table, own, node, kept):
    n = len(table)
    values = generalized(table, own, node)
    if name in {"geometric loss", "arithmetic loss"}:
        lost = []
        for place, (item, level) in enumerate(zip(own, node, strict=True)):
            n_leaves = len(item.leaves)
            total = sum(
                list(item.codes[level]).count(value[place]) / n_leaves if keep else 1.0
                for value, keep in zip(values, kept, strict=True)
            )
            lost.append(max((total - n / n_leaves) / (n - n / n_leaves), 0) if n_leaves > 1 else 0.0)
        if name == "arithmetic loss":
            return sum(lost) / len(lost)
        return math.prod(1 + x for x in lost) ** (1 / len(lost)) - 1
    classes = Counter(value for value, keep in zip(values, kept, strict=True) if keep)
    n_gone = n - sum(kept)
    if name == "discernibility":
        return sum(count**2 for count in classes.values()) + n * n_gone
    if name == "class size":
        return n / (len(classes) + (n_gone > 0))
    total = 0.0
    for place in range(len(own)):
        leaves = Counter(row[place] for row in table.values)
        whole = Counter(value[place] for value in values)
        total -= sum(
            math.log2(leaves[row[place]] / whole[value[place]])
            for row, value in zip(table.values, values, strict=True)
        )
        gone = Counter(value[place] for value, keep in zip(values, kept, strict=True) if not keep)
        total -= sum(count * math.log2(count / n_gone) for count in gone.values())
    return total


def brute_force(table, own, models, name, most):
    """The least loss of all nodes that suppress no more rows than may be; None where there is none."""
    everyone = Counter(table.column("secret"))
    best = None
    for node in itertools.product(*(range(item.n_levels) for item in own)):
        values = generalized(table, own, node)
        classes = defaultdict(list)
        for value, secret in zip(values, table.column("secret"), strict=True):
            classes[value].append(secret)
        good = {value: keeps(rows, everyone, models) for value, rows in classes.items()}
        kept = [good[value] for value in values]
        if len(table) - sum(kept) <= most:
            loss = brute_loss(name, table, own, node, kept)
            best = loss if best is None else min(best, loss)
    return best


MODELS = st.lists(
    st.sampled_from(
        [
            KAnonymity(k=2),
            KAnonymity(k=4),
            DistinctDiversity(column="secret", l=2),
            EntropyDiversity(column="secret", l=1.6),
            RecursiveDiversity(column="secret", l=2, c=1.5),
            Closeness(column="secret", t=0.25),
            Closeness(column="secret", t=0.2, distance="ordered"),
            Closeness(column="secret", t=0.3, distance="hierarchical"),
        ]
    ),
    min_size=1,
    max_size=3,
)


def require_kept(found, table, own, models):
    """Measure the release, and hold it to its promises."""
    secret = measure(
        found.table,
        quasi_identifiers=[item.column for item in own],
        sensitive=["secret"],
        reference=table,
        levels={"secret": (SECRET_TREE.cells, SECRET_TREE.codes)},
        factor=1.5,
    )
    (about,) = secret.sensitive
    assert secret.n_classes == len(found.class_sizes)
    for model in models:
        match model:
            case KAnonymity(k=k):
                assert secret.k >= k
            case DistinctDiversity(l=least):
                assert about.distinct >= least
            case EntropyDiversity(l=least):
                assert about.entropy >= least - 1e-9
            case RecursiveDiversity(l=least):
                assert about.recursive >= least
            case Closeness(t=t, distance=distance):
                assert getattr(about, distance) <= t + 1e-9


@settings(max_examples=250, deadline=None)
@given(
    problem=problems(),
    models=MODELS,
    name=st.sampled_from(sorted(LOSSES)),
    suppression=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_the_optimum_equals_brute_force_and_keeps_its_promises(problem, models, name, suppression):
    table, own = problem
    wanted = brute_force(table, own, models, name, int(suppression * len(table) + 1e-9))
    found = None
    with contextlib.suppress(NotApplicable):
        found = anonymize(
            table,
            own,
            models=models,
            loss=LOSSES[name],
            suppression=suppression,
            sensitive_hierarchies={"secret": SECRET_TREE},
        )
    if found is None:  # no node will do, or the best of them suppresses everybody
        assert wanted is None or suppression == 1
        return
    assert found.proven
    assert found.loss == pytest.approx(wanted, abs=1e-9)
    assert found.n_suppressed <= suppression * len(table) + 1e-9
    assert found.n_suppressed == len(table) - len(found.table)
    require_kept(found, table, own, models)


@settings(max_examples=100, deadline=None)
@given(
    problem=problems(),
    models=MODELS,
    suppression=st.sampled_from([0.0, 0.3, 1.0]),
    name=st.sampled_from(sorted(LOSSES)),
)
def test_local_recoding_keeps_its_promises_and_loses_no_more(problem, models, suppression, name):
    table, own = problem
    settings = {
        "models": models,
        "loss": LOSSES[name],
        "suppression": suppression,
        "sensitive_hierarchies": {"secret": SECRET_TREE},
    }
    try:
        local = anonymize(table, own, local=True, **settings)
        whole = anonymize(table, own, **settings)
    except NotApplicable:
        return
    assert local.n_suppressed <= min(
        whole.n_suppressed if suppression == 1 else len(table), suppression * len(table) + 1e-9
    )
    if name in {
        "geometric loss",
        "arithmetic loss",
        "discernibility",
    }:  # a released row never loses more than a suppressed one
        assert local.loss <= whole.loss + 1e-12
    require_kept(local, table, own, models)


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(0)
    table = people(
        *np.stack((rng.integers(0, 4, 50), rng.integers(0, 3, 50), rng.integers(0, 4, 50)), axis=1)
    )
    order = rng.permutation(50)
    one, other = (
        anonymize(each, [AGES, TOWNS], models=[KAnonymity(k=4)]) for each in (table, table.take(order))
    )
    assert (one.nodes, one.loss, one.n_suppressed) == (other.nodes, other.loss, other.n_suppressed)
    assert set(order[other.rows]) == set(one.rows)


# Large problems: right, or said not to be proven.


def wide(n_rows, n_columns, n_leaves, seed=0):
    """Random rows over many columns, each with pairs, quarters and everything above its leaves."""
    rng = np.random.default_rng(seed)
    own = []
    for place in range(n_columns):
        leaves = np.arange(n_leaves)
        own.append(
            hierarchy(
                f"x{place}", (leaves // 2).tolist(), (leaves // (n_leaves // 2)).tolist(), [0] * n_leaves
            )
        )
    schema = Schema(tuple(Categorical(name=item.column, labels=item.leaves) for item in own))
    return Table(schema=schema, values=rng.integers(0, n_leaves, (n_rows, n_columns)).astype(float)), own


def test_more_combinations_than_a_whole_number_holds():
    table, own = wide(400, 12, 64)  # 2^72
    table = Table(schema=table.schema, values=np.vstack((table.values, table.values)))
    found = anonymize(table, own, models=[KAnonymity(k=2)])
    assert (found.nodes, found.loss, found.n_suppressed, found.proven) == (((0,) * 12,), 0.0, 0, True)
    assert len(found.class_sizes) == 400
    # Two rows that differ in the last column alone must not meet.
    values = np.zeros((4, 12))
    values[2:, -1] = 63
    found = anonymize(Table(schema=table.schema, values=values), own, models=[KAnonymity(k=2)])
    assert found.class_sizes.tolist() == [2, 2]


def test_sensitive_values_beside_many_combinations():
    table, own = wide(60, 12, 64)
    schema = Schema((*table.schema.columns, Numeric(name="secret", low=0, high=1, decimals=0)))
    values = np.vstack((table.values, table.values))
    values = np.hstack((values, np.repeat([[0.0], [1.0]], 60, axis=0)))
    found = anonymize(
        Table(schema=schema, values=values), own, models=[DistinctDiversity(column="secret", l=2)]
    )
    assert (found.loss, found.n_suppressed) == (0.0, 0)


def test_a_search_that_is_broken_off_says_so():
    table, own = wide(300, 15, 4)  # 4^15 nodes
    found = anonymize(table, own, models=[KAnonymity(k=3)], budget=2_000_000)
    assert found.n_nodes == 4**15
    assert not found.proven
    assert found.at_least <= found.loss
    assert measure(found.table, quasi_identifiers=table.schema.names).k >= 3
    assert found.loss < 1


def test_near_unique_rows_are_searched_to_the_end():
    table, own = wide(3000, 4, 32)
    found = anonymize(table, own, models=[KAnonymity(k=10)])
    assert found.proven
    assert measure(found.table, quasi_identifiers=table.schema.names).k >= 10


def test_progress_is_told():
    heard = []
    table, own = wide(200, 5, 8)
    with workers.working(listener=lambda doing, share: heard.append((doing, share))):
        anonymize(table, own, models=[KAnonymity(k=5)])
    assert heard
    assert all(0 <= share <= 1 for _, share in heard)


# Levels that somebody chose

SIX = ((0, 0, 0), (0, 0, 1), (1, 1, 2), (2, 2, 0), (3, 2, 1), (3, 2, 0))


def test_levels_that_were_chosen_are_taken_and_small_classes_suppressed():
    found = anonymize(people(*SIX), [AGES, TOWNS], models=[KAnonymity(k=2)], levels={"age": 0, "town": 0})
    assert found.nodes == ((0, 0),)
    assert found.rows.tolist() == [0, 1, 4, 5]
    assert found.loss == pytest.approx(1 / 3)
    assert not found.proven  # nobody asked whether others lose less


def test_the_search_finds_what_its_own_levels_give():
    searched = anonymize(people(*SIX), [AGES, TOWNS], models=[KAnonymity(k=2)])
    chosen = anonymize(people(*SIX), [AGES, TOWNS], models=[KAnonymity(k=2)], levels={"age": 1, "town": 0})
    assert (chosen.loss, chosen.rows.tolist()) == (searched.loss, searched.rows.tolist())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"levels": {"age": 1}}, "levels must name column 'town', too"),
        ({"levels": {"age": 3, "town": 0}}, "column 'age' has the levels 0 to 2, got 3"),
        ({"levels": {"age": 0, "town": -1}}, "column 'town' has the levels 0 to 1, got -1"),
        ({"levels": {"age": 0, "town": 0, "job": 1}}, "no hierarchy for levels of 'job'"),
        ({"levels": {"age": 0, "town": 0}, "local": True}, "nothing to recode locally"),
        ({"levels": {"age": 0, "town": 0}, "suppression": 0.3}, "2 rows must be suppressed, and at most 1"),
    ],
)
def test_levels_that_cannot_be_taken_are_refused(given, words):
    with pytest.raises((ParameterError, NotApplicable)) as caught:
        anonymize(people(*SIX), [AGES, TOWNS], models=[KAnonymity(k=2)], **given)
    assert words in str(caught.value)
