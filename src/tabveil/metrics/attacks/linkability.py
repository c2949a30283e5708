"""Linkability: does the release tie together two pieces of knowledge about one person?"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil.core import check, wording
from tabveil.core.findings import Setting
from tabveil.core.result import Cost, Labels, Result, Threat
from tabveil.core.sampling import shuffled
from tabveil.core.settings.presets import Presets, takes_presets
from tabveil.core.table import Floats, Indices, Schema, Split, Table
from tabveil.core.workers import part, tell
from tabveil.engines.neighbors import NearestRows, Neighbors
from tabveil.engines.representation import Contrastive
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks import calibrated
from tabveil.metrics.attacks.attack import NearestRowAttack, both_sides, naively, surely
from tabveil.metrics.attacks.guessing import Guesses, nearness, rarity, scores, seen_by, ties_matter
from tabveil.protocols import Representation, View

Names = tuple[str, ...]
Pair = tuple[Names, Names]


@takes_presets
@dataclass(frozen=True, kw_only=True)
class Linkability(NearestRowAttack):
    """Can somebody who holds two parts of a person's data find out that they belong together?

    For each real person the attacker looks up the nearest synthetic rows by one set of columns, and again by
    another set (Gower's distance). The two parts are linked if some synthetic row is among both. Which of
    several equally near rows is taken is drawn at random, independently for the two sets.

    A careful attacker acts only on sure guesses: at the level of 10 %, say, a guess succeeds if it is right
    and as sure as the surest 10 % of those about control rows. A guess is surer the nearer the rows are on
    both sets together, and among equally near ones the rarer the person is.

    Parameters
    ----------
    n_neighbors
        How many nearest synthetic rows to look up; each number is a configuration.
    auxiliary
        Pairs of disjoint sets of columns to link; all of them are attacked. None splits the columns in two.
    n_splits
        How many of the possible splits are attacked; None attacks all, as in the paper.
    careful
        Whether success is also counted among the surest guesses alone; without, only among all, as in the
        literature.
    preset
        ``"papers"`` takes what the papers used: one neighbor, every split, all guesses
        of 2,000 attacks.
    n_attacks, representation
    calibrated
        Whether guesses are also ranked by how near the rows are for somebody with so many other people
        around, and all configurations are tested together by dealing labels anew.

    Notes
    -----
    ``attack`` is the share of training people whose two parts are linked, ``control`` the same for people
    never seen, ``baseline`` the chance that rows picked at random meet. ``risk = (attack - control) / (1 -
    control)``: 0 where training people are linked no more often than others, 1 where all of them are.

    The sets are the first columns and the remaining ones, at least two in each, *in the order of the file*:
    here, and only here, the order of columns matters. Every split attacked widens the intervals of all, so
    ``n_splits`` are chosen by what the release alone shows: how often a person whose very row is in it would
    be linked (``linked_to_itself`` in ``details["splits"]``; ``first`` there is how many of
    ``details["columns"]`` stand on the first side). The headline is the configuration with the
    largest lower bound, among intervals that hold for all of them together (Šidák); each is in ``details``.

    With ``calibrated``, training and control rows are pooled and guesses are ranked blind to who is who: by
    distance (of equals, those farthest from their five nearest other people first), and by what least squares
    on the distances to other people leave of its logarithm. A level is then a share of all guesses: the first
    5, 6, 7, 9, … of them, down to a tenth, and all. The intervals hold together by 999 deals of the labels.

    References
    ----------
    - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2023). A Unified Framework for Quantifying
      Privacy Risk in Synthetic Data. Proceedings on Privacy Enhancing Technologies.
    """

    n_neighbors: tuple[int, ...] = (1, 10)
    auxiliary: tuple[Pair, ...] | None = None
    n_splits: int | None = 3
    n_attacks: int | None = None
    calibrated: bool = False
    careful: bool = True

    presets: ClassVar[Presets] = {
        "papers": {"n_neighbors": (1,), "n_splits": None, "n_attacks": 2000, "careful": False}
    }
    name: ClassVar[str] = "linkability"
    title: ClassVar[str] = "Linkability"
    labels: ClassVar[Labels] = Labels(
        pillar="attack", wp29="linkability", mechanism="distance", auxiliary=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("Linkability", "the number of n_neighbors", len(self.n_neighbors), 1)
        check.at_least("Linkability", "n_neighbors", min(self.n_neighbors), 1)
        if self.n_splits is not None:
            check.at_least("Linkability", "n_splits", self.n_splits, 1)
        if self.auxiliary is not None:
            check.at_least("Linkability", "the number of auxiliary pairs", len(self.auxiliary), 1)
        for pair in self.auxiliary or ():
            if len(pair) != 2 or not all(pair):  # noqa: PLR2004 - a pair
                raise ParameterError(
                    "Linkability", "auxiliary must hold pairs of column sets, none of them empty."
                )
            twice = [name for name, count in sorted(Counter(pair[0] + pair[1]).items()) if count > 1]
            if twice:
                why = f"the two column sets of a pair must be disjoint; both or one twice: {twice}."
                raise ParameterError("Linkability", why)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Attack train and control rows alike."""
        splits = self._splits(split.schema)
        if self.calibrated:
            split.require_control(self.name)
        usable, notes = self._usable_neighbors(len(split.synthetic))
        ease = _ease(split.synthetic, splits)
        names = list(ease)
        # Those linked most often; of equals those nearest to the middle, robust on both sides.
        order = sorted(range(len(names)), key=lambda i: (-ease[names[i]], abs(i - (len(names) - 1) / 2), i))
        most = len(splits) if self.auxiliary or not self.n_splits else self.n_splits
        chosen = [names[i] for i in sorted(order[:most])]
        trials = calibrated.GuessTrials.on(
            split, self.n_attacks, calibrated=self.calibrated, careful=self.careful, rng=rng
        )
        made: dict[Setting, tuple[Guesses, Guesses]] = {}
        view = trials.view(self.representation, rng=rng)
        for turn, name in enumerate(chosen):
            pair = splits[name].pair
            with part(turn / len(chosen), (turn + 1) / len(chosen)):
                linked = _link(trials.targets, view, pair, usable, rng=rng)
            others = trials.crowding(view, pair[0] + pair[1])
            for k, guesses in linked.items():
                setting = Setting(label=f"{name}, k = {k}", split=pair, n_neighbors=k)
                made |= dict.fromkeys(trials.add(setting, guesses, others), guesses)
        best = trials.headline(self.confidence, rng=rng)
        shown = made[best.setting]
        cuts = {
            name: {
                **({"columns": item.pair} if self.auxiliary else {"first": item.first}),
                "linked_to_itself": ease[name],
                "attacked": name in chosen,
            }
            for name, item in splits.items()
        }
        columns = {} if self.auxiliary else {"columns": split.schema.names}  # once, for all cuts of them
        return best.answer(
            self,
            details={**columns, "splits": cuts},
            notes=notes,
            scores=scores(trials.attacked, (nearness(shown[0]), nearness(shown[1]))),
        )

    def sentence(self, result: Result) -> str:
        """Tell for how many people the two parts were matched."""
        told = wording.begin(
            f"{surely(result)}two parts of a person's data are matched for {both_sides(result)}"
        )
        where = f" (columns split as: {wording.name(result.leading.label)})" if result.leading else ""
        return f"{told}{where}.{naively(result)}"

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - the splits follow from the parameters
        """Describe the attacker."""
        wants = "that the two parts belong to the same person"
        if not self.auxiliary:
            knows = "two parts of a person's data, cut anywhere in the order of the columns (worst case)"
            return Threat(knows=knows, wants=wants)
        first = " | ".join(wording.listed(side, 4) for side in self.auxiliary[0])
        more = f" and {len(self.auxiliary) - 1} more pairs" if len(self.auxiliary) > 1 else ""
        return Threat(knows=f"two parts of a person's data: {first}{more}", wants=wants)

    def _splits(self, schema: Schema) -> Mapping[str, "_Cut"]:
        if self.auxiliary is not None:
            for one, other in self.auxiliary:
                check.known_names("Linkability", "column", one + other, schema.names)
            return {
                f"auxiliary {n}": _Cut(names=pair[0] + pair[1], first=len(pair[0]))
                for n, pair in enumerate(self.auxiliary, start=1)
            }
        n = len(schema)
        if n < 2:  # noqa: PLR2004 - one column for each set
            raise NotApplicable(self.name, f"needs at least two columns, got {n}.")
        least = min(2, n // 2)
        return {
            f"first {i} | other {n - i} columns": _Cut(names=schema.names, first=i)
            for i in range(least, n - least + 1)
        }

    def _usable_neighbors(self, n_synthetic: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Leave out the numbers of neighbors at which any two sets meet, with a note."""
        usable = tuple(sorted({k for k in self.n_neighbors if 2 * k <= n_synthetic}))
        if not usable:
            raise NotApplicable(
                self.name, f"needs at least {2 * min(self.n_neighbors)} synthetic rows, got {n_synthetic}."
            )
        return usable, tuple(
            f"Left out k = {k}: any two sets of {k} among {n_synthetic} synthetic rows meet."
            for k in sorted(set(self.n_neighbors) - set(usable))
        )


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """Columns, cut in two after some of them."""

    names: Names
    first: int

    @property
    def pair(self) -> Pair:
        """The two parts, which for all cuts of thousands of columns would not be held at once."""
        return self.names[: self.first], self.names[self.first :]


def _ease(synthetic: Table, splits: Mapping[str, _Cut]) -> dict[str, float]:
    """Return how often a person whose very row is in the release would be linked at k = 1, for each pair.

    Rows equal on a set are equally near, and one of each side is drawn; they are linked if it is the same.
    """
    one, other, both = (_Copies(synthetic) for _ in range(3))
    ease = {}
    for name, item in splits.items():
        pair = item.pair
        shares = both.count(pair[0] + pair[1]) / (one.count(pair[0]) * other.count(pair[1]))
        ease[name] = float(np.sort(shares).mean())  # sorted: the last bit must not know the file's order
        tell("choosing splits", len(ease) / len(splits))
    return ease


class _Copies:
    """Counts, for one set of columns after another, the rows that are equal on it.

    Sets that follow each other differ in few columns, and only those are hashed: with thousands of columns,
    hashing every set anew would take hours.
    """

    def __init__(self, table: Table) -> None:
        self._table, self._names = table, frozenset[str]()
        self._sums = np.zeros(len(table), dtype=np.uint64)

    def count(self, names: Iterable[str]) -> Floats:
        """Return for every row how many rows equal it, itself among them."""
        wanted = frozenset(names)
        for name in wanted - self._names:
            self._sums += self._table.column_hash(name)
        for name in self._names - wanted:
            self._sums -= self._table.column_hash(name)
        self._names = wanted
        _, numbers, counts = np.unique(self._sums, return_inverse=True, return_counts=True)
        return counts[numbers].astype(np.float64)


def _link(
    targets: Split, view: View, pair: Pair, n_neighbors: Sequence[int], *, rng: Generator
) -> dict[int, tuple[Guesses, Guesses]]:
    found: list[list[NearestRows]] = []
    for names in pair:
        candidates = shuffled(targets.synthetic, rng=rng)  # anew for each: ties are broken independently
        seen = seen_by(view, targets, names)
        neighbors = Neighbors(view.space(names), seen.synthetic.take(candidates.rows))
        nearest = [neighbors.nearest(table, max(n_neighbors)) for table in (seen.train, seen.control)]
        found.append([replace(item, index=candidates.rows[item.index]) for item in nearest])
    met = [_first_meeting(one.index, other.index) for one, other in zip(*found, strict=True)]
    both, sizes = pair[0] + pair[1], (len(pair[0]), len(pair[1]))
    apart = []
    for one, other in zip(*found, strict=True):
        total = one.distance[:, 0] * sizes[0] + other.distance[:, 0] * sizes[1]
        # The mean over all columns; 0.1 + 0.2 and 0.3 are one distance, a comparison must see the tie.
        apart.append(np.round(total / len(both), 12))
    rare: tuple[Floats, Floats] | tuple[None, None] = (None, None)
    # Else nobody need be looked at once more, which an embedding takes long for.
    if ties_matter(-apart[1], people=targets.control.people):
        rare = rarity(view.space(both), seen_by(view, targets, both), rng=rng)

    def guesses(side: int, k: int) -> Guesses:
        chance = np.full(len(met[side]), chance_to_meet(k, len(targets.synthetic)))
        return Guesses(
            correct=met[side] <= k,
            naive=chance,
            confidence=-apart[side],
            rarity=rare[side],
            people=(targets.train, targets.control)[side].people,
        )

    return {k: (guesses(0, k), guesses(1, k)) for k in n_neighbors}


def _first_meeting(one: Indices, other: Indices) -> Floats:
    """Return the least k at which the first k of a row's two lists (n, most) share a member, or infinity."""
    met = np.full(len(one), np.inf)
    for position in range(one.shape[1]):
        same = one[:, position, None] == other  # (n, most), at most one in a row
        rank = np.maximum(same.argmax(axis=1), position) + 1.0
        met = np.where(same.any(axis=1), np.minimum(met, rank), met)
    return met


def chance_to_meet(n_neighbors: int, n_rows: int) -> float:
    """Return the chance that two random sets of so many of ``n_rows`` rows share a member.

    >>> round(chance_to_meet(1, 4), 6)
    0.25
    """
    left = n_rows - np.arange(n_neighbors)  # rows left for each member of the second set to fall on
    return float(-np.expm1(np.log1p(-n_neighbors / left).sum()))


@takes_presets
@dataclass(frozen=True, kw_only=True)
class LinkabilityContrastive(Linkability):
    """Can somebody with a learned sense of nearness tell that two parts of a person's data belong together?

    As ``linkability``, in a contrastive embedding of the release: for each real person the attacker looks up
    the nearest synthetic rows by one set of columns, all others masked in the person's row and in the release
    alike, and again by another set. The two parts are linked if some synthetic row is among both.

    A careful attacker acts only on sure guesses: at the level of 10 %, say, a guess succeeds if it is right
    and as sure as the surest 10 % of those about control rows. A guess is surer the nearer the rows are on
    both sets together.

    Parameters
    ----------
    n_neighbors, auxiliary, n_splits, n_attacks, calibrated, careful
    preset
        ``"papers"`` takes what the papers used: as in ``linkability``, in the papers' embedding.
    representation
        What is called near: the distance in an embedding that is trained on the release.

    Notes
    -----
    ``attack`` is the share of training people whose two parts are linked, ``control`` the same for people
    never seen, ``baseline`` the chance that rows picked at random meet. ``risk = (attack - control) / (1 -
    control)``: 0 where training people are linked no more often than others, 1 where all of them are.

    The splits are those of ``linkability``: here, and only here, the order of columns matters. The headline
    is the configuration with the largest lower bound, among intervals that hold for all of them together
    (Šidák); each is in ``details``.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    """

    representation: Representation = field(default_factory=Contrastive)

    presets: ClassVar[Presets] = {
        "papers": {**Linkability.presets["papers"], "representation": Contrastive(preset="paper")}
    }
    name: ClassVar[str] = "linkability_contrastive"
    title: ClassVar[str] = "Linkability, contrastive"
    cost: ClassVar[Cost] = "slow"
    extra: ClassVar[str] = "deep"
    on_request: ClassVar[bool] = True
    beside: ClassVar[tuple[str, ...]] = ("linkability",)
