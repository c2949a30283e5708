"""The report of an anonymization: its page."""
