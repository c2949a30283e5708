"""Traces: data of training people that stand in a release, seen without an attack.

A copied row is one; a letter, a case number, a name, a row but for one of its values, or the order of the
rows are others. Each is told from chance by people the generator never saw: what the release holds of control
people, it holds by chance.

Order asks: does row i of a release hold what row i of train holds?

A table that was filled in, or of which some columns only were made anew, keeps the places of its people, and
whoever owns any list of them in that order can read the release line by line. Nothing but the order betrays
it: each cell may be the most usual one.

So the two tables are laid beside each other, at the same start and at the same end, and cells in equal places
are compared: by equality, and numbers by their ranks, too, so that noise does not hide it. What that is worth
is told by laying them side by side with one of them moved: by a few rows, by many, and by those distances at
which train resembles itself (every seventh row a Sunday). Tables that are sorted alike, that drift or stand
in groups agree nearly as well when moved by a row. Where order leaks, agreement is gone at once.

Columns that stand in ascending or descending order tell nothing: the tenth of sorted values is the tenth
whether or not it is the tenth person's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import stdtr

from tabveil.core.estimate import Estimate, chance_of_at_least, mean_ranks, probit
from tabveil.core.storage.plain import Number, PlainData
from tabveil.core.table import Floats, Indices, Numeric, Split, mix_bits
from tabveil.core.wording import listed, name, percent, plural


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One kind of trace, how many people and released rows it concerns, and how often chance gives as much.

    ``people`` of ``n_people`` training people are concerned, ``people_control`` of ``n_control`` others;
    ``gain`` is the difference of the two shares. ``rows`` of the ``n_rows`` released rows hold what one
    training person alone has, where rows can be counted; ``rows_expected`` would by chance. ``p_value`` is
    one-sided, and corrected for all that was tried to find it. ``proven`` says that it stands without the
    control: no bad control protects it. ``columns`` are those that carry it, most first. ``sentence`` says
    it in words, and shows nobody's value.
    """

    name: str
    title: str
    sentence: str
    p_value: Number
    people: int
    n_people: int
    people_control: int = 0
    n_control: int = 0
    gain: Estimate
    rows: int | None = None
    rows_expected: Number | None = None
    n_rows: int = 0
    columns: tuple[str, ...] = ()
    proven: bool = False

    @property
    def share(self) -> float:
        """The share that is judged: of people, or of released rows beyond chance, whichever is larger."""
        if self.rows is None or self.n_rows == 0:
            return self.gain.value
        return max(self.gain.value, (self.rows - (self.rows_expected or 0.0)) / self.n_rows)

    def seen(self, level: float) -> bool:
        """Tell whether it is more than chance explains, at this level."""
        return self.p_value <= level


@dataclass(frozen=True, kw_only=True)
class Traces(PlainData):
    """All kinds of traces that were looked for and could be."""

    found: tuple[Trace, ...] = ()


FEWEST_ROWS = 20
"""Fewer rows cannot be moved far enough to tell."""
SLIPPED = 3
"""Rows that a table may have lost at its start or end; more is no longer in order."""
NEAR = 20
"""Moved by so many rows and fewer, tables that are sorted or grouped alike still agree."""
N_FAR = 100
"""How many other moves tell what chance gives."""
N_ECHOES = 10
"""So many distances at which train resembles itself are tried, too."""
IN_ORDER = 0.9
"""A column stands in order if so many of its steps go up, or down."""
AT_ONCE = 0.1
"""Of what cells agree beyond chance, at least this share must be gone when the table is moved by a row."""
FREEDOM = 5
"""Degrees of freedom by which a distance from chance becomes a p-value: tails far wider than the normal's."""
SEEN = 0.01
_NEVER_SEEN = 3.0  # events that may have been missed where none was counted (95 %)


