"""One figure of how faithful a release is, made of three that are on one scale."""

from collections.abc import Callable, Mapping
from statistics import fmean

from tabveil.core.estimate import Estimate
from tabveil.metrics.utility.findings import Fidelity, Figure

EVEN = 0.5


def faithful(figures: Mapping[str, Figure], *, halved: bool = True) -> Fidelity | None:
    """Sum up how much real and synthetic rows overlap: by one column, by two, and by all columns.

    An overlap is one less total variation, the share of the rows that need not change. That of all columns is
    what the discriminator leaves of it: a model that is right in a share ``a`` of the rows shows a total
    variation of at least ``2 a - 1``. Fidelity is the mean of the three. ``halved`` is false where the total
    variation of columns was measured without its half. Without one of the three there is no fidelity.

    >>> def of(value):
    ...     return Figure(value=Estimate(value=value, low=value, high=value, n=9), reference=None)
    >>> found = faithful({"total_variation": of(0.1), "pair_variation": of(0.2), "discriminator": of(0.75)})
    >>> [round(part.value.value, 3) for part in found.parts.values()], round(found.figure.value.value, 3)
    ([0.9, 0.8, 0.5], 0.733)
    """
    scale = 1.0 if halved else 0.5
    needed: Mapping[str, tuple[str, Callable[[float], float]]] = {
        "columns": ("total_variation", lambda value: 1 - scale * value),
        "pairs": ("pair_variation", lambda value: 1 - value),
        "rows": ("discriminator", lambda value: 2 * (1 - max(value, EVEN))),
    }
    if not all(figure in figures for figure, _ in needed.values()):
        return None
    parts = {part: _overlap(figures[figure], of) for part, (figure, of) in needed.items()}
    references = [part.reference for part in parts.values() if part.reference is not None]
    return Fidelity(
        figure=Figure(
            value=_mean([part.value for part in parts.values()]),
            reference=_mean(references) if len(references) == len(parts) else None,
        ),
        parts=parts,
    )


def _overlap(figure: Figure, of: Callable[[float], float]) -> Figure:
    def turned(found: Estimate) -> Estimate:
        value, low, high = (min(max(of(end), 0.0), 1.0) for end in (found.value, found.high, found.low))
        return Estimate(value=value, low=low, high=high, n=found.n)

    reference = None if figure.reference is None else turned(figure.reference)
    return Figure(value=turned(figure.value), reference=reference)


def _mean(parts: list[Estimate]) -> Estimate:
    """Return the mean; its bounds are the means of the bounds, wide enough whatever errors have in common."""
    value, low, high = (fmean(getattr(part, end) for part in parts) for end in ("value", "low", "high"))
    return Estimate(value=value, low=low, high=high, n=min(part.n for part in parts))
