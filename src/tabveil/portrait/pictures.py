"""What a page draws of a release, as plain data: shares of rows, never a row; to JSON and back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Distances:
    """How far do synthetic rows (SRD) and control rows (RRD) lie from their nearest train row?

    Two cumulative curves: at each (Gower) distance of the ``grid``, the share of rows no farther away. The
    grid starts at 0, exact copies. Its last point stands for that distance *or more*, so both curves end at 1
    without telling how far the farthest row lies.
    """

    grid: tuple[float, ...]  # ascending
    synthetic: tuple[float, ...]
    control: tuple[float, ...] | None  # None where there are too few control rows
    median_synthetic: float
    median_control: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "grid": list(self.grid),
            "synthetic": list(self.synthetic),
            "control": None if self.control is None else list(self.control),
            "median_synthetic": self.median_synthetic,
            "median_control": self.median_control,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return cls(
            grid=tuple(data["grid"]),
            synthetic=tuple(data["synthetic"]),
            control=None if data["control"] is None else tuple(data["control"]),
            median_synthetic=data["median_synthetic"],
            median_control=data["median_control"],
        )


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One field of the map: its place, and which share of the rows fall into it (None: too few to say)."""

    x: int  # from the left
    y: int  # from the bottom
    real: float | None
    synthetic: float | None


@dataclass(frozen=True, kw_only=True)
class Map:
    """Where real and synthetic rows lie along the two directions in which real rows differ most.

    Fields with too few rows of both kinds are not listed. ``hidden_real`` and ``hidden_synthetic`` are the
    shares of rows that no field shows; ``explained`` is each direction's share of the real rows' variance.
    """

    columns: int  # fields across
    rows: int  # fields upward
    cells: tuple[Cell, ...]
    explained: tuple[float, float]
    hidden_real: float
    hidden_synthetic: float

    def to_json(self) -> dict[str, Any]:
        """Return plain data; a cell is the list ``[x, y, real, synthetic]``, for there are many."""
        return {
            "columns": self.columns,
            "rows": self.rows,
            "cells": [[cell.x, cell.y, cell.real, cell.synthetic] for cell in self.cells],
            "explained": list(self.explained),
            "hidden_real": self.hidden_real,
            "hidden_synthetic": self.hidden_synthetic,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        first, second = data["explained"]
        return cls(
            columns=data["columns"],
            rows=data["rows"],
            cells=tuple(Cell(x=x, y=y, real=real, synthetic=made) for x, y, real, made in data["cells"]),
            explained=(first, second),
            hidden_real=data["hidden_real"],
            hidden_synthetic=data["hidden_synthetic"],
        )


@dataclass(frozen=True, kw_only=True)
class Portrait:
    """The pictures of a release; one that could not be drawn is None, and a note says why."""

    distances: Distances | None
    map: Map | None
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; ``seconds`` is the only field that differs between equal runs."""
        return {
            "distances": None if self.distances is None else self.distances.to_json(),
            "map": None if self.map is None else self.map.to_json(),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        distances, drawn = data["distances"], data["map"]
        return cls(
            distances=None if distances is None else Distances.from_json(distances),
            map=None if drawn is None else Map.from_json(drawn),
            notes=tuple(data["notes"]),
            seconds=data["seconds"],
        )
