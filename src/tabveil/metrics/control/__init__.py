"""Is the control what it should be: real rows like those of train, and none of them?

Every risk is measured against control rows, as fresh people of the population that train is from. Control
rows that stand in train make any release look harmless; rows of other people make it look dangerous. Both are
tested in a way that a random split passes: of a hundred such splits at most one is refused, however many
columns there are. Where people have several rows, it is people who are split: twenty rows of one patient are
no difference between the tables.

So is a third thing. Where rows coincide by chance, as in tables of few values, fresh people often equal
training rows. A control that was chosen so that none does (equal rows kept on one side) is not like them: a
release that is as fresh as can be would seem nearer to train than it. Rows that coincide only because they
are one person's are rightly kept together; these no release meets by chance.

And a fourth: that the generator never saw the control, which the release itself may betray (``held_out``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core.people import Holders
from tabveil.core.sampling import group_equal_rows
from tabveil.core.storage.plain import Number, PlainData
from tabveil.core.table import Split
from tabveil.core.wording import listed, plural
from tabveil.metrics.control import differences, held_out
from tabveil.metrics.control.held_out import HeldOut
from tabveil.metrics.control.shared_rows import (
    HeldRows,
    equal_rows_kept_together,
    expected_shared,
    same_chance,
    shared_chance,
)

__all__ = ["ControlCheck", "check_control"]

SHARED_LEVEL = 0.002
_NAMES = 5


@dataclass(frozen=True, kw_only=True)
class ControlCheck(PlainData):
    """What was found out about the control.

    ``shared`` control rows equal a training row; random splits share ``shared_expected`` on average, and as
    many or more with chance ``shared_chance``. ``same_chance`` is how often a random split gives two tables
    of the same rows, None where they are not the same. ``difference_chance`` is how often the surest of all
    ``n_compared`` differences is as large by chance, already corrected for their number. ``columns`` names
    the columns that differ, surely and by enough to matter, most first. ``kept_together`` says that equal
    rows were kept on one side, though the release meets control rows by chance, and fresh people would meet
    training rows. ``held_out`` is what the release shows of control people.
    ``parted_by`` names columns by which rows of one person stand in train and in control, ``grouped_by``
    those whose values repeat but stand on one side each: rows are then fewer people than they seem.
    """

    n_train: int
    n_control: int
    shared: int = 0
    shared_expected: Number = 0.0
    shared_chance: Number = 1.0
    same_chance: Number | None = None
    difference_chance: Number = 1.0
    n_compared: int = 0
    columns: tuple[str, ...] = ()
    kept_together: bool = False
    held_out: HeldOut | None = None
    parted_by: tuple[str, ...] = ()
    grouped_by: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether train and control hold the same rows, and chance does not explain it."""
        return self.same_chance is not None and self.same_chance <= SHARED_LEVEL

    @property
    def fails(self) -> tuple[str, ...]:
        """What is wrong with the control, in sentences; none where nothing was found."""
        found = []
        if self.same:
            found.append("The control holds the same rows as train: nobody in it is new to the generator.")
        elif self.shared_chance <= SHARED_LEVEL:
            found.append(f"{self._shared()}: part of the control was trained on.")
        if self.columns:
            found.append(
                "Train and control differ by more than chance, most in "
                f"{listed(self.columns, _NAMES)}: the control holds other people than train."
            )
        if self.held_out is not None:
            counted = "rows" if self.held_out.n_people == self.n_control else "people"
            fault = self.held_out.fault(counted)
            found.extend([fault] if fault else [])
        if self.parted_by:
            by = self.parted_by[0]
            found.append(
                "Rows of one person stand in train and in control, by column "
                f"{listed(self.parted_by, _NAMES)}: split by it before training (tabveil split --by {by}), "
                f"or name it with --person {by}. If every row is another person, say so with "
                "--independent-rows."
            )
        if self.grouped_by:
            by = self.grouped_by[0]
            found.append(
                f"Train and control share no value of {listed(self.grouped_by, _NAMES)}, though values stand "
                f"in several rows: if it tells whose row it is, name it with --person {by}. If every row is "
                "another person, say so with --independent-rows."
            )
        if self.kept_together:
            found.append(
                f"{self._shared()}: equal rows were kept on one side, and fresh people would be nearer to "
                "train than this control is."
            )
        return tuple(found)

    def _shared(self) -> str:
        equal = "equals" if self.shared == 1 else "equal"
        return (
            f"{plural(self.shared, 'control row')} of {self.n_control:,} {equal} a training row, where about "
            f"{self.shared_expected:,.0f} would after a random split"
        )


def check_control(
    split: Split,
    *,
    asked: Split | None = None,
    parted_by: tuple[str, ...] = (),
    grouped_by: tuple[str, ...] = (),
    rng: Generator,
) -> ControlCheck:
    """Check that control shares no more rows with train, and differs no more, than after a random split.

    Nothing is found where there is no control, or too few rows to tell. What columns tell of people was
    found when the tables were read (``parted_by``, ``grouped_by``). Where people are ``asked`` who are a part
    of all, columns are compared among them; rows that both sides share are counted among all.

    >>> from tabveil.core.table import Numeric, Schema, Table
    >>> schema = Schema((Numeric(name="age", low=0, high=99),))
    >>> ages = np.random.default_rng(0).uniform(0, 99, (400, 1))
    >>> train, control = (Table(schema=schema, values=part) for part in (ages[:200], ages[200:]))
    >>> fresh = Split(train=train, control=control, synthetic=train)
    >>> check_control(fresh, rng=np.random.default_rng(1)).fails
    ()
    >>> equal = Split(train=train, control=train, synthetic=train)
    >>> check_control(equal, rng=np.random.default_rng(1)).fails
    ('The control holds the same rows as train: nobody in it is new to the generator.',)
    """
    if len(split.control) == 0:
        return ControlCheck(n_train=len(split.train), n_control=0)
    groups = group_equal_rows(split.train, split.control, split.synthetic)
    n_groups = 1 + max(int(group.max()) for group in groups)
    train, control, synthetic = (np.bincount(group, minlength=n_groups) for group in groups)
    met = float(control @ (synthetic > 0)) / len(split.control)
    some = split if asked is None else asked
    found = differences.differences(some.train, some.control, rng=rng)
    of_some = groups if some is split else group_equal_rows(some.train, some.control, some.synthetic)
    seen = held_out.held_out(some, of_some, rng=rng)
    if split.train.people is not None:
        held = HeldRows(split.train, split.control, groups[:2])
        expected, chance = held.expected_shared(), held.shared_chance(rng=rng)
        same = held.same_chance(rng=rng)
    else:
        expected, chance = expected_shared(train, control), shared_chance(train, control, rng=rng)
        same = same_chance(split, train, control)
    holders = Holders.of(split, groups[:2], n_groups)
    return ControlCheck(
        n_train=len(split.train),
        n_control=len(split.control),
        shared=int(control @ (train > 0)),
        shared_expected=expected,
        shared_chance=chance,
        same_chance=same,
        difference_chance=found.chance,
        n_compared=found.n_compared,
        columns=found.columns,
        kept_together=met >= differences.MATERIAL and equal_rows_kept_together(*holders.commonest),
        held_out=seen,
        parted_by=parted_by,
        grouped_by=grouped_by,
    )
