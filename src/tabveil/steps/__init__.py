"""Steps beside a generator: rows dropped from what it learns, and from its release."""

from tabveil.steps.deduplicating import Deduplicated, deduplicate, require_limits
from tabveil.steps.filtering import FilteredRelease, filter_release, require_shares
from tabveil.steps.nearness import NearRows, near_rows

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
