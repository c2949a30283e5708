"""Membership in linked tables: is a released person nearer to somebody than others are, in some view?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tabveil.core.linked import LinkedTables, people_behind
from tabveil.core.result import Cost, Result, Threat
from tabveil.core.table import Floats, Indices, Split
from tabveil.engines.set_distance import ComparedPeople, PeopleView, views
from tabveil.engines.set_odds import WeighedPeople
from tabveil.errors import NothingToAsk
from tabveil.metrics.attacks.guessing import draw_attacked
from tabveil.metrics.attacks.roc import DealtAttack, pool

OFFSET = 0.0003
"""Added to distances before their logarithm: the size of differences that mean nothing."""

MOST_COMPARED = 1.5e12
"""Operations that comparing may take, three to four minutes: of very many people a part is attacked."""

A_PART = "Comparing all people would take too long, so some were drawn at random to be attacked"

BY_DISTANCE = 2
"""In so many views the plain distance competes, too: each more to choose from makes all bounds wider."""

FEWEST_ATTACKED = 1000

LARGEST_FAMILY = 20
"""Of people who share linked rows: more than these are no family, and others like anybody else."""

FARTHEST = 1.0
"""How far people can be from each other."""

AGREEING = "all that agrees"
"""The view that weighs what agrees by how rare it is, in the place of a distance."""

NOTHING_AGREES = -1e6
"""Less than people can have in common, in logarithms."""

ODDS_DECIMALS = 3
"""Of logarithms in single precision: what differs less is a rounding error."""


@dataclass(frozen=True, kw_only=True)
class MembershipViews(DealtAttack):
    """Is a released person nearer to a person than others are, by their own row or by their linked rows?

    A person of linked tables is seen in several views: their own row; the set of their linked rows; both; the
    linked rows by the time since the one before, which stays when dates are shifted; how many rows there are,
    with these times alone; and all that agrees, by how rare it is. In each the attacker suspects those to
    whom the release comes nearer than other real people come.

    Parameters
    ----------
    n_attacks, n_permutations

    Notes
    -----
    Rows are compared by numbers' ranks among all rows looked at, and by categories that differ. Two sets are
    as far apart as a row of one is from the nearest row of the other, on average over the rows, and over both
    directions. The score in a view is the logarithm of the distance to the nearest other real person, less
    that of the distance to the nearest released person; in the first two views the plain distance competes,
    too. In the last view, in the place of a distance, stands how much likelier all that two people have in
    common is for a copy than by chance, in logarithms (Fellegi and Sunter 1969). A category that agrees
    weighs the more, the rarer its label is among all people looked at, and a number, the fewer others are as
    near. How far noise moved the numbers of a copy is not known, so each order of magnitude is as likely; of
    its cells 5 % count as replaced. Where rows have an order, the first is compared with the first, the
    second with the second. The odds themselves compete, too.

    The other people are all who are attacked, training and control people alike, but those who share a
    linked row with the person: an attacker would need a sample of about that size.

    Nobody's score depends on who was trained on, so dealing these labels anew is an exact test. The attacker
    names the first 5, 6, 7, 9, … people, down to a tenth of all, then a quarter and a half: ``attack`` is the
    share of training people named, ``control`` and ``baseline`` that of other people, ``risk`` is ``(attack −
    control) / (1 − control)``. The headline is the reading with the largest lower bound of its gain, over all
    views, in intervals that hold for all of them together, by the same deals of the labels (max-T): the
    more views, the wider.

    Where people have so many rows that comparing them all would take more than minutes, people are drawn to
    be attacked; they are looked for in the whole release.

    References
    ----------
    - Fellegi, I. P. and Sunter, A. B. (1969). A Theory for Record Linkage. Journal of the American
      Statistical Association 64.
    - Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
    """

    name: ClassVar[str] = "membership_views"
    title: ClassVar[str] = "Membership over linked rows"
    cost: ClassVar[Cost] = "slow"
    without: ClassVar[str] = "no tables are linked"

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack in all views, and compare members with others."""
        linked = people_behind(split.train)
        if linked is None:
            raise NothingToAsk(self.name, "no tables are linked; it compares sets of linked rows.")
        split.require_control(self.name)
        attacked = draw_attacked(split, self._affordable(split, linked), rng=rng)
        everybody = people_behind(pool(*attacked).joined(split.synthetic))
        assert everybody is not None, "tables of people stay such"
        n = sum(map(len, attacked))
        people = ComparedPeople.of(everybody)
        looked = views(people, everybody.linkage.person)
        family = relatives(everybody)[:n]
        near = _nearest(people, looked, family)
        suspicion: dict[str, tuple[Floats, Floats | None]] = {}
        for view in looked:
            release, others = near[view.name]
            calibrated = np.log(others + OFFSET) - np.log(release + OFFSET)
            suspicion[f"{view.name}, calibrated"] = calibrated, None
            if len(suspicion) < 2 * BY_DISTANCE:
                suspicion[view.name] = -release, others
        weighed = WeighedPeople.of(everybody)
        names = [view.name for view in looked]
        if weighed.tables:
            release, others = _likest(weighed, family, len(everybody))
            suspicion[f"{AGREEING}, calibrated"] = release - others, None
            suspicion[AGREEING] = release, None
            names.append(AGREEING)
        found = self.conclude(attacked, suspicion, rng=rng)
        label = "" if found.leading is None else found.leading.label
        leading = max((name for name in names if label.startswith(name)), key=len, default=None)
        details: dict[str, Any] = {"leading_view": leading, "views": names}
        details["attacked"] = [len(side) for side in attacked]
        part = n < len(split.train) + len(split.control) and self.n_attacks is None
        notes = (
            (f"{A_PART}: {len(attacked[0]):,} of train, {len(attacked[1]):,} of control.",) if part else ()
        )
        return replace(found, details={**found.details, **details}, notes=(*found.notes, *notes))

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - always the same attacker
        """Describe somebody who asks whether a person's data were trained on."""
        knows = "the person's own row and all of their linked rows, and a sample of the same population"
        return Threat(knows=knows, wants="whether the person's data were trained on")

    def _affordable(self, split: Split, linked: LinkedTables) -> int | None:
        """Return how many people of each side are attacked; None are all.

        Each is compared with the release and with all others who are attacked.
        """
        if self.n_attacks is not None:
            return self.n_attacks
        each = ComparedPeople.cost(linked, 1, 1) + WeighedPeople.cost(linked)
        released, pairs = len(split.synthetic), MOST_COMPARED / each
        most = (math.sqrt(released**2 + 4 * pairs) - released) / 2
        if len(split.train) + len(split.control) <= most:
            return None
        return max(int(most / 2), FEWEST_ATTACKED)


