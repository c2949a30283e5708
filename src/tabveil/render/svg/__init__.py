"""Charts as text: plain data in, one self-contained ``<svg>`` out.

Shapes carry classes, never colors; a page embeds :data:`STYLE` once. Every chart has a title and a
description for those who do not see it, and says in shape, pattern or word what it says in color.
"""

from tabveil.render.svg.axes import WORDS, State, state_key
from tabveil.render.svg.curves import RocCurve, distributions, roc
from tabveil.render.svg.heat import heat_map
from tabveil.render.svg.marginals import marginals
from tabveil.render.svg.matrix import MOST_NAMED, associations, correlations, differences
from tabveil.render.svg.power import PowerRow, power
from tabveil.render.svg.risks import ColumnBar, RiskBar, column_bars, risk_bars
from tabveil.render.svg.series import (
    ResponseLine,
    ResponsePoint,
    WayPoint,
    reach_of,
    response,
    value_range,
    way,
)
from tabveil.render.svg.style import STYLE
from tabveil.render.svg.trade_offs import Checked, ReleasePoint, TradeOff, front, scatter

__all__ = [
    "MOST_NAMED",
    "STYLE",
    "WORDS",
    "Checked",
    "ColumnBar",
    "PowerRow",
    "ReleasePoint",
    "ResponseLine",
    "ResponsePoint",
    "RiskBar",
    "RocCurve",
    "State",
    "TradeOff",
    "WayPoint",
    "associations",
    "column_bars",
    "correlations",
    "differences",
    "distributions",
    "front",
    "heat_map",
    "marginals",
    "power",
    "reach_of",
    "response",
    "risk_bars",
    "roc",
    "scatter",
    "state_key",
    "value_range",
    "way",
]
