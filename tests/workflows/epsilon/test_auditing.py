"""Audits of ε: promises kept and broken by generators whose truth is known, and by ours."""

import json
import re
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from supplies.mechanisms import Answer, NoisyCount, Told
from supplies.places import ROOT

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.core.workers import working
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.workflows.epsilon import EpsilonFinding, Worlds, audit_epsilon, equal_rows
from tabveil.workflows.epsilon.bounds import Guess
from tabveil.workflows.epsilon.worlds import DEFAULT, SETUPS, setup_of
from tabveil.workflows.synthesizing.learning import is_private

sys.path.insert(0, str(ROOT / "benchmarks"))

from broken_generators import OFF, broken

QUICK_AIM = {"rounds": 8, "iterations": 20}


def audit(generator, **given):
    return audit_epsilon(generator, **{"fits": 400, "seed": 1, "rows": 1000, **given})


# Worlds


@pytest.mark.parametrize("setup", [*SETUPS.values(), DEFAULT])
def test_worlds_differ_by_exactly_one_row(setup):
    worlds = setup.worlds
    np.testing.assert_array_equal(worlds.with_canary.values[:-1], worlds.without.values)
    np.testing.assert_array_equal(worlds.with_canary.values[-1], worlds.canary)
    assert not np.isin(worlds.canary, worlds.without.values).any()


def test_every_generator_with_a_promise_has_a_setup():
    assert {name for name, kind in GENERATORS.items() if is_private(kind())} <= set(SETUPS)


def test_what_a_release_shows_by_hand():
    worlds = equal_rows(2, n_columns=2)
    rows = Table(
        schema=worlds.without.schema, values=np.array([[0, 0], [1, 0], [1, 1], [np.nan, 1], [1, 1]], float)
    )
    assert worlds.observe(rows).tolist() == [1, 1, 1, 2]
    assert worlds.n_figures == 4


def test_numbers_missing_values_and_many_columns_are_compared_too():
    schema = Schema(
        (
            Numeric(name="x", low=0, high=40),
            Categorical(name="a", labels=("p", "q")),
            *(Categorical(name=f"c{i}", labels=("0", "1")) for i in range(5)),
        )
    )
    canary = np.array([20, np.nan, 1, 1, 1, 1, 1])
    worlds = Worlds(without=Table(schema=schema, values=np.zeros((3, 7))), canary=canary)
    rows = np.array([[21, np.nan, 1, 0, 0, 0, 0], [21.1, 0, 1, 1, 1, 1, 1]])
    shown = worlds.observe(Table(schema=schema, values=rows))
    assert shown.tolist() == [1, 1, 2, 1, 1, 1, 1, *[0, 0, 0, 1, 0, 1, 0, 0]]
    assert len(shown) == worlds.n_figures


def test_a_canary_that_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="canary must have 3 cells"):
        Worlds(without=equal_rows(2).without, canary=np.ones(2))
    with pytest.raises(ParameterError, match="there must be rows"):
        Worlds(without=equal_rows(0).without, canary=np.ones(3))


# The guess


def test_the_threshold_is_where_hits_exceed_false_alarms_most():
    high, low = np.array([[1], [5], [6], [7]]), np.array([[0], [1], [2], [6]])
    guess = Guess.learn(high, low)
    counts = guess.count(high, low)
    assert (counts.hits, counts.false_alarms) == (3, 1)
    assert guess.scores(np.array([[2]]))[0] < guess.threshold < guess.scores(np.array([[5]]))[0]


def test_releases_that_are_all_equal_give_no_guess():
    same = np.full((6, 3), 4)
    guess = Guess.learn(same, same)
    assert guess.count(same, same).hits == 0
    assert guess.area(same, same, 0.9).value == 0.5


# Promises whose truth is known


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_promise_that_is_kept_is_not_called_violated(epsilon):
    states = [audit(NoisyCount(epsilon=epsilon), accounting="gaussian", seed=seed).state for seed in range(5)]
    assert "violated" not in states
    assert states.count("no violation seen") >= 4


def test_halved_noise_is_a_violation_by_gaussian_bounds():
    found = audit(NoisyCount(epsilon=4.0, noise=0.5), accounting="gaussian")
    assert found.state == "violated"
    assert found.exit_code == 1
    assert 4 < found.proven < 10
    # The same fits prove nothing of a mechanism about which nothing is known; they raise a doubt.
    doubt = audit(NoisyCount(epsilon=4.0, noise=0.5), accounting="any")
    assert doubt.state == "inconclusive"
    assert doubt.exit_code == 3
    assert doubt.bounds == found.bounds
    assert "no proof for this mechanism" in str(doubt)


