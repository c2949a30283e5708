"""Singling out: descriptions read off the release that fit exactly one real person."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from tabveil import check
from tabveil.attacks.attack import Attack
from tabveil.attacks.configurations import Comparison, Headline, choose, compare_counts
from tabveil.attacks.guessing import Tally, scores
from tabveil.attacks.singling_out.combinations import combinations
from tabveil.attacks.singling_out.isolation import Isolation, singled_out
from tabveil.attacks.singling_out.predicates import (
    Form,
    Predicates,
    draw_isolating,
    draw_naive,
    every_row,
    half_lines,
    match,
    univariate,
    windows,
)
from tabveil.encode.ranked_tables import RankedTable, ValueRanks
from tabveil.errors import NotApplicable
from tabveil.estimate import chance_of_difference, difference
from tabveil.result import Configuration, Cost, Labels, Result, Role, Setting, Threat
from tabveil.sampling import Sample, group_equal_rows, in_order
from tabveil.table import Floats, Split, Table
from tabveil.wording import UNSEEN, plural, share_of


@dataclass(frozen=True, kw_only=True)
class SinglingOut(Attack):
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

    n_attacks: int = 2000
    n_columns: tuple[int, ...] = tuple(range(3, 13))
    n_windows: int = 50_000
    window_columns: tuple[int, ...] = (8, 12)
    widths: tuple[float, ...] = (0.005, 0.02, 0.1)
    deduplicate: bool = False

    name: ClassVar[str] = "singling_out"
    title: ClassVar[str] = "Singling out"
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="singling out", mechanism="uniqueness")

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least("SinglingOut", "n_windows", self.n_windows, 1)
        for n_columns in (*self.n_columns, *self.window_columns):
            check.at_least("SinglingOut", "number of columns", n_columns, 1)
        for width in self.widths:
            check.at_least("SinglingOut", "width", width, 0)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Guess, and look who is found."""
        train, control, synthetic = (
            self._rows(table) for table in (split.train, split.control, split.synthetic)
        )
        found = self._attack(train.table, control.table, synthetic.table, rng=rng)
        made = {setting: item for setting, item in found.items() if item.n_guesses}
        tallies = {setting: item.tally(rng=rng) for setting, item in made.items()}
        usable = {setting: tally for setting, tally in tallies.items() if tally is not None}
        if not usable:
            raise NotApplicable(_no_guess(self.name, made))
        best = choose(
            {setting: partial(_compare, tally, made[setting].people()) for setting, tally in usable.items()},
            self.confidence,
        )
        return best.answer(
            self,
            configurations=tuple(_configurations(best, found)),
            combinations=combinations(split.schema.names, made.values()),
            details={} if _equal_sizes(train, control) else {"rows_compared": min(len(train), len(control))},
            notes=self._notes(train, control, synthetic),
            scores=scores(
                (train, control), (_surprise("train", train, made), _surprise("control", control, made))
            ),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many descriptions fit exactly one person."""
        guesses, worth = result.facts.get("guesses"), result.facts.get("independent_guesses")
        made = "Of the descriptions read off the release"
        if isinstance(guesses, int) and guesses:
            made = f"Of {plural(guesses, 'description')} read off the release"
            if isinstance(worth, int) and 0 < worth < guesses:
                made += f" (worth {worth:,} independent ones)"
        told = f"{made}, {share_of(result.attack)} fit exactly one training person"
        if result.control is not None:
            told += f", and {share_of(result.control)} fit exactly one of the {UNSEEN}"
        if "rows_compared" in result.details:
            told += "; both are adjusted to tables of equal size"
        if result.baseline is not None:
            told += f". Descriptions made up without the release: {share_of(result.baseline)}"
        return f"{told}."

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - always the same attacker
        """Describe the attacker."""
        return Threat(knows="nothing about anybody", wants="a description that fits exactly one real person")

    def _rows(self, table: Table) -> Sample:
        drawn = in_order(table)
        if not self.deduplicate:
            return drawn
        _, first = np.unique(group_equal_rows(drawn.table)[0], return_index=True)
        first = np.sort(first)
        return Sample(table=drawn.table.take(first), rows=drawn.rows[first])

    def _attack(
        self, train: Table, control: Table, synthetic: Table, *, rng: Generator
    ) -> dict[Setting, Isolation]:
        """Match the guesses of every configuration with train and control."""
        ranks = ValueRanks.of(train, control, synthetic)
        in_train, in_control = ranks.encode(train), ranks.encode(control)
        return {
            setting: Isolation(
                columns=guesses.columns,
                train=match(guesses, in_train),
                control=match(guesses, in_control),
                naive=match(naive, in_train),
                n_train=len(train),
                n_control=len(control),
            )
            for setting, guesses, naive in self._guesses(ranks.encode(synthetic), rng=rng)
        }

    def _guesses(
        self, synthetic: RankedTable, *, rng: Generator
    ) -> Iterator[tuple[Setting, Predicates, Predicates]]:
        """Name each configuration, with its guesses and as many naive ones."""
        lines, d = half_lines(synthetic), synthetic.n_columns

        def beside_naive(guesses: Predicates, form: Form) -> tuple[Predicates, Predicates]:
            n_columns = guesses.columns.shape[1]
            return guesses, draw_naive(synthetic, form, n_columns, len(guesses), rng=rng)

        yield (
            Setting(label="univariate"),
            *beside_naive(univariate(synthetic, self.n_attacks, rng=rng), lines),
        )
        for n in _possible(self.n_columns, d):
            guesses = draw_isolating(synthetic, lines, n, self.n_attacks, rng=rng)
            yield Setting(label=f"{n} columns", n_columns=n), *beside_naive(guesses, lines)
        seen: list[Form] = []
        for width in self.widths:
            form = windows(synthetic, width)
            if any(form.equals(earlier) for earlier in seen):  # too few values to tell the widths apart
                continue
            seen.append(form)
            for n in sorted({*(n for n in self.window_columns if n < d), d}):
                where = "all columns" if n == d else f"{n} columns"
                guesses = every_row(synthetic, form, n, self.n_windows, rng=rng)
                setting = Setting(label=f"window {width:.3g}, {where}", n_columns=n, width=width)
                yield setting, *beside_naive(guesses, form)

    def _notes(self, train: Sample, control: Sample, synthetic: Sample) -> tuple[str, ...]:
        notes = []
        if not _equal_sizes(train, control):
            size = min(len(train), len(control))
            notes.append(
                f"Train and control differ in size: the rates are those expected for {size} rows of each, as "
                "shares of what a copy of train would reach."
            )
        if len(synthetic) > self.n_windows and self.widths:
            notes.append(f"Windows were placed around {self.n_windows} of {len(synthetic)} synthetic rows.")
        return tuple(notes)


def _compare(tally: Tally, people: tuple[float, int, float, int], confidence: float) -> Comparison:
    """Compare rates of descriptions, and judge by the people they describe: many can be about one."""
    by_description = compare_counts(tally, confidence)
    if by_description.control is None:
        return by_description
    return replace(
        by_description, gain=difference(*people, confidence), p_value=chance_of_difference(*people)
    )


def _possible(n_columns: tuple[int, ...], d: int) -> tuple[int, ...]:
    """Keep the numbers of columns there are; where even the smallest is too many, take all columns."""
    return tuple(n for n in n_columns if n <= d) or ((d,) if n_columns and d > 1 else ())


def _no_guess(name: str, made: Mapping[Setting, Isolation]) -> str:
    if not made:
        return f"{name}: no predicate holds for exactly one synthetic row, so there is nothing to guess."
    return f"{name}: the guesses are too few, or succeed on control as often as they could on train."


def _equal_sizes(train: Sample, control: Sample) -> bool:
    """Tell whether the tables can be compared as they are, or there is nothing to compare with."""
    return len(control) in {0, len(train)}


def _configurations(best: Headline, found: Mapping[Setting, Isolation]) -> Iterator[Configuration]:
    """Give every configuration with what was really counted; those without a usable guess have no rates."""
    judged = {item.setting: item for item in best.configurations}
    for setting, item in found.items():
        entry = judged.get(setting, Configuration(setting=setting))
        facts = {
            "naive": entry.facts.get("naive"),
            "guesses": item.n_guesses,
            "independent_guesses": entry.facts.get("n_train", 0),
            "successes_train": len(singled_out(item.train)),
            "successes_control": len(singled_out(item.control)) if item.n_control else None,
            "people_train": len(np.unique(singled_out(item.train))),
            "people_control": len(np.unique(singled_out(item.control))) if item.n_control else None,
            "n_train": item.n_train,
            "n_control": item.n_control,
        }
        yield replace(entry, facts=facts)


def _surprise(role: Role, drawn: Sample, made: Mapping[Setting, Isolation]) -> Floats:
    """Score the rows of a table by how surprising it is to be singled out so.

    Every configuration that singles a row out adds minus the logarithm of its rate on control (on train where
    there is no control).
    """
    values = np.zeros(len(drawn))
    for item in made.values():
        chance = singled_out(item.control if item.n_control else item.train)
        surprise = -np.log((len(chance) + 0.5) / (item.n_guesses + 1))
        values[np.unique(singled_out(getattr(item, role)))] += surprise
    return values
