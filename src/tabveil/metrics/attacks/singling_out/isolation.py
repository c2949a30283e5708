"""How often do guesses single out one person, how much does that prove, and by which columns together?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core import workers
from tabveil.core.findings import Combination
from tabveil.core.table import Floats, Indices
from tabveil.metrics.attacks.guessing import Tally
from tabveil.metrics.attacks.singling_out.predicate_kernels import add_pairs, deal_people
from tabveil.metrics.attacks.singling_out.predicates import LISTED, Matches

_DEALS = 300
_DEALS_AT_ONCE = 25


def chance_of_one(most: int, n_people: int, size: int) -> Floats:
    """Return for m = 0 … most: when m of n_people people match, how likely does one of a sample of ``size``?

    >>> chance_of_one(3, 10, 10).tolist()
    [0.0, 1.0, 0.0, 0.0]
    >>> chance_of_one(2, 4, 2).round(3).tolist()
    [0.0, 0.5, 0.667]
    """
    m = np.arange(1, max(most, 1))
    others = np.maximum(n_people - m, 1)
    step = (m + 1) / m * np.maximum(n_people - m - size + 1, 0) / others  # from m to m + 1 who match
    return np.concatenate([[0.0], size / n_people * np.cumprod(np.concatenate([[1.0], step]))])[: most + 1]


@dataclass(frozen=True, kw_only=True, eq=False)
class Isolation:
    """The guesses of one configuration against train and control, at the size of the smaller one."""

    columns: NDArray[np.int32]  # (guesses, n_columns) the columns that each predicate is about
    train: Matches
    control: Matches
    naive: Matches  # random predicates against train
    n_train: int  # people
    n_control: int
    tried: float | None = 1.0  # as in the descriptions

    @property
    def size(self) -> int:
        """The number of people at which the rates are compared; without control that of train."""
        return min(self.n_train, self.n_control) if self.n_control else self.n_train

    @property
    def n_guesses(self) -> int:
        """The number of predicates."""
        return len(self.train.counts)

    def tally(self, *, rng: Generator) -> Tally | None:
        """Return the rates with the number of independent guesses; None where there is no room for a risk."""
        worst = self.size / self.n_train
        train, naive = (_expected(side, self.n_train, self.size) / worst for side in (self.train, self.naive))
        control = _expected(self.control, self.n_control, self.size) / worst if self.n_control else 0.0
        independent = self.independent(rng=rng)
        if worst < 1:  # as many guesses as would give a share this variance, when it is one of the worst case
            room = max(1 - control, 0.0)
            independent *= worst * room / (1 - worst + worst * room)
        worth = int(independent)
        if worth < 1:
            return None
        return Tally(
            train=min(train, 1.0) * worth,
            n_train=worth,
            control=control * worth,
            n_control=worth if self.n_control else 0,
            naive=min(naive, 1.0) * worth,
            n_naive=worth,
        )

    def people(self) -> tuple[int, int, int, int]:
        """Return how many people are singled out: of train, of how many, of control, of how many.

        A person is if a description fits them and nobody else of all real people, in either table; however
        many descriptions do, they count once. Whom descriptions fit does not depend on who was trained on, so
        sizes do not matter: where nothing leaks, those singled out are training people by chance alone.
        """
        alone = [
            len(np.unique(one.people[(one.counts == 1) & (other.counts == 0), 0]))
            for one, other in ((self.train, self.control), (self.control, self.train))
        ]
        return alone[0], self.n_train, alone[1], self.n_control

    def naive_people(self) -> int:
        """Return how many training people descriptions made up without the release single out."""
        return len(np.unique(singled_out(self.naive)))

    def independent(self, *, rng: Generator) -> float:
        """Return how many independent guesses these are worth."""
        seed = int(rng.integers(2**62))
        sums, squares = np.zeros(_DEALS), np.zeros(_DEALS)
        chances = [
            chance_of_one(2 * LISTED, n_people, self.size)
            for n_people in (self.n_train, self.n_control or self.n_train)
        ]
        share = self.n_train / (self.n_train + self.n_control) if self.n_control else 0.5

        def work(start: int, stop: int) -> None:
            deal_people(
                self.train.counts,
                self.train.people,
                self.control.counts,
                self.control.people,
                self.n_train,
                chances[0],
                chances[1],
                share,
                seed,
                start,
                sums[start:stop],
                squares[start:stop],
            )

        workers.announce_compilation(deal_people)
        workers.each_chunk(_DEALS, _DEALS_AT_ONCE, work, doing="singling out")
        if squares.sum() == 0:
            return float(self.n_guesses)
        return self.n_guesses / max(float((sums**2).sum() / squares.sum()), 1.0)


def _expected(matches: Matches, n_people: int, size: int) -> float:
    """Return the mean chance that exactly one of a sample of ``size`` people matches."""
    if len(matches.counts) == 0:
        return 0.0
    how_often = np.bincount(matches.counts)
    chances = chance_of_one(len(how_often) - 1, n_people, size)
    return float((how_often * chances).sum()) / len(matches.counts)


def singled_out(matches: Matches) -> Indices:
    """Return the person of each predicate that holds for exactly one."""
    return np.asarray(matches.people[matches.counts == 1, 0], dtype=np.int64)


MOST = 10
SURE = 4.5  # standard errors: fewer would rank chance, of so many pairs and configurations


def combinations(names: Sequence[str], made: Iterable[Isolation]) -> tuple[Combination, ...]:
    """Rank the pairs of columns by how surely their descriptions are about training people.

    Each pair is shown as the configuration shows it that tells most: wide descriptions, which fit as many
    people never seen, would hide what narrow ones betray. Descriptions of all columns tell no pair from
    another and are left out.
    """
    found: dict[tuple[int, int], tuple[float, Combination]] = {}
    workers.announce_compilation(add_pairs)
    for item in made:
        if not 1 < item.columns.shape[1] < len(names):
            continue
        counts = []  # (d, d) each: descriptions with both columns that fit one person of train, of control
        for matches, n_people in ((item.train, item.n_train), (item.control, item.n_control)):
            chances = chance_of_one(int(matches.counts.max(initial=0)), max(n_people, 1), item.size)
            fitting = chances[matches.counts] if n_people else np.zeros(len(item.columns))
            counts.append(np.zeros((len(names), len(names))))
            add_pairs(item.columns, fitting, counts[-1])
        train, control = counts
        sureness = (train - control) / np.sqrt(train + control + 1)
        for a, b in np.argwhere(np.triu(sureness > SURE, 1)):
            pair = Combination(
                columns=(names[a], names[b]),
                train=round(float(train[a, b]), 1),
                control=round(float(control[a, b]), 1),
            )
            found[a, b] = max(
                found.get((a, b), (0.0, pair)), (float(sureness[a, b]), pair), key=itemgetter(0)
            )
    return tuple(pair for _, pair in sorted(found.values(), key=itemgetter(0), reverse=True)[:MOST])
