"""What would change a verdict: who and what carries a leak, which steps were tried, and what they did.

Every number here was measured on this release, or on a changed copy of it. None says what another release
would do.
"""

from dataclasses import dataclass
from typing import Literal

from tabveil.auditing.policy import Risk
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN, State
from tabveil.core.estimate import Estimate
from tabveil.core.storage.plain import Number, PlainData

ChangeKind = Literal["filter", "coarsen", "merge", "leave out"]


@dataclass(frozen=True, kw_only=True)
class LeakingRows:
    """Rows of the release that equal a training row or lie nearer to one than fresh rows do, and chance.

    ``expected`` and ``near_expected`` are how many would by chance; ``people`` is about how many training
    people the attack exposes that exposes most.
    """

    n_synthetic: int
    equal: int
    expected: Number
    near: int
    near_expected: Number
    people: int | None = None
    n_train: int


@dataclass(frozen=True, kw_only=True)
class LeakingColumn:
    """A column that carries a leak: its ``weight`` among all columns, and what the attacks found about it.

    ``gain`` is that of the inference about it, ``descriptions`` counts those with it that single out training
    people beyond the people never seen.
    """

    column: str
    weight: float
    gain: Estimate | None = None
    descriptions: int | None = None


@dataclass(frozen=True, kw_only=True)
class ExposedGroup:
    """People who share a value, of whom more are exposed because they were trained on than of all others.

    ``exposed`` of ``people`` training people are exposed to the attack ``metric``; ``gain`` is their share
    less that of control people of the same group, ``gain_elsewhere`` the same among all others. ``p_value``
    is one-sided, and corrected for all groups that were compared. ``label`` is shared by ten people or more.
    """

    column: str
    label: str
    people: int
    exposed: int
    gain: Number
    gain_elsewhere: Number
    p_value: Number
    metric: str


@dataclass(frozen=True, kw_only=True)
class ReleaseChange:
    """One change of a release.

    A filter drops rows that come nearer to train than a ``share`` of control rows; numbers of a column are
    coarsened, its rare labels merged, or it is left out.
    """

    kind: ChangeKind
    column: str | None = None
    share: float | None = None
    levels: int | None = None  # how many values a coarsened column keeps


@dataclass(frozen=True, kw_only=True)
class AttackChange:
    """What one attack finds on the changed release, beside what it found; None where it has no answer.

    ``settled`` says that it no longer objects: it lies within its threshold, or does no better than guessing
    without the release, where the policy does not require it.
    """

    metric: str
    title: str
    risk: Risk
    threshold: float
    before: Estimate
    after: Estimate | None
    state: State
    reason: str = ""  # why it is inconclusive
    rows_needed: int | None = None  # about how many control rows would settle it
    settled: bool


@dataclass(frozen=True, kw_only=True)
class CopiesChange:
    """The upper bound of the share of copies, before and after."""

    threshold: float
    before: Number
    after: Number
    state: State


@dataclass(frozen=True, kw_only=True)
class UtilityChange:
    """The mean total variation between the columns of release and real rows; ``fresh`` is real rows' own."""

    before: Estimate
    after: Estimate
    fresh: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One change that was tried, and what it did to risk and utility."""

    change: ReleaseChange
    rows_left: int
    rows_changed: int  # dropped, or with another value than before
    attacks: tuple[AttackChange, ...] = ()
    copies: CopiesChange | None = None
    utility: UtilityChange | None = None
    all_repeated: bool = False  # whether every attack that was above ran again, and not only one a risk

    @property
    def leak_seen(self) -> bool:
        """Whether anything that was repeated is still above its threshold."""
        above = any(item.state == ABOVE for item in self.attacks)
        return above or (self.copies is not None and self.copies.state == ABOVE)

    @property
    def settles(self) -> bool:
        """Whether nothing that was repeated objects, and an attack on each risk lies within its threshold."""
        if self.copies is not None and self.copies.state != WITHIN:
            return False
        answered = {item.risk for item in self.attacks if item.state == WITHIN}
        return all(item.settled and item.risk in answered for item in self.attacks)

    @property
    def state(self) -> State:
        """Where the changed release stands, as far as it was attacked again."""
        return ABOVE if self.leak_seen else WITHIN if self.settles else INCONCLUSIVE

    @property
    def worst(self) -> AttackChange | None:
        """The attack whose upper bound is highest after the change, in units of its threshold."""
        return max(
            self.attacks,
            key=lambda item: item.after.high / item.threshold if item.after else 0.0,
            default=None,
        )

    @property
    def lost(self) -> float | None:
        """By how much the distance from real rows grew; of a column less there is none to compare."""
        if self.utility is None or self.change.kind == "leave out":
            return None
        return self.utility.after.value - self.utility.before.value


@dataclass(frozen=True, kw_only=True)
class MoreRows:
    """About how many control rows would settle what is open, if what was measured is true; of train, too."""

    control: int
    n_control: int
    train: int | None  # None: there are enough
    titles: tuple[str, ...]  # of the attacks that are open


@dataclass(frozen=True, kw_only=True)
class Advice(PlainData):
    """What would change a verdict that is above or inconclusive, from evidence.

    ``remedies`` are ordered by what they did to the risk; ``not_repeated`` names attacks that are above and
    were not repeated because they train networks. ``obstacles`` say what else keeps a verdict from being
    given.
    """

    rows: LeakingRows | None = None
    columns: tuple[LeakingColumn, ...] = ()
    groups: tuple[ExposedGroup, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    not_repeated: tuple[str, ...] = ()
    more_rows: MoreRows | None = None
    obstacles: tuple[str, ...] = ()
