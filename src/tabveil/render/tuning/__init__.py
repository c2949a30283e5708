"""The report of a search: its page, and its text on the terminal."""