def test_noise_that_is_off_is_a_violation_whatever_the_mechanism():
    found = audit(NoisyCount(epsilon=1.0, noise=0.0))
    assert found.state == "violated"
    assert found.proven == found.ceiling
    assert found.area.value == 1


def test_a_lie_told_too_rarely_is_a_violation():
    kept, broken = audit(Told(epsilon=1.0), epsilon=1.0), audit(Told(epsilon=3.0), epsilon=1.0)
    assert (kept.state, broken.state) == ("no violation seen", "violated")
    assert kept.delta == 0
    assert set(kept.bounds) == {"any"}
    assert kept.by_area is None
    assert 1 < kept.detectable < 3
    assert 1 < broken.proven < 3


def test_too_few_fits_are_said_to_be_too_few():
    found = audit(NoisyCount(epsilon=4.0, noise=4.0), fits=20)
    assert found.state == "inconclusive"
    assert found.ceiling < 4
    assert found.detectable is None
    assert "So few fits" in str(found)


def test_more_fits_see_smaller_violations():
    few, many = (audit(NoisyCount(), accounting="gaussian", fits=fits) for fits in (100, 1000))
    assert few.ceiling < many.ceiling
    assert 1 < many.detectable < few.detectable


# What an audit must not do


def test_a_release_with_as_many_rows_as_were_learned_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Sized(NoisyCount):
        name: ClassVar[str] = "sized"

        def fit(self, table, *, rng):
            @dataclass(frozen=True, kw_only=True, eq=False)
            class AsMany(Answer):
                def sample(self, n_rows, *, rng):
                    return Table(schema=self.schema, values=np.zeros((len(table), len(self.schema))))

            return AsMany(name=self.name, schema=table.schema, value=0.0)

    with pytest.raises(ParameterError, match="as many rows whatever was learned"):
        audit(Sized(), fits=10)


def test_every_fit_has_a_seed_of_its_own():
    seen = []

    @dataclass(frozen=True, kw_only=True)
    class Listening(NoisyCount):
        name: ClassVar[str] = "listening"

        def fit(self, table, *, rng):
            seen.append(rng.integers(2**62))
            return super().fit(table, rng=rng)

    audit(Listening(), fits=20)
    assert len(set(seen)) == len(seen) == 40
    audit(Listening(), fits=20)
    assert seen[:40] == seen[40:]  # the same seed repeats an audit
    audit(Listening(), fits=20, seed=None)
    audit(Listening(), fits=20, seed=None)
    assert len(set(seen)) == 40 + 80  # secret ones do not


def test_ctrl_c_within_a_fit_ends_the_audit_though_generators_keep_what_they_have():
    @dataclass(frozen=True, kw_only=True, eq=False)
    class Half(Answer):
        notes: tuple = (INTERRUPTED,)

    @dataclass(frozen=True, kw_only=True)
    class Interrupted(NoisyCount):
        name: ClassVar[str] = "interrupted"

        def fit(self, table, *, rng):
            return Half(name=self.name, schema=table.schema, value=0.0)

    with pytest.raises(KeyboardInterrupt):
        audit(Interrupted(), fits=10)


def test_a_fit_that_fails_is_told_in_one_line():
    @dataclass(frozen=True, kw_only=True)
    class Failing(NoisyCount):
        name: ClassVar[str] = "failing"

        def fit(self, table, *, rng):
            raise ZeroDivisionError("secret 42")

    with pytest.raises(ParameterError) as refused:
        audit(Failing(), fits=10)
    assert str(refused.value) == "failing: a fit failed with ZeroDivisionError."


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"fits": 1}, "audit_epsilon: fits must be >= 2"),
        ({"alpha": 0}, "audit_epsilon: alpha must"),
        ({"rows": 0}, "audit_epsilon: rows must be >= 1"),
        ({"epsilon": -1.0}, "audit_epsilon: epsilon must"),
        ({"delta": 1.0}, "audit_epsilon: delta must"),
        ({"accounting": "renyi"}, "audit_epsilon: accounting must"),
        ({"accounting": "gaussian", "delta": 0.0}, "audit_epsilon: accounting 'gaussian' needs a delta"),
        ({"workers": 0}, "audit_epsilon: workers must be >= 1"),
        ({"settings": {"noise": 2}}, "synthesize: settings belong"),
    ],
)
def test_wrong_parameters_are_refused(given, complaint):
    with pytest.raises(ParameterError) as refused:
        audit(NoisyCount(), **given)
    assert str(refused.value).startswith(complaint)


def test_a_promise_must_be_known():
    with pytest.raises(ParameterError, match="epsilon must be given; trees has no such setting"):
        audit("trees")
    with pytest.raises(ParameterError, match="no generator 'aimm'"):
        audit("aimm", epsilon=1.0)


