"""Claims that a release makes about people with some keys, and what real rows say to them (SPEC 3, GTCAP)."""

from dataclasses import dataclass

import numpy as np

from tabveil import workers
from tabveil.attacks.configurations import Comparison
from tabveil.attacks.gtcap import kernels
from tabveil.attacks.gtcap.key_classes import KeyIndex, Kinds
from tabveil.attacks.guessing import Bools
from tabveil.estimate import Estimate, known, mean_share, risk_toward
from tabveil.result import Role, Scores
from tabveil.table import Floats, Indices

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


class Answer:
    """What one table of real rows says to the claims."""

    def __init__(self, claims: Claims, real: Kinds, n_rows: int) -> None:
        self.claims, self.real, self.n_rows = claims, real, n_rows
        reach, target_reach = claims.arranged.reach(claims.radius)
        self._reach = (reach, target_reach)
        found = np.empty((len(claims.targets), 4))
        rows = (real.keys, real.targets, real.counts, real.starts(claims.arranged.n_groups))

        def attribute(begin: int, end: int) -> None:
            kernels.attribute(
                claims.keys, claims.targets, claims.groups, rows, reach, target_reach, claims.arranged.naive,
                claims.soft, begin, end, found,
            )  # fmt: skip

        workers.each_chunk(len(found), CLAIMS_AT_ONCE, attribute, doing="checking claims")
        self.found = found  # (c, 4) rows met, their weight, weight with the target, with the naive guess

    def score(self, chance: Floats, column: int = 2) -> float:
        """Return the mean over all claims.

        ``chance`` (n_rows + 1,) is the chance that of so many rows one is in the sample compared.
        """
        met, near = self.found[:, 0], self.found[:, 1]
        values = np.divide(self.found[:, column], near, out=np.zeros(len(near)), where=near > 0)
        return float((self.claims.counts * values * chance[met.astype(np.int64)]).sum()) / self.claims.total

    def worst(self, chance: Floats) -> float:
        """Return the score if every claim were true of its class, and met somebody."""
        met = np.maximum(self.found[:, 0].astype(np.int64), 1)
        return float((self.claims.counts * chance[met]).sum()) / self.claims.total

    def weigh(self, chance: Floats) -> Floats:
        """Return (kinds, 2): how the sum of scores falls without one such row, and the claims it bears."""
        claims, real = self.claims, self.real
        out = np.empty((len(real), 2))
        starts = np.searchsorted(claims.groups, np.arange(claims.arranged.n_groups + 1))
        made = (claims.keys, claims.targets, claims.counts, starts)

        def weigh(begin: int, end: int) -> None:
            kernels.weigh_rows(
                real.keys, real.targets, real.groups, made, self.found, chance, *self._reach, claims.soft,
                begin, end, out,
            )  # fmt: skip

        workers.each_chunk(len(out), CLAIMS_AT_ONCE, weigh, doing="weighing rows")
        return out

    def variance(self, chance: Floats) -> float:
        """Return the variance of the score over draws of the real rows (jackknife)."""
        influence, counts = self.weigh(chance)[:, 0], self.real.counts
        mean = float((counts * influence).sum()) / self.n_rows
        spread = float((counts * (influence - mean) ** 2).sum())
        return spread * (self.n_rows - 1) / self.n_rows / self.claims.total**2

    def facts(self, role: Role) -> dict[str, float | int]:
        """Return the counts and the score in all rows of the table."""
        met = self.found[:, 0] > 0
        every = chance_of_any(self.n_rows, self.n_rows)
        n_met = float(self.claims.counts[met].sum())
        score = self.score(every)
        return {
            f"claims_met_in_{role}": int(n_met),
            f"score_in_all_of_{role}": score,
            f"score_of_met_in_{role}": score * self.claims.total / n_met if n_met else 0.0,
        }


def chance_of_any(n_rows: int, size: int) -> Floats:
    """Return (n_rows + 1,): the chance that a sample of ``size`` of the rows holds one of c of them."""
    taken = np.arange(n_rows)
    missed = np.maximum(n_rows - size - taken, 0) / (n_rows - taken)
    return 1 - np.append(1.0, np.cumprod(missed))


@dataclass(frozen=True, kw_only=True, eq=False)
class CheckedClaims:
    """One configuration: the claims about one target at one radius, answered by train and by control."""

    n_claims: int
    train: Answer
    control: Answer

    def compare(self, confidence: float) -> Comparison:
        """Compare train with control."""
        size = min(self.train.n_rows, self.control.n_rows) or self.train.n_rows
        chance = chance_of_any(self.train.n_rows, size)
        attack = _estimate(self.train, chance, confidence)
        naive = self.train.score(chance, column=3)
        facts = {
            "claims": self.n_claims,
            "claims_kept": int(self.train.claims.total),
            **self.train.facts("train"),
        }
        baseline = known(naive, attack.n)
        if self.control.n_rows == 0:
            return Comparison(attack=attack, control=None, baseline=baseline, risk=None, facts=facts)
        control = _estimate(self.control, chance_of_any(self.control.n_rows, size), confidence)
        worst = self.train.worst(chance)
        return Comparison(
            attack=attack,
            control=control,
            baseline=baseline,
            risk=risk_toward(attack, control, worst),
            facts={**facts, **self.control.facts("control"), "worst": worst},
        )

    def scores(self) -> list[Scores]:
        """Return how many right claims rest on each real row."""
        found = []
        sides: tuple[tuple[Role, Answer], ...] = (("train", self.train), ("control", self.control))
        for role, answer in sides:
            if answer.n_rows:
                borne = answer.weigh(chance_of_any(answer.n_rows, answer.n_rows))[:, 1]
                rows = np.arange(answer.n_rows)
                found.append(Scores(table=role, rows=rows, values=borne[answer.real.of_row]))
        return found


def _estimate(answer: Answer, chance: Floats, confidence: float) -> Estimate:
    return mean_share(
        answer.score(chance),
        answer.variance(chance),
        int(answer.claims.total),
        confidence,
        independent=min(answer.claims.total, answer.n_rows),
    )
