"""AIM: levels, accounting, the rounds, and an audit of the promise itself."""

import numpy as np
import pytest
from scipy.stats import beta
from supplies.generator_tables import rng

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError
from tabveil.synthesis import generators
from tabveil.synthesis.generators import load_model
from tabveil.synthesis.generators.aim import rounds as aim_rows
from tabveil.synthesis.generators.aim import zcdp
from tabveil.synthesis.generators.aim.graphical import believe
from tabveil.synthesis.generators.aim.rounds import PrivateRows, RoundBudget, candidates_of
from tabveil.synthesis.generators.aim.synthesizer import Aim
from tabveil.tables.matrices.bins import Levels

QUICK = {"iterations": 20}


def labels(name, n):
    return Categorical(name=name, labels=tuple(f"{name}{i}" for i in range(n)))


def table_of(*columns):
    """Each a column and its cells."""
    return Table(
        schema=Schema(tuple(column for column, _ in columns)),
        values=np.column_stack([np.asarray(cells, dtype=float) for _, cells in columns]),
    )


AGE = Numeric(name="age", low=10, high=20, decimals=0)


# Levels


def test_levels_of_declared_columns_do_not_depend_on_rows():
    full, empty = (table_of((AGE, cells), (labels("b", 2), [0, 1])) for cells in ([10, 11], [np.nan, np.nan]))
    declared = [Aim(public=("age", "b")).fit(rows, rng=rng()).levels for rows in (full, empty)]
    assert [[len(item) for item in found] for found in declared] == [[12, 3], [12, 3]]
    read = [Aim().fit(rows, rng=rng()).levels for rows in (full, empty)]
    assert [[len(item) for item in found] for found in read] == [[11, 2], [1, 2]]


# Accounting

SETTINGS = [
    (0.1, 1e-9, 3),
    (0.5, 1e-5, 10),
    (1.0, 1e-9, 1),
    (1.0, 1e-9, 27),
    (1.0, 1e-5, 100),
    (2.0, 1e-6, 5),
    (3.0, 1e-5, 50),
    (5.0, 1e-9, 12),
    (10.0, 1e-9, 40),
    (50.0, 1e-6, 8),
]


@pytest.mark.parametrize(("epsilon", "delta", "n"), SETTINGS)
def test_the_stated_epsilon_is_above_that_of_the_exact_accountant(epsilon, delta, n):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    sigma = zcdp.sigma_for(zcdp.rho_of(epsilon, delta) / n)
    noise = pld.from_gaussian_mechanism(sigma / n**0.5, value_discretization_interval=1e-3)  # n of them
    exact = noise.get_epsilon_for_delta(delta)
    assert 0.75 * epsilon < exact <= epsilon
    assert zcdp.epsilon_of(n * zcdp.of_gaussian(sigma), delta) == pytest.approx(epsilon, rel=1e-6)


def test_counts_and_choices_add_up_as_the_reference_says():
    accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    costs = [zcdp.of_gaussian(20.0)] * 10 + [zcdp.of_choice(0.1)] * 10
    accountant = rdp.RdpAccountant(np.linspace(1.01, 200, 5000))
    for cost in costs:
        accountant.compose(accounting.ZCDpEvent(rho=cost))
    assert zcdp.epsilon_of(sum(costs), 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-3)


def test_what_is_spent_is_the_budget_and_not_more():
    table = table_of((labels("a", 3), rng(0).integers(3, size=300)), (AGE, rng(1).integers(10, 21, 300)))
    for settings in ({"rounds": 5}, {"epsilon": 0.1}, {"epsilon": 20.0}):
        levels = tuple(Levels.of(c, 20, has_values=True, has_missing=True) for c in table.schema.columns)
        rounds = Aim(**settings, **QUICK)._rounds(table, levels, rng=rng())
        assert not rounds.run()
        assert rounds.rows.spent == pytest.approx(rounds.budget.rho, rel=1e-9)


def test_a_budget_is_laid_out_as_in_the_paper():
    budget = RoundBudget.over(0.5, 16)
    assert budget.sigma == pytest.approx((16 / (2 * 0.9 * 0.5)) ** 0.5)
    assert budget.epsilon == pytest.approx((8 * 0.1 * 0.5 / 16) ** 0.5)
    budget.prepare(0.5 - 1.9 * 0.5 / 16)  # not enough for two rounds
    assert budget.last
    assert zcdp.of_gaussian(budget.sigma) + zcdp.of_choice(budget.epsilon) == pytest.approx(1.9 * 0.5 / 16)


