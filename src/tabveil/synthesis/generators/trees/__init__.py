"""Sequential trees: each column drawn given those before it."""
