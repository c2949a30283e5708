"""Membership by calibrated distance: is the release nearer to a person than other people are?"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core.result import Result
from tabveil.core.table import Floats, Split, Table
from tabveil.engines.neighbors import Neighbors, to_others
from tabveil.engines.representation import Tolerant
from tabveil.metrics.attacks.guessing import draw_attacked, scores
from tabveil.metrics.attacks.scan import Pooled, PooledAttack, pool, scan
from tabveil.protocols import Representation


@dataclass(frozen=True, kw_only=True)
class MembershipCalibrated(PooledAttack):
    """Is a synthetic row nearer to a person than it should be, with so many people around?

    Common people have some synthetic row nearby whether they were trained on or not; for an unusual person
    the same distance is striking. So the attacker learns what distance to expect from how near other real
    people are, and suspects those to whom the release is nearer than that.

    Parameters
    ----------
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    n_permutations
        How often labels are dealt anew for the exact test.
    representation
        What is called near: few columns that differ, numbers within a tolerance by a part (``Tolerant``),
        Gower's distance (``Mixed``), the Euclidean one, or the distance in an embedding.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    The score is what is left of the distance to the nearest synthetic row after least squares on the distance
    to the nearest other real person, the mean of those to the five nearest, and the square of this mean. The
    other people are all who are attacked, training and control rows alike: an attacker would need a sample of
    about that size. The plain distance competes. Of people who are equally near, those come first of whom no
    other row is near, neither a real one nor a second synthetic one.

    Nobody's score depends on who was trained on, so dealing these labels anew is an exact test, for tables of
    any sizes. The attacker names the first 5, 6, 7, 9, … people, down to a tenth of all, then a quarter and a
    half: ``attack`` is the share of training people named, ``control`` and ``baseline`` that of other people,
    ``risk`` is ``(attack − control) / (1 − control)``. The area, as ``2·AUC − 1``, is one more test; it
    counts nobody and has no gain. The headline is the reading with the largest lower bound of its gain, in
    intervals that hold for all of them together, by the same deals of the labels (max-T); each is in
    ``details``. The p-value is that of the joint test.

    The test asks that training and control rows are drawn alike. Where equal rows were kept on one side on
    purpose, they are not.

    References
    ----------
    - Watson, L., Guo, C., Cormode, G. and Sablayrolles, A. (2022). On the Importance of Difficulty
      Calibration in Membership Inference Attacks. ICLR.
    - Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
    """

    representation: Representation = field(default_factory=Tolerant)

    name: ClassVar[str] = "membership_calibrated"
    title: ClassVar[str] = "Membership by calibrated distance"
    on_request: ClassVar[bool] = False  # of all that see members, it sees most (docs/contrastive.md)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack, and compare members with others."""
        split.require_control(self.name)
        attacked = draw_attacked(split, self.n_attacks, rng=rng)
        n_train = len(attacked[0])
        people = pool(*(drawn.table for drawn in attacked))
        around = surroundings(split, people, self.representation, rng=rng)
        surprise = -unexplained(around.release, around.others)
        rankings = {
            "calibrated distance": Pooled.of(surprise, n_train, people=people.people),
            "distance": Pooled.of(-around.release, n_train, around.loneliness, people=people.people),
        }
        judged = scan(
            rankings,
            "calibrated distance",
            confidence=self.confidence,
            n_deals=self.n_permutations,
            rng=rng,
        )
        return judged.headline.answer(
            self, curve=judged.curve, scores=scores(attacked, (surprise[:n_train], surprise[n_train:]))
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Surroundings:
    """How far away rows are from each person."""

    release: Floats  # (n,) the nearest synthetic one
    others: Floats  # (n, 2) other people: the nearest, the mean of the five nearest
    loneliness: Floats  # (n,) the nearest row of all but the nearest synthetic one


def surroundings(
    split: Split, people: Table, representation: Representation, *, rng: Generator
) -> Surroundings:
    """Look how near the release is to each person, and how near other people are.

    The representation is shown the people as one table: it must not know who was trained on either.
    """
    blind = Split(train=people, control=people, synthetic=split.synthetic)
    view, names = representation.view(blind, rng=rng), split.schema.names
    space, seen = view.space(names), view.see(people, names)
    n_synthetic = min(2, len(split.synthetic))
    release = Neighbors(space, view.see(split.synthetic, names)).nearest(seen, n_synthetic).distance
    others = to_others(space, seen)
    return Surroundings(
        release=release[:, 0],
        others=others,
        loneliness=np.column_stack([others[:, 0], release[:, 1:]]).min(axis=1),
    )


def unexplained(distance: Floats, others: Floats) -> Floats:
    """Return what least squares on the distances to other people (n, 2) leave of a distance (n,).

    >>> others = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0], [5.0, 5.0]])
    >>> bool(np.abs(unexplained(np.array([2.0, 4.0, 6.0, 8.0, 10.0]), others)).max() < 1e-9)
    True
    """
    known = np.column_stack([np.ones(len(distance)), others, others[:, -1] ** 2])
    return np.asarray(distance - known @ np.linalg.lstsq(known, distance, rcond=None)[0])
