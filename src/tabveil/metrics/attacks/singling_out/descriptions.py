"""What attacks have in common that describe people: whom do descriptions fit, and what does that prove?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.drawn import Asked
from tabveil.core.estimate import (
    Estimate,
    chance_of_difference,
    difference,
    excess,
    over_all,
    rate,
    sidak,
    strongest,
)
from tabveil.core.findings import Configuration, Setting
from tabveil.core.people import by_first_row
from tabveil.core.result import Labels, Result, Role, Threat
from tabveil.core.sampling import Sample, group_equal_rows, in_order
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.core.wording import listed, plural
from tabveil.errors import NotApplicable
from tabveil.metrics.agreement import Hits, scan
from tabveil.metrics.attacks.attack import Attack, both_sides, naively
from tabveil.metrics.attacks.configurations import Comparator, Comparison, Headline, choose, compare_counts
from tabveil.metrics.attacks.guessing import Tally, scores
from tabveil.metrics.attacks.singling_out.isolation import Isolation, combinations, singled_out
from tabveil.metrics.attacks.singling_out.predicates import LISTED, Predicates, match
from tabveil.tables.matrices.ranked_tables import RankedTable, ValueRanks

SEEN = 0.005
"""So unlikely by chance, what the sets show is looked at."""


@dataclass(frozen=True, kw_only=True)
class ColumnSets:
    """What sets of columns showed; nothing, for attacks that do not look at them."""

    comparators: Mapping[Setting, Comparator] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    p_value: float | None = None  # of all sets together

    @classmethod
    def of(cls, tables: Split, *, rng: Generator) -> Self:
        """Look at all columns."""
        found = scan(tables, rng=rng) if len(tables.control) else None
        if found is None:
            return cls()
        comparators: dict[Setting, Comparator] = {}
        if found.p_value <= SEEN:
            sizes = tables.train.n_people, tables.control.n_people
            parts = ", numbers in parts" if found.coarse else ""
            setting = Setting(
                label=f"{listed(found.columns)}{parts}", n_columns=len(found.columns), columns=found.columns
            )
            comparators[setting] = partial(_compare_sets, found.hits, *sizes, found.n_sets)
        details = {"sets_of_columns": {"tried": found.n_sets, "p_value": found.p_value}}
        return cls(comparators=comparators, details=details, p_value=found.p_value)

    def with_p_value(self, other: float | None) -> float | None:
        """Put together the p-values of the sets and of all other configurations: two tests."""
        known = [p_value for p_value in (other, self.p_value) if p_value is not None]
        return min(len(known) * min(known), 1.0) if known else None


def _compare_sets(hits: Hits, n_train: int, n_control: int, n_sets: int, confidence: float) -> Comparison:
    """Compare the people who are hit; the lower bound of a set that was chosen holds for all that were tried.

    The choice makes a value too large rather than too small, so the upper bound needs no more.
    """
    counts = hits.train, n_train, hits.control, n_control
    gain = difference(*counts, confidence)
    low = difference(*counts, 1 - (1 - confidence) / n_sets).low
    attack, control = rate(hits.train, n_train, confidence), rate(hits.control, n_control, confidence)
    return Comparison(
        attack=attack,
        control=control,
        baseline=None,
        risk=excess(attack, control),
        gain=Estimate(value=gain.value, low=low, high=gain.high, n=gain.n),
        p_value=None,  # that of all sets together counts
        beats_baseline=True,
        facts={
            "people_train": hits.train,
            "n_train": n_train,
            "people_control": hits.control,
            "n_control": n_control,
            "rows_train": hits.rows_train,
            "rows_control": hits.rows_control,
        },
    )


MOST_PEOPLE = 0.95  # the share of people who have no more rows than a guess may fit
SEVERAL_ROWS = "A description singles somebody out that fits one or more of their rows, and nobody else's."


@dataclass(frozen=True, kw_only=True, eq=False)
class Descriptions:
    """The guesses of one configuration.

    Those that are judged ``tried`` every released row, or a share of them at random: people are then
    estimated over all rows. The others (None) are the literature's, of a number that somebody chose; they say
    how often a description succeeds, and nothing about how many people are exposed.
    """

    setting: Setting
    guesses: Predicates
    naive: Predicates
    tried: float | None


@dataclass(frozen=True, kw_only=True)
class DescriptionAttack(Attack):
    """Guesses that are descriptions read off the release, matched with train and with control."""

    n_columns: tuple[int, ...] = tuple(range(3, 13))
    deduplicate: bool = False

    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="singling out", mechanism="uniqueness")

    def __post_init__(self) -> None:
        super().__post_init__()
        for n_columns in self.n_columns:
            check.at_least(type(self).__name__, "number of columns", n_columns, 1)

    def asked(self) -> Asked:
        """People are asked, by what the release claims of them."""
        return "people, by claims"

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Guess, and look who is found."""
        train, control = (
            _different(in_order(table)) if self.deduplicate else in_order(table)
            for table in (split.train, split.control)
        )
        synthetic = in_order(split.synthetic).table
        tables = Split(train=train.table, control=control.table, synthetic=synthetic)
        found = self._attack(tables, rng=rng)
        scans = getattr(self, "column_sets", False)  # not all look at sets of columns
        scanned = ColumnSets.of(tables, rng=rng) if scans else ColumnSets()
        made = {setting: item for setting, item in found.items() if item.n_guesses}
        tallies = {setting: item.tally(rng=rng) for setting, item in made.items()}
        judged = {setting: item for setting, item in made.items() if item.tried is not None}
        if not judged and not scanned.comparators:
            judged = made
        comparators: dict[Setting, Comparator] = {
            setting: partial(_compare, item) for setting, item in judged.items()
        }
        comparators.update(scanned.comparators)
        if not comparators:
            raise NotApplicable(
                self.name, "no predicate holds for exactly one synthetic row, so nothing can be guessed."
            )
        best = choose(comparators, self.confidence)
        level = sidak(self.confidence, len(tallies))
        described = {setting: compare_counts(tally, level) for setting, tally in tallies.items() if tally}
        risks = {setting: item.risk for setting, item in described.items() if item.risk}
        largest = max(risks, key=lambda setting: risks[setting].value, default=None)
        told = largest and {"configuration": largest.name, "risk": risks[largest].value}
        details = {
            "largest_point_estimate": told,  # the largest risk of descriptions, which the papers report
            **scanned.details,
        }
        sizes = tables.train.n_people, tables.control.n_people
        if sizes[1] not in {0, sizes[0]}:  # the rates of descriptions are for so many people
            details["rows_compared"] = min(sizes)
        result = best.answer(
            self,
            configurations=tuple(_configurations(best, found, tallies, described)),
            combinations=combinations(sorted(split.schema.names), made.values()),
            details=details,
            notes=self._notes(tables),
            scores=scores(
                (train, control),
                (_surprise("train", tables.train, made), _surprise("control", tables.control, made)),
            ),
        )
        people = None if result.control is None else excess(best.leading.attack, result.control)
        return replace(
            result,
            risk=risks[strongest(risks)] if risks else people,
            p_value=scanned.with_p_value(result.p_value),
        )

    def sentence(self, result: Result) -> str:
        """Tell how many people descriptions single out."""
        facts, leading = result.facts, result.leading
        if leading is not None and leading.columns:
            how = f"By their values of {listed(leading.columns)}, which stand together in a released row,"
        else:
            guesses = facts.get("guesses")
            made = plural(guesses, "description") if isinstance(guesses, int) else "descriptions"
            how = f"By {made} read off the release,"
        told = f"{how} {both_sides(result)} are singled out: nobody else of all real people fits"
        return f"{told}.{naively(result)}"

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - always the same attacker
        """Describe the attacker."""
        return Threat(knows="nothing about anybody", wants="a description that fits exactly one real person")

    def _guesses(
        self, tables: Split, synthetic: RankedTable, different: RankedTable, *, rng: Generator
    ) -> Iterator[Descriptions]:
        """Name each configuration, with its guesses and as many naive ones.

        ``synthetic`` are the synthetic rows in codes, ``different`` one of each set of equal ones.
        """
        raise NotImplementedError

    def _notes(self, tables: Split) -> tuple[str, ...]:
        """Say what whoever reads the answer should know."""
        if tables.train.people is None:
            return ()
        return (f"{SEVERAL_ROWS} A guess may fit up to {plural(rows_a_person(tables), 'synthetic row')}.",)

    def _attack(self, tables: Split, *, rng: Generator) -> dict[Setting, Isolation]:
        ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
        in_train, in_control = ranks.encode(tables.train), ranks.encode(tables.control)
        of_train, of_control = _whose(tables.train), _whose(tables.control)
        synthetic = different = ranks.encode(tables.synthetic)
        once = _different(in_order(tables.synthetic))
        if len(once) < len(synthetic):
            different = ranks.encode(once.table)
        return {
            made.setting: Isolation(
                columns=made.guesses.columns,
                train=match(made.guesses, in_train, of_train),
                control=match(made.guesses, in_control, of_control),
                naive=match(made.naive, in_train, of_train),
                n_train=tables.train.n_people,
                n_control=tables.control.n_people,
                tried=made.tried,
            )
            for made in self._guesses(tables, synthetic, different, rng=rng)
        }


