"""Training a network: repeatable, stopped in time, and never lost to an interruption."""

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

from tabveil.errors import ParameterError
from tabveil.generators.fitted import Arrays
from tabveil.generators.records import Epoch
from tabveil.workers import Listener, current

Network = TypeVar("Network", bound=Any)

NARROW = 512
INTERRUPTED = "Training was interrupted; this is the best model up to then."


@contextmanager
def seeded(rng: Generator, *, width: int = 0) -> Iterator[Any]:
    """Run a block with torch's random numbers drawn from ``rng``, its global state put back afterwards.

    Yields torch. The only place where its global state is touched. Networks up to ``NARROW`` wide run on one
    thread: several would mostly wait for each other, and add up in another order.
    """
    try:
        import torch  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise ParameterError("This generator needs torch: pip install 'tabveil[deep]'.") from None
    threads = torch.get_num_threads()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(int(rng.integers(2**63)))
        torch.set_num_threads(1 if width <= NARROW else current().threads)
        try:
            yield torch
        finally:
            torch.set_num_threads(threads)


@dataclass(frozen=True, kw_only=True)
class TrainingRecord:
    """How training went; ``best`` is the epoch whose weights were kept."""

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
    stop: Callable[[float, float], bool] | None = None,
    progress: Listener | None = None,
) -> TrainingRecord:
    """Run epochs and leave the network with its best weights.

    ``epoch(i)`` trains for one epoch and returns the train and validation losses. With a validation loss the
    best weights are those where it is least, and ``patience`` epochs without a new least end training;
    without one the last weights are the best. ``stop(loss, least)`` may end training at once and keep the
    present weights (overfitting on purpose). An interruption ends training too, with the best weights up to
    then.
    """
    history: list[Epoch] = []
    kept, best, least = None, 0, math.inf
    interrupted = False
    try:
        for i in range(epochs):
            losses = epoch(i)
            history.append(Epoch(epoch=i, train=losses[0], validation=losses[1]))
            if progress:
                progress(_doing(history[-1], epochs), (i + 1) / epochs)
            loss = losses[1] if losses[1] is not None else -float(i)
            if loss < least:
                kept, best, least = copy.deepcopy(network.state_dict()), i, loss
            elif stop is None and patience is not None and i - best >= patience:
                break
            if stop is not None and stop(loss, least):
                kept, best = None, i
                break
        else:
            kept, best = (None, epochs - 1) if stop is not None else (kept, best)
    except KeyboardInterrupt:
        if not history:
            raise
        interrupted = True
    if kept is not None:
        network.load_state_dict(kept)
    return TrainingRecord(history=tuple(history), best=best, interrupted=interrupted)


def _doing(epoch: Epoch, epochs: int) -> str:
    loss = epoch.validation if epoch.validation is not None else epoch.train
    return f"epoch {epoch.epoch + 1} of {epochs}" + ("" if loss is None else f", loss {loss:.4f}")


def weights_of(network: Any) -> dict[str, np.ndarray[Any, Any]]:  # noqa: ANN401 - a torch module
    """Return a network's weights as arrays."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()}


def require_device(generator: str, device: str) -> None:
    """Refuse a GPU where there is none."""
    import torch  # noqa: PLC0415 - see above

    if device == "cuda" and not torch.cuda.is_available():
        raise ParameterError(f"{generator}: there is no GPU here; set device=cpu.")


def rebuilt(build: Callable[[], Network], arrays: Arrays, device: str) -> Network:
    """Return a stored network with its weights, on the CPU if there is no GPU here."""
    with seeded(np.random.default_rng(0)) as torch:  # a new network draws weights, soon replaced
        network = build()
        network.load_state_dict({name: torch.from_numpy(np.array(item)) for name, item in arrays.items()})
        network.eval().to(device if torch.cuda.is_available() else "cpu")
    return network
