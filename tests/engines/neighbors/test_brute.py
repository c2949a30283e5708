"""All pairs on a device: the answers are those of the other searches, to the last bit.

What runs on a GPU runs here by PyTorch's own operations as well; where there is a GPU, on it too.
"""

import numpy as np
import pytest
from supplies import brute_force

torch = pytest.importorskip("torch")

from tabveil.core.rng import stream  # noqa: E402 - only where torch is
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table  # noqa: E402
from tabveil.core.workers import current, working  # noqa: E402
from tabveil.engines import neighbors, networks  # noqa: E402
from tabveil.engines.neighbors import Neighbors, NeighborsWithout, Space, brute, fused, leaving_out  # noqa: E402
from tabveil.errors import NotApplicable  # noqa: E402
from tabveil.metrics.registry import METRICS  # noqa: E402

HERE = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=HERE)
def pairs(request, monkeypatch):
    """Let every search go through all pairs, and count those that do."""
    asked = []

    def always(n_queries, n_rows, n_searches=1):
        asked.append((n_queries, n_rows, n_searches))
        return request.param

    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"a {device}")
    for module in (neighbors, leaving_out):
        monkeypatch.setattr(module, "gpu_for", always)
    return asked


def table(rng, n, *, n_labels=3, n_numbers=3, missing=0.1, places=1):
    """Mixed rows with many ties, among them labels that are many, and a number that never changes."""
    columns = [
        Categorical(name=f"label {i}", labels=tuple(f"{j:03}" for j in range(2 + 290 * (i == 2))))
        for i in range(n_labels)
    ]
    columns += [Numeric(name=f"number {i}", low=-50, high=50, decimals=places) for i in range(n_numbers + 1)]
    labels = [np.minimum(rng.geometric(0.1, n), len(c.labels)) - 1.0 for c in columns[:n_labels]]
    numbers = [rng.normal(0, 4, n) for _ in range(n_numbers)]
    numbers = [number if places is None else np.round(number, places) for number in numbers]
    values = np.column_stack([*labels, *numbers, np.full(n, 7.0)])
    values[rng.random(values.shape) < missing] = np.nan
    return Table(schema=Schema(tuple(columns)), values=values)


def spaces(reference):
    return {
        "mixed": Space.gower(reference.schema),
        "Euclidean": Space.euclidean(reference),
        "codes as numbers": Space.euclidean(reference, "ordinal"),
        "tolerant": Space.tolerant(reference, 0.4),
    }


SHAPES = [(0, 1), (3, 0), (1, 20), (4, 3)]


@pytest.mark.parametrize("n", [1, 2, fused.BLOCK, fused.BLOCK + 1, 700])
@pytest.mark.parametrize(("n_labels", "n_numbers"), SHAPES)
@pytest.mark.parametrize("places", [1, None])
def test_rows_are_found_as_comparing_every_pair_finds_them(pairs, n, n_labels, n_numbers, places):
    rng = np.random.default_rng(n + n_labels)
    shape = {"n_labels": n_labels, "n_numbers": n_numbers, "places": places}
    queries, reference = table(rng, 200, missing=0.1 * (n % 2), **shape), table(rng, n, **shape)
    reference = reference.take(rng.integers(0, n, n))  # some rows stand there again
    for name, space in spaces(reference).items():
        for asked in (queries, reference):
            k = min(n, 5)
            found = Neighbors(space, reference).nearest(asked, k)
            distance, index = brute_force.nearest(space, reference, asked, k)
            np.testing.assert_array_equal(found.distance, distance, name)
            np.testing.assert_array_equal(found.index, index, name)
    assert len(pairs) == 8


@pytest.mark.parametrize(("n_labels", "n_numbers"), SHAPES)
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("chosen", [False, True])
def test_each_column_left_out_is_as_a_search_without_it(pairs, n_labels, n_numbers, missing, chosen):
    rng = np.random.default_rng(n_labels)
    shape = {"n_labels": n_labels, "n_numbers": n_numbers}
    reference, queries = table(rng, 500, missing=missing, **shape), table(rng, 150, **shape)
    names = reference.schema.names
    parts = [names, *([other for other in names if other != name] for name in names)]
    among = [np.arange(500) % 3 != i % 3 for i in range(len(parts))] if chosen else None
    orders = [rng.permutation(500) for _ in parts]
    engine = NeighborsWithout(
        Space.gower(reference.schema),
        reference,
        [Space.gower(reference.schema.select(part)) for part in parts],
    )
    found = engine.nearest(queries, among)
    distance, first = found.distance, None if chosen else found.first(orders)
    assert len(pairs) == 1
    for position, (space, order) in enumerate(zip(engine.spaces, orders, strict=True)):
        rows = np.flatnonzero(among[position]) if chosen else order
        near, index = brute_force.nearest(space, reference.take(rows), queries, 1)
        np.testing.assert_array_equal(distance[:, position], near[:, 0])
        if not chosen:
            np.testing.assert_array_equal(first[:, position], index[:, 0])


