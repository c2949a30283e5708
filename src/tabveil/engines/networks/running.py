"""Where a network runs: the device, the threads, and the random numbers, all put back as they were.

Also how its weights become arrays, which can be stored without a pickle, and a network again.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.storage.arrays import Expected, require_arrays
from tabveil.core.storage.reading import Unreadable
from tabveil.core.workers import current
from tabveil.errors import ParameterError, TabveilError

Network = TypeVar("Network", bound=Any)

NARROW = 512
"""Networks up to so wide run on one thread."""


def load_torch(owner: str, *, error: type[TabveilError] = ParameterError) -> Any:  # noqa: ANN401 - a module
    """Import torch, or say how to get it."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise error(f"{owner}: needs PyTorch: pip install tabveil[deep].") from None


def require_device(owner: str, device: str, *, error: type[TabveilError] = ParameterError) -> None:
    """Refuse a GPU where there is none."""
    if device == "cuda" and not load_torch(owner, error=error).cuda.is_available():
        raise error(f"{owner}: there is no GPU here; set device=cpu.")


@contextmanager
def limited_threads(torch: Any, *, width: int = 0) -> Iterator[None]:  # noqa: ANN401 - a module
    """Let torch use the threads that suit a network in the block, and as many as before after it.

    Networks up to ``NARROW`` wide run on one thread: several would mostly wait for each other, and add up in
    another order.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if width <= NARROW else current().threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@cache
def keep_freed_memory() -> None:
    """Let this process keep what it frees, up to 64 MiB, for what it asks for next.

    A step of training asks for blocks of a few MiB and frees them. Given back to the system each time, their
    pages are cleared each time: a tenth of what training takes. The GNU C library goes by the largest block
    that was ever freed, up to 32 MiB; others have rules of their own, and this one untouched block is nothing
    to them.
    """
    np.empty(2**25 - 2**16, dtype=np.uint8)


@contextmanager
def seeded(rng: Generator, *, owner: str, device: str = "cpu", width: int = 0) -> Iterator[Any]:
    """Run a block with torch's random numbers drawn from ``rng``, its global state put back afterwards.

    Yields torch. The only place where its global state is touched. ``device`` must be there; ``width`` is
    that of the network. On a CPU torch keeps 32 bits of a seed, few enough to try them all: what must stay
    secret (the noise of a private fit, and which rows it looks at) is to be drawn from ``rng`` itself.
    """
    torch = load_torch(owner)
    require_device(owner, device)
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices), limited_threads(torch, width=width):
        torch.manual_seed(int(rng.integers(2**63)))
        yield torch


def weights_of(network: Any) -> dict[str, NDArray[Any]]:  # noqa: ANN401 - a torch module
    """Return a network's weights as arrays."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}


def rebuild(
    build: Callable[[], Network],
    arrays: Mapping[str, NDArray[Any]],
    *,
    owner: str,
    device: str,
    not_negative: tuple[str, ...] = (),
) -> Network:
    """Return a stored network with its weights, on the CPU if there is no GPU here.

    The weights must be those of the network that is built, all finite; those whose names end in one of
    ``not_negative`` are variances and counts. Settings are part of what is stored, so the network is first
    built without memory: one that is larger than its weights is never built.
    """
    with seeded(np.random.default_rng(0), owner=owner) as torch:  # new weights are drawn, soon replaced
        require_arrays(arrays, _expected_weights(torch, build, not_negative))
        network = build()
        network.load_state_dict({name: torch.from_numpy(np.array(item)) for name, item in arrays.items()})
        network.eval().to(device if torch.cuda.is_available() else "cpu")
    return network


def _expected_weights(
    torch: Any,  # noqa: ANN401 - a module
    build: Callable[[], Any],
    not_negative: tuple[str, ...],
) -> dict[str, Expected]:
    try:
        with torch.device("meta"):
            weights = build().state_dict()
    except (RuntimeError, TypeError, OverflowError, MemoryError) as error:
        raise Unreadable("the settings are those of no network that can be built") from error
    return {
        name: Expected(
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=tuple(tensor.shape),
            low=0 if name.endswith(not_negative) else -np.inf,
        )
        for name, tensor in weights.items()
    }


def require_finite(owner: str, *outputs: Any) -> None:  # noqa: ANN401 - tensors
    """Refuse to draw from a network whose weights are so large that numbers overflow."""
    for output in outputs:
        if not bool(output.isfinite().all()):
            raise ParameterError(
                f"{owner}: the network's weights are too large to draw rows; fit the model again, with a "
                "smaller learning rate."
            )
