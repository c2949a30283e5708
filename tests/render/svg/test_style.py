"""Colors stand out on light and on dark, and on paper."""

import re

import pytest

from tabveil.render import svg
from tabveil.render.svg.style import _DARK, _LIGHT


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("palette", [_LIGHT, _DARK], ids=["light", "dark"])
def test_texts_and_marks_stand_out(palette):
    for name in ("ink", "mute", "above", "within", "unclear"):
        assert contrast(palette[name], palette["paper"]) >= 4.5, name
    for name in ("real", "synthetic", "control", "third"):
        assert contrast(palette[name], palette["paper"]) >= 3, name
    for step in ("n3", "n2", "n1", "p0", "p1", "p2", "p3"):
        assert contrast(palette["ink"], palette[step]) >= 4.5, step
    for step in ("n4", "p4", "real"):
        assert contrast(palette["paper"], palette[step]) >= 4.5, step


def test_the_style_sheet_has_light_dark_and_print():
    light, dark = svg.STYLE.split("@media (prefers-color-scheme:dark)")
    dark, paper = dark.split("@media print")
    assert _LIGHT["paper"] in light
    assert _DARK["paper"] in dark
    assert _LIGHT["paper"] in paper
    assert _DARK.keys() == _LIGHT.keys()
    assert svg.STYLE.count("{") == svg.STYLE.count("}")
    assert not re.search(r"url\(|@import|</", svg.STYLE)