def order(split: Split, *, rng: Generator) -> Trace | None:
    """Test every column for cells that stand in the places of the training people they are from.

    Parameters
    ----------
    rng
        Draws how far the tables are moved.

    Notes
    -----
    The p-value of a column takes as chance the *best* of all moves by a few rows, or at an echo, and the
    spread of all moves. Counts of equal cells are judged twice, and the larger p-value counts: by the
    distance in standard deviations, as Student's law with five degrees of freedom has it (moves of a table
    that drifts spread wider than a normal law says, and a hundred moves alone could not give less than 0.01),
    and by the binomial law, which also holds where hardly any cells are equal. Rank correlations are judged
    by the distance. Both p-values are multiplied by all columns, ways of comparing and places tried.

    Returns None where nothing can be compared: few rows, or all columns in order or constant.

    >>> from tabveil.core.table import Numeric, Schema, Table
    >>> schema = Schema((Numeric(name="cost", low=0, high=1),))
    >>> rng = np.random.default_rng(0)
    >>> train, fresh = (Table(schema=schema, values=rng.random((200, 1))) for _ in range(2))
    >>> kept = order(Split(train=train, control=fresh, synthetic=train), rng=rng)
    >>> kept.p_value < 1e-6, kept.gain.value, kept.columns
    (True, 1.0, ('cost',))
    >>> order(Split(train=train, control=fresh, synthetic=fresh), rng=rng).p_value
    1.0
    """
    short, long = sorted((split.synthetic, split.train), key=len)  # the shorter is laid along the longer
    if len(short) < FEWEST_ROWS:
        return None
    moves = _Moves(len(short), len(long), rng=rng)
    found = []
    for column in sorted(split.schema.columns, key=lambda column: column.name):
        cells = short.column(column.name), long.column(column.name)
        if any(_tells_nothing(side) for side in cells):
            continue
        # Missing is a value like others, so that missing cells are equal.
        codes = [np.nan_to_num(side, nan=np.inf) for side in cells]
        found.append(_Found(column.name, codes, moves, by_rank=False))
        if isinstance(column, Numeric):
            found.append(_Found(column.name, [_ranked(side) for side in cells], moves, by_rank=True))
    if not found:
        return None
    n_tried = len(found) * len(moves.places)
    seen = [item for item in found if item.p_value * n_tried <= SEEN]
    lead = max(seen, key=lambda item: item.gain) if seen else min(found, key=lambda item: item.p_value)
    return _told(split, lead, seen, min(1.0, n_tried * min(item.p_value for item in found)), len(short))