@pytest.mark.parametrize("power", [1, 2])
def test_rows_that_single_precision_cannot_tell_apart_are_told_apart(pairs, power):
    rng = np.random.default_rng(3)
    schema = Schema(tuple(Numeric(name=name, low=0, high=1e5) for name in "abc"))
    somebody = rng.uniform(0, 1e5, (1, 3))
    near = Table(schema=schema, values=somebody + rng.uniform(0, 1e-6, (300, 3)))
    asked = Table(schema=schema, values=np.concatenate([somebody, near.values[:50]]))
    space = Space.gower(schema) if power == 1 else Space.euclidean(near.joined(asked.take(np.array([0]))))
    found = Neighbors(space, near).nearest(asked, 3)
    distance, index = brute_force.nearest(space, near, asked, 3)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_array_equal(found.distance, distance)


def test_a_number_too_far_for_single_precision_is_searched_another_way(pairs):
    schema = Schema((Numeric(name="a", low=-1e90, high=1e90),))
    rows = Table(schema=schema, values=np.array([[1.0], [2.0], [3.0], [1e80]]))
    train = Table(schema=schema, values=np.array([[1.0], [2.0]]))
    for where in (rows, rows.take(np.arange(3))):
        found = Neighbors(Space.euclidean(train), where).nearest(rows)
        assert found.index[:3, 0].tolist() == [0, 1, 2]
    assert pairs


def test_few_queries_at_once_change_nothing(pairs, monkeypatch):
    rng = np.random.default_rng(0)
    reference, queries = table(rng, 900), table(rng, 700)
    space = Space.gower(reference.schema)
    whole = Neighbors(space, reference).nearest(queries, 4)
    monkeypatch.setattr(brute, "_MINIMA_AT_ONCE", 1)
    monkeypatch.setattr(brute, "_FEWEST_AT_ONCE", fused.QUERIES)
    monkeypatch.setattr(brute, "_CELLS_AT_ONCE", 10 * fused.BLOCK)
    monkeypatch.setattr(fused, "_EAGER_CELLS", 1)
    parts = Neighbors(space, reference).nearest(queries, 4)
    np.testing.assert_array_equal(whole.distance, parts.distance)
    np.testing.assert_array_equal(whole.index, parts.index)


def test_every_metric_answers_the_same(pairs):
    rng = np.random.default_rng(8)
    train, control, release = (table(rng, 300, missing=0.02) for _ in range(3))
    release = release.take(np.arange(250)).joined(train.take(np.arange(50)))
    split = Split(train=train, control=control, synthetic=release).with_own_ranges()
    ran = 0
    for name in METRICS:
        metric = METRICS[name]()
        if metric.on_request or metric.extra is not None or metric.labels.mechanism == "ML":
            continue
        try:
            on_device = metric(split, rng=stream(0, name)).to_json()
        except NotApplicable:
            continue
        with pytest.MonkeyPatch.context() as patch:
            for module in (neighbors, leaving_out):
                patch.setattr(module, "gpu_for", lambda *_: None)
            assert metric(split, rng=stream(0, name)).to_json() == on_device, name
        ran += 1
    assert ran > 10
    assert len(pairs) > ran


def test_a_gpu_is_used_where_it_is_allowed_and_there_and_worth_it(monkeypatch):
    monkeypatch.setattr(brute, "gpu_at_hand", lambda: True)
    few, some, many = (4000, 4000), (20_000, 20_000), (100_000, 100_000)
    for device, answers in (("cpu", (0, 0, 0)), ("cuda", (0, 1, 1)), ("auto", (0, 0, 1))):
        with working(device=device):
            assert [brute.gpu_for(*size) is not None for size in (few, some, many)] == list(
                map(bool, answers)
            )
    assert brute.gpu_for(*many) is None  # unless somebody says so
    monkeypatch.setattr(brute, "gpu_at_hand", lambda: False)
    with working(device="auto"):
        assert brute.gpu_for(*many) is None


def test_torch_is_not_loaded_to_find_that_there_is_no_gpu(monkeypatch):
    networks.gpu_at_hand.cache_clear()
    monkeypatch.setattr(networks.os, "name", "posix")
    monkeypatch.setattr(networks.os.path, "exists", lambda path: False)
    monkeypatch.setattr(networks, "load_torch", lambda owner: pytest.fail("torch was loaded"))
    assert not networks.gpu_at_hand()
    networks.gpu_at_hand.cache_clear()


def test_what_searched_is_known_afterwards(pairs):
    rows = table(np.random.default_rng(0), 50)
    with working(device="cuda"):
        Neighbors(Space.gower(rows.schema), rows).nearest(rows)
        used = current().used
    assert all(name.startswith("a cuda") for name in used)
