"""Training rows among released ones, as they are or behind noise: whose, where, and how much of them."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.people import numbered
from tabveil.core.sampling import count_share
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table
from tabveil.errors import ParameterError, SchemaError
from tabveil.protocols import RiskModel

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""The shares of a release that the papers plant."""


class _Planted(RiskModel):
    """A risk model that plants copies of training people: all draw places and people alike."""

    levels: ClassVar[tuple[float, ...]] = LEVELS

    @classmethod
    def check_level(cls, level: float) -> None:
        """Require a share."""
        check.share(cls.__name__, "level", level)

    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Table:
        """Plant copies of training rows in a share ``level`` of the release.

        Places and people are drawn at random, nobody twice as long as there are others. Where people have
        several rows, all rows of one are planted before those of the next; of the last only as many as there
        are places left. For one state of ``rng`` a higher level has the places and people of a lower one, and
        more.
        """
        owner = type(self).__name__
        self.check_level(level)
        if train.schema != release.schema:
            raise SchemaError(owner, "train and release must have the same schema.")
        n_planted = count_share(level, len(release))
        if n_planted and not len(train):
            raise ParameterError(owner, "train must have a row to plant, got none.")
        places = rng.permutation(len(release))[:n_planted]
        order = rng.permutation(len(train) if train.people is None else train.n_people)
        if train.people is not None:  # the rows of each person together
            order = np.argsort(order[numbered(train)], kind="stable")
        people = np.resize(order, n_planted)
        values = np.array(release.values)
        values[places] = self._copies(train, people, rng=rng)
        return Table(schema=release.schema, values=values)

    @abstractmethod
    def _copies(self, train: Table, people: Indices, *, rng: Generator) -> Floats:
        """Return what is planted of these rows of train."""


@dataclass(frozen=True, kw_only=True)
class Leaky(_Planted):
    """Plant exact copies of training people: the plainest leak there is.

    A share ``level`` of the release rows, drawn at random, is replaced by training rows. Where the release
    holds real people whom nobody learned from, as a perfect generator would make them, the risk is the level.

    Notes
    -----
    Rows are drawn without replacement; only where the level asks for more people than train has do all of
    them come again. Never more rows are planted than the level says. For one state of ``rng`` a higher level
    plants the rows of a lower one, and more.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Empirical Evaluation of Structured Synthetic Data Privacy
      Metrics: Novel Experimental Framework. arXiv:2512.16284.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Numeric, Schema
    >>> ages = Schema((Numeric(name="age", low=0, high=99, decimals=0),))
    >>> train = Table(schema=ages, values=np.full((10, 1), 30.0))
    >>> release = Table(schema=ages, values=np.full((10, 1), 60.0))
    >>> leak = Leaky()(train, release, 0.3, rng=np.random.default_rng(0))
    >>> int((leak.column("age") == 30).sum()), len(leak)
    (3, 10)
    """

    name: ClassVar[str] = "leaky"

    def _copies(self, train: Table, people: Indices, *, rng: Generator) -> Floats:
        del rng
        return train.values[people]


Reading = Literal["relative", "absolute", "multiplicative"]
Moved = Literal["real", "fine", "every"]


