"""What of real people reappears in a release: passages of their texts, and values that identify them."""

from tabveil.metrics.properties.replay.pii import PiiReplay
from tabveil.metrics.properties.replay.replayed import case_numbers, numbered_apart, replayed
from tabveil.metrics.properties.replay.text import TextReplay

__all__ = ["PiiReplay", "TextReplay", "case_numbers", "numbered_apart", "replayed"]
