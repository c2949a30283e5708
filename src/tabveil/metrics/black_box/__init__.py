"""Somebody who owns the generator: fit it again and again, with a person and without.

See docs/definitions.md, Black box. How well does the attacker tell? Scores of the fits that were not learned
from, with their uncertainty.

What is found is typed data, to JSON and back: nobody's values, no position of a row. A target is a number,
and how vulnerable it is among all rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.estimate import (
    CONFIDENCE,
    AreaUnderCurve,
    Estimate,
    mean_share,
    outranked,
    rate,
    rate_beyond,
    sidak,
)
from tabveil.core.estimate.rates import tossed
from tabveil.core.result import Input
from tabveil.core.storage.files import Unreadable, read_json, write_text
from tabveil.core.storage.plain import PlainData
from tabveil.core.table import Floats, Indices
from tabveil.errors import ParameterError
from tabveil.metrics.black_box.games import (
    Features,
    Game,
    Group,
    InferenceGame,
    MembershipGame,
    Pool,
    Rules,
    Targets,
)

__all__ = [
    "Attacked",
    "Game",
    "InferenceGame",
    "MembershipGame",
    "Pool",
    "ShadowResult",
    "Targets",
    "judge_inference",
    "judge_membership",
]


@dataclass(frozen=True, kw_only=True)
class TargetRisk:
    """What came of one target: the area under its curve, or the share of its secrets guessed right."""

    number: int  # from 1
    group: Group
    rank: int  # by vulnerability, 1 the most vulnerable of all rows
    found: Estimate
    seen: bool  # above chance at a level that counts in how many targets were tried


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The share of members found where this share of others is taken for members; None: too few fits."""

    false_positives: float
    true_positives: Estimate | None


@dataclass(frozen=True, kw_only=True)
class GroupRisk:
    """The targets of one group together: the mean of what was found, and the curve's far left."""

    group: Group
    n_targets: int
    found: Estimate
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """One attack of all targets; ``chance`` is what guessing comes to."""

    name: str
    chance: float
    targets: tuple[TargetRisk, ...]
    groups: tuple[GroupRisk, ...]
    secret: str | None = None  # the column that was guessed
    n_values: int | None = None

    @property
    def n_seen(self) -> int:
        """How many targets were told apart more often than chance explains."""
        return sum(target.seen for target in self.targets)

    @property
    def strongest(self) -> TargetRisk:
        """The target whose lower bound is highest."""
        return max(self.targets, key=lambda target: target.found.low)


