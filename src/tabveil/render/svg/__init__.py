"""Charts as text: plain data in, one self-contained ``<svg>`` out.

Shapes carry classes, never colors; a page embeds :data:`STYLE` once. Every chart has a title and a
description for those who do not see it, and says in shape, pattern or word what it says in color.

A new chart joins with four files:

- its module here, which draws its marks alone. From ``canvas`` it has the frame (``chart``, or ``nothing``
  where there is nothing to draw), the ``legend``, and ``told``, which says a row to those who do not see it;
  from ``axes`` scales, a ``field`` between two titled axes, and states by shape and word;
- its line below, by which templates reach it as ``svg.name``;
- the template that shows it, through the macro ``figure``. A chart that needs more than fields of a report
  gets its rows from the view of that kind of report, in the place of the line below;
- its test.

A kind of report joins with a folder beside this one: ``page.py`` calls ``html.laid_out`` with a template, and
sets the same on a terminal with what ``console`` has; where both say the same they get it from ``view.py``.
Another form of a report, such as the Markdown of benchmarks, is one more module in its folder.
"""

from tabveil.render.svg.axes import WORDS, State, state_key
from tabveil.render.svg.canvas import standalone
from tabveil.render.svg.cells import MOST_NAMED, associations, correlations, differences, heat_map
from tabveil.render.svg.curves import RocCurve, distributions, marginals, roc
from tabveil.render.svg.risks import ColumnBar, PowerRow, RiskBar, column_bars, power, risk_bars
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
from tabveil.render.svg.two_columns import two_columns

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
    "standalone",
    "state_key",
    "two_columns",
    "value_range",
    "way",
]
