"""Singling out: descriptions read off the release that fit exactly one real person."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tabveil import check
from tabveil.attacks.singling_out.descriptions import DescriptionAttack, rows_a_person
from tabveil.attacks.singling_out.predicates import (
    Form,
    Predicates,
    draw_isolating,
    draw_naive,
    every_row,
    half_lines,
    univariate,
    windows,
)
from tabveil.encode.ranked_tables import RankedTable
from tabveil.result import Setting
from tabveil.table import Split


@dataclass(frozen=True, kw_only=True)
class SinglingOut(DescriptionAttack):
    """Can someone write down a description, from the release alone, that fits exactly one real person?

    A guess is a description (a predicate) that fits exactly one synthetic row. It succeeds if it also fits
    exactly one training row. Three kinds are tried. *Univariate*: a value that occurs once in its column, the
    smallest, the largest, or the only missing one. *n columns*: taken from a random row and random columns;
    categories must be equal, numbers at least as large (above the column's median) or at most as large.
    *Window*, for a careful attacker, who wants few but sure hits: around every synthetic row, categories
    equal and numbers within some ranks of the row's value. So few windows fit anybody by chance that even a
    small leak stands out.

    Parameters
    ----------
    n_attacks
        The number of guesses of each configuration but the windows.
    n_columns
        On how many columns to guess, as far as there are so many.
    n_windows
        The most synthetic rows to place windows around; where there are more, a sample.
    window_columns
        On how many columns, besides all of them, to place windows.
    widths
        How far a window reaches both ways, in shares of the column's distinct synthetic values.
    deduplicate
        Drop equal rows of each table first, as Anonymeter does.
    confidence
        The level of all intervals: at 0.95, 95 of 100 such intervals hold the true value.

    Notes
    -----
    ``attack`` is the share of guesses that fit exactly one training row, ``control`` the same for control
    rows, ``baseline`` the same on training rows for descriptions of the same form put together from single
    values instead of rows. ``risk = (attack - control) / (1 - control)``: 0 where people never seen are
    singled out as often, 1 where every guess singles out somebody from training.

    Rows are not de-duplicated: two people who are equal are not singled out. Tables of different sizes are
    compared at the smaller size, as shares of what a copy of the training rows would reach. Guesses that
    stand or fall together, because they point at the same person, do not count as many. The headline is the
    configuration with the largest lower bound, among intervals that hold for all of them together (Šidák);
    each is in ``details``.

    References
    ----------
    - Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2023). A Unified Framework for Quantifying
      Privacy Risk in Synthetic Data. Proceedings on Privacy Enhancing Technologies.
    - Cohen, A. and Nissim, K. (2020). Towards Formalizing the GDPR's Notion of Singling Out. Proceedings of
      the National Academy of Sciences.
    """

    n_windows: int = 50_000
    window_columns: tuple[int, ...] = (8, 12)
    widths: tuple[float, ...] = (0.005, 0.02, 0.1)

    name: ClassVar[str] = "singling_out"
    title: ClassVar[str] = "Singling out"

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("SinglingOut", "n_windows", self.n_windows, 1)
        for n_columns in self.window_columns:
            check.at_least("SinglingOut", "number of columns", n_columns, 1)
        for width in self.widths:
            check.at_least("SinglingOut", "width", width, 0)

    def _guesses(
        self,
        tables: Split,
        synthetic: RankedTable,
        *,
        rng: Generator,
    ) -> Iterator[tuple[Setting, Predicates, Predicates]]:
        """Name each configuration, with its guesses and as many naive ones."""
        lines, d = half_lines(synthetic), synthetic.n_columns
        most = rows_a_person(tables)

        def beside_naive(guesses: Predicates, form: Form) -> tuple[Predicates, Predicates]:
            n_columns = guesses.columns.shape[1]
            return guesses, draw_naive(synthetic, form, n_columns, len(guesses), rng=rng)

        yield (
            Setting(label="univariate"),
            *beside_naive(univariate(synthetic, self.n_attacks, rng=rng, most=most), lines),
        )
        for n in _possible(self.n_columns, d):
            guesses = draw_isolating(synthetic, lines, n, self.n_attacks, rng=rng, most=most)
            yield Setting(label=f"{n} columns", n_columns=n), *beside_naive(guesses, lines)
        seen: list[Form] = []
        for width in self.widths:
            form = windows(synthetic, width)
            if any(form.equals(earlier) for earlier in seen):  # too few values to tell the widths apart
                continue
            seen.append(form)
            for n in sorted({*(n for n in self.window_columns if n < d), d}):
                where = "all columns" if n == d else f"{n} columns"
                guesses = every_row(synthetic, form, n, self.n_windows, rng=rng, most=most)
                setting = Setting(label=f"window {width:.3g}, {where}", n_columns=n, width=width)
                yield setting, *beside_naive(guesses, form)

    def _notes(self, tables: Split) -> tuple[str, ...]:
        notes = super()._notes(tables)
        n_synthetic = len(tables.synthetic)
        if n_synthetic > self.n_windows and self.widths:
            notes += (f"Windows were placed around {self.n_windows} of {n_synthetic} synthetic rows.",)
        return notes


def _possible(n_columns: tuple[int, ...], d: int) -> tuple[int, ...]:
    """Keep the numbers of columns there are; where even the smallest is too many, take all columns."""
    return tuple(n for n in n_columns if n <= d) or ((d,) if n_columns and d > 1 else ())
