"""What all guessing attacks share: guesses, who is attacked and looked up, and the careful attacker.

See docs/definitions.md, Guesses.

A real intruder does not guess about everyone; they act where the evidence is strongest. So every guess has a
confidence, and success at level a means *confident and right*: at least as confident as the best share a of
the guesses about control rows, and correct. Rates are shares of all attacked rows. Level 1 is the standard
attack; at low levels the control rate, and with it the noise, shrinks while a leaked person stays inside.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.findings import Setting
from tabveil.core.result import Role, Scores
from tabveil.core.sampling import Sample, draw_people, rows_of_people, shuffled_rows, surest_rows
from tabveil.core.settings.registry import completed
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.core.workers import part, tell
from tabveil.engines.neighbors import Neighbors, NeighborsWithout, Space
from tabveil.engines.neighbors.shared import distances
from tabveil.engines.neighbors.shared_without import SharedWithout
from tabveil.protocols import View

Bools = NDArray[np.bool_]
Names = tuple[str, ...]
Rarity = tuple[Floats, Floats] | tuple[None, None]

LEVELS = (1.0, 0.1, 0.01, 0.001)
ALL = (1.0,)
"""The standard attack alone."""
LEAST_CONFIDENT = 5  # control guesses a level must leave to be worth a configuration
TIE_THAT_MATTERS = 1.5  # a tie at the bar that lets in this many times the guesses meant is worth breaking

NOT_INFORMATIVE = (
    "Not informative: the attack does no better than its naive baseline, so it says nothing about the risk."
)
NO_CONTROL = (
    "No control: how often the attack would succeed on people never seen is unknown, so no risk is derived."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """The guesses about some rows: were they right, would a naive guess have been, how sure was each?"""

    correct: Bools  # (n,)
    naive: Bools | Floats  # (n,) the same for a naive guesser: was it right, or the chance that it is
    confidence: Floats  # (n,) higher is surer
    rarity: Floats | None = None  # (n,) breaks ties of confidence: how far from held-back real rows
    missing: Bools | None = None  # (n,) whether the guess is that there is no value
    people: Indices | None = None  # (n,) whom each is about, where somebody may have several rows

    def take(self, rows: Bools | Indices) -> Self:
        """Return the guesses about some of the rows."""
        chosen = {item.name: getattr(self, item.name) for item in fields(self)}
        return replace(self, **{name: value[rows] for name, value in chosen.items() if value is not None})

    @property
    def n_people(self) -> int:
        """How many people the guesses are about."""
        return len(self.correct) if self.people is None else len(np.unique(self.people))

    def of_people(self) -> Self:
        """Return one guess about each person: the one that the attacker, who sees all rows, is surest of."""
        if self.people is None:
            return self
        return self.take(surest_rows(self.people, self.confidence, self.rarity))


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How often an attack in one configuration succeeded, on train, on control, and naively on train.

    Without control rows ``n_control`` is 0. Where some people cannot be attacked, having no value to infer,
    ``without_train`` and ``without_control`` count them: they are people all the same, and not exposed.
    """

    train: float
    n_train: int
    control: float
    n_control: int
    naive: float = 0.0
    n_naive: int = 0
    without_train: int = 0
    without_control: int = 0

    @property
    def people(self) -> tuple[float, int, float, int]:
        """The people exposed: of train, of how many, of control, of how many."""
        return (
            self.train,
            self.n_train + self.without_train,
            self.control,
            self.n_control + self.without_control,
        )


def usable_levels(n_control: int, levels: Sequence[float] = LEVELS) -> tuple[float, ...]:
    """Keep the levels at which enough control guesses remain to tell a rate; the standard attack always."""
    return tuple(level for level in levels if level == 1 or level * n_control >= LEAST_CONFIDENT)


def tallies(
    setting: Setting, train: Guesses, control: Guesses, levels: Sequence[float] = LEVELS
) -> dict[Setting, Tally]:
    """Count successes at each confidence level.

    All guesses tied at a level's bar are counted. Without control rows only the standard attack is. Where
    people have several rows, each counts once, by the surest guess about them.
    """
    train, control = train.of_people(), control.of_people()
    broken = None
    if train.rarity is not None and control.rarity is not None:
        broken = train.rarity, control.rarity
    rank_train, rank_control = rank_together((train.confidence, control.confidence), broken)
    found = {}
    for level in usable_levels(len(control.correct), levels):
        bar = least_sure(rank_control, level) if level < 1 else 0
        sure_train, sure_control = rank_train >= bar, rank_control >= bar
        found[replace(setting, level=level)] = Tally(
            train=int(np.sum(train.correct & sure_train)),
            n_train=len(train.correct),
            control=int(np.sum(control.correct & sure_control)),
            n_control=len(control.correct),
            naive=float(np.sum(train.naive[sure_train])),
            n_naive=len(train.naive),
        )
    return found


