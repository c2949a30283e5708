"""What attacks take and how they speak: intervals, nearness, tolerance, secrets, and phrases for results."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check, workers
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.result import Labels, Result, Threat
from tabveil.core.table import Categorical, Column, Floats, Numeric, Split, Table
from tabveil.core.wording import NOT_COMPUTED, UNSEEN, begin, listed, name, percent, share_of
from tabveil.engines.representation import Mixed, require_representation
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.column_choice_kernels import best_guesses
from tabveil.metrics.worth_guessing import GuessableColumn, in_order
from tabveil.protocols import Metric, Representation

REST = "all other data of the person (worst case)"


def surely(result: Result) -> str:
    """Say at which level a careful attacker acted, if the headline is theirs."""
    if result.leading is None or result.leading.level == 1:
        return ""
    if result.params.get("calibrated"):
        return f"Counting only the surest {surest(result)} of all guesses: "
    return f"Only the surest guesses count (of those about {UNSEEN}, the surest {surest(result)}): "


def surest(result: Result) -> str:
    """Write the level of the headline, to a tenth of a percent as in its name."""
    return f"{float(f'{100 * result.leading.level:.1f}'):g}%" if result.leading else NOT_COMPUTED


def both_sides(result: Result) -> str:
    """Say for how many training people, and how many others, the attack succeeded."""
    train = _of("train", result, "training people")
    return f"{train} and {_of('control', result, UNSEEN)}" if result.control else train


def _of(side: str, result: Result, who: str) -> str:
    """Write how many people of one side the attack succeeded on, by count where there is one."""
    facts = result.facts
    successes, among = facts.get(f"people_{side}", facts.get(f"successes_{side}")), facts.get(f"n_{side}")
    if isinstance(successes, (int, float)) and isinstance(among, int) and among > 0:
        return f"{round(successes):,} of {among:,} {who} ({percent(round(successes) / among)})"
    estimate = result.attack if side == "train" else result.control
    return f"{share_of(estimate)} of {who}" if estimate else f"an unknown share of {who}"


def naively(result: Result) -> str:
    """Say how often a guesser without the release is right: counted, where the sides are counted, too."""
    if result.baseline is None:
        return ""
    counted = result.facts.get("naive")
    rate = counted if isinstance(counted, (int, float)) else result.baseline.value
    return f" By guessing without the release it would be {percent(rate)}."


def guessed(result: Result) -> str:
    """Tell how often one secret was guessed: a label, or a number that is near enough."""
    secret = None if result.leading is None else result.leading.target
    what = f"the value of “{name(secret)}”" if secret else "the unknown value"
    told = f"{surely(result)}{what} is guessed right for {both_sides(result)}"
    return f"{begin(told)}.{naively(result)}"


def secret_threat(known: Sequence[str] | None, secrets: Sequence[str] | None, otherwise: str) -> Threat:
    """Describe somebody who knows some columns and wants others."""
    return Threat(knows=listed(known) if known else REST, wants=listed(secrets) if secrets else otherwise)


Bools = NDArray[np.bool_]

TOLERANCE = 0.05
ZERO_TOLERANCE = 0.001
ROUNDING = 1 + 1e-9  # 0.315 is within 5 % of 0.3, whatever floating point makes of it


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """The values that count as right for each row.

    A label must be met exactly. A number must be met within ``tolerance`` times its true size; where that
    size says nothing (a true 0, a date) within ``zero_tolerance`` times the column's range. Where the true
    value is missing, no guess is right: there is nothing to infer.
    """

    low: Floats  # (n,) NaN where the true value is missing
    high: Floats  # (n,)

    @property
    def present(self) -> Bools:
        """Tell for each row whether there is a true value."""
        return ~np.isnan(self.low)

    @classmethod
    def of(cls, cells: Floats, column: Column, tolerance: float, zero_tolerance: float) -> Self:
        """Put the bounds around the true cells of a column."""
        if not isinstance(column, Numeric):
            return cls(low=cells, high=cells)
        sizeless = (cells == 0) | column.arbitrary_zero
        slack = np.where(sizeless, zero_tolerance * column.width, tolerance * np.abs(cells)) * ROUNDING
        return cls(low=cells - slack, high=cells + slack)

    def met_by(self, guesses: Floats | float) -> Bools:
        """Tell for each row whether its guess is right."""
        return np.asarray((guesses >= self.low) & (guesses <= self.high))

    def chance(self, pool: Floats) -> Floats:
        """Return for each row the share of a pool of guesses that would be right."""
        ordered = np.sort(pool[~np.isnan(pool)])
        n_met = np.searchsorted(ordered, self.high, side="right") - np.searchsorted(ordered, self.low)
        return np.where(self.present, n_met, 0) / len(pool)


@dataclass(frozen=True, kw_only=True)
class Attack(Metric):
    """What is attacked, and how sure an attack is of what it reports.

    Parameters
    ----------
    n_attacks
        How many training rows, and as many control rows, are attacked; None attacks all.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.
    """

    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check.between(owner, "confidence", self.confidence, 0.5, 1)
        n_attacks = getattr(self, "n_attacks", None)  # None attacks all rows
        if n_attacks is not None:
            check.at_least(owner, "n_attacks", n_attacks, 1)


class TellsMembers:
    """What attacks say that tell members from others; with a ``reference``, a sample of the population."""

    reference: ClassVar[bool] = False
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="propensity", mechanism="density", auxiliary=True)

    def sentence(self, result: Result) -> str:
        """Tell how well members were told from others."""
        if result.leading is not None and result.leading.statistic == "area":
            return (
                "Shown one training person and one of the people the generator never saw, the attack tells "
                f"which is which in {share_of(result.attack)} of cases; guessing is right in 50%."
            )
        return (
            f"An attacker who wrongly names at most about {surest(result)} of {UNSEEN} as members names "
            f"{both_sides(result)}. If both shares were equal, the attack would tell nothing."
        )

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - always the same attacker
        """Describe somebody who asks whether a person's data were trained on."""
        knows = f"the person's whole row{' and a sample of the same population' if self.reference else ''}"
        return Threat(knows=knows, wants="whether the person's data were trained on")


