"""Attribute inference by vote of similar rows."""

from tabveil.attacks.neighbor_vote.attack import NeighborVote

__all__ = ["NeighborVote"]
