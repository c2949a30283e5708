"""Numbers and names as a data protection officer reads them.

Everything that comes from outside (column names, notes, titles of attackers) is cleaned here: characters that
turn or hide the text around them are dropped, and no name is longer than a line.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tabveil.estimate import Estimate
from tabveil.render.svg.words import clean as visible
from tabveil.render.text import number as three_decimals

NOT_COMPUTED = "not computed"
LONGEST_NAME = 60
LONGEST_TEXT = 1200
FEW_NAMES = 8

TITLES: Mapping[str, str] = {
    "singling_out": "Singling out",
    "linkability": "Linkability",
    "inference": "Inference from the nearest row",
    "ml_inference": "Inference by a trained model",
    "neighbor_vote": "Inference by vote of similar rows",
    "gtcap": "Claims about a target (GTCAP)",
    "membership_distance": "Membership by distance",
    "domias_kde": "Membership by density (DOMIAS)",
    "domias_flow": "Membership by a neural flow (DOMIAS)",
    "identical_match_share": "Identical rows",
    "distance_to_closest": "Distance to the closest record (DCR)",
    "closest_share": "Share closer to train",
    "nearest_neighbors": "Distance to several neighbors (k-NN)",
    "neighbor_distance_ratio": "Neighbor distance ratio (NNDR)",
    "adversarial_accuracy": "Adversarial accuracy (NNAA)",
    "mmd": "Maximum mean discrepancy (MMD)",
    "correlation": "Correlation difference",
    "discriminator": "Discriminator accuracy",
    "power": "Detection power",
    "utility": "Utility",
    "portrait": "Distances and map",
    "downstream": "Train on synthetic, test on real (TSTR)",
}
"""Metrics by their names in words; a metric of the user's own keeps its name."""


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """Drop what has no picture or turns the text around it, fold white space, and cut what is too long.

    >>> clean("abcdef", 4)
    'abc…'
    """
    kept = visible(text)
    return kept if len(kept) <= longest else f"{kept[: longest - 1].rstrip()}…"


def name(text: str) -> str:
    """Shorten a name from outside to what a line of text can hold."""
    return clean(text, LONGEST_NAME)


def cell(text: str) -> str:
    """Write a value of a table; what dataframes call a missing value is called that.

    >>> cell("nan"), cell("ward 3")
    ('missing', 'ward 3')
    """
    return "missing" if text in {"", "nan", "NaN", "None", "<NA>", "NaT"} else name(text)


def listed(names: Sequence[str], most: int = FEW_NAMES) -> str:
    """List names, the first ones where there are many.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], 2)
    ('a, b, c', 'a, b and 2 more')
    """
    shown = [name(item) for item in names]
    if len(shown) <= most:
        return ", ".join(shown)
    return f"{', '.join(shown[:most])} and {len(shown) - most:,} more"


def base(metric: str) -> str:
    """Return the metric a result belongs to: a title such as "inference: neighbor" names an attacker, too."""
    return metric.split(": ", 1)[0]


def attacker(metric: str) -> str | None:
    """Return the attacker profile a result's title names, if any."""
    return metric.split(": ", 1)[1] if ": " in metric else None


def title(metric: str) -> str:
    """Name a metric in words, with its attacker.

    >>> title("inference: neighbor"), title("my_own")
    ('Inference from the nearest row (attacker “neighbor”)', 'my_own')
    """
    words = TITLES.get(base(metric), name(base(metric)))
    who = attacker(metric)
    return words if who is None else f"{words} (attacker “{name(who)}”)"


def number(value: float | None) -> str:
    """Write a number with three decimals and a real minus sign, or say that there is none.

    >>> number(-0.0123), number(float("nan"))
    ('−0.012', 'not computed')
    """
    if value is None or not math.isfinite(value):
        return NOT_COMPUTED
    return three_decimals(value).replace("-", "−")


def interval(estimate: Estimate | None) -> str:
    """Write the two ends of an interval."""
    if estimate is None or not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return NOT_COMPUTED
    return f"{number(estimate.low)} to {number(estimate.high)}"


def percent(value: float | None) -> str:
    """Write a share, with two decimals where it is small.

    >>> percent(0.2854), percent(0.0017), percent(0.00001), percent(1.0)
    ('28.5%', '0.17%', 'less than 0.01%', '100%')
    """
    if value is None or not math.isfinite(value):
        return NOT_COMPUTED
    if value in {0.0, 1.0}:
        return f"{value:.0%}"
    if 0 < value < 0.00005:  # noqa: PLR2004 - what two decimals would show as zero
        return "less than 0.01%"
    if 0.9995 <= value < 1:  # noqa: PLR2004 - what one decimal would show as all
        return "more than 99.9%"
    return f"{value:.2%}" if abs(value) < 0.09995 else f"{value:.1%}"  # noqa: PLR2004 - below one in ten


def level(confidence: float) -> str:
    """Write a confidence level.

    >>> level(0.95), level(0.999)
    ('95%', '99.9%')
    """
    return f"{confidence * 100:.4g}%"


def plural(count: int, word: str, several: str = "") -> str:
    """Count things.

    >>> plural(1, "row"), plural(1200, "person", "people")
    ('1 row', '1,200 people')
    """
    return f"{count:,} {word if count == 1 else several or f'{word}s'}"


def duration(seconds: float) -> str:
    """Write a time in the unit that reads best.

    >>> duration(0.2), duration(75)
    ('under 1 second', '1 min 15 s')
    """
    if seconds < 1:
        return "under 1 second"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60:,} min {whole % 60} s"  # noqa: PLR2004 - a minute


def estimate_of(value: Any) -> Estimate | None:  # noqa: ANN401 - an estimate, or the JSON of one
    """Return an estimate that stands in the details of a result, whether fresh or read from JSON."""
    if isinstance(value, Estimate):
        return value
    if isinstance(value, Mapping) and {"value", "low", "high"} <= set(value):
        ends = [value[key] for key in ("value", "low", "high")]
        if all(isinstance(end, (int, float)) for end in ends):
            return Estimate(value=ends[0], low=ends[1], high=ends[2], n=int(value.get("n") or 0))
    return None


def value_of(value: Any) -> str:  # noqa: ANN401 - whatever a parameter may be
    """Write a parameter's or a setting's value in one line."""
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case float() if not math.isfinite(value):
            return NOT_COMPUTED
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else f"{value:,}"
        case Mapping():
            return "; ".join(f"{name(str(key))}: {value_of(item)}" for key, item in value.items()) or "none"
        case list() | tuple():
            parts = [value_of(item) for item in value]
            return ", ".join(parts) or "none"
        case _:
            return clean(str(value))
