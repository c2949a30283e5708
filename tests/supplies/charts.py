"""Charts of every kind, with whatever texts and numbers come from outside; and how a test reads them."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from tabveil.core.estimate import Estimate
from tabveil.metrics.portrait import Outlying, OutlyingCell
from tabveil.metrics.utility import Bar, Figure, PairTable
from tabveil.render import svg
from tabveil.render.svg import ColumnBar, PowerRow, ReleasePoint, RiskBar, RocCurve

NAN, INF = math.nan, math.inf


HOSTILE = '<script>alert("1")</script>&amp;\u202e\x00\ud800\ufffe ]]> \'; ' + "wide MMM " * 1200


@dataclass(frozen=True, kw_only=True)
class Field:
    x: int
    y: int
    real: float | None
    synthetic: float | None


def outlying(*cells, across=2):
    return Outlying(
        share=0.1,
        n_neighbors=20,
        columns=across,
        rows=across,
        cells=tuple(OutlyingCell(*cell) for cell in cells),
        hidden=0.0,
    )


def estimate(value, low=None, high=None):
    return Estimate(
        value=value, low=value if low is None else low, high=value if high is None else high, n=10
    )


def roc_curve(points, label="other", readings=()):
    return RocCurve(label=label, points=points, readings=readings)


def risk_bar(value=0.1, low=0.0, high=0.2, *, threshold=0.2, state="within", label="Linkability", note=""):
    risk = estimate(value, low, high)
    rate = estimate(0.3)
    return RiskBar(
        label=label, risk=risk, control=rate, attack=rate, threshold=threshold, state=state, note=note
    )


def charts(text="Linkability", value=0.25):
    """One of each, with a text and a number from outside wherever the chart takes any."""
    odd = Estimate(value=value, low=value, high=value, n=3)
    row = RiskBar(label=text, risk=odd, control=odd, attack=odd, threshold=value, state="above", note=text)
    square = [[1.0, value, 0.1], [value, 1.0, -0.8], [0.1, -0.8, 1.0]]
    return {
        "risk_bars": svg.risk_bars([row, risk_bar()], title=text),
        "column_bars": svg.column_bars([ColumnBar(label=text, risk=odd, threshold=value)], title=text),
        "distributions": svg.distributions([0.0, value, 0.5], [0.1, 0.2, value], [0.0, value, 1.0]),
        "roc": svg.roc(
            [
                roc_curve([(0.0, 0.0), (value, 0.5), (1.0, 1.0)], label=text, readings=[(value, odd)]),
                roc_curve([(0, 0), (1, 1)]),
            ]
        ),
        "heat_map": svg.heat_map([Field(x=0, y=1, real=value, synthetic=0.2)], columns=3, rows=2),
        "rings": svg.heat_map(
            [Field(x=0, y=1, real=0.1, synthetic=0.2)],
            columns=3,
            rows=2,
            outlying=outlying((0, 0, value)),
            title="Rings",
        ),
        "labels": svg.marginals(
            [
                Bar(kind="label", label=text, real=0.5, synthetic=value),
                Bar(kind="other", real=0.5, synthetic=0.2),
            ],
            title=text,
        ),
        "ranges": svg.marginals(
            [
                Bar(kind="range", low=None, high=20.0, real=0.5, synthetic=value),
                Bar(kind="range", low=20.0, high=None, real=0.4, synthetic=0.4),
                Bar(kind="missing", real=0.1, synthetic=value),
            ],
            title=text,
        ),
        "two_columns": svg.two_columns(two_columns(value, text)),
        "associations": svg.associations([text, "b", "c"], square, square),
        "differences": svg.differences([text, "b", "c"], square, square),
        "power": svg.power(
            [
                PowerRow(label=text, smallest=value, trials=[(0.01, 3, 20), (0.25, 20, 20)]),
                PowerRow(label=text, smallest=None, trials=[], reason=text),
            ]
        ),
        "scatter": svg.scatter(
            [
                ReleasePoint(number=1, label=text, x=odd, y=odd, state="above"),
                ReleasePoint(number=2, label="b", x=estimate(1), y=estimate(2), state="within"),
            ],
            title=text,
        ),
    }


def two_columns(value=0.25, text="sex"):
    """A table of two labels, another and missing, by two ranges; one cell is not shown."""
    labels = [Bar(kind="label", label=label, real=0.4, synthetic=0.4) for label in (text, "m")]
    rest = Bar(kind="other", real=0.1, synthetic=0.1), Bar(kind="missing", real=0.1, synthetic=0.1)
    ranges = (
        Bar(kind="range", low=None, high=20.0, real=0.5, synthetic=0.5),
        Bar(kind="range", low=20.0, high=None, real=0.5, synthetic=0.5),
    )
    return PairTable(
        columns=(text, "age"),
        variation=Figure(value=estimate(0.2, 0.1, 0.3), reference=estimate(0.05)),
        alone=0.1,
        down=(*labels, *rest),
        across=ranges,
        real=((value, 0.1), (0.2, 0.3), (NAN, NAN), (0.0, 0.004)),
        synthetic=((0.1, 0.3), (0.2, value), (NAN, NAN), (0.05, 0.05)),
    )


def empty_charts():
    return {
        "risk_bars": svg.risk_bars([], title="t"),
        "column_bars": svg.column_bars([]),
        "distributions": svg.distributions([], [], None),
        "roc": svg.roc([]),
        "roc without points": svg.roc([roc_curve([], readings=[(0.1, estimate(0.2))])]),
        "heat_map": svg.heat_map([], columns=4, rows=4),
        "hidden": svg.heat_map([Field(x=0, y=0, real=None, synthetic=None)], columns=4, rows=4),
        "marginals": svg.marginals([], title="age"),
        "associations": svg.associations([], [], []),
        "one column": svg.differences(["a"], [[1.0]], [[1.0]]),
        "power": svg.power([]),
        "scatter": svg.scatter([]),
    }


def tree(drawn):
    """Parse a chart and forget the name space."""
    root = ET.fromstring(str(drawn))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def texts(drawn):
    return [element.text for element in tree(drawn).iter("text")]


def of_class(drawn, kind):
    return [element for element in tree(drawn).iter() if kind in element.get("class", "").split()]


def description(drawn):
    return tree(drawn).find("desc").text


def numbers(drawn):
    """All coordinates and sizes of a chart, as they are written."""
    for element in tree(drawn).iter():
        for name, value in element.attrib.items():
            if name not in {"class", "id", "role", "text-anchor"} and not name.startswith("aria"):
                yield from re.findall(r"-?[\d.]+(?:e[-+]?\d+)?|nan|inf", value)


def height_of(drawn):
    return float(tree(drawn).get("viewBox").split()[-1])