@dataclass(frozen=True, kw_only=True)
class NearestRowAttack(Attack):
    """What attacks have in common that look for the nearest rows.

    Parameters
    ----------
    n_attacks
    representation
        What is called near: Gower's distance over the known columns (``Mixed``), the Euclidean one, or the
        distance in an embedding.
    """

    representation: Representation = field(default_factory=Mixed)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_representation(type(self).__name__, self.representation)


MOSTLY = 0.5  # more than this share of cells missing, or of labels different: nothing to learn
IDENTIFIER = 0.95  # more than this share of whole numbers different: a number of a record, not of a person
ROWS_TO_JUDGE = 20_000
LEVELS_TO_JUDGE = 64  # a column with more different values is compared in coarser steps
COARSE_LEVELS = 16
SECRETS_AT_ONCE = 16

OF_OTHERS = "Beside a column that sums up linked rows, what sums up the same rows was not known."

ONE_COLUMN = "needs at least two columns, one to know and one to guess."


@dataclass(frozen=True, kw_only=True)
class SecretAttack(Attack):
    """What an intruder is after and what they know, as parameters; without them, columns are chosen.

    A secret worth attacking has several values, is not an identifier, and is not given away by another column
    that the intruder knows anyway (a level of education beside its number). What the attacks try is said in
    their notes, by name.
    """

    secrets: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    n_secrets: int = 3

    word: ClassVar[str] = "secret"  # what messages call a column that is attacked
    most_labels: ClassVar[int | None] = None  # columns with more are not chosen

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check.at_least(owner, "n_secrets", self.n_secrets, 1)
        if self.secrets is not None:
            check.at_least(owner, f"the number of {self.word}s", len(self.secrets), 1)

    def chosen(self, split: Split) -> tuple[tuple[str, ...], str]:
        """Take the columns that the user names, or choose some; and say in a sentence how.

        Chosen are up to ``n_secrets`` columns: first what a person would call an outcome
        (:mod:`tabveil.metrics.worth_guessing`), then those that are hardest to guess from any one other
        column. Suitable are columns with at least two values in the real and in the synthetic rows, at most
        half of them missing, that are no identifiers: labels of which more than half are different, whole
        numbers that hardly repeat (this last rule is waived where it leaves nothing). Columns of labels come
        before numbers, since a guess of a label can be right; left out are those with more than
        ``most_labels`` different labels, and those the intruder knows.
        """
        if self.secrets is not None:
            check.known_names(self.name, "column", self.secrets, split.schema.names)
            chosen = tuple(sorted(set(self.secrets)))
            return (
                chosen,
                f"Tried as {self.word}: {listed(chosen, len(chosen))}, as asked.{self._of_others(split)}",
            )
        suitable = self._suitable(split)
        room = _rooms(split.synthetic, suitable)

        ranked = in_order(
            (
                GuessableColumn(
                    column=split.schema[name],
                    n_values=len(np.unique(_real(split, name))),
                    room=room[name],
                    worth=room[name],
                )
                for name in suitable
            ),
            labels_first=True,
        )
        chosen, how = tuple(ranked[: self.n_secrets]), ""
        if len(suitable) > len(chosen):
            how = (
                f", chosen among {len(suitable)} suitable columns (an outcome, if one looks so; then labels "
                "before numbers, those first that are hardest to guess from any one other column)"
            )
        return chosen, f"Tried as {self.word}: {listed(chosen, len(chosen))}{how}.{self._of_others(split)}"

    def _of_others(self, split: Split) -> str:
        return f" {OF_OTHERS}" if split.train.linked is not None and self.known is None else ""

    def _suitable(self, split: Split) -> list[str]:
        if len(split.schema) < 2:  # noqa: PLR2004 - something known and something secret
            raise NotApplicable(self.name, ONE_COLUMN)
        unknown = sorted(set(split.schema.names) - set(self.known or ()))
        varied = [name for name in unknown if _varies(split, name)]
        suitable = [name for name in varied if not _identifies(split, name)] or varied
        if self.most_labels is not None:  # of the labels that an attacker could guess; numbers have none
            suitable = [
                name
                for name in suitable
                if isinstance(split.schema[name], Numeric)
                or len(np.unique(_present(split.synthetic.column(name)))) <= self.most_labels
            ]
        if not suitable:
            raise NotApplicable(
                self.name,
                f"no column is a suitable {self.word}: all are known, constant, mostly missing"
                f"{'' if self.most_labels is None else f' or have more than {self.most_labels} labels'}.",
            )
        return suitable

    def known_beside(self, secret: str, split: Split, *, word: str = "known") -> tuple[str, ...]:
        """Return what the intruder knows, by name: the columns given, or all others; never the secret."""
        check.known_names(self.name, "column", self.known or (), split.schema.names)
        known = known_of_others(secret, split.train) if self.known is None else self.known
        names = tuple(sorted(set(known) - {secret}))
        if not names:
            if self.known is not None and len(split.schema) > 1:
                raise ParameterError(self.name, f"{word} must name a column beside {secret!r}.")
            raise NotApplicable(self.name, ONE_COLUMN)
        return names

    def threat(self, result: Result) -> Threat:
        """Describe the attacker."""
        found = dict.fromkeys(item.setting.target for item in result.configurations if item.setting.target)
        return secret_threat(self.known, self.secrets, listed(list(found)) or "chosen columns")


