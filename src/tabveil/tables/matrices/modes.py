"""Columns as a network sees them: one of a few slots, and for numbers a place within the slot.

A label is a slot. A number is a mode, a slot with a center and a reach, and a scalar between -1 and 1 that
says how far from the center it lies. Missing is the last slot, where there is one.

Where the modes come from differs. A mixture of Gaussians is fitted to the values (mode-specific
normalization, Xu et al. 2019, section 4.2); or the range is cut into equal parts, which looks at no value and
so betrays none. Those are not the :mod:`~tabveil.tables.matrices.bins` that rows are counted in: a mode tells
the network where in it a number lies, a bin only that it lies there, and draws it anew.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core.storage.arrays import require
from tabveil.core.storage.plain import require_plain
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, holds, within
from tabveil.tables.matrices.numbering import OfKind, SeenLabels
from tabveil.tables.matrices.ordinal import are_values, find, n_steps, seen_values

MOST_MODES = 10
SIGMAS = 4.0
"""A mode reaches so many standard deviations to either side."""
FREQUENT = 0.05
"""A number that this share of the known cells has is a mode by itself."""
LEAST_SHARE = 0.005
"""A mode of a mixture that holds less than this is dropped."""
MOST_FITTED = 20_000
"""Of more rows than this, so many drawn at random decide the mixture."""
CONCENTRATION = 1e-3
ITERATIONS = 100
_OUT_OF_REACH = -1e6  # worse than any mode that reaches a number


@dataclass(frozen=True, kw_only=True)
class LabelSlots(SeenLabels):
    """A column of labels: a slot for each label that can be drawn."""

    column: Categorical
    has_missing: bool
    has_scalar: ClassVar[bool] = False
    single: ClassVar[tuple[int, ...]] = ()

    def __len__(self) -> int:
        return len(self.codes) + self.has_missing

    def encode(self, cells: Floats, *, rng: Generator) -> tuple[Indices, Floats]:
        """Return the slot of each cell; labels have no place within it."""
        del rng
        return self.numbers(cells), np.zeros(len(cells))

    def decode(self, slots: Indices, scalars: Floats) -> Floats:
        """Return the label of each slot."""
        del scalars
        return self.cells(slots)


@dataclass(frozen=True, kw_only=True)
class ModeSlots(OfKind):
    """A column of numbers: single numbers that are frequent, then modes with a center and a reach.

    ``weights`` are those of the modes in a mixture: a cell's mode is drawn by how well each explains it,
    among those that reach it. Without weights the modes lie side by side, and the nearest is taken.
    """

    column: Numeric
    low: float  # numbers are cut to what lies between
    high: float
    points: tuple[float, ...]  # ascending
    centers: tuple[float, ...]
    reaches: tuple[float, ...]
    weights: tuple[float, ...] | None
    has_missing: bool
    kind: ClassVar[str] = "modes"

    def __len__(self) -> int:
        return len(self.points) + len(self.centers) + self.has_missing

    @property
    def has_scalar(self) -> bool:
        """Whether there is a mode that is more than a single number."""
        return len(self.centers) > 0

    @property
    def single(self) -> tuple[int, ...]:
        """The slots without a place within: single numbers and missing."""
        return tuple(np.flatnonzero(self.slot_reaches == 0).tolist())

    @cached_property
    def slot_centers(self) -> Floats:
        """The center of each slot, NaN for missing."""
        return np.array([*self.points, *self.centers, *[np.nan] * self.has_missing], dtype=np.float64)

    @cached_property
    def slot_reaches(self) -> Floats:
        """The reach of each slot, 0 for single numbers and missing."""
        return np.array([*[0.0] * len(self.points), *self.reaches, *[0.0] * self.has_missing])

    def encode(self, cells: Floats, *, rng: Generator) -> tuple[Indices, Floats]:
        """Return the slot of each cell and its place within, 0 where a slot is a single number or missing."""
        slots = np.full(len(cells), len(self) - 1, dtype=np.int64)
        known = ~np.isnan(cells)
        place, is_point = find(np.array(self.points), cells[known])
        if self.centers:
            place = np.where(is_point, place, len(self.points) + self._choose(cells[known], rng=rng))
        slots[known] = place
        reach = self.slot_reaches[slots]
        away = cells - self.slot_centers[slots]
        scalars = np.divide(away, reach, out=np.zeros_like(away), where=reach > 0)
        return slots, np.clip(scalars, -1.0, 1.0)

    def _choose(self, known: Floats, *, rng: Generator) -> Indices:
        """Return a mode for each number; one that reaches it, if there is any."""
        reaches = np.array(self.reaches)
        far = np.abs(known[:, None] - np.array(self.centers)) / reaches  # (n, modes)
        if self.weights is None:
            return np.asarray(far.argmin(axis=1))
        score = np.log(self.weights) - np.log(reaches) - (SIGMAS * np.minimum(far, 1.0)) ** 2 / 2
        score = np.where(far <= 1, score, _OUT_OF_REACH * far)
        return np.asarray((score + rng.gumbel(size=score.shape)).argmax(axis=1))

    def decode(self, slots: Indices, scalars: Floats) -> Floats:
        """Return the number at each place."""
        numbers = self.slot_centers[slots] + self.slot_reaches[slots] * scalars
        return np.clip(within(self.column, numbers), self.low, self.high)


Slots = LabelSlots | ModeSlots


def slots_from_json(column: Column, data: Mapping[str, Any]) -> Slots:
    """Rebuild what ``to_json`` wrote, for this column."""
    what = f"the slots of {column.name!r}"
    kind: Any = LabelSlots if isinstance(column, Categorical) else ModeSlots
    parts = {name: item for name, item in data.items() if name != "kind"}
    require(data.get("kind") == kind.kind, f"{what} must be {kind.kind}")
    slots: Slots = require_plain(kind, {**parts, "column": column}, what)
    match slots:
        case LabelSlots(codes=codes):
            fits = are_values(column, np.array(codes, dtype=np.float64))
        case ModeSlots(points=points):
            fits = are_values(column, np.array(points, dtype=np.float64)) and _are_modes(slots)
    require(fits and len(slots) > 0, f"{what} must be those of its values")
    return slots


def _are_modes(slots: ModeSlots) -> bool:
    """Whether numbers end within the column's range, each mode has a reach, and a weight if any has."""
    if not (slots.low <= slots.high and holds(slots.column, np.array([slots.low, slots.high]))):
        return False
    weights = (1.0,) * len(slots.centers) if slots.weights is None else slots.weights
    same = len(slots.centers) == len(slots.reaches) == len(weights)
    largest = np.max(np.abs([0.0, *slots.centers])) + np.max([0.0, *slots.reaches])
    return same and min((1.0, *slots.reaches, *weights)) > 0 and bool(np.isfinite(largest))


