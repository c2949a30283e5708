"""The one door to torch: where networks run, from which random numbers, how they train and are stored.

Nothing here imports torch before it is needed: it is an extra, and slow to load.
"""

from tabveil.engines.networks.running import (
    limited_threads,
    load_torch,
    rebuild,
    require_device,
    require_finite,
    seeded,
    weights_of,
)
from tabveil.engines.networks.training import INTERRUPTED, Epoch, TrainingRecord, train

__all__ = [
    "INTERRUPTED",
    "Epoch",
    "TrainingRecord",
    "limited_threads",
    "load_torch",
    "rebuild",
    "require_device",
    "require_finite",
    "seeded",
    "train",
    "weights_of",
]