def least_sure(confidence: NDArray[Any], level: float) -> Any:  # noqa: ANN401 - one of the values given
    """Return how sure the least sure of the best share of guesses is."""
    n_confident = int(np.ceil(level * len(confidence)))
    return np.partition(confidence, -n_confident)[-n_confident]


def ties_matter(
    confidence: Floats, levels: Sequence[float] = LEVELS, *, people: Indices | None = None
) -> bool:
    """Tell whether the bar of some level falls into a large tie of control guesses, worth breaking by rarity.

    Where ``people`` have several rows, the surest guess about each counts.

    >>> ties_matter(np.arange(1000.0))
    False
    >>> ties_matter(np.repeat([0.0, 1.0], 500))
    True
    """
    if people is not None:
        confidence = confidence[surest_rows(people, confidence)]
    for level in usable_levels(len(confidence), levels):
        if level < 1:
            n_sure = int(np.sum(confidence >= least_sure(confidence, level)))
            if n_sure > TIE_THAT_MATTERS * level * len(confidence) + 1:
                return True
    return False


def decided_by_rarity(
    confidence: tuple[Floats, Floats],
    present: tuple[Bools, Bools],
    people: tuple[Indices | None, Indices | None] = (None, None),
) -> tuple[Bools, Bools]:
    """Tell for which train and control rows rarity can matter: those that are as sure as the bar of a level.

    Whoever is surer acts anyway, and whoever is less sure does not. Guesses count about rows that are
    ``present``. Where ``people`` have several rows, rarity also says which speaks for them: then all of them.

    >>> sure = np.repeat([3.0, 2.0, 1.0, 0.0], [1, 3, 3, 43])  # of fifty, the best five end among the ones
    >>> there = np.ones(50, dtype=bool)
    >>> [rows.nonzero()[0].tolist() for rows in decided_by_rarity((sure[2:7], sure), (there[:5], there))]
    [[2, 3, 4], [4, 5, 6]]
    """
    if any(whose is not None for whose in people):
        return np.ones(len(confidence[0]), dtype=bool), np.ones(len(confidence[1]), dtype=bool)
    sure = confidence[1][present[1]]
    bars = [least_sure(sure, level) for level in usable_levels(len(sure)) if level < 1]
    train, control = (np.isin(side, bars) & there for side, there in zip(confidence, present, strict=True))
    return train, control


def rank_together(
    scores: tuple[Floats, Floats], tie_break: tuple[Floats, Floats] | None = None
) -> tuple[Indices, Indices]:
    """Rank the rows of two tables together by score, then by ``tie_break``; equals share a rank.

    >>> [ranks.tolist() for ranks in rank_together((np.array([0.5, 0.1]), np.array([0.5, 0.9])))]
    [[1, 0], [1, 2]]
    """
    first = np.concatenate(scores)
    if tie_break is None:
        order = np.argsort(first)
        new = np.diff(first[order]) != 0
    else:
        second = np.concatenate(tie_break)
        order = np.lexsort((second, first))
        new = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(new)])
    return ranks[: len(scores[0])], ranks[len(scores[0]) :]


def draw_attacked(split: Split, n_attacks: int | None, *, rng: Generator) -> tuple[Sample, Sample]:
    """Draw the train and control rows to attack, in the order of their content.

    All of them by default; with ``n_attacks`` that many people of each, with all of their rows, fewer where a
    table is smaller. No control rows are drawn where there are none.
    """
    sizes = [table.n_people for table in (split.train, split.control)]
    if n_attacks is not None:
        least = min(n_attacks, *(size for size in sizes if size > 0))
        sizes = [min(size, least) for size in sizes]
    return draw_people(split.train, sizes[0], rng=rng), draw_people(split.control, sizes[1], rng=rng)


def nearness(guesses: Guesses) -> Floats:
    """Score rows whose confidence is a negative distance: 0 if wrong, else from 1 down with the distance."""
    return guesses.correct / (1 - guesses.confidence)


def scores(attacked: tuple[Sample, Sample], values: tuple[Floats, Floats]) -> tuple[Scores, ...]:
    """Hand over the scores of train and control rows, where there are any."""
    roles: tuple[Role, Role] = ("train", "control")
    return tuple(
        Scores(table=role, rows=drawn.rows, values=numbers)
        for role, drawn, numbers in zip(roles, attacked, values, strict=True)
        if len(drawn) > 0
    )