def test_weights_are_the_columns_shared_with_the_workload():
    levels = [Levels.of(labels(name, 2), 5, has_values=True, has_missing=False) for name in "abc"]
    single = Levels.of(labels("d", 1), 5, has_values=True, has_missing=False)
    found = candidates_of([(0, 1), (0, 2, 3)], (*levels, single))
    assert found == {(0,): 2, (1,): 1, (2,): 1, (0, 1): 3, (0, 2): 3}


def test_choices_have_the_chances_of_the_exponential_mechanism():
    rows = PrivateRows(
        table=table_of((labels("a", 2), [0] * 8), (labels("b", 2), [0] * 6 + [1] * 2)),
        levels=tuple(Levels.of(labels(name, 2), 5, has_values=True, has_missing=False) for name in "ab"),
        rng=rng(),
    )
    beliefs = believe((2, 2), {(0,): np.zeros(2), (1,): np.zeros(2)})  # 4 and 4 of each: errors of 8 and 4
    asked = {"total": 8.0, "sigma": 1.0, "epsilon": 0.5}
    candidates = {(0,): 1.0, (1,): 2.0}
    chosen = [rows.choose(candidates, lambda _: True, beliefs, **asked) for _ in range(3000)]
    penalty = (2 / np.pi) ** 0.5 * 2
    scores = 0.5 / (2 * 2) * np.array([8 - penalty, 2 * (4 - penalty)])
    chance = np.exp(scores[0]) / np.exp(scores).sum()
    assert np.mean([columns == (0,) for columns in chosen]) == pytest.approx(chance, abs=0.03)
    assert rows.spent == pytest.approx(3000 * 0.5**2 / 8)
    only = rows.choose(candidates, lambda columns: columns == (1,), beliefs, **asked)
    assert only == (1,)


# The promise


def epsilon_found(with_it, without, delta):
    """Lower bound (95 %) of ε: the threshold is chosen on one half of the runs, judged on the other."""
    half = len(with_it) // 2

    def bound(threshold, ins, outs):
        hits, alarms, n = np.sum(ins > threshold), np.sum(outs > threshold), len(ins)
        true = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
        false = beta.ppf(0.975, alarms + 1, n - alarms) if alarms < n else 1.0
        return np.log(max(true - delta, 1e-12) / false)

    thresholds = np.unique(np.concatenate([with_it[:half], without[:half]]))
    best = max(thresholds, key=lambda threshold: bound(threshold, with_it[:half], without[:half]))
    return bound(best, with_it[half:], without[half:])


def audited(monkeypatch, *, weaken, runs=240, epsilon=1.0, delta=1e-3):
    """Fit with and without one person of whom nothing is known; watch all noisy counts of such people."""
    sound = aim_rows.add_noise
    heard = []

    def overheard(counts, sigma, *, rng):
        noisy = sound(counts, sigma / weaken, rng=rng)
        heard.append(noisy.ravel()[-1] / sigma**2)  # where all columns are missing
        return noisy

    monkeypatch.setattr(aim_rows, "add_noise", overheard)
    columns = labels("a", 2), labels("b", 2)
    usual = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], (5, 1))
    synthesizer = Aim(epsilon=epsilon, delta=delta, public=("a", "b"), iterations=3)
    found = []
    for extreme in ([[np.nan, np.nan]], np.empty((0, 2))):
        table = Table(schema=Schema(columns), values=np.vstack([usual, extreme]))
        sums = []
        for run in range(runs):
            heard.clear()
            synthesizer.fit(table, rng=rng([run, len(table)]))
            sums.append(sum(heard))
        found.append(np.array(sums))
    return epsilon_found(*found, delta)


def test_an_attacker_learns_no_more_than_stated(monkeypatch):
    assert audited(monkeypatch, weaken=1) < 1.0


def test_the_audit_sees_noise_that_is_too_small(monkeypatch):
    assert audited(monkeypatch, weaken=10) > 1.0


# Models


