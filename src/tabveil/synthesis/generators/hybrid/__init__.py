"""Anonymize, sample, go back to concrete values, and let another generator learn: SPEC 7."""
