"""The smallest leak that would have been seen: filled, hatched or empty cells."""

import pytest
from supplies.charts import description, of_class, texts

from tabveil.render import svg
from tabveil.render.svg import PowerRow


def test_cells_are_filled_hatched_or_empty_and_the_smallest_leak_is_framed():
    trials = [(0.01, 0, 20), (0.02, 9, 20), (0.05, 19, 20)]
    drawn = svg.power([PowerRow(label="Linkability", smallest=0.05, trials=trials)])
    counts = {
        kind: len(of_class(drawn, kind)) - 1 for kind in ("sure", "hatch", "ring")
    }  # the legend has one
    assert counts == {"sure": 1, "hatch": 1, "ring": 1}
    assert len(of_class(drawn, "firm")) == 2 + 2  # frames of what is not sure, and the legend's
    assert {"0%", "45%", "95%", "≥ 5%"} <= set(texts(drawn))
    assert texts(drawn).count("–") == 2 + 1  # 10 % and 20 % were not tried
    ring = of_class(drawn, "ring")[0]
    assert float(ring.get("x")) == pytest.approx(166 + 2 * (440 - 166 - 58) / 5 + 0.5, abs=0.06)
    assert "Linkability detects as its smallest leak 5.00%: 1% seen 0 of 20 times" in description(drawn)


def test_power_without_an_answer_says_why():
    rows = [
        PowerRow(label="a", smallest=None, trials=[], reason="Too few control rows."),
        PowerRow(label="b", smallest=None, trials=[(0.2, 3, 20)]),
    ]
    drawn = svg.power(rows)
    assert {"Too few control rows.", "none"} <= set(texts(drawn))
    assert description(drawn) == (
        "a: Too few control rows. b detects none of the leaks tried: 20% seen 3 of 20 times."
    )