def seen_labels(column: Categorical, cells: Floats) -> LabelSlots:
    """Give a slot to every label that occurs, and to missing if it does."""
    codes = seen_values(column, cells).astype(np.int64)
    return LabelSlots(column=column, codes=tuple(codes.tolist()), has_missing=bool(np.isnan(cells).any()))


def _without_modes(column: Numeric, *, has_missing: bool) -> ModeSlots:
    return ModeSlots(
        column=column,
        low=column.low,
        high=column.high,
        points=(),
        centers=(),
        reaches=(),
        weights=None,
        has_missing=has_missing,
    )


def fitted_modes(column: Numeric, cells: Floats, *, most: int = MOST_MODES, rng: Generator) -> ModeSlots:
    """Find at most so many modes in the values of a column; no number beyond these values is ever drawn.

    Values that are frequent are modes by themselves, at most half of all; so is every value where there are
    no more values than modes. The rest is described by a mixture of Gaussians.
    """
    missing = np.isnan(cells)
    slots = _without_modes(column, has_missing=bool(missing.any()))
    values, counts = np.unique(cells[~missing], return_counts=True)
    if len(values) == 0:
        return slots
    slots = replace(slots, low=float(values[0]), high=float(values[-1]))
    if len(values) <= most:
        return replace(slots, points=tuple(values.tolist()))
    by_count = np.argsort(-counts, kind="stable")[: most // 2]
    frequent = np.sort(by_count[counts[by_count] >= FREQUENT * counts.sum()])
    points = values[frequent]
    rest = cells[~missing & ~np.isin(cells, points)]
    weights, centers, reaches = _mixture(rest, most - len(points), rng=rng)
    return replace(
        slots,
        points=tuple(points.tolist()),
        centers=tuple(centers.tolist()),
        reaches=tuple(reaches.tolist()),
        weights=tuple(weights.tolist()),
    )


def _mixture(cells: Floats, most: int, *, rng: Generator) -> tuple[Floats, Floats, Floats]:
    """Fit a mixture in which modes that explain little die out; return weights, centers and reaches."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow to load
    from sklearn.mixture import BayesianGaussianMixture  # noqa: PLC0415 - likewise

    low, width = cells.min(), np.ptp(cells) or 1.0
    fitted = cells if len(cells) <= MOST_FITTED else rng.choice(cells, MOST_FITTED, replace=False)
    mixture = BayesianGaussianMixture(
        n_components=min(most, len(np.unique(fitted))),
        weight_concentration_prior=CONCENTRATION,
        max_iter=ITERATIONS,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # modes that are nearly right are good enough
        mixture.fit(((fitted - low) / width)[:, None])
    keep = mixture.weights_ >= min(LEAST_SHARE, mixture.weights_.max())
    weights = mixture.weights_[keep] / mixture.weights_[keep].sum()
    centers = low + width * mixture.means_[keep, 0]
    reaches = SIGMAS * width * np.sqrt(mixture.covariances_[keep, 0, 0])
    far = np.abs(cells[:, None] - centers) / reaches  # (n, modes)
    nearest, needed = far.argmin(axis=1), far.min(axis=1)
    stretch = np.ones(len(centers))
    np.maximum.at(stretch, nearest, needed)  # every value must be within reach of some mode
    return weights, centers, reaches * stretch


def declared_labels(column: Categorical) -> LabelSlots:
    """Give a slot to every label of the domain, and to missing."""
    return LabelSlots(column=column, codes=tuple(range(len(column.labels))), has_missing=True)


def equal_modes(
    column: Numeric, *, n_modes: int = MOST_MODES, has_values: bool, has_missing: bool
) -> ModeSlots:
    """Cut the range of a column into modes of equal width, without looking at any value.

    The two bounds are modes by themselves: zero and the top of a scale are often frequent. So is every number
    where no more numbers are possible than modes.
    """
    slots = _without_modes(column, has_missing=has_missing)
    if not has_values:
        return slots
    if column.width == 0:
        return replace(slots, points=(column.low,))
    if column.decimals is not None and n_steps(column) < n_modes:
        possible = np.round(np.arange(column.low, column.high, 10.0**-column.decimals), column.decimals)
        return replace(slots, points=tuple(np.unique([column.low, *possible, column.high]).tolist()))
    reach = column.width / n_modes / 2
    centers = column.low + reach * (2 * np.arange(n_modes) + 1)
    return replace(
        slots, points=(column.low, column.high), centers=tuple(centers.tolist()), reaches=(reach,) * n_modes
    )
