"""The benchmark of promises audits every promise there is, beside controls that keep half of it."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from supplies.places import ROOT

from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.hybrid import TRANSITIONS, read_transition
from tabveil.workflows.synthesizing.learning import is_private

pytest.importorskip("opacus", reason="the extra 'deep' is not installed")
sys.path.insert(0, str(ROOT / "benchmarks"))

import epsilon
import mechanisms

BY_ANSWERS = [promise for promise in epsilon.PROMISES if promise.looked_at != "rows of whole fits"]


def test_no_promise_is_left_out():
    private = {name for name, kind in GENERATORS.items() if is_private(kind())}
    noisy = {name for name in TRANSITIONS if read_transition(name).covers}
    assert {promise.name for promise in epsilon.PROMISES} == private | noisy | {"hybrid"}


@pytest.mark.parametrize("promise", BY_ANSWERS, ids=lambda promise: promise.what)
def test_what_is_promised_is_kept_and_half_the_noise_tells_more(promise):
    few = replace(promise, runs=min(promise.runs, 20_000 if promise.name != "noisy_conditional" else 400))
    what, *_, kept, halved, _ = epsilon.every(few)
    assert what == promise.what
    assert float(kept) <= promise.epsilon
    assert float(halved) > float(kept)


@pytest.mark.parametrize("promise", epsilon.PROMISES, ids=lambda promise: promise.what)
def test_every_audit_runs(promise):
    assert promise.proven(promise, 0.5, 20) >= 0


def test_page_has_a_line_for_every_promise():
    told = epsilon.EVERY.read_text(encoding="utf-8")
    for promise in epsilon.PROMISES:
        start = f"| {promise.what} | {promise.looked_at} | {promise.runs:,} | {promise.epsilon:g} |"
        assert start in told
    assert "**broken**" not in told


def test_the_control_of_sampling_takes_twice_the_epsilon():
    delta = epsilon.OF_CLASSES["delta"]
    stated = [
        mechanisms.least_epsilon(mechanisms.K, beta, delta)
        for beta in (mechanisms.BETA, mechanisms.beta_behind(0.5, delta))
    ]
    assert stated[1] == pytest.approx(2 * stated[0], rel=0.02)
    exact = [
        mechanisms.exact_epsilon(beta, delta)
        for beta in (mechanisms.BETA, mechanisms.beta_behind(0.5, delta))
    ]
    assert exact[0] <= stated[0] <= 1.0 < exact[1] <= stated[1]


def test_a_bound_is_found_in_either_direction():
    """Where a row shows by what is rarer with it, whoever guesses the other way round proves the same."""
    half = np.repeat([0.0, 1.0], 1000)
    sides = (half, np.zeros(2000)), (np.ones(2000), half)
    bounds = [epsilon.bound(*each, "any", 0.0) for each in sides]
    assert min(bounds) > 4
