"""The report of a benchmark: page, text on the terminal, and Markdown tables."""
