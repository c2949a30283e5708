"""Attribute inference by vote of similar rows."""

from tabveil.metrics.attacks.neighbor_vote.attack import NeighborVote

__all__ = ["NeighborVote"]
