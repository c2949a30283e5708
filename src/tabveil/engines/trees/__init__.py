"""Boosted trees, and a fast way through them."""