@pytest.fixture(scope="module")
def planted():
    generator = rng(7)
    a = generator.choice(4, 4000, p=[0.4, 0.3, 0.2, 0.1])
    hours = np.where(a == 0, 40, generator.integers(0, 100, 4000))
    noise = generator.integers(3, size=4000).astype(float)
    noise[generator.random(4000) < 0.25] = np.nan
    return table_of(
        (labels("a", 4), a),
        (labels("b", 4), (a * 3 + 1) % 4),
        (Numeric(name="hours", low=0, high=99, decimals=0), hours),
        (labels("c", 3), noise),
    )


@pytest.fixture(scope="module")
def model(planted):
    return Aim(epsilon=8.0).fit(planted, rng=rng())


def test_a_dependence_is_learned(model):
    rows = model.sample(4000, rng=rng(1))
    a, b, hours = (rows.column(name) for name in ("a", "b", "hours"))
    assert np.mean(b == (a * 3 + 1) % 4) > 0.95
    assert np.mean(hours[a == 0] == 40) > 0.9


def test_columns_are_distributed_as_they_were(model, planted):
    rows = model.sample(4000, rng=rng(1))
    for name, n in (("a", 4), ("b", 4), ("c", 3)):
        shares = [np.mean(table.column(name)[:, None] == np.arange(n), axis=0) for table in (rows, planted)]
        np.testing.assert_allclose(*shares, atol=0.03)
    assert np.isnan(rows.column("c")).mean() == pytest.approx(0.25, abs=0.03)
    assert np.mean(rows.column("hours") == 40) == pytest.approx(
        np.mean(planted.column("hours") == 40), abs=0.05
    )
    assert model.n_rows == pytest.approx(4000, abs=200)


def test_missing_values_of_a_declared_column_are_drawn_only_where_there_are_some(planted):
    rows = Aim(public=planted.schema.names, **QUICK).fit(planted, rng=rng()).sample(2000, rng=rng(1))
    missing = np.isnan(rows.values).mean(axis=0)
    assert missing[:3].tolist() == [0, 0, 0]
    assert missing[3] == pytest.approx(0.25, abs=0.1)


def test_less_noise_with_a_larger_epsilon(planted):
    truth = np.bincount(planted.column("a").astype(int)) / 4000
    errors = []
    for epsilon in (0.05, 50.0):
        models = (
            Aim(epsilon=epsilon, **QUICK).fit(planted.select(["a", "b"]), rng=rng(seed)) for seed in range(3)
        )
        errors.append(np.mean([np.abs(m.beliefs.marginal((0,)) - truth).sum() for m in models]))
    assert errors[0] > 5 * errors[1]


def test_the_workload_decides_what_is_counted_together(planted):
    fitted = Aim(epsilon=8.0, workload=("a + b", "c"), **QUICK).fit(planted, rng=rng())
    assert set(fitted.weights) <= {(0,), (1,), (2,), (3,), (0, 1)}
    assert (0, 1) in fitted.weights


def test_the_model_stays_as_small_as_wanted(planted):
    fitted = Aim(epsilon=50.0, max_model_mb=0.001, **QUICK).fit(planted, rng=rng())
    assert fitted.beliefs.tree.n_cells * 8 <= 0.001 * 2**20


def test_a_seed_gives_the_same_model(model, planted):
    again = Aim(epsilon=8.0).fit(planted, rng=rng())
    np.testing.assert_array_equal(*(m.sample(60, rng=rng(3)).values for m in (model, again)))
    other = Aim(epsilon=8.0).fit(planted, rng=rng(99))
    assert other.n_rows != model.n_rows


def test_storing_changes_nothing(model, tmp_path, monkeypatch):
    monkeypatch.setattr(generators, "GENERATORS", {**generators.GENERATORS, "aim": Aim})
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(*(m.sample(60, rng=rng(3)).values for m in (model, loaded)))
    assert (loaded.privacy, loaded.notes, loaded.made_by) == (model.privacy, model.notes, model.made_by)
    assert loaded.n_rows == model.n_rows


