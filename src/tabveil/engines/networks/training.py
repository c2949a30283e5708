"""Training a network: told as it goes, stopped in time, and never lost to an interruption."""

import copy
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tabveil.core.workers import part, tell

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
    best = _Best(network)
    if before is not None:
        best.keep(-1, math.inf if math.isnan(before) else before)
    steady = _Steady(window, best.epoch, best.loss)
    interrupted = False
    try:
        for i in range(epochs):
            with part(i / epochs, (i + 1) / epochs, title=f"epoch {i + 1} of {epochs}: "):
                losses = epoch(i)
            history.append(Epoch(epoch=i, train=losses[0], validation=losses[1]))
            tell(_doing(history[-1], epochs), (i + 1) / epochs)
            loss = losses[1] if losses[1] is not None else -float(i)
            steady.add(i, loss)
            if loss < best.loss:
                best.keep(i, loss)
            elif stop is None and patience is not None and i - steady.best >= patience:
                break
            elif stalled is not None:
                stalled(i - best.epoch)
            if stop is not None and (stop(loss, best.loss) or i == epochs - 1):
                best.keep(i, loss)
                break
    except KeyboardInterrupt:
        if not (interruptible and history):
            raise
        interrupted = True
    best.restore()
    return TrainingRecord(history=tuple(history), best=best.epoch, interrupted=interrupted)


class _Steady:
    """The mean loss of a window of epochs, and the epoch at which it was least."""

    def __init__(self, window: int, epoch: int, loss: float) -> None:
        self._losses: deque[float] = deque(maxlen=window)
        self.best, self._least = epoch, loss

    def add(self, epoch: int, loss: float) -> None:
        """Take one more epoch into account."""
        self._losses.append(loss)
        mean = sum(self._losses) / len(self._losses)
        if mean < self._least:
            self._least, self.best = mean, epoch


class _Best:
    """The weights kept so far, the epoch they are from and their loss."""

    def __init__(self, network: Any) -> None:  # noqa: ANN401 - a torch module
        self._network = network
        self._weights: Any = None
        self.epoch, self.loss = 0, math.inf

    def keep(self, epoch: int, loss: float) -> None:
        """Keep the present weights instead."""
        self.epoch, self.loss = epoch, loss
        self._weights = copy.deepcopy(self._network.state_dict())

    def restore(self) -> None:
        """Give the network back the weights that were kept, if any were."""
        if self._weights is not None:
            self._network.load_state_dict(self._weights)


def _doing(epoch: Epoch, epochs: int) -> str:
    loss = epoch.validation if epoch.validation is not None else epoch.train
    return f"epoch {epoch.epoch + 1} of {epochs}" + ("" if loss is None else f", loss {loss:.4f}")
