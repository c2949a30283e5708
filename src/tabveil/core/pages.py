"""Who draws the page of a report: a report knows nothing of pages, so the package says it, from above."""

from collections.abc import Callable
from typing import Any

draw: Callable[[Any], str]
"""Returns a report as one HTML page; the package sets it before any of its parts is imported."""

draw_pipeline: Callable[[Any], str]
"""The same for a run of a pipeline."""
