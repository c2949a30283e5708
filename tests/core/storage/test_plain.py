"""Dataclasses to JSON types and back, and reports that are refused because they have another shape."""

import copy
import json
import math
from dataclasses import dataclass
from typing import Annotated

import pytest
from supplies.made_reports import report

from tabveil.auditing.report import Report
from tabveil.core.estimate import Estimate
from tabveil.core.storage.plain import WITHOUT_NULLS, Number, from_plain, to_plain
from tabveil.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Leaf:
    size: Number
    color: str | None = None


@dataclass(frozen=True, kw_only=True)
class Twig:
    leaves: tuple[Annotated[Leaf, WITHOUT_NULLS], ...]
    best: Leaf


def test_what_is_written_is_read():
    twig = Twig(leaves=(Leaf(size=1.5), Leaf(size=2.0, color="red")), best=Leaf(size=0.25))
    data = {
        "leaves": [{"size": 1.5}, {"size": 2.0, "color": "red"}],
        "best": {"size": 0.25, "color": None},
    }
    assert to_plain(twig) == data
    assert from_plain(Twig, json.loads(json.dumps(data))) == twig


@pytest.mark.parametrize("none", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_null_and_comes_back_as_none(none):
    data = to_plain(Estimate(value=0.5, low=none, high=1.0, n=3))
    assert data == {"value": 0.5, "low": None, "high": 1.0, "n": 3}
    found = from_plain(Estimate, data)
    assert (found.value, found.high, found.n) == (0.5, 1.0, 3)
    assert math.isnan(found.low)


@pytest.mark.parametrize("data", [None, 7, [], {}, {"size": "large"}, {"size": 1.0, "color": 3}])
def test_another_shape_is_refused(data):
    with pytest.raises(ValueError, match="validation error"):
        from_plain(Leaf, data)


DAMAGES = {
    "verdict.state": "splendid",
    "verdict.risks": {},
    "verdict.risks.0.threshold": None,
    "verdict.risks.0.metrics.0.gain": 0.1,
    "utility.figures": [],
    "utility.figures.discriminator.value": None,
    "utility.columns.0.bars": [{"kind": "slice", "real": 0.5, "synthetic": 0.5}],
    "utility.targets.0.score": "applause",
    "utility.associations.real": [["strong"]],
    "portrait.map.cells": [[1, 2]],
    "portrait.map.explained": [0.5],
    "portrait.learned.outlying.cells": [[0, 0, "many"]],
    "portrait.distances.grid": 3,
}


def test_a_full_report_comes_back_to_the_letter(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(report().to_json(), encoding="utf-8")
    assert Report.read(path).to_json() == report().to_json()


@pytest.mark.parametrize("spot", DAMAGES)
def test_a_report_of_another_shape_is_refused_in_one_line(tmp_path, spot):
    data = json.loads(report().to_json())
    *way, last = spot.split(".")
    part = data
    for step in way:
        part = part[int(step) if isinstance(part, list) else step]
    before = copy.deepcopy(part[last])
    part[last] = DAMAGES[spot]
    assert part[last] != before
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ParameterError, match=r"^report.json: not a report of this version of tabveil; .*\.$"):
        Report.read(path)
