"""One style sheet for all charts: light, dark, and light again on paper."""

from collections.abc import Mapping

_COLORS = {  # on a light ground, and on a dark one
    "paper": ("#ffffff", "#14171a"),
    "ink": ("#1b1f24", "#e6e9ec"),
    "mute": ("#57606a", "#a3adb8"),
    "line": ("#d5dae0", "#3a424b"),
    "track": ("#f2f4f6", "#20252a"),
    "beyond": ("#fbe3e1", "#3d2224"),
    "real": ("#1f6fb2", "#6cb2f0"),
    "synthetic": ("#d9730d", "#f2a154"),
    "control": ("#6e7781", "#9aa5b1"),
    "above": ("#c5221f", "#ff7b72"),
    "within": ("#14735a", "#56c8a5"),
    "unclear": ("#8a5a00", "#e0b05a"),
    "third": ("#7a4fa3", "#c39be8"),
    "n4": ("#762a83", "#dab6ee"),
    "n3": ("#ab86bd", "#7d549a"),
    "n2": ("#cdb3d8", "#5a3c6d"),
    "n1": ("#e9dcec", "#3a2a44"),
    "p0": ("#f1f2f4", "#262c33"),
    "p1": ("#d9efd6", "#223a2a"),
    "p2": ("#aedca9", "#2a5738"),
    "p3": ("#6fb878", "#347146"),
    "p4": ("#1b7837", "#8fdc9c"),
}
_LIGHT = {name: light for name, (light, _) in _COLORS.items()}
_DARK = {name: dark for name, (_, dark) in _COLORS.items()}
OPACITIES = (0.14, 0.28, 0.44, 0.6, 0.78, 0.95)
"""How strongly the six classes of real rows on the map are drawn."""


def _values(palette: Mapping[str, str]) -> str:
    return ":root{" + "".join(f"--chart-{name}:{color};" for name, color in palette.items()) + "}"


_COLORED = ("real", "synthetic", "control", "above", "within", "unclear", "third", "ink", "mute")
_FILLED = ("real", "synthetic", "third", "control")
_STATES = {"within": "within", "above": "above", "inconclusive": "unclear", "diagnostic": "mute"}

_SHAPES = """\
.chart{display:block;width:100%;max-width:35rem;height:auto;overflow:visible;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;
print-color-adjust:exact;-webkit-print-color-adjust:exact}
.chart.small{max-width:24rem}
.chart text{font-size:14.5px;fill:var(--chart-ink);font-variant-numeric:tabular-nums}
.chart.small text{font-size:12.5px}
.chart .mute{fill:var(--chart-mute)}
.chart .strong{font-weight:600}
.chart .slanted{font-style:italic;fill:var(--chart-mute)}
.chart .inverse{fill:var(--chart-paper)}
.chart .halo{paint-order:stroke;stroke:var(--chart-paper);stroke-width:3px;stroke-linejoin:round}
.chart .axis,.chart .zero,.chart .rule,.chart .leader,.chart .frame{fill:none;stroke:var(--chart-line)}
.chart .zero{stroke:var(--chart-mute)}
.chart .frame.firm{stroke:var(--chart-mute)}
.chart .leader{stroke:var(--chart-mute);stroke-width:.7px}
.chart .track{fill:var(--chart-track)}
.chart .beyond{fill:var(--chart-beyond)}
.chart .limit{fill:none;stroke:var(--chart-above);stroke-width:1.5px;stroke-dasharray:4 3}
.chart .curve{fill:none;stroke-width:2px;stroke-linejoin:round}
.chart .dashed{stroke-dasharray:6 4}
.chart .dotted{stroke-dasharray:1.5 3.5;stroke-linecap:round}
.chart .fill-real{fill:var(--chart-real)}
.chart .fill-synthetic{fill:var(--chart-synthetic)}
.chart .pale{opacity:.45}
.chart .dot{stroke:var(--chart-paper);stroke-width:.8px}
.chart .sure-dot{stroke-width:1.8px}
.chart .reading{fill:var(--chart-paper);stroke-width:1.8px}
.chart .span{fill:none;stroke-width:4px}
.chart .whisker{fill:none;stroke-width:1.2px;opacity:.6}
.chart .hollow{stroke-width:2px}
.chart .hatch{fill:none;stroke:var(--chart-mute);stroke-width:.8px}
.chart .sure{fill:var(--chart-real)}
.chart .ring{fill:none;stroke:var(--chart-ink);stroke-width:2.5px}
.chart .apart{fill:none;stroke-width:2.2px}
.chart .minus{fill:none;stroke:var(--chart-ink);stroke-width:.8px;opacity:.7}
"""


def _classes() -> str:
    strokes = "".join(f".chart .line-{name}{{stroke:var(--chart-{name})}}" for name in _COLORED)
    strokes += "".join(f".chart .sure-dot.line-{name}{{fill:var(--chart-{name})}}" for name in _FILLED)
    states = "".join(
        f".chart .mark-{state}{{fill:var(--chart-{color});stroke:var(--chart-{color})}}"
        f".chart .words-{state}{{fill:var(--chart-{color})}}"
        for state, color in _STATES.items()
    )
    hollow = ".chart .hollow{fill:var(--chart-paper)}"
    steps = "".join(
        f".chart .{name}{{fill:var(--chart-{name})}}"
        for name in _LIGHT
        if name[1:].isdigit() and name[0] in "np"
    )
    shades = "".join(
        f".chart .r{step}{{fill:var(--chart-real);fill-opacity:{opacity}}}"
        for step, opacity in enumerate(OPACITIES, start=1)
    )
    return f"{strokes}\n{states}{hollow}\n{steps}\n{shades}\n"


STYLE = (
    f"{_values(_LIGHT)}\n{_SHAPES}{_classes()}"
    "@media (min-width:600px){.chart text{font-size:12px}.chart.small text{font-size:12px}}\n"
    f"@media (prefers-color-scheme:dark){{{_values(_DARK)}}}\n"
    f"@media print{{{_values(_LIGHT)}.chart{{break-inside:avoid}}.chart text{{font-size:12px}}}}\n"
)
"""The style sheet that a page embeds once; colors are custom properties named ``--chart-…``."""


def _resolved() -> str:
    """Return the style of one chart alone: light, and with colors that other programs know, too."""
    style = f"{_SHAPES}{_classes()}"
    for name, color in _LIGHT.items():
        style = style.replace(f"var(--chart-{name})", color)
    return f"{style}.chart .paper{{fill:{_LIGHT['paper']}}}.chart text,.chart.small text{{font-size:12px}}"


ALONE = _resolved()
"""The style sheet that a chart by itself holds."""
