"""Properties of classes, by hand and beside brute force: sets of rows, and earth moved by linear programs."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.properties import WEAKNESSES, measure
from tabveil.metrics.properties import measuring as diversity

ILLNESS = Categorical(name="illness", labels=("cold", "flu", "asthma", "burn"))
SCHEMA = Schema(
    (
        Numeric(name="age", low=20, high=60, decimals=0),
        Categorical(name="sex", labels=("f", "m")),
        ILLNESS,
        Numeric(name="income", low=1, high=9, decimals=0),
    )
)
TREE = np.array([[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 0]])  # colds and flus meet first


def table(*rows):
    return Table(schema=SCHEMA, values=np.array(rows, dtype=float).reshape(-1, 4))


def people(rows):
    """Incomes by age; all else is equal."""
    return table(*((age, 0, 0, value) for age, values in rows.items() for value in values))


def test_the_numbers_of_a_small_table_by_hand():
    found = measure(
        table((30, 0, 0, 1), (30, 0, 1, 2), (30, 0, 1, 2), (40, 1, 0, 1), (40, 1, 0, 9), (50, 1, 3, 5)),
        quasi_identifiers=["age", "sex"],
        sensitive=["illness"],
    )
    assert (found.n_rows, found.n_classes, found.k, found.n_unique) == (6, 3, 1, 1)
    assert (found.reidentification, found.mean_reidentification) == (1.0, 0.5)
    (illness,) = found.sensitive
    assert (illness.distinct, illness.entropy, illness.recursive, illness.certainty) == (1, 1.0, 1, 1.0)
    assert illness.equal == pytest.approx(5 / 6)  # the burn: one row of six
    assert illness.largest_gain == pytest.approx(math.log2(6))
    assert (illness.ordered, illness.hierarchical) == (None, None)


def test_incomes_in_three_classes_by_hand():
    found = measure(
        people({30: (3, 4, 5), 40: (6, 8, 9), 50: (2, 7, 1)}),
        quasi_identifiers=["age"],
        sensitive=["income"],
    )
    # The table has 1 to 9 once each, and {6, 8, 9} is farthest. In ninths, it is behind by 1, 2, 3, 4, 5,
    # then 3, 4, 2 and 0: 24 in all, over 8 steps.
    assert found.sensitive[0].ordered == pytest.approx(24 / 9 / 8)
    assert found.sensitive[0].equal == pytest.approx(2 / 3)


def test_recursive_diversity_of_many_values_asks_few_times(monkeypatch):
    asked = []
    factor = diversity.recursive_factor
    monkeypatch.setattr(diversity, "recursive_factor", lambda *args: asked.append(args) or factor(*args))
    found = measure(
        people({30: range(1000), 40: range(1000)}),
        quasi_identifiers=["age"],
        sensitive=["income"],
        factor=0.1,
    )
    # Every value once: 1 < 0.1 · (1000 - l + 1) holds as long as more than ten values are left.
    assert found.sensitive[0].recursive == 990
    assert len(asked) <= 11


def test_recursive_diversity_by_hand():
    rows = [(30, 0, code, 1) for code in (0, 0, 0, 1, 1, 2)]  # 3, 2, 1
    for factor, wanted in ((3.1, 3), (3.0, 2), (1.1, 2), (1.0, 1)):  # 3 < c * 1, 3 < c * 3
        found = measure(table(*rows), quasi_identifiers=["age"], sensitive=["illness"], factor=factor)
        assert found.sensitive[0].recursive == wanted


def test_missing_is_a_value():
    found = measure(
        table((np.nan, 0, 0, 1), (np.nan, 0, np.nan, 1), (30, 0, 0, 1), (30, 0, np.nan, 1)),
        quasi_identifiers=["age", "sex"],
        sensitive=["illness"],
    )
    assert (found.k, found.n_classes, found.sensitive[0].distinct, found.sensitive[0].equal) == (2, 2, 2, 0.0)


def test_the_reference_may_be_another_table():
    original = table((30, 0, 0, 1), (30, 0, 1, 1), (30, 0, 1, 1), (40, 0, 1, 1))
    released = original.take(np.array([0, 1]))
    alone, beside = (
        measure(released, quasi_identifiers=["age"], sensitive=["illness"], reference=reference).sensitive[0]
        for reference in (None, original)
    )
    assert (alone.equal, alone.reference) == (0.0, "all rows of this table")
    assert (beside.equal, beside.reference) == (0.25, "all rows of the original table")


def test_a_value_that_the_reference_lacks_tells_without_limit():
    original, other = table((30, 0, 0, 1)), table((30, 0, 1, 1))
    found = measure(other, quasi_identifiers=["age"], sensitive=["illness"], reference=original)
    assert found.sensitive[0].largest_gain == math.inf


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"quasi_identifiers": []}, "at least one quasi-identifier"),
        ({"quasi_identifiers": ["agee"]}, "Did you mean 'age'"),
        ({"quasi_identifiers": ["age"], "sensitive": ["age"]}, "'age' is sensitive and a quasi-identifier"),
        (
            {
                "quasi_identifiers": ["age"],
                "sensitive": ["illness"],
                "levels": {"illness": (np.arange(1.0), np.array([[0], [0]]))},
            },
            "lacks values",
        ),
    ],
)
def test_what_cannot_be_asked(asked, message):
    with pytest.raises(ParameterError, match=message):
        measure(table((30, 0, 0, 1), (30, 0, 1, 2)), **asked)


def test_a_table_without_rows_has_no_properties():
    with pytest.raises(NotApplicable, match="no rows"):
        measure(table(), quasi_identifiers=["age"])


def test_weaknesses_are_stated():
    assert set(WEAKNESSES) == {"k", "l", "t"}


def moved_earth(own, reference, distance):
    """The least work that turns one distribution into another, as a linear program."""
    v = len(own)
    rows, columns = np.zeros((v, v * v)), np.zeros((v, v * v))
    for i in range(v):
        rows[i, i * v : (i + 1) * v] = 1
        columns[i, i::v] = 1
    done = linprog(distance.ravel(), A_eq=np.vstack((rows, columns)), b_eq=np.concatenate((own, reference)))
    return done.fun


def by_brute_force(rows, factor):
    """All properties of illness and income for (age, sex), from dictionaries of rows."""
    classes = defaultdict(list)
    for row in rows:
        classes[str(row[:2])].append(row)
    found = {"k": min(map(len, classes.values())), "n_classes": len(classes)}
    for place, name in ((2, "illness"), (3, "income")):
        everyone = Counter(str(row[place]) for row in rows)
        keys = sorted({row[place] for row in rows if row[place] == row[place]})
        keys = [str(key) for key in keys] + (["nan"] if "nan" in everyone else [])
        reference = np.array([everyone[key] / len(rows) for key in keys])
        ranks = np.abs(np.subtract.outer(np.arange(len(keys)), np.arange(len(keys)))) / max(len(keys) - 1, 1)
        counts = [Counter(str(row[place]) for row in own) for own in classes.values()]
        shares = [np.array([own[key] for key in keys]) / sum(own.values()) for own in counts]
        entropies = [-sum(p * math.log(p) for p in own if p > 0) for own in shares]
        diverse = [
            [count for count in range(2, len(own) + 1) if _is_recursive(own, factor, count)] for own in counts
        ]
        common = set.intersection(*map(set, diverse))
        run = 1
        while run + 1 in common:
            run += 1
        gains = [
            sum(p * math.log2(p / q) for p, q in zip(own, reference, strict=True) if p) for own in shares
        ]
        found[name] = {
            "distinct": min(map(len, counts)),
            "entropy": math.exp(min(entropies)),
            "recursive": run,
            "equal": max(moved_earth(own, reference, 1 - np.eye(len(keys))) for own in shares),
            "ordered": max(moved_earth(own, reference, ranks) for own in shares),
            "information_gain": sum(
                gain * sum(own.values()) / len(rows) for gain, own in zip(gains, counts, strict=True)
            ),
        }
        if name == "illness" and "nan" not in keys:
            codes = [int(float(key)) for key in keys]
            meet = np.array(
                [
                    [next(level for level in range(3) if TREE[level, a] == TREE[level, b]) / 2 for b in codes]
                    for a in codes
                ]
            )
            found[name]["hierarchical"] = max(moved_earth(own, reference, meet) for own in shares)
    return found


def _is_recursive(own, factor, count):
    ranked = sorted(own.values(), reverse=True)
    return ranked[0] < factor * sum(ranked[count - 1 :])


CELLS = st.tuples(
    st.sampled_from([20.0, 30.0, math.nan]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([0.0, 1.0, 2.0, 3.0]) | st.just(math.nan),
    st.sampled_from([1.0, 4.0, 9.0]),
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(CELLS, min_size=1, max_size=12), factor=st.sampled_from([0.7, 1.5, 3.3]))
def test_every_property_equals_brute_force(rows, factor):
    found = measure(
        table(*rows),
        quasi_identifiers=["age", "sex"],
        sensitive=["illness", "income"],
        levels={"illness": (np.append(np.arange(4.0), np.nan), np.hstack((TREE, np.array([[4], [3], [0]]))))},
        factor=factor,
    )
    wanted = by_brute_force(rows, factor)
    assert (found.k, found.n_classes) == (wanted["k"], wanted["n_classes"])
    for own in found.sensitive:
        for name, value in wanted[own.column].items():
            if name == "ordered" and own.column == "illness":
                assert own.ordered is None
                continue
            assert getattr(own, name) == pytest.approx(value, abs=1e-8), name
