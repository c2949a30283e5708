"""The report of an audit: its page, and its text on the terminal."""
