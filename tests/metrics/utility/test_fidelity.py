"""One figure of fidelity: its parts by hand, its noise floor, and what planted truths make of it."""

import numpy as np
import pytest
from supplies.populations import split

from tabveil.core.estimate import Estimate
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.metrics.utility import Figure, measure
from tabveil.metrics.utility.fidelity import faithful


def figure(value, low, high, reference=None):
    fresh = None if reference is None else Estimate(value=reference, low=reference, high=reference, n=70)
    return Figure(value=Estimate(value=value, low=low, high=high, n=80), reference=fresh)


def test_parts_and_mean_by_hand():
    found = faithful(
        {
            "total_variation": figure(0.1, 0.05, 0.2, 0.02),
            "pair_variation": figure(0.25, 0.2, 0.3, 0.06),
            "discriminator": figure(0.8, 0.75, 0.85, 0.49),
        }
    )
    values = {part: (item.value.low, item.value.value, item.value.high) for part, item in found.parts.items()}
    assert values["columns"] == pytest.approx((0.8, 0.9, 0.95))
    assert values["pairs"] == pytest.approx((0.7, 0.75, 0.8))
    assert values["rows"] == pytest.approx((0.3, 0.4, 0.5))
    assert found.figure.value.value == pytest.approx((0.9 + 0.75 + 0.4) / 3)
    assert found.figure.value.low == pytest.approx((0.8 + 0.7 + 0.3) / 3)
    assert found.figure.value.high == pytest.approx((0.95 + 0.8 + 0.5) / 3)
    assert found.parts["rows"].reference.value == 1  # below one half is one half
    assert found.figure.reference.value == pytest.approx((0.98 + 0.94 + 1) / 3)


def test_without_its_half_the_total_variation_is_halved():
    figures = {"total_variation": figure(0.2, 0.1, 0.4), "pair_variation": figure(0, 0, 0)}
    found = faithful({**figures, "discriminator": figure(0.5, 0.4, 0.6)}, halved=False)
    assert found.parts["columns"].value.value == pytest.approx(0.9)
    assert found.figure.reference is None


def test_bounds_never_leave_the_scale_and_a_missing_part_leaves_no_figure():
    figures = {"total_variation": figure(0.9, 0.8, 1.1), "pair_variation": figure(1, 0.9, 1.2)}
    found = faithful({**figures, "discriminator": figure(1.0, 0.97, 1.0)})
    assert (found.parts["columns"].value.low, found.parts["pairs"].value.low) == (0, 0)
    assert found.parts["rows"].value.value == 0
    assert faithful(figures) is None


def test_by_hand_from_tables():
    """Of a and b each value moves in a tenth of the rows; no model can tell what is the same coin."""
    schema = Schema(tuple(Categorical(name=name, labels=("x", "y")) for name in "ab"))
    real = [[0, 0], [1, 1]] * 50
    release = [[0, 0], [1, 1]] * 40 + [[0, 1]] * 20  # pairs that nobody has
    found = measure(split(schema, real, real, release), rng=stream(0, "fidelity"))
    assert found.figures["total_variation"].value.value == pytest.approx(0.1)
    assert found.figures["pair_variation"].value.value == pytest.approx(0.2)
    assert found.figures["discriminator"].value.value == pytest.approx(0.6)
    parts = {part: item.value.value for part, item in found.fidelity.parts.items()}
    assert parts == pytest.approx({"columns": 0.9, "pairs": 0.8, "rows": 0.8})
    assert found.fidelity.figure.value.value == pytest.approx(2.5 / 3)


def test_fresh_rows_score_what_control_does_and_shuffled_columns_less():
    rng = np.random.default_rng(8)
    schema = Schema(tuple(Numeric(name=f"x{i}", low=-9, high=9) for i in range(3)))
    train, control, fresh = (
        np.clip(rng.normal(size=(400, 1)) + rng.normal(size=(400, 3)) / 3, -9, 9) for _ in range(3)
    )
    shuffled = np.column_stack([rng.permutation(column) for column in fresh.T])

    def fidelity(release):
        tables = split(schema, train, control, release)
        return measure(tables, explained=False, rng=stream(0, "fidelity")).fidelity

    good, bad = fidelity(fresh), fidelity(shuffled)
    assert good.figure.value.low < good.figure.reference.value < good.figure.value.high
    assert good.figure.value.value > 0.8
    assert bad.parts["columns"].value.value == good.parts["columns"].value.value
    assert bad.figure.value.high < good.figure.reference.value
    for part in ("pairs", "rows"):
        assert bad.parts[part].value.high < good.parts[part].value.value
