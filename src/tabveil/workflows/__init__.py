"""Whole jobs that take long, keep what is done and go on where they were: benchmarks, searches, pipelines."""
