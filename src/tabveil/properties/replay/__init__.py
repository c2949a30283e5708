"""What of real people reappears in a release: passages of their texts, and values that identify them."""

from tabveil.properties.replay.pii import PiiReplay
from tabveil.properties.replay.text import TextReplay

__all__ = ["PiiReplay", "TextReplay"]
