"""The command line: what can be asked (``app``), and how it ends (``exit_codes``)."""

from tabveil.cli.app import app, main

__all__ = ["app", "main"]