def known_of_others(secret: str, table: Table) -> tuple[str, ...]:
    """Return what may be known beside a secret by default: all else, but what sums up the same linked rows.

    Of linked rows the first tells of the last, and both of the mean: nobody who knows them has anything to
    infer.
    """
    origins = {} if table.linked is None else table.linked.origins
    own = origins.get(secret)
    others = [name for name in table.schema.names if name != secret]
    return tuple(name for name in others if own is None or origins.get(name) != own) or tuple(others)


def _present(cells: Floats) -> Floats:
    return np.asarray(cells[~np.isnan(cells)])


def _real(split: Split, name: str) -> Floats:
    return _present(np.concatenate([split.train.column(name), split.control.column(name)]))


def _varies(split: Split, name: str) -> bool:
    """Whether there is something to guess: several values, and not mostly missing ones."""
    real, n_real = _real(split, name), len(split.train) + len(split.control)
    return all(
        len(cells) > 0 and cells.min() < cells.max() and len(cells) >= MOSTLY * n
        for cells, n in ((real, n_real), (_present(split.synthetic.column(name)), len(split.synthetic)))
    )


def _identifies(split: Split, name: str) -> bool:
    """Whether hardly a value repeats among the real people, so that it names a record, or a person."""
    cells = _real(split, name)
    share = len(np.unique(cells)) / _n_mentions(split, name)
    match split.schema[name]:
        case Categorical():
            return share > MOSTLY
        case Numeric(decimals=decimals):
            return decimals == 0 and share > IDENTIFIER


def _n_mentions(split: Split, name: str) -> int:
    """Count the real cells that hold a value; a value that several rows of a person have counts once."""
    total = 0
    for table in (split.train, split.control):
        cells = table.column(name)
        there = ~np.isnan(cells)
        if table.people is None:
            total += int(there.sum())
        else:
            values, of_cell = np.unique(cells[there], return_inverse=True)
            _, whose = np.unique(table.people[there], return_inverse=True)
            total += len(np.unique(whose * len(values) + of_cell))
    return total


def _rooms(synthetic: Table, names: Sequence[str]) -> dict[str, float]:
    """How often would each column be guessed wrong by one who knows the best other column?"""
    if len(synthetic) > ROWS_TO_JUDGE:  # those with the smallest hashes: a sample, whatever the order
        synthetic = synthetic.take(synthetic.content_order[:ROWS_TO_JUDGE])
    levels = np.stack([_levels(synthetic.column(name)) for name in synthetic.schema.names])  # (d, n)
    n_levels = levels.max(axis=1).astype(np.int64) + 1
    secrets = np.array([synthetic.schema.position(name) for name in names])
    right = np.empty(len(names), dtype=np.int64)

    def count(start: int, stop: int) -> None:
        best_guesses(levels, n_levels, secrets, start, right[start:stop])

    workers.announce_compilation(best_guesses)
    workers.each_chunk(len(names), SECRETS_AT_ONCE, count, doing="choosing columns")
    return {name: 1 - float(found) / len(synthetic) for name, found in zip(names, right, strict=True)}


def _levels(cells: Floats) -> NDArray[np.uint8]:
    """Give a column's values numbers, missing among them; where they are many, to equally full ranges."""
    values, levels, counts = np.unique(cells, return_inverse=True, return_counts=True)
    if len(values) > LEVELS_TO_JUDGE:
        before = np.cumsum(counts) - counts
        levels = (before * COARSE_LEVELS // len(cells))[levels]
    return np.asarray(levels, dtype=np.uint8)
