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
from tabveil.core.wording import listed
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.attack import Attack, secret_threat
from tabveil.metrics.attacks.column_choice_kernels import best_guesses

MOSTLY = 0.5  # more than this share of cells missing, or of labels different: nothing to learn
IDENTIFIER = 0.95  # more than this share of whole numbers different: a number of a record, not of a person
ROWS_TO_JUDGE = 20_000
LEVELS_TO_JUDGE = 64  # a column with more different values is compared in coarser steps
COARSE_LEVELS = 16
SECRETS_AT_ONCE = 16

ONE_COLUMN = "needs at least two columns, one to know and one to guess."


@dataclass(frozen=True, kw_only=True)
class SecretAttack(Attack):
    """What an intruder is after and what they know, as parameters; without them, columns are chosen."""

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

        Chosen are up to ``n_secrets`` columns that are hardest to guess from any one other column. Suitable
        are columns with at least two values in the real and in the synthetic rows, at most half of them
        missing, that are no identifiers: labels of which more than half are different, whole numbers that
        hardly repeat (this last rule is waived where it leaves nothing). Columns of labels come before
        numbers, since a guess of a label can be right; left out are those with more than ``most_labels``
        different labels, and those the intruder knows.
        """
        if self.secrets is not None:
            check.known_names(self.name, "column", self.secrets, split.schema.names)
            chosen = tuple(sorted(set(self.secrets)))
            return chosen, f"Tried as {self.word}: {', '.join(chosen)}, as asked."
        suitable = self._suitable(split)
        room = _rooms(split.synthetic, suitable)
        chosen = tuple(
            sorted(
                suitable,
                key=lambda name: (isinstance(split.schema[name], Numeric), -round(room[name], 9), name),
            )[: self.n_secrets]
        )
        how = (
            f", chosen among {len(suitable)} suitable columns (labels first, then those hardest to guess "
            "from any one other column)"
            if len(suitable) > len(chosen)
            else ""
        )
        return chosen, f"Tried as {self.word}: {', '.join(chosen)}{how}."

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
        names = tuple(sorted(set(split.schema.names if self.known is None else self.known) - {secret}))
        if not names:
            if self.known is not None and len(split.schema) > 1:
                raise ParameterError(self.name, f"{word} must name a column beside {secret!r}.")
            raise NotApplicable(self.name, ONE_COLUMN)
        return names

    def threat(self, result: Result) -> Threat:
        """Describe the attacker."""
        found = dict.fromkeys(item.setting.target for item in result.configurations if item.setting.target)
        return secret_threat(self.known, self.secrets, listed(list(found)) or "chosen columns")


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