def relatives(people: LinkedTables) -> Indices:
    """Give one number to people who share linked rows, directly or through others.

    Where so many hang together that they are no family, everybody has a number of their own.
    """
    n = len(people)
    family = np.arange(n)
    for rows in people.linked.values():
        if rows.n_shared == 0:
            continue
        size = n + len(rows)
        links = coo_array((np.ones(len(rows.rows)), (rows.whose, n + rows.rows)), shape=(size, size))
        found = connected_components(links, directed=False)[1][:n]
        if np.bincount(found).max() <= LARGEST_FAMILY:
            family = np.minimum(family, np.unique(found, return_index=True)[1][found])
    return family


def _nearest(
    people: ComparedPeople, looked: Sequence[PeopleView], family: Indices
) -> dict[str, tuple[Floats, Floats]]:
    """Return how near the release and other real people come to the first people, by view, (n,) each.

    ``family`` (n,) are the numbers of those who are asked; who has the same is no other.
    """
    n = len(family)
    near = {view.name: (np.empty(n), np.empty(n)) for view in looked}
    for block, found in people.distances(np.arange(n), np.arange(people.n_people)):
        alike = family[block][:, None] == family[None, :]
        for view in looked:
            distances = view.of(found)
            release, others = near[view.name]
            release[block] = distances[:, n:].min(axis=1)
            others[block] = np.where(alike, FARTHEST, distances[:, :n]).min(axis=1)
    return near


def _likest(people: WeighedPeople, family: Indices, n_people: int) -> tuple[Floats, Floats]:
    """Return how much the likest of the release, and of other real people, has in common with each, (n,)."""
    n = len(family)
    release, others = np.empty(n), np.empty(n)
    for block, found in people.odds(np.arange(n), np.arange(n_people)):
        alike = family[block][:, None] == family[None, :]
        release[block] = found[:, n:].max(axis=1)
        others[block] = np.where(alike, NOTHING_AGREES, found[:, :n]).max(axis=1)
    return np.round(release, ODDS_DECIMALS), np.round(others, ODDS_DECIMALS)
