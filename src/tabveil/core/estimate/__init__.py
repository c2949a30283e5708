"""Numbers with their uncertainty, each formula with its reason beside it (docs/definitions.md, Rates).

Nothing here is clipped or rounded: a negative risk is noise around zero and is shown as such.
"""

from tabveil.core.estimate.difference import chance_of_difference, difference, over_all, tail_beyond_zero
from tabveil.core.estimate.exact import chance_of_at_least, exact_rate, largest_rate, least_rate
from tabveil.core.estimate.joint import sidak, strongest
from tabveil.core.estimate.means import (
    around,
    bounded_distance,
    grouped_error,
    mean_of,
    percentile_interval,
    ratio_of_means,
    resamples_for,
)
from tabveil.core.estimate.ranking import AreaUnderCurve, mean_ranks, outranked, rate_beyond
from tabveil.core.estimate.rates import (
    CONFIDENCE,
    Estimate,
    known,
    level_of,
    mean_share,
    probit,
    rate,
    share,
    wilson,
)
from tabveil.core.estimate.ratio import ratio
from tabveil.core.estimate.relabeling import Deals, Scanned, chance_of_ranks, deal
from tabveil.core.estimate.risk import excess, part_of_room, risk_between, risk_toward
from tabveil.core.estimate.squared_errors import error_score, risk_of_errors, root_score

__all__ = [
    "CONFIDENCE",
    "AreaUnderCurve",
    "Deals",
    "Estimate",
    "Scanned",
    "around",
    "bounded_distance",
    "chance_of_at_least",
    "chance_of_difference",
    "chance_of_ranks",
    "deal",
    "difference",
    "error_score",
    "exact_rate",
    "excess",
    "grouped_error",
    "known",
    "largest_rate",
    "least_rate",
    "level_of",
    "mean_of",
    "mean_ranks",
    "mean_share",
    "outranked",
    "over_all",
    "part_of_room",
    "percentile_interval",
    "probit",
    "rate",
    "rate_beyond",
    "ratio",
    "ratio_of_means",
    "resamples_for",
    "risk_between",
    "risk_of_errors",
    "risk_toward",
    "root_score",
    "share",
    "sidak",
    "strongest",
    "tail_beyond_zero",
    "wilson",
]