def seen_by(view: View, split: Split, known: Sequence[str]) -> Split:
    """Return all tables as somebody sees them who knows only these columns."""
    return Split(
        train=view.see(split.train, known),
        control=view.see(split.control, known),
        synthetic=view.see(split.synthetic, known),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Halves:
    """Control cut in halves, and the half that each train row is compared with."""

    held: Bools  # (n_control,) the half a control row is in; it is compared with the other
    of_train: Bools  # (n_train,)


def draw_halves(split: Split, *, rng: Generator) -> Halves:
    """Cut control in halves by lot, nobody's rows in both, and let the lot say which a train row meets."""
    halves = []
    for table in (split.control, split.train):
        half = np.zeros(len(table), dtype=bool)
        half[rows_of_people(table, table.n_people // 2, rng=rng)] = True
        halves.append(half)
    return Halves(held=halves[0], of_train=halves[1])


def rarity(
    space: Space, split: Split, sought: tuple[Bools, Bools] | None = None, *, rng: Generator
) -> tuple[Floats, Floats]:
    """How far is each train and control row from real rows held back for the comparison?

    Control is cut in halves; a control row is compared with the half it is not in, a train row with either by
    lot. So nobody meets their own rows, all meet equally many, and only a leaked train row is unlike a
    control row. A single control row cannot be cut: then all rows are equally rare. Who is not ``sought`` is
    not looked at, and not rare.

    Hand over tables in an order of their content (:func:`draw_attacked`), or the halves depend on the file's.
    """
    if split.control.n_people < 2:  # noqa: PLR2004 - two halves
        return np.zeros(len(split.train)), np.zeros(len(split.control))
    halves = draw_halves(split, rng=rng)
    of_train, of_control = np.zeros(len(split.train)), np.zeros(len(split.control))
    train, control = sought or (np.ones(len(of_train), dtype=bool), np.ones(len(of_control), dtype=bool))
    for half in (False, True):
        held = split.control.take(np.flatnonzero(halves.held == half))
        for rows, table, out in (
            (np.flatnonzero(control & (halves.held != half)), split.control, of_control),
            (np.flatnonzero(train & (halves.of_train == half)), split.train, of_train),
        ):
            out[rows] = distances(space, held, table.take(rows))[:, 0]
    return of_train, of_control


MOST_ROWS = 8_000  # of a release, for each secret: in a larger one, searches by fewer columns gain more
ANSWERS_AT_ONCE = 10_000_000  # held in memory: for so many rows times secrets


@dataclass(frozen=True, kw_only=True, eq=False)
class Lookups:
    """The nearest synthetic rows by what is known beside one secret; train first, then control."""

    order: Indices  # (n_synthetic,) the synthetic rows, as the lot put them: the first of equals is taken
    index: tuple[Indices, Indices]  # (n,) each, places in that order
    confidence: tuple[Floats, Floats]  # (n,) each, the negative distance
    rarity: Rarity  # (n,) each, where ties of confidence matter; of rows it cannot decide about, 0
    seen: Split | None = None  # all rows as somebody sees them who knows the rest, if looked up by it alone


def look_up(
    targets: Split, view: View, known: Mapping[str, Names], *, rng: Generator
) -> Iterator[tuple[str, Lookups]]:
    """Look up the train and control rows of ``targets`` by what is known beside each secret, in this order.

    Somebody who does not know the secret looks for a person by the columns they know. Where each column is
    the secret in turn, these searches differ in one column, and one walk through the release does for all of
    them. It takes as long as one to six searches, so a single secret is looked up by itself, and so is
    one beside which less is known. The draws, and so the answers, are the same on either road.
    """
    secrets, done = list(known), 0
    few_rows = len(targets.synthetic) <= MOST_ROWS * len(secrets)
    together = completed(view, View).columnwise and few_rows and len(secrets) > 1
    most = max(ANSWERS_AT_ONCE // (len(targets.train) + len(targets.control)), 1) if together else 1
    n_names = len(set().union(*known.values()))
    while done < len(secrets):
        n_alike = next(
            (at for at, name in enumerate(secrets[done:]) if len(known[name]) < n_names - 1), len(secrets)
        )
        batch = secrets[done : done + max(min(most, n_alike), 1)]
        with part(done / len(secrets), (done + len(batch)) / len(secrets)):
            found = (
                _together(targets, view, {secret: known[secret] for secret in batch}, rng=rng)
                if together and n_alike > 1
                else [_alone(targets, view, batch[0], known[batch[0]], rng=rng)]
            )
            tell("comparing rows", 1.0)
        yield from zip(batch, found, strict=True)
        done += len(batch)


def _has_any(targets: Split, secret: str) -> tuple[Bools, Bools]:
    """Tell which train and control rows have a value to guess."""
    return ~np.isnan(targets.train.column(secret)), ~np.isnan(targets.control.column(secret))


def _alone(targets: Split, view: View, secret: str, known: Names, *, rng: Generator) -> Lookups:
    order = shuffled_rows(targets.synthetic, rng=rng)
    space, seen = view.space(known), seen_by(view, targets, known)
    neighbors = Neighbors(space, seen.synthetic.take(order))
    train, control = (neighbors.nearest(table) for table in (seen.train, seen.control))
    confidence = -train.distance[:, 0], -control.distance[:, 0]
    whose = seen.train.people, seen.control.people
    rare: Rarity = (None, None)
    if ties_matter(confidence[1], people=whose[1]):
        decided = decided_by_rarity(confidence, _has_any(targets, secret), whose)
        rare = rarity(space, seen, decided, rng=rng)
    return Lookups(
        order=order,
        index=(train.index[:, 0], control.index[:, 0]),
        confidence=confidence,
        rarity=rare,
        seen=seen,
    )


def _together(targets: Split, view: View, known: Mapping[str, Names], *, rng: Generator) -> list[Lookups]:
    """Search once for several secrets, each of them left out in turn."""
    names = tuple(sorted(set().union(*known.values())))
    space, spaces = view.space(names), [view.space(rest) for rest in known.values()]
    seen = seen_by(view, targets, names)
    neighbors = SharedWithout(space, seen.synthetic, spaces)
    with part(0, 0.4):
        train = neighbors.nearest(seen.train)
    with part(0.4, 0.6):
        control = neighbors.nearest(seen.control)
    confidence = -train.distance, -control.distance  # (n, s) each
    orders: list[Indices] = []
    whose = seen.train.people, seen.control.people
    halves: dict[int, Halves] = {}
    decided: list[tuple[Bools, Bools]] = []  # by the rarity of which rows
    for position, (secret, rest) in enumerate(known.items()):
        orders.append(shuffled_rows(targets.synthetic, rng=rng))
        sure = confidence[0][:, position], confidence[1][:, position]
        if ties_matter(sure[1], people=whose[1]):
            halves[position] = draw_halves(seen.select(rest), rng=rng)
            decided.append(decided_by_rarity(sure, _has_any(targets, secret), whose))
    with part(0.6, 0.8):
        index = train.first(orders), control.first(orders)
    with part(0.8, 1):
        rare = _rarities(space, [spaces[at] for at in halves], seen, list(halves.values()), decided)
    found = dict(zip(halves, rare, strict=True))
    return [
        Lookups(
            order=order,
            index=(index[0][:, position], index[1][:, position]),
            confidence=(confidence[0][:, position], confidence[1][:, position]),
            rarity=found.get(position, (None, None)),
        )
        for position, order in enumerate(orders)
    ]


def _rarities(
    space: Space,
    spaces: Sequence[Space],
    seen: Split,
    halves: Sequence[Halves],
    decided: Sequence[tuple[Bools, Bools]],
) -> list[tuple[Floats, Floats]]:
    """Do what :func:`rarity` does, by several spaces at once."""
    if not spaces:
        return []
    twice = [part for part in spaces for _ in range(2)]
    among = [half for item in halves for half in (~item.held, item.held)]
    neighbors = NeighborsWithout(space, seen.control, twice)
    train = np.column_stack([item.of_train for item in halves])  # (n, s) the half that each row meets
    control = np.column_stack([~item.held for item in halves])

    def compare(table: Table, meets: Bools, side: int) -> Floats:
        """Return how far each row is from the half it meets, (n, s), of rows that matter."""
        matters = np.column_stack([sides[side] for sides in decided])
        sought = np.stack([matters & ~meets, matters & meets], axis=2).reshape(len(table), -1)
        distance = neighbors.nearest(table, among, sought).distance.reshape(*meets.shape, 2)
        return np.where(matters, np.where(meets, distance[:, :, 1], distance[:, :, 0]), 0.0)

    found = compare(seen.train, train, 0), compare(seen.control, control, 1)
    return list(zip(found[0].T, found[1].T, strict=True))