def test_an_interruption_keeps_the_model_so_far(planted):
    def interrupt(doing, _):
        if doing == "round 4":
            raise KeyboardInterrupt

    with workers.working(listener=interrupt):
        fitted = Aim(epsilon=8.0, **QUICK).fit(planted, rng=rng())
    assert INTERRUPTED in fitted.notes
    assert len(fitted.weights) <= 4 + 3
    assert len(fitted.sample(10, rng=rng())) == 10


def test_progress_rises_to_the_end(planted):
    heard = []
    with workers.working(listener=lambda _, share: heard.append(share)):
        Aim(**QUICK).fit(planted, rng=rng())
    assert heard == sorted(heard)
    assert heard[0] >= 0
    assert heard[-1] == 1


# What a reader is told


def test_columns_read_from_the_data_are_said_loudly(planted):
    fitted = Aim(public=("c", "a"), **QUICK).fit(planted, rng=rng())
    assert fitted.privacy.public == ("a", "c")
    assert fitted.privacy.read_from_data == {
        "b": ("labels", "missing values", "form"),
        "hours": ("range", "decimals", "missing values", "form"),
    }
    assert fitted.notes[0].startswith("WARNING: ")
    assert "2 of 4 columns: b (labels, missing values, form), hours (range, decimals, " in fitted.notes[0]
    assert (fitted.privacy.epsilon, fitted.privacy.delta) == (1.0, 1e-9)
    assert "one row more" in fitted.privacy.adjacency
    declared = Aim(public=planted.schema.names, **QUICK).fit(planted, rng=rng())
    assert declared.privacy.read_from_data == {}
    assert not any("WARNING" in note for note in declared.notes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0.0}, "aim: epsilon must lie between"),
        ({"delta": 1.0}, "aim: delta must lie between 0 and 1"),
        ({"max_model_mb": 0.0}, "aim: max_model_mb"),
        ({"iterations": 0}, "aim: iterations must be >= 1"),
        ({"n_bins": 0}, "aim: n_bins must be >= 1"),
        ({"rounds": 0}, "aim: rounds must be >= 1"),
        ({"workload": ()}, "aim: the number of sets in workload must be >= 1"),
        ({"workload": ("a+bb",)}, "aim: no column in workload 'bb'. Did you mean 'b'"),
        ({"public": ("hour",)}, "aim: no column 'hour'. Did you mean 'hours'"),
        ({"rounds": 5, "n_bins": 5}, "aim: rounds must be >= 6 for this table"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message, planted):
    with pytest.raises(ParameterError, match=message):
        Aim(**settings).fit(planted, rng=rng())


# Hostile tables


MANY = rng(0).integers(10_000, size=(2000, 2))
WIDE = rng(1).integers(3, size=(50, 60))
HOSTILE = {
    "one row": table_of((labels("a", 3), [1]), (AGE, [12])),
    "one column": table_of((labels("a", 3), [0, 1, 2, 2])),
    "constant": table_of((labels("a", 1), [0, 0]), (Numeric(name="x", low=2.5, high=2.5), [2.5, 2.5])),
    "all missing": table_of(
        (labels("a", 2), [np.nan] * 3), (AGE, [np.nan] * 3), (labels("c", 0), [np.nan] * 3)
    ),
    "10,000 labels": table_of((labels("a", 10_000), MANY[:, 0]), (labels("b", 10_000), MANY[:, 1])),
    "60 columns": table_of(*((labels(f"c{i}", 3), WIDE[:, i]) for i in range(60))),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("declared", [False, True])
def test_hostile_tables(case, declared):
    table = HOSTILE[case]
    public = table.schema.names if declared else ()
    model = Aim(public=public, iterations=5).fit(table, rng=rng())
    sampled = model.sample(7, rng=rng(1))
    assert sampled.schema == table.schema
    for column in table.schema.columns:
        cells, known = sampled.column(column.name), table.column(column.name)
        present = cells[~np.isnan(cells)]
        if isinstance(column, Numeric):
            assert ((present >= column.low) & (present <= column.high)).all()
        else:
            assert np.isin(present, np.arange(len(column.labels))).all()
        if not declared:
            assert np.isnan(known).any() or len(present) == 7
            assert not np.isnan(known).all() or len(present) == 0


def test_no_rows_are_refused():
    with pytest.raises(ParameterError, match="aim: needs at least 1 row"):
        Aim().fit(table_of((AGE, [])), rng=rng())