@dataclass(frozen=True, kw_only=True)
class Noisy(_Planted):
    """Plant copies of training people whose values were moved a little: a leak behind noise.

    As many rows as with the leaky model, of the same people and in the same places for one state of ``rng``;
    but each number of a copy is moved, and each category may be replaced. With no noise at all it is the
    leaky model.

    Parameters
    ----------
    sigma
        How far a normal draw moves real numbers.
    lam
        The mean of the Poisson draw that moves whole numbers, up or down with equal chance.
    p
        The chance of a category to be replaced by one of the column's others, each as likely.
    reading
        What ``sigma`` counts: standard deviations of the column in train (``"relative"``), the column's own
        unit, as the papers write it (``"absolute"``), or shares of the value itself, as their program has it
        (``"multiplicative"``), which never moves a zero.
    sigma_moves
        Which numbers ``sigma`` moves. ``"real"``: those with decimals. ``"fine"``: also whole numbers so fine
        that most training rows have their own, such as a sampling weight; ``lam`` then leaves these alone.
        ``"every"``: all numbers, the whole ones beside ``lam``. This is a far harder setting, as it turns the
        many zeros of a gain or a loss into something else; but tables such as Adult store all numbers whole,
        and to the letter ``sigma`` would move nothing there.

    Notes
    -----
    The schema stays what it was. Whole numbers stay whole, others keep their decimals, what is missing stays
    missing, and the only label of a column stays. A number that would leave its column's range is reflected
    at its end: cutting it off would put it back on the very value from which noise was to move it, such as
    zero. A date is moved by ``sigma`` standard deviations under every reading, and never by ``lam``: its size
    and its unit depend on how it is stored.

    Every column has random numbers of its own, so two settings differ in nothing but the noise that they
    switch on, and for one state of ``rng`` a higher level plants the rows of a lower one, and more.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.

    Examples
    --------
    >>> import numpy as np
    >>> from tabveil.core.table import Schema
    >>> sexes = Schema((Categorical(name="sex", labels=("f", "m")),))
    >>> train, release = (Table(schema=sexes, values=np.zeros((4, 1))) for _ in range(2))
    >>> sorted(Noisy(p=1.0)(train, release, 0.5, rng=np.random.default_rng(0)).column("sex").tolist())
    [0.0, 0.0, 1.0, 1.0]
    """

    sigma: float = 0.05
    lam: float = 0.05
    p: float = 0.05
    reading: Reading = "relative"
    sigma_moves: Moved = "real"

    name: ClassVar[str] = "noisy"

    def __post_init__(self) -> None:
        for name in ("sigma", "lam"):
            value = getattr(self, name)
            check.at_least("Noisy", name, value, 0)
            if not math.isfinite(value):
                raise ParameterError("Noisy", f"{name} must be finite, got {value!r}.")
        check.share("Noisy", "p", self.p)
        check.one_of("Noisy", "reading", self.reading, get_args(Reading))
        check.one_of("Noisy", "sigma_moves", self.sigma_moves, get_args(Moved))

    def _copies(self, train: Table, people: Indices, *, rng: Generator) -> Floats:
        return self.moved(train.values[people], train, rng=rng)

    def moved(self, rows: Floats, known: Table, *, rng: Generator) -> Floats:
        """Move rows (n, columns) by the noise; ``known`` are all that train has, with their schema."""
        cells = np.array(rows)
        for position, (column, own) in enumerate(
            zip(known.schema.columns, rng.spawn(len(known.schema)), strict=True)
        ):
            cells[:, position] = self._moved(column, cells[:, position], known.values[:, position], rng=own)
        return cells

    def counts_as_real(self, column: Numeric, known: Floats) -> bool:
        """Tell whether ``sigma``, and not ``lam``, is what moves a column that holds these cells in train."""
        if column.arbitrary_zero or not column.integer:
            return True
        known = known[~np.isnan(known)]
        return self.sigma_moves == "fine" and 2 * len(np.unique(known)) > len(known)

    def _moved(self, column: Column, cells: Floats, known: Floats, *, rng: Generator) -> Floats:
        """Move the cells of one column; ``known`` are all that train has of it."""
        match column:
            case Numeric():
                shift = np.zeros(len(cells))
                by_sigma, by_sign, by_lam = rng.spawn(3)  # so that each draw goes on where a lower level ends
                real = self.counts_as_real(column, known)
                if real or self.sigma_moves == "every":
                    shift += by_sigma.normal(size=len(cells)) * self._unit(column, cells, known) * self.sigma
                if not real:
                    shift += by_sign.choice([-1, 1], len(cells)) * by_lam.poisson(self.lam, len(cells))
                return shifted(column, cells, shift)
            case Categorical(labels=labels):
                if len(labels) <= 1:
                    return cells
                by_p, by_label = rng.spawn(2)
                another = (cells + by_label.integers(1, len(labels), len(cells))) % len(labels)
                return np.where(by_p.random(len(cells)) < self.p, another, cells)

    def _unit(self, column: Numeric, cells: Floats, known: Floats) -> float | Floats:
        """Return what ``sigma`` counts."""
        if self.reading == "relative" or column.arbitrary_zero:
            known = known[~np.isnan(known)]
            return float(known.std()) if len(known) else 0.0
        return 1.0 if self.reading == "absolute" else cells


def shifted(column: Numeric, cells: Floats, shift: Floats) -> Floats:
    """Add to the cells, within the column's range and in its decimals; a cell not shifted stays as it is."""
    moved = _reflected(cells + shift, column.low, column.high)
    if column.decimals is not None:
        moved = np.round(moved, column.decimals) + 0.0  # -0.0 and 0.0 are one value
    fits = (shift != 0) & (column.low <= moved) & (moved <= column.high)  # rounding may leave the range
    return np.where(fits, moved, cells)


def _reflected(cells: Floats, low: float, high: float) -> Floats:
    """Fold what lies beyond an end of the range back into it, as a mirror there would."""
    if low == high:
        return np.where(np.isnan(cells), cells, low)
    beyond = np.mod(cells - low, 2 * (high - low))
    folded = np.clip(low + np.minimum(beyond, 2 * (high - low) - beyond), low, high)
    return np.where((cells < low) | (cells > high), folded, cells)
