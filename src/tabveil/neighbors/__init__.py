"""Exact nearest neighbors for tables: one engine, two distances, several strategies behind one call."""

from tabveil.neighbors.engine import NearestRows, Neighbors
from tabveil.neighbors.space import Space

__all__ = ["NearestRows", "Neighbors", "Space"]
