"""One server for the tests of its pages."""

import pytest
from supplies.web_client import Client, serving

from tabveil import datasets


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A folder with three tables of simulated people."""
    folder = tmp_path_factory.mktemp("tables")
    for seed, name in enumerate(("train", "control", "release")):
        datasets.hospital(60, seed=seed).to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture
def folder(tmp_path, tables):
    """A folder of its own for a test, with the tables in it."""
    place = tmp_path / "data"
    place.mkdir()
    for path in tables.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    return place


@pytest.fixture
def served(folder):
    with serving(folder) as server:
        yield server


@pytest.fixture
def client(served):
    """A browser that came in by the link."""
    return Client(served.link).enter()


@pytest.fixture(autouse=True)
def _own_key(tmp_path_factory, monkeypatch):
    """Keep the key by which jobs are known as one's own out of the home of whoever runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
