"""The risk before: a copy is what the training rows are, and the release's numbers do not move."""

import json

import pytest

import tabveil
from tabveil import datasets

ATTACKS = ("singling_out", "membership_distance")


def audited(**given):
    train, release, control = (datasets.hospital(150, seed=seed) for seed in (1, 2, 3))
    found = tabveil.audit(train, release, control, metrics=ATTACKS, advice=False, **given)
    return json.loads(found.to_json()), found


@pytest.fixture(scope="module")
def both():
    return audited(), audited(initial_risk=True)


def test_training_rows_themselves_are_exposed(both):
    risks = {item.risk: item for item in both[1][1].initial.risks}
    assert risks["membership"].value > 0.9
    assert risks["singling out"].value > 0.5
    assert risks["linkability"].value is None


def test_no_other_number_depends_on_it(both):
    (without, _), (with_it, _) = both
    assert "initial" not in without
    for changed in ("seconds", "request", "initial"):
        without.pop(changed, None)
        with_it.pop(changed, None)
    assert _untimed(without) == _untimed(with_it)


def test_it_is_off_unless_asked_for(both):
    assert both[0][1].initial is None
    assert both[1][1].request["initial_risk"] is True


def test_without_a_control_nothing_is_measured():
    train = datasets.hospital(30, seed=1)
    found = tabveil.audit(train, train, metrics="membership_distance", initial_risk=True)
    assert found.initial.risks[-1].value is None


def _untimed(data):
    match data:
        case dict():
            return {key: _untimed(item) for key, item in data.items() if key != "seconds"}
        case list():
            return [_untimed(item) for item in data]
    return data
