"""Scales: from numbers to places on the drawing, with round ticks."""

import math
from dataclasses import dataclass
from typing import Literal

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_LABELED = (1.0, 2.0, 5.0)  # of each power of ten, where ticks are not evenly spaced
_NEAR = 1e-9  # ticks at the very end of an axis must not be lost to rounding


@dataclass(frozen=True, kw_only=True)
class Scale:
    """An axis from ``low`` to ``high``, drawn from ``start`` to ``end``.

    ``bend`` is ``linear``, ``root`` (square roots: room for small numbers, and zero has a place) or ``log``.

    >>> scale = Scale(low=0, high=0.2, start=100, end=300)
    >>> scale.at(0.05), scale.at(0.5), scale.ticks()
    (150.0, 300.0, (0.0, 0.05, 0.1, 0.15, 0.2))
    """

    low: float
    high: float
    start: float
    end: float
    bend: Literal["linear", "root", "log"] = "linear"

    def at(self, value: float) -> float:
        """Return the place of a value; one beyond an end of the axis stands at that end."""
        inside = min(max(value, self.low), self.high)
        first, last = self._bent(self.low), self._bent(self.high)
        return self.start + (self._bent(inside) - first) / (last - first) * (self.end - self.start)

    def back(self, place: float) -> float:
        """Return the value that is drawn at a place."""
        first, last = self._bent(self.low), self._bent(self.high)
        bent = first + (place - self.start) / (self.end - self.start) * (last - first)
        return {"linear": bent, "root": bent * bent, "log": math.exp(bent)}[self.bend]

    def _bent(self, value: float) -> float:
        match self.bend:
            case "linear":
                return value
            case "root":
                return math.sqrt(max(value, 0.0))
            case "log":
                return math.log(value)

    def ticks(self, about: int = 5, *, apart: float = 50.0) -> tuple[float, ...]:
        """Return round numbers to label: ``about`` so many, or on a bent axis those that lie ``apart``."""
        if self.bend == "linear":
            return _even_ticks(self.low, self.high, about)
        found: list[float] = []
        power = math.floor(math.log10(self.high))
        digits = _LABELED if self.bend == "root" else (1.0,)
        candidates = [digit * 10.0**p for p in range(power, power - 8, -1) for digit in reversed(digits)]
        for value in ([0.0] if self.bend == "root" else []) + candidates:
            fits = self.low * (1 - _NEAR) <= value <= self.high * (1 + _NEAR)
            if fits and all(abs(self.at(value) - self.at(other)) >= apart for other in found):
                found.append(value)
        return tuple(sorted(found))


def _even_ticks(low: float, high: float, about: int) -> tuple[float, ...]:
    least = (high - low) / about
    power = 10.0 ** math.floor(math.log10(least))
    step = next(digit * power for digit in _ROUND if digit * power >= least * (1 - _NEAR))
    first, last = math.ceil(low / step - _NEAR), math.floor(high / step + _NEAR)
    return tuple(round(multiple * step, 12) for multiple in range(first, last + 1))
