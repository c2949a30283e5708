"""Training keeps the best weights, stops in time, and survives an interruption."""

import math

import pytest

from tabveil.core import workers
from tabveil.engines.networks import INTERRUPTED, Epoch, train


class Counter:
    """Stands in for a network: its only weight is the number of epochs it was trained."""

    def __init__(self):
        self.weight = 0

    def state_dict(self):
        return {"weight": self.weight}

    def load_state_dict(self, state):
        self.weight = state["weight"]


def trained(losses, **settings):
    """Train on these validation losses; return the network and the record."""
    network = Counter()

    def epoch(i):
        network.weight += 1
        if losses[i] is KeyboardInterrupt:
            raise KeyboardInterrupt
        return 0.5, losses[i]

    return network, train(network, epoch, epochs=len(losses), **settings)


def test_the_weights_with_the_least_loss_are_kept():
    network, record = trained([3.0, 1.0, 2.0, 1.0])
    assert (network.weight, record.best) == (2, 1)
    assert record.history[2] == Epoch(epoch=2, train=0.5, validation=2.0)
    assert len(record.history) == 4


def test_without_a_validation_loss_the_last_weights_are_kept():
    network, record = trained([None, None, None])
    assert (network.weight, record.best) == (3, 2)


def test_patience_ends_training():
    network, record = trained([2.0, 1.0, 3.0, math.nan, 0.0], patience=2)
    assert (network.weight, record.best, len(record.history)) == (2, 1, 4)


def test_patience_may_look_at_the_mean_of_several_epochs():
    losses = [4.0, 1.0, 3.0, 1.5, 3.0, 1.0, 4.0, 4.0]  # means of two: 4, 2.5, 2, 2.25, 2.25, 2, 2.5, 4
    network, record = trained(losses, patience=2)
    assert (network.weight, record.best, len(record.history)) == (2, 1, 4)
    network, record = trained(losses, patience=3, window=2)
    assert (network.weight, record.best, len(record.history)) == (2, 1, 6)
    falling = [4.0, 1.0, 3.0, 2.5, 2.0, 1.5, 9.0, 9.0]  # the mean falls on, though no epoch is better
    network, record = trained(falling, patience=2, window=3)
    assert (network.weight, record.best, len(record.history)) == (2, 1, 8)


def test_the_weights_from_before_are_kept_if_nothing_is_better():
    network, record = trained([2.0, 3.0, 0.5], before=1.0, patience=2)
    assert (network.weight, record.best, len(record.history)) == (0, -1, 2)
    network, record = trained([2.0, 3.0], before=math.nan)
    assert (network.weight, record.best) == (1, 0)


def test_stalling_is_told():
    heard = []
    trained([2.0, 1.0, 3.0, 3.0, 0.0, 1.0], stalled=heard.append)
    assert heard == [1, 2, 1]
    heard.clear()
    trained([1.0, 2.0, 2.0, 0.0], stalled=heard.append, patience=2)
    assert heard == [1]  # the second ended it


def test_stop_keeps_the_present_weights():
    network, record = trained(
        [2.0, 1.0, 1.2, 1.6, 0.1], patience=1, stop=lambda loss, least: loss > 1.5 * least
    )
    assert (network.weight, record.best, len(record.history)) == (4, 3, 4)
    network, record = trained([1.0, 1.2, 1.3], stop=lambda *_: False)
    assert (network.weight, record.best) == (3, 2)


def test_an_interruption_keeps_the_best_so_far():
    network, record = trained([2.0, 1.0, 3.0, KeyboardInterrupt])
    assert (network.weight, record.best, record.interrupted) == (2, 1, True)
    assert record.notes == (INTERRUPTED,)
    assert trained([1.0])[1].notes == ()


@pytest.mark.parametrize(
    ("losses", "settings"), [([KeyboardInterrupt], {}), ([1.0, KeyboardInterrupt], {"interruptible": False})]
)
def test_an_interruption_that_ends_more_than_training(losses, settings):
    with pytest.raises(KeyboardInterrupt):
        trained(losses, **settings)


def test_epochs_are_told():
    heard = []
    with workers.working(listener=lambda *told: heard.append(told)):
        trained([2.0, 1.0])
    assert heard == [("epoch 1 of 2, loss 2.0000", 0.5), ("epoch 2 of 2, loss 1.0000", 1.0)]
