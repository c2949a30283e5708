"""How much of a leak behind noise could somebody see who knows the noise, and everybody in the database?

``python benchmarks/linked_known.py`` plants 1 % of the bank's clients behind noise, in the draws of
benchmarks/linked.py, asks that attacker, and writes a section of benchmarks/linked.md.
"""

from itertools import permutations

import numpy as np
from linked import CASES, DRAWS, KNOWN, LEVEL, PAGE, PEOPLE, bank, dealt
from scipy.special import logsumexp
from scipy.stats import poisson

from tabveil.core.linked import LinkedRows, LinkedTables
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Column, Floats, Indices, Table
from tabveil.metrics.attacks import MembershipViews
from tabveil.metrics.attacks.membership_views import AGREEING
from tabveil.metrics.attacks.roc import Ranking, scan
from tabveil.synthesis.risks import Noisy
from tabveil.tables.linked.summaries import people_tables

CASE = "1 % behind noise .05"
NOISE = Noisy()
NEVER = -60.0
"""The logarithm of what noise does not make of a value."""
MOST_IN_ALL_ORDERS = 5
DEALS = 4999


def cells_as_copies(column: Column, real: Floats, released: Floats, known: Floats) -> Floats:
    """Return how likely noise makes of each real cell each released one, in logarithms (real, released)."""
    apart = np.abs(real[:, None] - released[None, :])
    if isinstance(column, Categorical):
        if len(column.labels) == 1:
            return np.zeros_like(apart)
        return np.log(np.where(apart == 0, 1 - NOISE.p, NOISE.p / (len(column.labels) - 1)))
    if NOISE.counts_as_real(column, known):
        unit = NOISE.sigma * float(np.nanstd(known))
        mirrored = (2 * end - real[:, None] - released[None, :] for end in (column.low, column.high))
        density = sum(np.exp(-0.5 * (each / unit) ** 2) for each in (apart, *mirrored))
        return np.asarray(np.log(np.maximum(density, np.exp(NEVER))))
    steps = poisson.pmf(np.arange(7), NOISE.lam) / np.array([1, 2, 2, 2, 2, 2, 2])
    return np.where(apart < len(steps), np.log(steps)[np.minimum(apart, 6).astype(int)], NEVER)


def rows_as_copies(real: Table, released: Table, known: Table) -> tuple[Floats, Floats]:
    """Return how likely each released row is a copy of each real one (real, released), and by chance."""
    copies, chance = np.zeros((len(real), len(released))), np.zeros(len(released))
    for column in real.schema.columns:
        found = cells_as_copies(column, *(table.column(column.name) for table in (real, released, known)))
        copies += found
        chance += logsumexp(found, axis=0) - np.log(len(real))
    return copies, chance


def sets_as_copies(
    real: LinkedRows, released: LinkedRows, known: Table, *, ordered: bool
) -> tuple[Floats, Floats]:
    """Return the same of sets of rows: a copy has as many, in any order where there is none."""
    rows = real.table.take(real.rows), released.table.take(released.rows)
    found, by_chance = rows_as_copies(*rows, known)
    copies, chance = np.full((real.n_people, released.n_people), 3 * NEVER), np.zeros(released.n_people)
    for size in np.unique(released.sizes):
        these, those = (np.flatnonzero(side.sizes == size) for side in (real, released))
        of_these, of_those = (
            side.starts[people][:, None] + np.arange(size)
            for side, people in ((real, these), (released, those))
        )
        chance[those] = by_chance[of_those].sum(axis=1) + np.log(max(len(these), 1) / real.n_people)
        in_order = ordered or size > MOST_IN_ALL_ORDERS
        orders = [tuple(range(size))] if in_order else list(permutations(range(size)))
        total = np.full((len(these), len(those)), -np.inf)
        for order in orders:
            pairs = np.zeros_like(total)
            for one, other in enumerate(order):
                pairs += found[np.ix_(of_these[:, one], of_those[:, other])]
            total = np.logaddexp(total, pairs)
        copies[np.ix_(these, those)] = total - np.log(len(orders))
    return copies, chance


