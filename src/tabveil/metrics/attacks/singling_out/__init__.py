"""Singling out by predicates."""
