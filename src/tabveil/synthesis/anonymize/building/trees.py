"""Hierarchies of labels that somebody groups by hand: groups of groups of labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabveil.synthesis.anonymize.building.assembling import assemble
from tabveil.synthesis.anonymize.building.faults import EntryError
from tabveil.synthesis.anonymize.building.leaves import match_leaves, require_covered
from tabveil.synthesis.anonymize.building.values import ColumnValues
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

ENTRY = "tree"


@dataclass(frozen=True, kw_only=True)
class Tree:
    """Groups by name, each a list of labels or again groups; one value for all above.

    ``others`` names a group for the labels that stand nowhere in the tree.
    """

    groups: Mapping[str, Any]
    others: str | None = None

    def check(self, column: str) -> None:
        """Refuse trees that are uneven or hold something else than labels."""
        if not self.groups:
            raise EntryError(column, ENTRY, "it has no groups.")
        depths = {len(way) for way in _ways(column, self.groups, ())}
        if len(depths) > 1:
            raise EntryError(column, ENTRY, "all labels must lie equally deep; some lie deeper than others.")
        if not depths:
            raise EntryError(column, ENTRY, "it has no labels.")

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column."""
        ways = list(_ways(values.name, self.groups, ()))
        leaves = [way[-1] for way in ways]
        cells = match_leaves(values, leaves, ENTRY)
        depth = len(ways[0])
        if self.others is not None:
            possible, texts = values.possible()
            rest = ~np.isin(possible, cells)
            ways += [(self.others,) * (depth - 1) + (texts[place],) for place in np.flatnonzero(rest)]
            cells = np.concatenate((cells, possible[rest]))
        require_covered(values, cells, ENTRY, "the tree; add them, or name a group for 'others'")
        self._require_nested(values.name, ways)
        # From the leaves up: a way runs from the outermost group to the label.
        return assemble(
            values, cells, [[way[-1 - level] for way in ways] for level in range(depth)], top=True
        )

    def _require_nested(self, column: str, ways: list[tuple[str, ...]]) -> None:
        for level in range(1, len(ways[0])):
            parents: dict[str, set[tuple[str, ...]]] = {}
            for way in ways:
                parents.setdefault(way[level], set()).add(way[:level])
            if level < len(ways[0]) - 1 and any(len(found) > 1 for found in parents.values()):
                raise EntryError(column, ENTRY, "a group's name occurs in several places; names must differ.")


def _ways(column: str, node: object, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the way to every label, from the outermost group."""
    match node:
        case Mapping():
            for name, inner in node.items():
                yield from _ways(column, inner, (*above, _text(column, name)))
        case list() | tuple():
            if not node:
                raise EntryError(column, ENTRY, "a group is empty.")
            for label in node:
                yield (*above, _text(column, label))
        case _:
            raise EntryError(column, ENTRY, "every group must be a list of labels, or groups by name.")


def _text(column: str, label: object) -> str:
    """Return a label as text; YAML reads yes, 1 and 2020-01-01 as something else."""
    match label:
        case str():
            return label
        case bool() | None:
            raise EntryError(column, ENTRY, "labels such as yes, no or null must stand in quotes.")
        case int() | float():
            return str(label)
        case _ if hasattr(label, "isoformat"):
            return str(label.isoformat())
        case _:
            raise EntryError(column, ENTRY, "a label must be a text or a number.")
