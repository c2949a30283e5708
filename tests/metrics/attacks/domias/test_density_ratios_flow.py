import importlib
import sys
from functools import partial

import numpy as np
import pytest
from supplies.populations import population, split

from tabveil.core.rng import stream
from tabveil.engines.networks import limited_threads
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.domias.density_ratios import VARIANT, DomiasFlow

TINY = DomiasFlow(n_axes=2, n_flows=2, n_layers=2, hidden=4, max_epochs=4)


def ask(tables, metric=TINY):
    return metric(tables, rng=stream(0, metric.name))


def test_without_torch_there_is_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(NotApplicable, match=r"pip install tabveil\[deep\]"):
        ask(population("mixed", (20, 20, 20)))


def test_what_is_refused():
    for settings in ({"n_axes": 0}, {"learning_rate": 0}, {"max_rows": 1}, {"device": "abacus"}):
        with pytest.raises(ParameterError, match=next(iter(settings))):
            DomiasFlow(**settings)


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    with limited_threads(torch):
        yield torch


@pytest.fixture(scope="module")
def network(torch):
    return importlib.import_module("tabveil.metrics.attacks.domias.flow_network")  # needs torch


def fresh_flow(network, d=2, **sizes):
    sizes = {"n_flows": 3, "n_layers": 2, "hidden": 8} | sizes
    return network.Flow(d, **sizes, rng=np.random.default_rng(0))


def test_output_i_grows_with_input_i_and_ignores_later_ones(torch, network):
    flow = fresh_flow(network, d=3)
    x = torch.randn(1, 3, generator=torch.Generator().manual_seed(0))
    for layers in flow.maps:
        mapped = partial(lambda layers, y: flow._map(layers, y[None])[0][0], layers)
        jacobian = torch.autograd.functional.jacobian(mapped, x[0])
        assert torch.equal(jacobian, jacobian.tril())
        assert (jacobian.diagonal() > 0).all()
        _, log_slope = flow._map(layers, x)
        torch.testing.assert_close(log_slope[0].exp(), jacobian.diagonal())


def test_a_flow_learns_two_clusters(network):
    rng = np.random.default_rng(1)
    centers = np.array([[1.0, 1.0], [-1.0, -1.0]])
    points = centers[rng.integers(0, 2, 1000)] + rng.normal(0, 0.2, (1000, 2))
    flow = fresh_flow(network, hidden=16)
    losses = flow.fit(points, network.Training(max_epochs=20, batch_size=50, patience=20), rng=rng)
    truth = np.log(2) + np.log(2 * np.pi * (0.2**2 + 0.02**2)) + 1  # the entropy, jitter included
    assert truth - 0.1 < min(losses) < truth + 0.5
    grid = np.linspace(-5, 5, 101)
    everywhere = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    assert 0.9 < np.exp(flow.evaluate(everywhere)).sum() * 0.1**2 < 1.02  # a density
    inside, between = flow.evaluate(np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert inside > between + 2


def test_the_best_parameters_stay(network):
    points = np.random.default_rng(2).normal(size=(40, 2))
    for rate in (0.01, 0.9):  # the second destroys what it touches
        flow = fresh_flow(network)
        training = network.Training(max_epochs=6, learning_rate=rate, patience=3, jitter=0.0)
        losses = flow.fit(points, training, rng=np.random.default_rng(3))
        held = points[np.random.default_rng(3).permutation(40)[:8]]
        assert -flow.evaluate(held).mean() == pytest.approx(np.nanmin(losses), abs=1e-6)
        assert len(losses) <= 7


def test_an_answer_that_repeats_and_leaves_torch_alone(torch):
    tables = population("mixed", (120, 90, 100), leak=0.3, seed=4)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    first, second = ask(tables), ask(tables)
    assert first.to_json() == second.to_json()
    assert VARIANT in first.notes
    assert torch.equal(state, torch.get_rng_state())
    assert torch.get_num_threads() == threads
    assert first.details["n_reference"] == 45
    assert [len(item.rows) for item in first.sensitive_scores] == [120, 45]
    assert all(np.isfinite(item.values).all() for item in first.sensitive_scores)
    assert first.risk.low <= first.risk.value <= first.risk.high
    order = np.random.default_rng(0).permutation(120)
    moved = split(
        tables.schema, tables.train.values[order], tables.control.values[::-1], tables.synthetic.values[::-1]
    )
    assert ask(moved).to_json() == first.to_json()


def test_what_has_no_answer(torch):
    tables = population("mixed", (20, 3, 20))
    with pytest.raises(NotApplicable, match="at least 4 control rows"):
        ask(tables)
    constant = np.zeros((6, 4))
    tables = population("levels", (6, 6, 6))
    with pytest.raises(NotApplicable, match="all rows are equal"):
        ask(split(tables.schema, constant, constant, constant))
    with pytest.raises(NotApplicable, match="two synthetic rows"):
        ask(split(tables.schema, constant, constant, constant[:1]))
