"""Anonymize, sample, go back to concrete values, and let another generator learn.

See docs/definitions.md, Hybrid pipeline.
"""
