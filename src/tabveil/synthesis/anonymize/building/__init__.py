"""Hierarchies as people write them down, and made from them.

What is read is the entry of a hierarchy in a file or a mapping: of which kind it is, and whether all in it is
known.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tabveil.core.check import nearest, quoted
from tabveil.synthesis.anonymize.building.column_values import ColumnValues, EntryError
from tabveil.synthesis.anonymize.building.graded import Automatic, Dates, Mask, NumberIntervals
from tabveil.synthesis.anonymize.building.written import FromFile, LabelTree
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

__all__ = ["Automatic", "ColumnValues", "HierarchyEntry", "meant", "read_entry"]

AUTO = "auto"
KEYS = {
    "file": {"file"},
    "intervals": {"intervals", "origin", "bottom", "top"},
    "tree": {"tree", "others"},
    "mask": {"mask", "steps"},
    "dates": {"dates"},
}
"""Every kind of entry, with the keys it may have."""


class HierarchyEntry(Protocol):
    """What somebody says about the hierarchy of a column."""

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column with these values."""
        ...


def read_entry(column: str, entry: object, folder: Path) -> HierarchyEntry:
    """Read an entry; files are looked for from ``folder``."""
    if entry == AUTO:
        return Automatic()
    kind, entry = _kind(column, entry)
    if kind == "file":
        if not isinstance(entry["file"], (str, Path)) or not str(entry["file"]):
            raise EntryError(column, kind, "it must be the name of a file.")
        return FromFile(path=folder / entry["file"])
    made: NumberIntervals | LabelTree | Mask | Dates
    match kind:
        case "intervals":
            made = _intervals(column, entry)
        case "tree":
            made = _tree(column, entry)
        case "mask":
            made = Mask(side=entry["mask"], steps=_steps(column, entry))
        case _:
            made = Dates(units=tuple(str(unit) for unit in _listed(column, "dates", entry["dates"])))
    made.check(column)
    return made


def meant(name: str, known: Collection[str]) -> str:
    """Offer the nearest name that is known, if one is near, as a sentence to be added to another."""
    close = nearest(name, known)
    return f" Did you mean {quoted(close)}?" if close else ""


def _kind(column: str, entry: object) -> tuple[str, Mapping[str, Any]]:
    """Return which kind of entry it is, and the entry, all of whose keys are known."""
    if not isinstance(entry, Mapping) or not entry:
        shown = "nothing" if entry is None or entry == {} else str(entry)
        raise EntryError(column, shown, f"it must be one of {', '.join(KEYS)}, or auto.")
    kinds = [kind for kind in KEYS if kind in entry]
    if len(kinds) > 1:
        problem = f"a column has one kind of hierarchy, and {kinds[0]} is there, too."
        raise EntryError(column, kinds[1], problem)
    if not kinds:
        first = str(next(iter(entry)))
        raise EntryError(column, first, f"it must be one of {', '.join(KEYS)}, or auto.{meant(first, KEYS)}")
    for key in entry:
        if key not in KEYS[kinds[0]]:
            raise EntryError(column, str(key), f"unknown beside {kinds[0]}.")
    return kinds[0], entry


def _intervals(column: str, entry: Mapping[str, Any]) -> NumberIntervals:
    given = _listed(column, "intervals", entry["intervals"])
    by_cuts = any(isinstance(level, (list, tuple)) for level in given)
    origin, bottom, top = (
        _number(column, key, entry[key]) if key in entry else None for key in ("origin", "bottom", "top")
    )
    if not by_cuts:
        widths = tuple(_number(column, "intervals", width) for width in given)
        return NumberIntervals(widths=widths, origin=origin or 0.0, bottom=bottom, top=top)
    if origin is not None:
        raise EntryError(column, "origin", "it belongs to widths; here are cuts.")
    cuts = tuple(
        tuple(_number(column, "intervals", cut) for cut in _listed(column, "intervals", level))
        for level in given
    )
    return NumberIntervals(cuts=cuts, bottom=bottom, top=top)


def _tree(column: str, entry: Mapping[str, Any]) -> LabelTree:
    others = entry.get("others")
    if not isinstance(entry["tree"], Mapping):
        raise EntryError(column, "tree", "it must hold groups by name, such as {city: [Ulm, Bonn]}.")
    if others is not None and (not isinstance(others, str) or not others):
        raise EntryError(column, "others", "it must be the name of a group.")
    return LabelTree(groups=entry["tree"], others=others)


def _steps(column: str, entry: Mapping[str, Any]) -> tuple[int, ...]:
    if "steps" not in entry:
        raise EntryError(column, "mask", "it needs steps beside it, such as [1, 2, 3].")
    steps = _listed(column, "steps", entry["steps"])
    if any(isinstance(step, bool) or not isinstance(step, int) for step in steps):
        raise EntryError(column, "steps", "steps must be whole numbers of characters.")
    return tuple(steps)


def _listed(column: str, key: str, value: object) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise EntryError(column, key, "it must be a list.")
    return value


def _number(column: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise EntryError(column, key, "it must be made of finite numbers.")
    return float(value)
