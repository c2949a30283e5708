"""The report of a pipeline: its page, and its text on the terminal."""