@dataclass(frozen=True, kw_only=True)
class ShadowResult(PlainData):
    """What somebody with access to the generator finds out about single people."""

    version: str
    seed: int
    data: Input
    generator: str
    settings: Mapping[str, Any]
    game: Rules
    n_fits: int
    n_rows: int  # that each fit learned from
    n_drawn: int  # of each release
    confidence: float
    attacks: tuple[Attacked, ...]
    notes: tuple[str, ...] = ()
    kind: str = field(default="shadow")

    def __post_init__(self) -> None:
        if self.kind != "shadow" or not self.attacks or not all(item.targets for item in self.attacks):
            raise ValueError("not what a shadow attack found")
        for attacked in self.attacks:
            found = [*(item.found for item in attacked.targets), *(item.found for item in attacked.groups)]
            if not all(item.sound for item in found):
                raise ValueError("values lie beyond their bounds")

    def __getitem__(self, name: str) -> Attacked:
        for attacked in self.attacks:
            if attacked.name == name:
                return attacked
        raise KeyError(name)

    def json_text(self) -> str:
        """Return the result as JSON text; equal for equal attacks, however often interrupted."""
        return json.dumps(self.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the result, whole or not at all."""
        write_text(Path(path), self.json_text())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read what ``tabveil attack --json`` wrote."""
        where = Path(path).name
        try:
            check.ordinary_file("shadow", Path(path))
            return cls.from_json(read_json(Path(path)))
        except ParameterError:
            raise
        except FileNotFoundError:
            raise ParameterError(where, "there is no such file.") from None
        except OSError as error:
            raise ParameterError(where, f"cannot be read: {error.strerror}.") from None
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            why = f" ({error})" if isinstance(error, Unreadable) else ""
            raise ParameterError(
                where, f"not what this version's 'tabveil attack --json' writes{why}; run the attack again."
            ) from None


SHRINKAGES = 10.0 ** np.arange(-3.0, 4.0)
"""In units of the mean square of a fit."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ridge:
    """A fitted model: scores of further fits are sums over their features."""

    center: Floats  # (p,)
    weights: Floats  # (p,), 0 for what never varied
    mean: float

    @classmethod
    def fit(cls, features: Floats, labels: Floats) -> Self:
        """Learn from fits (n, p) and their labels (n,)."""
        center, spread = features.mean(axis=0), features.std(axis=0)
        scale = np.where(spread > 1e-9 * np.maximum(np.abs(center), 1.0), 1 / np.maximum(spread, 1e-300), 0.0)
        scaled = (features - center) * scale
        mean = float(labels.mean())
        values, vectors = np.linalg.eigh(scaled @ scaled.T)
        values = np.maximum(values, 0.0)
        unit = float(values.mean())
        if unit == 0:
            return cls(center=center, weights=np.zeros(len(center)), mean=mean)
        turned = vectors.T @ (labels - mean)
        best = min(
            SHRINKAGES,
            key=lambda shrinkage: _left_out(values, vectors, turned, labels - mean, shrinkage * unit),
        )
        dual = vectors @ (turned / (values + best * unit))
        return cls(center=center, weights=scale * (scaled.T @ dual), mean=mean)

    def score(self, features: Floats) -> Floats:
        """Return the score of each fit (n,); higher is more like a member's."""
        return np.asarray(self.mean + (features - self.center) @ self.weights)


def _left_out(values: Floats, vectors: Floats, turned: Floats, labels: Floats, shrinkage: float) -> float:
    """Return the mean square error on fits that are left out; the mean is left out with them."""
    kept = values / (values + shrinkage)
    fitted = vectors @ (kept * turned)
    leverage = (vectors**2) @ kept + 1 / len(labels)
    return float(np.mean(((labels - fitted) / np.maximum(1 - leverage, 1e-6)) ** 2))


FALSE_POSITIVES = (0.001, 0.01, 0.1)
ENOUGH = 0.95
"""A rate is read where about so many fits without the target, or more, are beyond it."""
COIN = 0.5

Bools = NDArray[np.bool_]


def readable(features: Features) -> Floats:
    """Return features as the attacker's model takes them: counts by their logarithm."""
    return np.log1p(features.astype(np.float64))


def judge_membership(
    game: MembershipGame, features: Features, targets: Targets, confidence: float = CONFIDENCE
) -> Attacked:
    """Learn from half the fits who was in, and tell it for the others; ``features`` are (m, t, p)."""
    inside = game.labels(len(features))  # (m, t)
    scores, judged = membership_scores(features, inside)
    return judged_areas(game.name, scores, judged, targets, confidence)


def membership_scores(features: Features, inside: Bools) -> tuple[Floats, Bools]:
    """Return the scores of the fits that are judged, and who was in them, (m / 2, t) each."""
    learned = np.arange(len(features)) % 2 == 0  # the other fits are judged
    scores = []
    for target in range(features.shape[1]):
        seen = readable(features[:, target])
        model = Ridge.fit(seen[learned], inside[learned, target].astype(np.float64))
        scores.append(model.score(seen[~learned]))
    return np.column_stack(scores), inside[~learned]


def judged_areas(
    name: str, scores: Floats, inside: Bools, targets: Targets, confidence: float = CONFIDENCE
) -> Attacked:
    """Put together what the scores of fits tell about who was in them, (m, t) each."""
    n_inside = inside.sum(axis=0)
    if min(n_inside.min(), (len(inside) - n_inside).min()) < 2:  # noqa: PLR2004 - one varies not
        raise ParameterError("attack", "too few fits: some target is in or out of nearly all; take more.")
    found, seen = [], []
    each = sidak(confidence, len(targets))
    for target in range(len(targets)):
        wins = _wins(scores[:, target], inside[:, target])
        area = AreaUnderCurve.of(*wins)
        found.append(area.within(confidence))
        seen.append(area.within(each).low > COIN)
    return Attacked(
        name=name,
        chance=COIN,
        targets=_risks(targets, found, seen),
        groups=tuple(
            GroupRisk(
                group=group,
                n_targets=len(who),
                found=mean_area(scores[:, who], inside[:, who], confidence),
                readings=tuple(
                    Reading(
                        false_positives=level,
                        true_positives=true_positives(scores[:, who], inside[:, who], level, confidence),
                    )
                    for level in FALSE_POSITIVES
                ),
            )
            for group, who in _by_group(targets)
        ),
    )


def mean_area(scores: Floats, inside: Bools, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the mean of the targets' areas, (m, t) scores.

    DeLong's variance is a sum over fits of how much each moves the area. One fit moves those of all targets,
    so what it moves is added up over them first. What one more fit at the worst place would add, for the fits
    there are may all be equal, is shared by as many targets as move each by itself.
    """
    n_fits, n_targets = scores.shape
    areas, moved = np.empty(n_targets), np.zeros((n_fits, n_targets))
    least = 0.0
    for target in range(n_targets):
        member = inside[:, target]
        wins, losses = _wins(scores[:, target], member)
        areas[target] = wins.mean()
        moved[member, target] = (wins - wins.mean()) / len(wins)
        moved[~member, target] = (losses.mean() - losses) / len(losses)
        least += 0.25 / len(wins) ** 2 + 0.25 / len(losses) ** 2
    together = float((moved.mean(axis=1) ** 2).sum())
    single = float((moved**2).sum()) / n_targets
    bound = min(max(together / single, 1 / n_targets), 1.0) if single > 0 else 1 / n_targets
    variance = together * n_fits / (n_fits - 1) + bound * least / n_targets
    area = float(areas.mean())
    near = (area * n_fits + 2) / (n_fits + 4)  # never 0 or 1, where a toss would have no variance
    return tossed(area, max(near * (1 - near) / variance, 1.0), n_fits * n_targets, confidence)


def _wins(scores: Floats, inside: Bools) -> tuple[Floats, Floats]:
    """Return the share of the other side that each fit with the target outranks, and each without."""
    member, other = scores[inside], scores[~inside]
    return outranked(member, other), outranked(other, member)


def true_positives(
    scores: Floats, inside: Bools, level: float, confidence: float = CONFIDENCE
) -> Estimate | None:
    """Estimate the share of members found where a share ``level`` of others is; None if fits are too few."""
    n_others = int((~inside).sum())
    if level * (n_others / scores.shape[1] + 1) < ENOUGH:
        return None

    def read(rate: float) -> float:
        return float(
            np.concatenate([_found(*side, rate) for side in zip(scores.T, inside.T, strict=True)]).mean()
        )

    high = min(2 * level, 1.0)
    slope = (read(high) - read(level / 2)) / (high - level / 2)
    return rate_beyond(
        read(level), int(inside.sum()), level=level, n_others=n_others, slope=slope, confidence=confidence
    )


def _found(scores: Floats, inside: Bools, level: float) -> Floats:
    """Return how likely the p-value of each fit with the target is at most ``level``, (n,).

    It is the place of the score among those of the fits without the target, equals in random order, which is
    spread evenly where the target makes no difference. The chance of the order is taken as it is, not drawn.
    """
    others = np.sort(scores[~inside])
    upto, below = (np.searchsorted(others, scores[inside], side=side) for side in ("right", "left"))
    beyond, equal = len(others) - upto, upto - below
    return np.clip((level * (len(others) + 1) - beyond) / (1 + equal), 0.0, 1.0)


def judge_inference(
    game: InferenceGame, features: Features, targets: Targets, confidence: float = CONFIDENCE
) -> Attacked:
    """Learn from half the fits which value each target had, one against the rest, and guess for the others.

    ``features`` are (m, t * v, p).
    """
    truth, n_values = game.labels(len(features)), len(game.examples)
    learned = np.arange(len(features)) % 2 == 0  # the other fits are judged
    right = []
    for target in range(truth.shape[1]):
        scores = np.empty(((~learned).sum(), n_values))
        for value in range(n_values):
            seen = readable(features[:, target * n_values + value])
            model = Ridge.fit(seen[learned], (truth[learned, target] == value).astype(np.float64))
            scores[:, value] = model.score(seen[~learned])
        right.append(scores.argmax(axis=1) == truth[~learned, target])
    guesses = np.column_stack(right)  # (m / 2, t)
    return judged_guesses(
        game.name, guesses, targets, secret=game.secret, n_values=n_values, confidence=confidence
    )


def judged_guesses(
    name: str, right: Bools, targets: Targets, *, secret: str, n_values: int, confidence: float = CONFIDENCE
) -> Attacked:
    """Put together which guesses were right, (m, t)."""
    n_fits, chance = len(right), 1 / n_values
    counts = right.sum(axis=0)
    each = sidak(confidence, len(targets))

    def mean_right(guesses: Bools) -> Estimate:
        """Estimate the share of right guesses; those about one release may go together."""
        by_fit = guesses.mean(axis=1)
        variance, n = float(by_fit.var(ddof=1)) / len(by_fit), guesses.size
        return mean_share(float(by_fit.mean()), variance, n, confidence, independent=float(n))

    return Attacked(
        name=name,
        chance=chance,
        secret=secret,
        n_values=n_values,
        targets=_risks(
            targets,
            [rate(float(count), n_fits, confidence) for count in counts],
            [rate(float(count), n_fits, each).low > chance for count in counts],
        ),
        groups=tuple(
            GroupRisk(group=group, n_targets=len(who), found=mean_right(right[:, who]))
            for group, who in _by_group(targets)
        ),
    )


def _risks(targets: Targets, found: Sequence[Estimate], seen: Sequence[bool]) -> tuple[TargetRisk, ...]:
    return tuple(
        TargetRisk(number=place + 1, group=group, rank=int(rank), found=estimate, seen=bool(above))
        for place, (group, rank, estimate, above) in enumerate(
            zip(targets.groups, targets.ranks, found, seen, strict=True)
        )
    )


def _by_group(targets: Targets) -> list[tuple[Group, Indices]]:
    groups: tuple[Group, ...] = ("vulnerable", "random")
    found = [(group, np.flatnonzero([item == group for item in targets.groups])) for group in groups]
    return [(group, who) for group, who in found if len(who)]
