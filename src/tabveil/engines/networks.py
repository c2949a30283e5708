"""The one door to torch: where networks run, from which random numbers, how they train and are stored.

Nothing here imports torch before it is needed: it is an extra, and slow to load.
"""

import copy
import importlib
import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.crew import Turn
from tabveil.core.storage.arrays import Expected, require_arrays
from tabveil.core.storage.files import Unreadable
from tabveil.core.workers import current, part, tell
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


@cache
def gpu_at_hand() -> bool:
    """Whether there is a GPU that torch can use; where no driver is, torch is not loaded to find out."""
    drivers = ("/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia/version")
    if os.name == "posix" and not any(os.path.exists(driver) for driver in drivers):  # noqa: PTH110
        return False
    try:
        return bool(load_torch("GPU").cuda.is_available())
    except TabveilError:
        return False


@contextmanager
def limited_threads(torch: Any, *, width: int = 0) -> Iterator[None]:  # noqa: ANN401 - a module
    """Let torch use the threads that suit a network in the block, and as many as before after it.

    Networks up to ``NARROW`` wide run on one thread: several would mostly wait for each other, and add up in
    another order. One block at a time: how many threads torch has is a setting of the process.
    """
    with _torch:
        threads = torch.get_num_threads()
        torch.set_num_threads(1 if width <= NARROW else current().threads)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


_torch = Turn()
"""Who uses torch, whose random numbers and threads are those of the whole process."""


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
    with _torch, torch.random.fork_rng(devices=devices), limited_threads(torch, width=width):
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
        try:
            with torch.device("meta"):
                weights = build().state_dict()
        except (RuntimeError, TypeError, OverflowError, MemoryError) as error:
            raise Unreadable("the settings are those of no network that can be built") from error
        expected = {
            name: Expected(
                dtype=str(tensor.dtype).removeprefix("torch."),
                shape=tuple(tensor.shape),
                low=0 if name.endswith(not_negative) else -np.inf,
            )
            for name, tensor in weights.items()
        }
        require_arrays(arrays, expected)
        network = build()
        network.load_state_dict({name: torch.from_numpy(np.array(item)) for name, item in arrays.items()})
        network.eval().to(device if torch.cuda.is_available() else "cpu")
    return network


def require_finite(owner: str, *outputs: Any) -> None:  # noqa: ANN401 - tensors
    """Refuse to draw from a network whose weights are so large that numbers overflow."""
    for output in outputs:
        if not bool(output.isfinite().all()):
            raise ParameterError(
                owner,
                "the network's weights are too large to draw rows; fit the model again, with a "
                "smaller learning rate.",
            )


INTERRUPTED = "Training was interrupted; this is the best model up to then."


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """The losses after one round of training; None where none is defined."""

    epoch: int
    train: float | None = None
    validation: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(vars(self))


@dataclass(frozen=True, kw_only=True)
class TrainingRecord:
    """How training went; ``best`` is the epoch whose weights were kept, -1 those from before the first."""

    history: tuple[Epoch, ...]
    best: int
    interrupted: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know."""
        return (INTERRUPTED,) if self.interrupted else ()


def train(
    network: Any,  # noqa: ANN401 - a torch module
    epoch: Callable[[int], tuple[float | None, float | None]],
    *,
    epochs: int,
    patience: int | None = None,
    window: int = 1,
    before: float | None = None,
    stop: Callable[[float, float], bool] | None = None,
    stalled: Callable[[int], None] | None = None,
    interruptible: bool = True,
) -> TrainingRecord:
    """Run epochs and leave the network with its best weights.

    ``epoch(i)`` trains for one epoch and returns the train and validation losses. With a validation loss the
    best weights are those where it is least, and ``patience`` epochs without a new least end training;
    without one the last weights are the best.

    Parameters
    ----------
    window
        Patience looks at the mean validation loss of so many epochs, which hides their ups and downs.
    before
        The validation loss of the weights as they are now, which are then kept if nothing is better.
    stop
        ``stop(loss, least)`` may end training at once and keep the present weights (overfitting on purpose).
    stalled
        Told after each epoch without a new least how many there have been.
    interruptible
        Whether an interruption only ends training, with the best weights up to then.
    """
    history: list[Epoch] = []
    best, least, weights = 0, math.inf, None  # the weights that are kept, and from which epoch
    if before is not None:
        best, least = -1, min(math.inf, before)  # infinity where it is NaN, too
        weights = copy.deepcopy(network.state_dict())
    recent: deque[float] = deque(maxlen=window)
    steady, least_mean = best, least  # the epoch at which the mean of a window was least
    interrupted = False
    try:
        for i in range(epochs):
            with part(i / epochs, (i + 1) / epochs, title=f"epoch {i + 1} of {epochs}: "):
                losses = epoch(i)
            history.append(Epoch(epoch=i, train=losses[0], validation=losses[1]))
            tell(_doing(history[-1], epochs), (i + 1) / epochs)
            loss = losses[1] if losses[1] is not None else -float(i)
            recent.append(loss)
            least_mean, steady = min((least_mean, steady), (sum(recent) / len(recent), i))
            if loss < least:
                best, least, weights = i, loss, copy.deepcopy(network.state_dict())
            elif stop is None and patience is not None and i - steady >= patience:
                break
            elif stalled is not None:
                stalled(i - best)
            if stop is not None and (stop(loss, least) or i == epochs - 1):
                best, weights = i, copy.deepcopy(network.state_dict())
                break
    except KeyboardInterrupt:
        if not (interruptible and history):
            raise
        interrupted = True
    if weights is not None:
        network.load_state_dict(weights)
    return TrainingRecord(history=tuple(history), best=best, interrupted=interrupted)


def _doing(epoch: Epoch, epochs: int) -> str:
    loss = epoch.validation if epoch.validation is not None else epoch.train
    return f"epoch {epoch.epoch + 1} of {epochs}" + ("" if loss is None else f", loss {loss:.4f}")
