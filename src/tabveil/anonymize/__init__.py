"""Anonymization."""
