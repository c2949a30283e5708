"""Torch is left as it was found, and what is not there is said in a line."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from tabveil.engines import networks
from tabveil.errors import NotApplicable, ParameterError


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_without_torch_there_is_a_hint(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    words = r"mine: needs PyTorch: pip install tabveil\[deep\]\."
    with pytest.raises(ParameterError, match=words), networks.seeded(rng(), owner="mine"):
        pass
    with pytest.raises(NotApplicable, match=words):
        networks.load_torch("mine", error=NotApplicable)


def test_a_gpu_that_is_not_there_is_refused(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ParameterError, match="mine: there is no GPU here; set device=cpu"):
        networks.seeded(rng(), owner="mine", device="cuda").__enter__()
    with pytest.raises(NotApplicable, match="no GPU"):
        networks.require_device("mine", "cuda", error=NotApplicable)
    networks.require_device("mine", "cpu")


def test_random_numbers_come_from_the_generator_and_the_global_state_is_put_back(torch):
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    drawn = []
    for seed in (0, 0, 1):
        with networks.seeded(rng(seed), owner="mine") as found:
            assert found is torch
            assert torch.get_num_threads() == 1
            drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(ZeroDivisionError), networks.seeded(rng(), owner="mine"):
        torch.rand(1 // 0)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_weights_become_arrays_and_a_network_again(torch):
    network = torch.nn.Linear(2, 3)
    arrays = networks.weights_of(network)
    assert {name: array.shape for name, array in arrays.items()} == {"weight": (3, 2), "bias": (3,)}
    before = torch.get_rng_state()
    again = networks.rebuild(lambda: torch.nn.Linear(2, 3), arrays, owner="mine", device="cpu")
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(again.weight, network.weight)
    assert not again.training


def test_little_is_needed_to_train(torch):
    """A machine with a GPU may have torch and the numeric libraries, and nothing else that tabveil uses."""
    absent = ("pydantic", "yaml", "typer", "rich", "jinja2", "markupsafe", "narwhals", "joblib", "xgboost")
    code = (
        f"import sys\nfor name in {(*absent, 'threadpoolctl', 'opacus', 'dp_accounting')}:\n"
        "    sys.modules[name] = None\n"
        "from tabveil.engines import networks\n"
        "assert 'torch' not in sys.modules\n"
        "import numpy\n"
        "with networks.seeded(numpy.random.default_rng(0), owner='mine') as torch:\n"
        "    network = torch.nn.Linear(1, 1)\n"
        "    networks.train(network, lambda i: (None, -float(i)), epochs=2)\n"
        "networks.rebuild(lambda: network, networks.weights_of(network), owner='mine', device='cpu')\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


MANY_BLOCKS = """
import resource
import numpy as np
from tabveil.engines.networks import keep_freed_memory
if {kept}:
    keep_freed_memory()
for turn in range(12):
    if turn == 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(3 * 2**17) for _ in range(12)]  # 3 MiB each
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs the GNU C library")
def test_memory_that_was_freed_is_kept():
    # Dask sets how much a process may keep in the environment of those it starts, and may leave it there.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    faults = [
        int(
            subprocess.run(
                [sys.executable, "-c", MANY_BLOCKS.format(kept=kept)],
                capture_output=True,
                check=True,
                env=plain,
            ).stdout
        )
        for kept in (True, False)
    ]
    assert faults[0] < faults[1] / 4
