"""Hierarchies of codes: characters masked from one side, step by step."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tabveil.synthesis.anonymize.building.assembling import assemble
from tabveil.synthesis.anonymize.building.faults import EntryError
from tabveil.synthesis.anonymize.building.values import ColumnValues
from tabveil.synthesis.anonymize.hierarchy import EVERYTHING, Hierarchy

ENTRY = "mask"
Side = Literal["right", "left"]


@dataclass(frozen=True, kw_only=True)
class Mask:
    """So many characters masked at each level, from the right or the left; one value for all above."""

    side: Side
    steps: tuple[int, ...]

    def check(self, column: str) -> None:
        """Refuse steps that do not rise."""
        if self.side not in ("right", "left"):
            raise EntryError(column, ENTRY, "it must be right or left.")
        if not self.steps or self.steps[0] < 1 or any(not low < high for low, high in pairwise(self.steps)):
            raise EntryError(
                column, ENTRY, "steps must be numbers of characters that rise, such as [1, 2, 3]."
            )

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column."""
        cells, texts = values.possible()
        longest = max(map(len, texts), default=0)
        if self.steps[0] > longest:
            raise EntryError(
                values.name,
                ENTRY,
                f"steps must begin with at most {longest}, the longest value's characters.",
            )
        levels = [texts, *(tuple(self._masked(text, step) for text in texts) for step in self.steps)]
        return assemble(values, cells, levels, top=True)

    def _masked(self, text: str, step: int) -> str:
        step = min(step, len(text))
        kept = text[: len(text) - step] if self.side == "right" else text[step:]
        return kept + EVERYTHING * step if self.side == "right" else EVERYTHING * step + kept