def odds(everybody: LinkedTables, released: LinkedTables, train: LinkedTables) -> Floats:
    """Return how much likelier each released person is a copy of each real one than there by chance."""
    copies, chance = rows_as_copies(everybody.own, released.own, train.own)
    total = copies - chance
    for name, rows in everybody.linked.items():
        ordered = everybody.linkage[name].order is not None
        copies, chance = sets_as_copies(
            rows, released.linked[name], train.linked[name].table, ordered=ordered
        )
        total += copies - chance
    return total


def others(everybody: LinkedTables, people: LinkedTables) -> Indices:
    """Return who of all is none of these people."""
    return np.flatnonzero(~np.isin(everybody.person_hash(), people.person_hash()))


class Kept(MembershipViews):
    """The attack, that keeps its scores."""

    def conclude(self, attacked, suspicion, *, rng, details=None):  # type: ignore[no-untyped-def]
        """Keep them, and judge as ever."""
        kept.clear()
        kept.update(suspicion)
        return super().conclude(attacked, suspicion, rng=rng, details=details)


kept: dict[str, tuple[Floats, Floats | None]] = {}


def seen(draw: int) -> dict[str, bool]:
    """Tell who sees the leak of one draw."""
    clean = dealt(bank(), stream(draw, "bank_1999"))
    split = CASES[CASE](clean, stream(draw, "bank_1999", CASE))
    real = split.train.joined(split.control)
    outside = bank().take(others(bank(), real.joined(clean.synthetic)))
    best = odds(real.joined(outside), split.synthetic, split.train)[: len(real)].max(axis=1)
    Kept()(people_tables(split).split, rng=stream(draw, "views"))
    scores = {
        "known": {"known": (best, None)},
        "known, with all views": {**kept, "known": (best, None)},
        "agreeing": {name: each for name, each in kept.items() if name.startswith(AGREEING)},
        "distances": {name: each for name, each in kept.items() if not name.startswith(AGREEING)},
        "all views": kept,
    }
    n, found = len(split.train), {}
    for who, each in scores.items():
        rankings = {
            name: Ranking.of(score[:n], score[n:], None if ties is None else (ties[:n], ties[n:]), 9)
            for name, (score, ties) in each.items()
        }
        p_value = scan(rankings, confidence=0.95, n_deals=DEALS, rng=stream(draw, who)).p_value
        found[who] = p_value <= LEVEL
    print(draw, found, flush=True)
    return found


def main() -> None:
    """Ask in all draws, and write the section."""
    draws = [seen(draw) for draw in range(DRAWS)]
    times = {who: sum(each[who] for each in draws) for who in draws[0]}
    before = PAGE.read_text(encoding="utf-8").split(KNOWN)[0].rstrip()
    PAGE.write_text(
        f"{before}\n\n{KNOWN}\n\nMade by `python benchmarks/linked_known.py`: 1 % of {PEOPLE:,} clients of "
        "bank_1999 behind noise .05, the same draws. This attacker knows how the noise was made, and how "
        "frequent all values are among real people. The score of a person is how much likelier a released "
        "person is the noisy copy of this one than there by chance, for the likeliest of the release: a "
        "product over all columns and rows, where a copy has as many rows in each table, and rows without an "
        "order may stand in any. "
        f"At {LEVEL:g}, by the same test with {DEALS:,} deals of the labels, this attacker sees the leak in "
        f"{times['known']} of {DRAWS} draws, and tested together with all views of `membership_views` in "
        f"{times['known, with all views']}. The view that weighs what agrees knows nothing of this, and by "
        f"itself would see it in {times['agreeing']}; the views by distance see it in {times['distances']}, "
        f"and all of them together in {times['all views']}. So a large part of what is "
        "missed is the price of testing many views together.\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
