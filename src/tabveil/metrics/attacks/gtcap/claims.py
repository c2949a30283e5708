"""Claims that a release makes about people with some keys, and what real rows say to them.

See docs/definitions.md, Claims.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from tabveil.core import workers
from tabveil.core.estimate import (
    CONFIDENCE,
    Estimate,
    chance_of_difference,
    difference,
    known,
    mean_share,
    over_all,
    probit,
    risk_toward,
)
from tabveil.core.result import Role, Scores
from tabveil.core.table import Floats, Indices
from tabveil.metrics.attacks.configurations import Comparison
from tabveil.metrics.attacks.gtcap import claim_kernels as kernels
from tabveil.metrics.attacks.gtcap.key_classes import KeyIndex, Kinds
from tabveil.metrics.attacks.guessing import Bools

CLAIMS_AT_ONCE = 1024


def find_pure(arranged: KeyIndex, asked: Indices, radius: float) -> Bools:
    """Tell which of the kinds of synthetic rows have near them only rows with their own target."""
    kinds = arranged.synthetic
    starts = kinds.starts(arranged.n_groups)
    reach, target_reach = arranged.reach(radius)
    pure = np.empty(len(asked), dtype=np.bool_)

    def find(begin: int, end: int) -> None:
        kernels.find_pure(
            kinds.keys, kinds.targets, kinds.groups, starts, asked, reach, target_reach, begin, end, pure
        )

    workers.each_chunk(len(asked), CLAIMS_AT_ONCE, find, doing="looking for claims")
    return pure


@dataclass(frozen=True, kw_only=True, eq=False)
class Claims:
    """Kinds of synthetic rows that passed the filter, sorted as the kinds are."""

    arranged: KeyIndex
    radius: float
    soft: bool
    keys: Floats  # (c, d)
    targets: Floats  # (c,)
    groups: Indices  # (c,)
    counts: Floats  # (c,) claims of each kind

    @property
    def total(self) -> float:
        """The number of claims."""
        return float(self.counts.sum())


class ClaimAnswer:
    """What one table of real people says to the claims."""

    def __init__(self, claims: Claims, real: Kinds, n_people: int) -> None:
        self.claims, self.real, self.n_people = claims, real, n_people
        reach, target_reach = claims.arranged.reach(claims.radius)
        self._reach = (reach, target_reach)
        found = np.empty((len(claims.targets), 4))
        made = claims.keys, claims.targets, claims.groups
        rows = (real.keys, real.targets, real.counts, real.starts(claims.arranged.n_groups))
        whose = np.empty(0, dtype=np.int64) if real.people is None else real.people
        how = reach, target_reach, claims.arranged.naive, claims.soft

        def attribute(begin: int, end: int) -> None:
            kernels.attribute(made, rows, whose, n_people, *how, begin, end, found)

        workers.each_chunk(len(found), CLAIMS_AT_ONCE, attribute, doing="checking claims")
        self.found = found  # (c, 4) people met, their weight, weight with the target, with the naive guess

    def score(self, chance: Floats, column: int = 2) -> float:
        """Return the mean over all claims.

        ``chance`` (n_people + 1,) is the chance that of so many people one is in the sample compared.
        """
        met, near = self.found[:, 0], self.found[:, 1]
        values = np.divide(self.found[:, column], near, out=np.zeros(len(near)), where=near > 0)
        return float((self.claims.counts * values * chance[met.astype(np.int64)]).sum()) / self.claims.total

    def worst(self, chance: Floats) -> float:
        """Return the score if every claim were true of its class, and met somebody."""
        met = np.maximum(self.found[:, 0].astype(np.int64), 1)
        return float((self.claims.counts * chance[met]).sum()) / self.claims.total

    def weigh(self, chance: Floats) -> Floats:
        """Return (kinds, 4), for one row of each kind; where people have several rows, (people, 5).

        How the sum of scores falls without it, the claims it bears, those about it, those true of it, and of
        people those that would be true if they said the most usual value.
        """
        claims, real = self.claims, self.real
        starts = np.searchsorted(claims.groups, np.arange(claims.arranged.n_groups + 1))
        made = (claims.keys, claims.targets, claims.counts, starts)
        rows = real.keys, real.targets, real.groups
        if real.people is None:
            out = np.empty((len(real), 4))

            def weigh(begin: int, end: int) -> None:
                kernels.weigh_rows(
                    *rows, made, self.found, chance, *self._reach, claims.soft, begin, end, out
                )
        else:
            out = np.empty((self.n_people, 5))
            of_person = np.argsort(real.people, kind="stable")
            own_rows = of_person, np.searchsorted(real.people[of_person], np.arange(self.n_people + 1))
            how = *self._reach, claims.arranged.naive, claims.soft

            def weigh(begin: int, end: int) -> None:
                kernels.weigh_people(
                    (*rows, real.counts), own_rows, made, self.found, chance, *how, begin, end, out
                )

        workers.each_chunk(len(out), CLAIMS_AT_ONCE, weigh, doing="weighing rows")
        return out

    @property
    def _counts(self) -> Floats:
        """The number of people that each line of :meth:`weigh` is about."""
        return self.real.counts if self.real.people is None else np.ones(self.n_people)

    @cached_property
    def exposure(self) -> tuple[Floats, Floats]:
        """Return for every kind of row, or every person, the share of the claims about it that are true.

        And for a guesser who names the most usual value of everybody about whom there is a claim.
        """
        about, true, *said = self.weigh(chance_of_any(self.n_people, self.n_people))[:, 2:].T
        covered, target_reach = about > 0, self._reach[1]

        def share(weight: Floats) -> Floats:
            return np.asarray(np.divide(weight, about, out=np.zeros(len(about)), where=covered))

        if said:
            return share(true), share(said[0])
        usual = np.abs(self.real.targets - self.claims.arranged.naive) <= target_reach
        return share(true), (usual & covered).astype(np.float64)

    def exposed(self) -> float:
        """Return the number of people, each by the share of the claims about them that are true."""
        return float((self.exposure[0] * self._counts).sum())

    def beats_the_usual(self) -> bool:
        """Tell whether claims are truer than the most usual value, of the people they are about.

        Both guess about the same people, so the difference is taken person by person.
        """
        ahead, counts = self.exposure[0] - self.exposure[1], self._counts
        mean = float((counts * ahead).sum()) / self.n_people
        spread = float((counts * (ahead - mean) ** 2).sum()) / self.n_people
        return mean > probit(CONFIDENCE) * math.sqrt(spread / self.n_people)

    def variance(self, chance: Floats) -> float:
        """Return the variance of the score over draws of the real people (jackknife)."""
        influence, counts = self.weigh(chance)[:, 0], self._counts
        mean = float((counts * influence).sum()) / self.n_people
        spread = float((counts * (influence - mean) ** 2).sum())
        return spread * (self.n_people - 1) / self.n_people / self.claims.total**2

    def facts(self, role: Role) -> dict[str, float | int]:
        """Return the counts and the score in all rows of the table."""
        met = self.found[:, 0] > 0
        every = chance_of_any(self.n_people, self.n_people)
        n_met = float(self.claims.counts[met].sum())
        score = self.score(every)
        return {
            f"claims_met_in_{role}": int(n_met),
            f"score_in_all_of_{role}": score,
            f"score_of_met_in_{role}": score * self.claims.total / n_met if n_met else 0.0,
        }


def chance_of_any(n_people: int, size: int) -> Floats:
    """Return (n_people + 1,): the chance that a sample of ``size`` of the people holds one of c of them."""
    taken = np.arange(n_people)
    missed = np.maximum(n_people - size - taken, 0) / (n_people - taken)
    return 1 - np.append(1.0, np.cumprod(missed))


@dataclass(frozen=True, kw_only=True, eq=False)
class CheckedClaims:
    """One configuration: the claims about one target at one radius, answered by train and by control."""

    n_claims: int
    train: ClaimAnswer
    control: ClaimAnswer
    tried: float  # the share of the released rows whose claims are checked, drawn at random

    def compare(self, confidence: float) -> Comparison:
        """Compare train with control."""
        attack = self._scored[0].at(confidence)
        facts = {
            "claims": self.n_claims,
            "claims_kept": int(self.train.claims.total),
            **self.train.facts("train"),
        }
        shared: dict[str, Any] = {
            "attack": attack,
            "baseline": known(self.train.score(self._chance, column=3), attack.n),
            "beats_baseline": self.train.beats_the_usual(),
        }
        if self._scored[1] is None:
            return Comparison(**shared, control=None, risk=None, gain=None, p_value=None, facts=facts)
        control = self._scored[1].at(confidence)
        people = self.train.exposed(), self.train.n_people, self.control.exposed(), self.control.n_people
        return Comparison(
            **shared,
            control=control,
            risk=risk_toward(attack, control, self._worst),
            gain=over_all(difference(*people, confidence), self.tried),
            p_value=chance_of_difference(*people),
            facts={
                **facts,
                **self.control.facts("control"),
                "worst": self._worst,
                **dict(
                    zip(("exposed_train", "n_train", "exposed_control", "n_control"), people, strict=True)
                ),
            },
        )

    @property
    def _chance(self) -> Floats:
        return chance_of_any(self.train.n_people, self._size)

    @property
    def _size(self) -> int:
        """The number of people at which both sides are compared."""
        return min(self.train.n_people, self.control.n_people) or self.train.n_people

    @cached_property
    def _worst(self) -> float:
        return self.train.worst(self._chance)

    @cached_property
    def _scored(self) -> tuple["_Score", "_Score | None"]:
        """The scores of train and control."""
        others = self.control.n_people
        against = _Score.of(self.control, chance_of_any(others, self._size)) if others else None
        return _Score.of(self.train, self._chance), against

    def scores(self) -> list[Scores]:
        """Return how many right claims rest on each real row, or on all rows of its person."""
        found = []
        sides: tuple[tuple[Role, ClaimAnswer], ...] = (("train", self.train), ("control", self.control))
        for role, answer in sides:
            if answer.n_people:
                borne = answer.weigh(chance_of_any(answer.n_people, answer.n_people))[:, 1]
                kind, whose = answer.real.of_row, answer.real.people
                values = borne[kind if whose is None else whose[kind]]
                found.append(Scores(table=role, rows=np.arange(len(kind)), values=values))
        return found


@dataclass(frozen=True, kw_only=True)
class _Score:
    """A mean over claims and its variance."""

    value: float
    variance: float
    n_claims: int
    independent: float

    @classmethod
    def of(cls, answer: ClaimAnswer, chance: Floats) -> Self:
        total = answer.claims.total
        return cls(
            value=answer.score(chance),
            variance=answer.variance(chance),
            n_claims=int(total),
            independent=min(total, answer.n_people),
        )

    def at(self, confidence: float) -> Estimate:
        """Return the score with its interval."""
        return mean_share(self.value, self.variance, self.n_claims, confidence, independent=self.independent)
