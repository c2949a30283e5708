"""Steps beside a generator: rows dropped from what it learns, and from its release."""

from tabveil.metrics.nearness import NearRows, near_rows
from tabveil.workflows.steps.deduplicating import Deduplicated, deduplicate, require_limits
from tabveil.workflows.steps.filtering import FilteredRelease, filter_release, require_shares

__all__ = [
    "Deduplicated",
    "FilteredRelease",
    "NearRows",
    "deduplicate",
    "filter_release",
    "near_rows",
    "require_limits",
    "require_shares",
]
