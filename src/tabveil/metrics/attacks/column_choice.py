"""Which columns could an intruder be after? The automatic choice where the user names none.

A secret worth attacking has several values, is not an identifier, and is not given away by another column
that the intruder knows anyway (a level of education beside its number). What the attacks try is said in their
notes, by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check, workers
from tabveil.core.result import Result, Threat
from tabveil.core.table import Categorical, Floats, Numeric, Split, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.attack import Attack, secret_threat, targets
from tabveil.metrics.attacks.column_choice_kernels import best_guesses

MOSTLY = 0.5  # more than this share of cells missing, or of labels different: nothing to learn
IDENTIFIER = 0.95  # more than this share of whole numbers different: a number of a record, not of a person
ROWS_TO_JUDGE = 20_000
LEVELS_TO_JUDGE = 64  # a column with more different values is compared in coarser steps
COARSE_LEVELS = 16
SECRETS_AT_ONCE = 16


@dataclass(frozen=True, kw_only=True)
class ColumnChoice:
    """The columns to attack, and a sentence that says how they were chosen."""

    secrets: tuple[str, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class SecretAttack(Attack):
    """What an intruder is after and what they know, as parameters; without them, columns are chosen."""

    secrets: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    n_secrets: int = 3

    name: ClassVar[str]
    word: ClassVar[str] = "secret"  # what messages call a column that is attacked
    most_labels: ClassVar[int | None] = None  # columns with more are not chosen

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        check.at_least(owner, "n_secrets", self.n_secrets, 1)
        if self.secrets is not None:
            check.at_least(owner, f"the number of {self.word}s", len(self.secrets), 1)

    def chosen(self, split: Split) -> ColumnChoice:
        """Take the columns that the user names, or choose some."""
        if self.secrets is not None:
            return given_secrets(self.name, split, self.secrets, word=self.word)
        return choose_secrets(
            self.name,
            split,
            limit=self.n_secrets,
            n_labels=self.most_labels,
            known=self.known,
            word=self.word,
        )

    def threat(self, result: Result) -> Threat:
        """Describe the attacker."""
        return secret_threat(self.known, self.secrets, targets(result) or "chosen columns")


def choose_secrets(
    owner: str,
    split: Split,
    *,
    limit: int,
    n_labels: int | None = None,
    known: Sequence[str] | None = None,
    word: str = "secret",
) -> ColumnChoice:
    """Choose up to ``limit`` columns that are hardest to guess from any one other column.

    Suitable are columns with at least two values in the real and in the synthetic rows, at most half of them
    missing, that are no identifiers: labels of which more than half are different, whole numbers that hardly
    repeat (this last rule is waived where it leaves nothing). Columns of labels come before numbers, since a
    guess of a label can be right; ``n_labels`` leaves out those with more different labels, ``known`` those
    the intruder knows.
    """
    if len(split.schema) < 2:  # noqa: PLR2004 - something known and something secret
        raise NotApplicable(owner, "needs at least two columns, one to know and one to guess.")
    varied = [
        name for name in sorted(split.schema.names) if name not in (known or ()) and _varies(split, name)
    ]
    suitable = [name for name in varied if not _identifies(split, name)] or varied
    labels = {
        name: split.synthetic.column(name) for name in suitable if isinstance(split.schema[name], Categorical)
    }
    many = {
        name
        for name, cells in labels.items()
        if n_labels is not None and len(np.unique(cells[~np.isnan(cells)])) > n_labels
    }  # of the labels that an attacker could guess; numbers have none
    small = [name for name in suitable if name not in many]
    if not small:
        raise NotApplicable(
            owner,
            f"no column is a suitable {word}: all are known, constant, mostly missing"
            f"{'' if n_labels is None else f' or have more than {n_labels} labels'}.",
        )
    room = _rooms(split.synthetic, small)
    ranked = sorted(
        small, key=lambda name: (isinstance(split.schema[name], Numeric), -round(room[name], 9), name)
    )
    chosen = tuple(ranked[:limit])
    how = (
        f", chosen among {len(small)} suitable columns (labels first, then those hardest to guess from any "
        "one other column)"
        if len(small) > len(chosen)
        else ""
    )
    return ColumnChoice(secrets=chosen, note=f"Tried as {word}: {', '.join(chosen)}{how}.")


def given_secrets(owner: str, split: Split, secrets: Sequence[str], *, word: str = "secret") -> ColumnChoice:
    """Take the columns that the user names."""
    check.known_names(owner, "column", secrets, split.schema.names)
    chosen = tuple(sorted(set(secrets)))
    return ColumnChoice(secrets=chosen, note=f"Tried as {word}: {', '.join(chosen)}, as asked.")


def known_columns(
    owner: str, split: Split, secret: str, known: Sequence[str] | None, *, word: str = "known"
) -> tuple[str, ...]:
    """Return what the intruder knows, by name: the columns given, or all others; never the secret itself."""
    if known is not None:
        check.known_names(owner, "column", known, split.schema.names)
    names = tuple(sorted(set(split.schema.names if known is None else known) - {secret}))
    if not names:
        if known is not None and len(split.schema) > 1:
            raise ParameterError(owner, f"{word} must name a column beside {secret!r}.")
        raise NotApplicable(owner, "needs at least two columns, one to know and one to guess.")
    return names


def _real(split: Split, name: str) -> Floats:
    cells = np.concatenate([split.train.column(name), split.control.column(name)])
    return np.asarray(cells[~np.isnan(cells)])


def _varies(split: Split, name: str) -> bool:
    """Whether there is something to guess: several values, and not mostly missing ones."""
    synthetic = split.synthetic.column(name)
    synthetic = synthetic[~np.isnan(synthetic)]
    real, n_real = _real(split, name), len(split.train) + len(split.control)
    return all(
        len(cells) > 0 and cells.min() < cells.max() and len(cells) >= MOSTLY * n
        for cells, n in ((real, n_real), (synthetic, len(split.synthetic)))
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