class _Moves:
    """Where a table of ``n_short`` rows is laid along one of ``n``, no fewer, which is taken for a circle."""

    def __init__(self, n_short: int, n: int, *, rng: Generator) -> None:
        slips = np.arange(-SLIPPED, SLIPPED + 1)
        self.places = np.unique(np.concatenate([slips, n - n_short + slips]) % n)  # where it may belong
        self.near = np.arange(1, min(NEAR, n // 4) + 1)  # beside these
        steps = np.concatenate([[0], self.near, -self.near])
        taken = np.unique((self.places[:, None] + steps[None, :]) % n)
        others = np.setdiff1d(rng.choice(n, min(n, N_FAR + len(taken)), replace=False), taken)
        self.far = others[:N_FAR]  # anywhere else


class _Found:
    """How well one column agrees in its place, and when moved."""

    def __init__(self, column: str, cells: Sequence[Floats], moves: _Moves, *, by_rank: bool) -> None:
        self.column, self.by_rank = column, by_rank
        short, long = cells
        n, around = len(short), np.concatenate([long, long])
        scale = np.sqrt(len(long) / n) if by_rank else 1 / n  # of a part of all, as if it were all

        def laid(places: Indices) -> Floats:
            parts = (around[start : start + n] for start in places.tolist())
            if by_rank:  # without BLAS, whose sums depend on the number of threads
                sums = [float(np.einsum("i,i", short, part)) for part in parts]
            else:
                sums = [float(np.count_nonzero(short == part)) for part in parts]
            return np.array(sums, dtype=np.float64) * scale

        at = laid(moves.places)
        best = int(np.argmax(at))
        here, place = float(at[best]), int(moves.places[best])
        steps = np.concatenate([moves.near, _echoes(long, by_rank=by_rank)])
        near = laid(np.unique(np.concatenate([place + steps, place - steps]) % len(long)))
        far = laid(moves.far)
        elsewhere = np.concatenate([near, far])
        moved, spread = float(np.mean(far if len(far) else near)), float(np.std(elsewhere, ddof=1))
        moved, chance = max(moved, float(near.mean())), float(near.max())
        p_value = 1.0
        if here > chance and here - chance >= AT_ONCE * (here - moved):
            least = 1 / n if not by_rank else 1 / np.sqrt(n)
            p_value = float(stdtr(FREEDOM, -(here - chance) / max(spread, least)))
            if not by_rank:
                # So many equal cells, if each is as likely to be equal as when moved.
                rate = min(1.0, float(elsewhere.mean()) + _NEVER_SEEN / (n * len(elsewhere)))
                p_value = max(p_value, chance_of_at_least(round(here * n), n, max(chance, rate)))
        self.p_value, self.spread, self.n = p_value, spread, n
        self.here, self.moved = here, moved  # share of equal cells, or rank correlation; there, and elsewhere

    @property
    def gain(self) -> float:
        """The share of rows that stand in their places beyond chance."""
        return min((self.here - self.moved) / (1 - self.moved), 1.0) if self.moved < 1 else 0.0


def _tells_nothing(cells: Floats) -> bool:
    """Whether a column is constant, or stands in order: up, or down, but for a few steps."""
    held = cells[~np.isnan(cells)]
    steps = np.diff(held)
    up, down = int((steps > 0).sum()), int((steps < 0).sum())
    if up + down == 0:
        return len(held) in (0, len(cells))  # else what is missing may tell
    return max(up, down) >= IN_ORDER * (up + down)


def _ranked(cells: Floats) -> Floats:
    """Return ranks with mean 0 and sum of squares 1; what is missing is in the middle."""
    held = ~np.isnan(cells)
    scores = np.zeros(len(cells))
    scores[held] = mean_ranks(cells[held])
    scores[held] -= scores[held].mean() if held.any() else 0.0
    size = float(np.sqrt((scores**2).sum()))
    return scores / size if size > 0 else scores


def _echoes(cells: Floats, *, by_rank: bool) -> Indices:
    """Return the distances at which a column resembles itself most."""
    scores = cells if by_rank else mix_bits((cells + 0.0).view(np.uint64)).astype(np.float64)
    held = scores - scores.mean()
    size = 1 << (2 * len(held) - 1).bit_length()
    spectrum = np.fft.rfft(held, size)
    alike = np.fft.irfft(spectrum * np.conj(spectrum), size)[: len(held) // 2 + 1]
    if len(alike) <= N_ECHOES + 1:
        return np.arange(1, len(alike))
    return 1 + np.argpartition(-alike[1:], N_ECHOES)[:N_ECHOES]


def _told(split: Split, lead: _Found, seen: list[_Found], p_value: float, n: int) -> Trace:
    n_people, n_rows = split.train.n_people, len(split.synthetic)
    of_all = n / len(split.train)  # a short release can hold the places of so many
    reach = probit(0.95) * lead.spread / max(1 - lead.moved, 1 / lead.n)  # as far as moved tables spread
    low, high = max(lead.gain - reach, -1.0), min(lead.gain + reach, 1.0)
    columns = tuple(
        dict.fromkeys(item.column for item in sorted(seen, key=lambda item: (-item.gain, item.column)))
    )
    where = f"In {plural(len(columns), 'column')} ({listed(columns)}) the release keeps the order of train"
    if not columns:
        sentence = (
            f"Laid beside train, no column of the release agrees better in its place than moved by some rows "
            f"({plural(n, 'row')} compared)."
        )
    elif lead.by_rank:
        sentence = (
            f"{where}: numbers of {name(lead.column)} go with those of the training rows in the same places "
            f"(rank correlation {lead.here:.2f}, moved by some rows {lead.moved:.2f})."
        )
    else:
        sentence = (
            f"{where}: of {name(lead.column)}, {percent(lead.here)} of rows hold the value of the training "
            f"row in the same place, where {percent(lead.moved)} do when moved by some rows."
        )
    return Trace(
        name="order",
        title="Order of rows",
        sentence=sentence,
        p_value=p_value,
        people=round(max(lead.gain, 0.0) * of_all * n_people) if seen else 0,
        n_people=n_people,
        gain=Estimate(value=lead.gain * of_all, low=low * of_all, high=high * of_all, n=n_people),
        rows=None if lead.by_rank else round(lead.here * n),
        rows_expected=None if lead.by_rank else lead.moved * n,
        n_rows=n_rows,
        columns=columns,
        proven=True,
    )