def _different(rows: Sample) -> Sample:
    """Keep one of equal rows: whoever is released twice is described by both, and is one person still."""
    _, first = np.unique(group_equal_rows(rows.table)[0], return_index=True)
    return rows.take(np.sort(first))


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


def _compare(item: Isolation, confidence: float) -> Comparison:
    """Judge by the people who are singled out, over all rows."""
    found, n_train, others, n_control = item.people()
    attack, naive = rate(found, n_train, confidence), item.naive_people()
    tried = 1.0 if item.tried is None else item.tried
    gain = difference(found, n_train, others, n_control, confidence) if n_control else None
    control = over_all(rate(others, n_control, confidence), tried) if n_control else None
    return Comparison(
        attack=over_all(attack, tried),
        control=control,
        baseline=over_all(rate(naive, n_train, confidence), tried),
        risk=None if control is None else excess(over_all(attack, tried), control),
        gain=None if gain is None else over_all(gain, tried),
        p_value=chance_of_difference(found, n_train, others, n_control) if n_control else None,
        beats_baseline=attack.low > naive / n_train,
    )


def _configurations(
    best: Headline,
    found: Mapping[Setting, Isolation],
    tallies: Mapping[Setting, Tally | None],
    described: Mapping[Setting, Comparison],
) -> Iterator[Configuration]:
    """Give every configuration, in the order they were tried in; sets of columns come last.

    Those that nothing is judged by have the rates of descriptions. All have the risk of descriptions, and
    what was counted; those without a usable guess have no rates.
    """
    judged = {item.setting: item for item in best.configurations}
    for setting, item in found.items():
        compared = described.get(setting)
        entry = judged.pop(setting, None)
        if entry is None:
            rates = vars(replace(compared, gain=None, p_value=None)) if compared else {}
            entry = Configuration(setting=setting, **rates)
        people_train, n_train, people_control, n_control = item.people()
        tally = tallies.get(setting)
        facts = {
            "naive": item.naive_people() / n_train if item.n_guesses else None,
            "guesses": item.n_guesses,
            "independent_guesses": tally.n_train if tally else 0,
            "successes_train": len(singled_out(item.train)),
            "successes_control": len(singled_out(item.control)) if n_control else None,
            "people_train": people_train,
            "people_control": people_control if n_control else None,
            "n_train": n_train,
            "n_control": n_control,
        }
        yield replace(entry, risk=compared.risk if compared else None, facts=facts)
    yield from (replace(entry, risk=None) for entry in judged.values())


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
