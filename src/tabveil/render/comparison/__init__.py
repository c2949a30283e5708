"""Several audits side by side: their page, their text, and the object in Python."""
