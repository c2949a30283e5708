"""The chart of a number's way through stages: what is drawn where, and what a listener hears."""

import math
import re

import pytest
from supplies.html_documents import Document

from tabveil.core.estimate import Estimate
from tabveil.render.svg import WayPoint, reach_of, way


def point(label, value, low=None, high=None, *, beside=False):
    ends = {"low": value if low is None else low, "high": value if high is None else high}
    return WayPoint(label=label, value=Estimate(value=value, n=9, **ends), beside=beside)


STAGES = [point("original", 1.0), point("anonymized", 0.25, 0.16, 0.36), point("final", 0.0, -0.1, 0.04)]
ALONE = point("alone", 0.04, 0.01, 0.09, beside=True)


def circles(text):
    return [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', text)]


def test_values_stand_by_their_square_roots_and_none_below_zero():
    text = str(way([*STAGES, ALONE], title="Singling out", reach=1.0))
    (_, top), (_, middle), (_, zero), (_, low) = circles(text)
    height = zero - top
    assert (zero - middle) / height == pytest.approx(0.5, abs=0.01)
    assert (zero - low) / height == pytest.approx(0.2, abs=0.01)
    below = str(way([point("original", 1.0), point("final", -0.5)], title="x", reach=1.0))
    assert circles(below)[1][1] == zero


def test_the_stages_are_joined_and_the_generator_stands_beside_them():
    text = str(way([*STAGES, ALONE], title="Singling out", reach=1.0))
    (curve,) = re.findall(r'<path d="([^"]+)" class="curve', text)
    assert curve.count("L") == 2
    assert text.count("sure-dot") == 3
    assert text.count('class="reading line-synthetic"') == 1


def test_a_stage_without_a_number_is_left_out_and_said():
    missing = WayPoint(label="anonymized", value=None)
    unknown = point("final", math.nan)
    text = str(way([STAGES[0], missing, unknown, ALONE], title="x", reach=1.0))
    assert len(circles(text)) == 2
    assert "anonymized not computed; final not computed" in Document(text).text
    assert "Not computed at any stage." in str(way([missing], title="x", reach=1.0))


def test_thresholds_are_drawn_and_heard():
    text = str(way(STAGES, title="x", reach=1.0, threshold=0.05))
    assert text.count('class="limit"') == 1
    assert "Threshold 0.050." in text
    assert 'class="limit"' not in str(way(STAGES, title="x", reach=1.0))


def test_charts_reach_as_far_as_there_is_anything_to_see():
    assert reach_of([*STAGES, ALONE]) == 1.0
    assert reach_of([ALONE]) == 0.09
    assert reach_of([ALONE], [0.2]) == pytest.approx(0.22)
    assert reach_of([point("final", 0.8, 0.7, 0.9)]) == 1.0  # the worst case belongs on the axis
    assert reach_of([WayPoint(label="final", value=None)]) > 0


def test_names_are_escaped():
    text = str(way([point("<script>", 0.5)], title="<b>&", reach=1.0))
    assert "<script>" not in text
    assert "<b>" not in text