# Keeping what is done


def test_an_audit_goes_on_where_it_was(tmp_path):
    fitted = []

    @dataclass(frozen=True, kw_only=True)
    class Counted(NoisyCount):
        name: ClassVar[str] = "counted"

        def fit(self, table, *, rng):
            fitted.append(1)
            if len(fitted) == 35:
                raise KeyboardInterrupt
            return super().fit(table, rng=rng)

    with pytest.raises(KeyboardInterrupt):
        audit(Counted(), fits=40, store=tmp_path)
    resumed = audit(Counted(), fits=40, store=tmp_path)
    assert len(fitted) == 35 + 60  # one chunk of ten in both worlds was done and kept
    again = audit(Counted(), fits=40, store=tmp_path)
    assert len(fitted) == 35 + 60
    assert resumed == again == audit(Counted(), fits=40)
    audit(Counted(epsilon=2.0), fits=40, store=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2  # another promise, another place


def test_fits_stand_where_earlier_versions_looked_for_them(tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(
        "tabveil.workflows.epsilon.auditing.digest", lambda decisive, **_: asked.update(decisive) or "here"
    )
    audit("aim", epsilon=2.0, fits=2, rows=20, settings=QUICK_AIM, store=tmp_path)
    assert asked["generator"] == "tabveil.generators.aim.synthesizer.Aim"
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["fits-000000.json"]


def test_a_damaged_file_is_named_and_made_again(tmp_path):
    found = audit(NoisyCount(), fits=10, store=tmp_path)
    (file,) = tmp_path.glob("*/*.json")
    whole, told = file.read_text(), []
    for text in ("[[1]]", "{", "[]", '"x"', '{"counts": [[1]]}'):
        file.write_text(text)
        with working(warned=told.append):
            assert audit(NoisyCount(), fits=10, store=tmp_path) == found
        assert file.read_text() == whole
    assert len(told) == 5
    assert all(
        re.search(r"fits-000000\.json cannot be read \(.*\): it is made again\.", line) for line in told
    )


def test_progress_is_told():
    heard = []
    audit(NoisyCount(), fits=30, progress=lambda doing, share: heard.append((doing, share)))
    assert heard[0] == ("0 of 60 fits", 0.0)
    assert heard[-1] == ("60 of 60 fits", 1.0)


def test_several_processes_find_the_same():
    found = [audit("aim", epsilon=2.0, fits=30, rows=20, settings=QUICK_AIM, workers=n) for n in (1, 2)]
    assert found[0] == found[1]


def test_a_finding_is_plain_data():
    found = audit(NoisyCount(), fits=20)
    again = EpsilonFinding.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert again.state == found.state


# Ours, and ours broken


def test_settings_of_a_setup_give_way_to_those_asked_for():
    pytest.importorskip("torch", reason="the extra 'deep' is not installed")
    found = audit("pategan", epsilon=2.0, delta=1e-4, fits=2, settings={"n_teachers": 3})
    assert found.settings["n_teachers"] == 3
    assert found.settings["iterations"] == SETUPS["pategan"].settings["iterations"]
    assert (found.settings["epsilon"], found.settings["delta"]) == (2.0, 1e-4)
    assert found.accounting == "gaussian"


def test_votes_with_other_noise_have_another_account():
    assert setup_of(PateGan(teachers="networks")).accounting == "any"
    assert setup_of(PateGan()).accounting == "gaussian"
    assert setup_of(NoisyCount()) is DEFAULT


def audit_ours(name, *, epsilon, fits, **how):
    """Audit one of our private generators, perhaps broken."""
    if name != "aim":
        pytest.importorskip("opacus", reason="the extra 'deep' is not installed")
    return audit(
        broken(name, epsilon=epsilon, delta=1e-5, **how), fits=fits, rows=100, setup=SETUPS[name], workers=1
    )


OURS = list(SETUPS)


@pytest.mark.parametrize("name", OURS)
def test_our_generators_break_no_promise(name):
    found = audit_ours(name, epsilon=2.0, fits=60)
    assert found.state != "violated"
    assert found.proven < 2


@pytest.mark.parametrize("name", OURS)
def test_without_noise_ours_are_caught(name):
    found = audit_ours(name, epsilon=1.0, fits=120, noise_share=OFF)
    assert found.state == "violated"
    assert found.proven > 1


@pytest.mark.parametrize("name", OURS)
def test_labels_read_from_the_rows_are_caught(name):
    found = audit_ours(name, epsilon=1.0, fits=60, reads_domain=True)
    assert found.state == "violated"
    assert found.bounds["any"] > 1
