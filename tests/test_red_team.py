"""Releases that leak for certain are called above, or their control is refused; clean ones are not above.

Small versions of what ``benchmarks/red_team.py`` tries at size, on tables made in code.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from supplies.places import ROOT

from tabveil import audit
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN

sys.path.insert(0, str(ROOT / "benchmarks"))

import red_team
import verdicts
from releases import CONSTRUCTIONS, MISSING, draw
from releases.columns import only
from releases.rows import but_for_one_known, copied

DRAWS = 2
NAMED = {item.name: item for item in CONSTRUCTIONS}
MANY, FEW = (400, 400, 400), (250, 250, 250)

CAUGHT = [
    ("release-of-50", "hospital", MANY),
    ("one-column-twice", "hospital", MANY),
    ("unique-cost", "hospital", MANY),
    ("thirds", "hospital", MANY),
    ("moved-dates", "hospital, times", MANY),
    ("decimals", "12 numbers", MANY),
    ("10-of-60", "60 numbers", FEW),
    ("10-of-60-rounded", "60 numbers", FEW),
    ("times-100", "12 numbers", MANY),
    ("mirrored", "12 numbers", MANY),
    ("absurd-row", "12 numbers", MANY),
    ("order-1", "hospital", MANY),
    ("order-3", "hospital", MANY),
    ("order-of-half", "hospital", MANY),
    ("letters", "letters", FEW),
    ("names-in-letters", "letters, addressed", FEW),
    ("case-numbers", "hospital, cases", MANY),
    ("case-integers", "hospital, cases", MANY),
    ("case-person", "hospital, cases", MANY),
    ("case-person-integers", "hospital, cases", MANY),
    ("aged-50", "hospital", MANY),
    ("bad-control", "hospital", (800, 400, 800)),
    ("visits-10", "visits", (200, 200, 200)),
]
REFUSED = [
    ("both-27", "hospital", MANY),
    ("both-100", "hospital", MANY),
    ("both-noisy", "hospital", MANY),
    ("control-is-release", "hospital", MANY),
    ("visits-on-both-sides", "visits", (240, 1, 120)),
]
CLEAN = [
    ("fresh", "hospital", MANY),
    ("fresh-unequal", "hospital", (800, 80, 600)),
    ("fresh-tiny", "hospital", (20, 20, 20)),
    ("fresh-three-columns", "hospital, 3 columns", MANY),
    ("fresh-times-100", "12 numbers", MANY),
    ("fresh-absurd", "12 numbers", MANY),
    ("fresh-sorted", "hospital", MANY),
    ("fresh-numbered", "hospital", MANY),
    ("fresh-letters", "letters, addressed", FEW),
    ("fresh-visits", "visits", (200, 200, 200)),
    ("twins-together", "hospital", MANY),
]


def judged(make, table, sizes, seed, **asked):
    people = draw(table, sizes, seed)
    release = make(people, np.random.default_rng(seed))
    return audit(
        people.train if release.train is None else release.train,
        release.synthetic,
        people.control if release.control is None else release.control,
        missing=MISSING,
        advice=False,
        threads=1,
        seed=seed,
        **release.options,
        **asked,
    ).verdict


@pytest.mark.parametrize("seed", range(DRAWS))
@pytest.mark.parametrize(("name", "table", "sizes"), CAUGHT)
def test_a_leak_is_called_above(name, table, sizes, seed):
    found = judged(NAMED[name].make, table, sizes, seed)
    assert found.state == ABOVE, found.sentence


@pytest.mark.parametrize("seed", range(DRAWS))
@pytest.mark.parametrize(("name", "table", "sizes"), REFUSED)
def test_a_control_that_was_not_held_out_is_refused(name, table, sizes, seed):
    found = judged(NAMED[name].make, table, sizes, seed)
    assert found.state == ABOVE or (found.state == INCONCLUSIVE and found.control), found.sentence


@pytest.mark.parametrize("seed", range(DRAWS))
def test_copies_but_for_one_column_are_called_above(seed):
    found = judged(but_for_one_known(0.05), "hospital", MANY, seed)
    assert found.state == ABOVE, found.sentence


def test_a_value_of_everybody_is_called_above_beyond_what_descriptions_are_drawn():
    make = only(lambda *_: ["cost"])
    found = judged(make, "hospital, 3 columns", (45_000, 5_000, 45_000), seed=0, metrics=["singling_out"])
    assert found.state == ABOVE, found.sentence


@pytest.mark.parametrize("seed", range(DRAWS))
def test_a_risk_is_above_only_where_what_was_measured_is(seed):
    found = judged(copied(0.02), "hospital", (700, 700, 700), seed)
    for risk in found.risks:
        measured = [item.gain for item in risk.metrics if item.leak_seen and item.gain is not None]
        assert risk.state != ABOVE or any(max(gain.value, gain.low) > risk.threshold for gain in measured)


@pytest.mark.parametrize(("name", "table", "sizes"), CLEAN)
def test_a_clean_release_is_not_called_above(name, table, sizes):
    found = judged(NAMED[name].make, table, sizes, seed=0)
    assert found.state != ABOVE, found.sentence


# The studies themselves


def test_there_are_enough_constructions():
    assert len(NAMED) == len(CONSTRUCTIONS), "a name twice"
    assert sum(item.leaks for item in CONSTRUCTIONS) >= 60
    assert sum(not item.leaks for item in CONSTRUCTIONS) >= 15


def cell(state, **given):
    return {"state": state, "exposure": 0.1, "seen": [], "reasons": [], "seconds": 1.0, **given}


def test_what_escapes_is_listed_by_the_page_itself():
    leaky, refused, clean = NAMED["copies-2"], NAMED["both-27"], NAMED["fresh-twice"]
    page = red_team.page(
        {
            (leaky.name, "adult", 0): cell(ABOVE, seen=[["copies", 0.001, 0.1]]),
            (leaky.name, "adult", 1): cell(WITHIN),
            (refused.name, "adult", 0): cell(red_team.REFUSED, control=["No."]),
            (clean.name, "adult", 0): cell(INCONCLUSIVE, reasons=["too few rows to tell"], exposure=0.0),
        }
    )
    escaped = page[page.index("## What still escapes") : page.index("## Clean releases")]
    assert leaky.what in escaped
    assert refused.what not in escaped
    assert "above 1 of 2, within 1 of 2" in escaped
    assert "Caught in every draw: 1 of 2" in page
    assert "Called *within* although they leak: 1 of 3 draws" in page
    assert "Clean releases called *above*: 0 of 1 draws" in page


def test_a_page_without_escapes_says_so():
    page = red_team.page({("copies-2", "adult", 0): cell(ABOVE, seen=[["copies", 0.001, 0.1]])})
    assert "Nothing of what is listed here" in page


def test_the_study_of_verdicts_counts_what_is_wrong(tmp_path):
    risk = {"state": WITHIN, "reason": "", "value": 0.0, "high": 0.03, "bounding": "inference"}
    told = {
        "control": [],
        "risks": dict.fromkeys(verdicts.RISKS, risk),
        "seen": [],
        "copies": [WITHIN, False, ""],
        "traces": {},
        "p_values": {"inference": 0.5},
        "judged": 11,
        "seconds": 1.0,
    }
    page = verdicts.page(
        {
            ("adult", 200, "clean", 0): {**told, "state": ABOVE},
            ("adult", 200, "clean", 1): {**told, "state": WITHIN},
            ("adult", 200, "noisy", 0): {**told, "state": WITHIN},
            ("adult", 200, "noisy", 1): {**told, "state": INCONCLUSIVE, "seen": ["inference"]},
        }
    )
    assert "called *above*: 1 of 2." in page
    assert "called *within*: 1 of 2." in page
    assert "| 200 | 2 | 50% | 50% | 0% | 0% | `inference` 1 |" in page
    assert "Called within:" in page
    assert "| `inference` | 8 | 2 |" in page


def test_what_chance_explains_least_is_named_first():
    gain = SimpleNamespace(value=0.2)
    attacks = [
        SimpleNamespace(metric=name, title=title, state=state, gain=gain)
        for name, title, state in (("a", "One", ABOVE), ("b", "Two", ABOVE), ("c", "Three", WITHIN))
    ]
    trace = SimpleNamespace(title="Letters", name="letters", p_value=0.01, share=0.5)

    class Found(dict):
        verdict = SimpleNamespace(
            risks=[SimpleNamespace(metrics=attacks)],
            copies=None,
            traces=[SimpleNamespace(state=ABOVE, found=trace)],
        )

    p_values = {"a": 0.02, "b": 1e-6, "c": 1e-9}
    found = Found({key: SimpleNamespace(p_value=value) for key, value in p_values.items()})
    assert [name for name, *_ in red_team.seen_by(found)] == ["Two", "Letters", "One"]
