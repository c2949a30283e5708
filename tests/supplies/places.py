"""Where the project's folders are, from wherever a test stands."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
