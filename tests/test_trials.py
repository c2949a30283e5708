"""The trials of benchmarks/, on which the statements about power and coverage rest."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from power import Outcomes
from trials import Setting, Trial, chosen, run, split_of

from tabveil.metrics import defaults
from tabveil.risks import Noisy
from tabveil.table import Categorical, Numeric, Schema, Table

SCHEMA = Schema(
    (
        Numeric(name="income", low=0, high=100),
        Numeric(name="age", low=0, high=99, decimals=0),
        Categorical(name="region", labels=tuple("abcd")),
        Categorical(name="planet", labels=("earth",)),
    )
)


def people(n_rows, *, seed):
    rng = np.random.default_rng(seed)
    columns = [
        rng.uniform(0, 100, n_rows),
        rng.integers(0, 100, n_rows),
        rng.integers(0, 4, n_rows),
        np.zeros(n_rows),
    ]
    values = np.column_stack(columns).astype(float)
    values[::10, 1:3] = np.nan
    values[5::100, 0] = np.nan
    return Table(schema=SCHEMA, values=values)


def is_in(table, other):
    return np.isin(table.row_hash(), other.row_hash())


def test_ranges_are_those_of_the_three_tables_together():
    train, control, synthetic = (people(n_rows, seed=n_rows) for n_rows in (40, 10, 20))
    split = split_of(train, control, synthetic)
    incomes = np.concatenate([table.column("income") for table in (train, control, synthetic)])
    assert split.schema["income"].low == np.nanmin(incomes) > 0
    assert split.schema["income"].high == np.nanmax(incomes) < 100
    assert split.schema["region"] == SCHEMA["region"]
    empty = Table(schema=SCHEMA, values=np.full((3, 4), np.nan))
    assert split_of(empty, empty, empty).schema == SCHEMA


def test_trials_are_disjoint_and_the_same_for_every_setting():
    trial = Trial(table=people(300, seed=1), n_rows=90, settings=(), metrics=())
    leak, small = (
        trial.split(Setting(name="leak", leak=0.5), 3),
        trial.split(Setting(name="small", control=1 / 3), 3),
    )
    assert np.array_equal(leak.train.values, small.train.values, equal_nan=True)
    assert (len(leak.control), len(small.control), len(small.synthetic)) == (90, 30, 90)
    assert not is_in(leak.control, leak.train).any()
    assert not is_in(small.synthetic, small.train).any()
    assert is_in(leak.synthetic, leak.train).sum() == 45


def test_noise_moves_the_very_rows_that_would_leak_without_it():
    trial = Trial(table=people(300, seed=1), n_rows=90, settings=(), metrics=())
    plain = trial.split(Setting(name="leak", leak=0.5), 3)
    noisy = trial.split(Setting(name="noise", leak=0.5, risk=Noisy(sigma=0.01, lam=0, p=0)), 3)
    leaked = is_in(plain.synthetic, plain.train)
    assert np.array_equal(plain.synthetic.values[~leaked], noisy.synthetic.values[~leaked], equal_nan=True)
    by = (noisy.synthetic.values - plain.synthetic.values)[leaked]
    assert np.nanmax(np.abs(by[:, 0])) < 5 * 0.3  # deviations of the noise, a hundredth of the column's 29
    assert np.count_nonzero(by[:, 0]) > 40
    assert not np.nan_to_num(by[:, 1:]).any()


def test_seeds_run_in_processes_and_answer_in_order():
    settings = (Setting(name="leak", leak=0.5), Setting(name="none"))
    trial = Trial(table=people(300, seed=1), n_rows=90, settings=settings, metrics=("identical_match_share",))
    found = run(trial, 2, processes=1)
    assert found["seed"].tolist() == [0, 0, 1, 1]
    assert found["risk"].tolist() == [0.5, 0.0, 0.5, 0.0]
    assert (found["low"] <= found["risk"]).all()


def test_every_default_metric_is_run_unless_some_are_named():
    assert chosen(None) == defaults()
    assert chosen(["mmd"]) == ("mmd",)
    with pytest.raises(SystemExit, match="Unknown metric 'mdm'"):
        chosen(["mdm"])


def test_numbers_for_the_pages_of_metrics_leave_out_what_has_no_answer():
    answers = [("1%", 0.1, 0.05), ("1%", 0.3, -0.1), ("2%", np.nan, np.nan)]
    rows = [("mmd", *answer) for answer in answers]
    found = Outcomes(risks=pd.DataFrame(rows, columns=["metric", "setting", "risk", "low"]))
    numbers = found.numbers("mmd", ["1%", "2%", "5%"])
    assert numbers == {"1%": {"risk": pytest.approx(0.2), "detected": 0.5}}
