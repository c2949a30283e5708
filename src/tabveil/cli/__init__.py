"""The command line: what can be asked (``app``), doing it (``commands``), and how it ends (``ending``)."""

from tabveil.cli.app import app, main

__all__ = ["app", "main"]
