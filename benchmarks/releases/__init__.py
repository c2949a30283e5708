"""Releases that leak for certain, and releases that do not: what a verdict must tell apart."""

from releases.clean import CLEAN
from releases.columns import ORDER, PARTS, SCALES
from releases.construction import MISSING, SIZES, Construction, Release
from releases.controls import CONTROL
from releases.generated import GENERATORS
from releases.rows import COPIES, NEAR
from releases.tables import People, draw
from releases.words import ESCAPES, WORDS

CONSTRUCTIONS = (*COPIES, *NEAR, *PARTS, *SCALES, *ORDER, *WORDS, *CONTROL, *GENERATORS, *ESCAPES, *CLEAN)

__all__ = ["CONSTRUCTIONS", "MISSING", "SIZES", "Construction", "People", "Release", "draw"]
