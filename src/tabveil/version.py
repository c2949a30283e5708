"""The version, read by the build and stamped into every report."""

__version__ = "0.1.0.dev0"
