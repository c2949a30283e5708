"""Attacks: what an intruder who holds only the release can do with it."""
