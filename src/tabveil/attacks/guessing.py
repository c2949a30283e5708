"""What all guessing attacks share: the careful attacker, and one headline for many configurations (SPEC 1).

A real intruder does not guess about everyone; they act where the evidence is strongest. So every guess has a
confidence, and success at level a means *confident and right*: at least as confident as the best share a of
the guesses about control rows, and correct. Rates are shares of all attacked rows. Level 1 is the standard
attack; at low levels the control rate, and with it the noise, shrinks while a leaked person stays inside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.estimate import CONFIDENCE, Estimate, excess, sidak, strongest, wilson
from tabveil.neighbors import Neighbors, Space
from tabveil.table import Floats, Split

Bools = NDArray[np.bool_]

LEVELS = (1.0, 0.1, 0.01, 0.001)
LEAST_CONFIDENT = 5  # control guesses a level must leave to be worth a configuration

NOT_INFORMATIVE = (
    "Not informative: the attack does no better than its naive baseline, so it says nothing about the risk."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """The guesses about some rows: were they right, would a naive guess have been, how sure was each?"""

    correct: Bools  # (n,)
    naive: Bools  # (n,) the same for a guesser without the synthetic rows
    confidence: Floats  # (n,) higher is surer
    rarity: Floats | None = None  # (n,) breaks ties of confidence: how far from held-back real rows


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How often an attack in one configuration succeeded, on train, on control, and naively on train."""

    train: float
    n_train: int
    control: float
    n_control: int
    naive: float = 0.0
    n_naive: int = 0


def usable_levels(n_control: int, levels: Sequence[float] = LEVELS) -> tuple[float, ...]:
    """Keep the levels at which enough control guesses remain to tell a rate."""
    return tuple(level for level in levels if level == 1 or level * n_control >= LEAST_CONFIDENT)


def tallies(
    name: str, train: Guesses, control: Guesses, levels: Sequence[float] = LEVELS
) -> dict[str, Tally]:
    """Count successes at each confidence level, keyed by configuration: the name, and the level."""
    rank_train, rank_control = _ranks(train, control)
    found = {}
    for level in usable_levels(len(control.correct), levels):
        n_confident = int(np.ceil(level * len(rank_control)))
        bar = np.partition(rank_control, -n_confident)[-n_confident]
        sure_train, sure_control = rank_train >= bar, rank_control >= bar
        found[name if level == 1 else f"{name}, {level:.1%} most confident"] = Tally(
            train=int(np.sum(train.correct & sure_train)),
            n_train=len(train.correct),
            control=int(np.sum(control.correct & sure_control)),
            n_control=len(control.correct),
            naive=int(np.sum(train.naive & sure_train)),
            n_naive=len(train.naive),
        )
    return found


def _ranks(train: Guesses, control: Guesses) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rank all guesses by confidence, then by rarity; equals share a rank."""
    confidence = np.concatenate([train.confidence, control.confidence])
    rarity = (
        np.concatenate([train.rarity, control.rarity])
        if train.rarity is not None and control.rarity is not None
        else np.zeros(len(confidence))
    )
    order = np.lexsort((rarity, confidence))
    new = (np.diff(confidence[order]) != 0) | (np.diff(rarity[order]) != 0)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(new)])
    return ranks[: len(train.confidence)], ranks[len(train.confidence) :]


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The configuration with the largest lower bound, and all the others."""

    configuration: str
    risk: Estimate | None
    attack: Estimate
    control: Estimate
    baseline: Estimate | None
    details: Mapping[str, Any]
    notes: tuple[str, ...]


def headline(configurations: Mapping[str, Tally], confidence: float = CONFIDENCE) -> Headline:
    """Choose among configurations by the lower bound of simultaneous intervals.

    ``details`` holds every configuration and, as the papers report it, the largest point estimate (biased
    upward by the choice among many).
    """
    level = sidak(confidence, len(configurations))
    rates = {
        name: (wilson(tally.train, tally.n_train, level), wilson(tally.control, tally.n_control, level))
        for name, tally in configurations.items()
    }
    risks = {
        name: risk
        for name, (attack, control) in rates.items()
        if (risk := excess(attack, control)) is not None
    }
    best = strongest(risks)
    tally = configurations[best]
    baseline = wilson(tally.naive, tally.n_naive, level) if tally.n_naive else None
    attack, control = rates[best]
    beaten = baseline is None or attack.value > baseline.value
    largest = max(risks, key=lambda name: risks[name].value)
    return Headline(
        configuration=best,
        risk=risks[best],
        attack=attack,
        control=control,
        baseline=baseline,
        details={
            "configuration": best,
            "confidence_of_each": level,
            "largest_point_estimate": {"configuration": largest, "risk": risks[largest].value},
            "configurations": {
                name: {
                    "risk": risks.get(name),
                    "attack": rates[name][0],
                    "control": rates[name][1],
                    "successes_train": item.train,
                    "n_train": item.n_train,
                    "successes_control": item.control,
                    "n_control": item.n_control,
                    "naive": item.naive / item.n_naive if item.n_naive else None,
                }
                for name, item in configurations.items()
            },
        },
        notes=() if beaten else (NOT_INFORMATIVE,),
    )


def rarity(space: Space, split: Split, *, rng: Generator) -> tuple[Floats, Floats]:
    """How far is each train and control row from real rows held back for the comparison?

    Control is cut in halves; a control row is compared with the half it is not in, a train row with either by
    lot. So no row meets itself, all meet equally many, and only a leaked train row is unlike a control row.
    """
    side = np.zeros(len(split.control), dtype=bool)
    side[split.control.sample(len(side) // 2, rng=rng)] = True
    lot = np.zeros(len(split.train), dtype=bool)
    lot[split.train.sample(len(lot) // 2, rng=rng)] = True
    of_train, of_control = np.empty(len(lot)), np.empty(len(side))
    for half in (False, True):
        held = Neighbors(space, split.control.take(np.flatnonzero(side == half)))
        for rows, table, out in (
            (np.flatnonzero(side != half), split.control, of_control),
            (np.flatnonzero(lot == half), split.train, of_train),
        ):
            out[rows] = held.nearest(table.take(rows)).distance[:, 0]
    return of_train, of_control
