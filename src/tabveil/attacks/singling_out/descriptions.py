"""What attacks have in common that describe people: whom do descriptions fit, and what does that prove?"""

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
from tabveil.attacks.singling_out.predicates import LISTED, Predicates, match
from tabveil.encode.ranked_tables import RankedTable, ValueRanks
from tabveil.errors import NotApplicable
from tabveil.estimate import chance_of_difference, difference
from tabveil.people import by_first_row
from tabveil.result import Configuration, Cost, Labels, Result, Role, Setting, Threat
from tabveil.sampling import Sample, group_equal_rows, in_order
from tabveil.table import Floats, Indices, Split, Table
from tabveil.wording import UNSEEN, plural, share_of

MOST_PEOPLE = 0.95  # the share of people who have no more rows than a guess may fit
SEVERAL_ROWS = "A description singles somebody out that fits one or more of their rows, and nobody else's."


@dataclass(frozen=True, kw_only=True)
class DescriptionAttack(Attack):
    """Guesses that are descriptions read off the release, matched with train and with control."""

    n_attacks: int = 2000
    n_columns: tuple[int, ...] = tuple(range(3, 13))
    deduplicate: bool = False

    name: ClassVar[str]
    title: ClassVar[str]
    cost: ClassVar[Cost] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="singling out", mechanism="uniqueness")

    def __post_init__(self) -> None:
        super().__post_init__()
        for n_columns in self.n_columns:
            check.at_least(type(self).__name__, "number of columns", n_columns, 1)

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Guess, and look who is found."""
        train, control, synthetic = (
            self._rows(table) for table in (split.train, split.control, split.synthetic)
        )
        tables = Split(train=train.table, control=control.table, synthetic=synthetic.table)
        found = self._attack(tables, rng=rng)
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
            combinations=combinations(sorted(split.schema.names), made.values()),
            details={} if _equal_sizes(tables) else {"rows_compared": _smaller(tables)},
            notes=self._notes(tables),
            scores=scores(
                (train, control),
                (_surprise("train", tables.train, made), _surprise("control", tables.control, made)),
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

    def _guesses(
        self, tables: Split, synthetic: RankedTable, *, rng: Generator
    ) -> Iterator[tuple[Setting, Predicates, Predicates]]:
        """Name each configuration, with its guesses and as many naive ones.

        ``synthetic`` are the synthetic rows of the tables, in this order, in codes.
        """
        raise NotImplementedError

    def _notes(self, tables: Split) -> tuple[str, ...]:
        """Say what whoever reads the answer should know."""
        several: tuple[str, ...] = ()
        if tables.train.people is not None:
            most = plural(rows_a_person(tables), "synthetic row")
            several = (f"{SEVERAL_ROWS} A guess may fit up to {most}.",)
        if _equal_sizes(tables):
            return several
        whom = "rows" if tables.train.people is None else "people"
        note = (
            f"Train and control differ in size: the rates are those expected for {_smaller(tables)} {whom} "
            "of each, as shares of what a copy of train would reach."
        )
        return (*several, note)

    def _attack(self, tables: Split, *, rng: Generator) -> dict[Setting, Isolation]:
        """Match the guesses of every configuration with train and control."""
        ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
        in_train, in_control = ranks.encode(tables.train), ranks.encode(tables.control)
        of_train, of_control = _whose(tables.train), _whose(tables.control)
        return {
            setting: Isolation(
                columns=guesses.columns,
                train=match(guesses, in_train, of_train),
                control=match(guesses, in_control, of_control),
                naive=match(naive, in_train, of_train),
                n_train=tables.train.n_people,
                n_control=tables.control.n_people,
            )
            for setting, guesses, naive in self._guesses(tables, ranks.encode(tables.synthetic), rng=rng)
        }


def rows_a_person(tables: Split) -> int:
    """Return how many synthetic rows a guess may fit: as many as nearly all people have, or fewer.

    Whoever is leaked with several rows that are nearly equal would not be described by one of them alone.
    """
    counts = [
        np.unique(table.people, return_counts=True)[1]
        for table in (tables.train, tables.control)
        if table.people is not None
    ]
    if not counts:
        return 1
    usual = np.quantile(np.concatenate(counts), MOST_PEOPLE, method="inverted_cdf")
    return min(int(usual), LISTED)


def _whose(table: Table) -> Indices | None:
    """Return the number (n,) of each row's person, by the order of first rows, if people have several."""
    return None if table.people is None else by_first_row(table.people)


def _compare(tally: Tally, people: tuple[float, int, float, int], confidence: float) -> Comparison:
    """Compare rates of descriptions, and judge by the people they describe: many can be about one."""
    by_description = compare_counts(tally, confidence)
    if by_description.control is None:
        return by_description
    return replace(
        by_description, gain=difference(*people, confidence), p_value=chance_of_difference(*people)
    )


def _no_guess(name: str, made: Mapping[Setting, Isolation]) -> str:
    if not made:
        return f"{name}: no predicate holds for exactly one synthetic row, so there is nothing to guess."
    return f"{name}: the guesses are too few, or succeed on control as often as they could on train."


def _equal_sizes(tables: Split) -> bool:
    """Tell whether the tables can be compared as they are, or there is nothing to compare with."""
    return tables.control.n_people in {0, tables.train.n_people}


def _smaller(tables: Split) -> int:
    """Return how many people the smaller table has."""
    return min(tables.train.n_people, tables.control.n_people)


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


def _surprise(role: Role, table: Table, made: Mapping[Setting, Isolation]) -> Floats:
    """Score the rows of a table by how surprising it is that their person is singled out so.

    Every configuration that singles somebody out adds minus the logarithm of its rate on control (on train
    where there is no control).
    """
    whose = _whose(table)
    values = np.zeros(table.n_people)
    for item in made.values():
        chance = singled_out(item.control if item.n_control else item.train)
        surprise = -np.log((len(chance) + 0.5) / (item.n_guesses + 1))
        values[np.unique(singled_out(getattr(item, role)))] += surprise
    return values if whose is None else values[whose]
