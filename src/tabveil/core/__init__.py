"""What everything stands on: tables and results, estimates, settings, storage, randomness, workers."""
