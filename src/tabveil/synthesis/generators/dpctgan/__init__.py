"""CTGAN with a differentially private critic."""
