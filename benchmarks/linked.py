"""What does an audit of linked tables see of leaks, and what of releases that leak nothing?

``python benchmarks/linked.py`` deals the people of two real databases to train, control and a release
that nobody learned from, plants known leaks, asks the attacks of an audit and writes benchmarks/linked.md.
``python benchmarks/linked.py sizes`` measures how long whole audits of many people take, and writes that
part of the page alone.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from tabveil.auditing.overview import pairs_of_tables
from tabveil.core.estimate import chance_of_difference
from tabveil.core.linked import LinkedSplit, LinkedTables
from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.datasets import clinic
from tabveil.metrics.agreement import nearly_copied
from tabveil.metrics.attacks import Linkability, MembershipViews
from tabveil.metrics.attacks.membership_views import relatives
from tabveil.metrics.control.copies import copies
from tabveil.metrics.linked_traces import runs, sets
from tabveil.synthesis.risks import LeakyPeople, Noisy, NoisyPeople
from tabveil.tables.linked import load_database
from tabveil.tables.linked.summaries import databases_of, people_tables
from tabveil.tables.reading.sources import ROLES

DATA = Path(__file__).parents[2] / "shared" / "data"
PAGE = Path(__file__).parent / "linked.md"
PEOPLE = 1500
DRAWS, FEW_DRAWS = 20, 5
"""Draws of what is hard to see or must not be seen, and of large leaks."""
LEVEL = 0.003
"""About the level of an audit with all of its attacks, copies and traces."""

BANK = {
    "person": {"table": "clients", "key": "client"},
    "linked": {
        "dispositions": {"key": "client", "id": "disposition"},
        "accounts": {"key": "account", "through": "dispositions", "id": "account"},
        "orders": {"key": "account", "through": "accounts", "id": "order"},
        "loans": {"key": "account", "through": "accounts", "id": "loan", "order": "granted"},
        "cards": {"key": "disposition", "through": "dispositions", "id": "card", "order": "issued"},
    },
    "schemas": {"orders": {"drop": ["to_account"]}},
}
PATIENTS = {
    "person": {"table": "patients", "key": "patient_nbr"},
    "linked": {"encounters": {"key": "patient_nbr", "id": "encounter_id", "order": "visit"}},
}


@cache
def bank() -> LinkedTables:
    """All clients of the bank, with what is reached from them."""
    folder = DATA / "bank_1999"
    return load_database(BANK, train=folder, synthetic=folder).split.train


@cache
def patients() -> LinkedTables:
    """Patients with several encounters, which are numbered as they came."""
    rows = pd.read_parquet(DATA / "diabetes130.parquet").sort_values("encounter_id")
    rows = rows[rows.groupby("patient_nbr")["encounter_id"].transform("size") > 1]
    own = rows.groupby("patient_nbr", as_index=False)[list(OF_PATIENTS)].first()
    visits = rows.drop(columns=list(OF_PATIENTS))
    visits["visit"] = visits.groupby("patient_nbr").cumcount()
    tables = {"patients": own, "encounters": visits}
    return load_database(PATIENTS, train=tables, synthetic=tables, missing=("?",)).split.train


OF_PATIENTS = ("race", "gender", "age", "payer_code", "medical_specialty")
"""What stands in a patient's own row: of the first encounter that has it."""

Change = Callable[[LinkedSplit, Generator], LinkedSplit]

DATABASES: Mapping[str, Callable[[], LinkedTables]] = {"bank_1999": bank, "diabetes130": patients}


def dealt(everybody: LinkedTables, rng: Generator, n: int = PEOPLE) -> LinkedSplit:
    """Deal people to train, control, and a release of fresh people.

    As ``tabveil split`` does: who shares a row is on one side, and so are people equal in all that is there.
    """
    size, alike = len(everybody), np.unique(everybody.person_hash(), return_inverse=True)[1]
    links = coo_array((np.ones(size), (relatives(everybody), size + alike)), shape=(2 * size, 2 * size))
    family = connected_components(links, directed=False)[1][relatives(everybody)]
    turns = rng.permutation(len(everybody))
    order = np.argsort(turns[family], kind="stable")[: 3 * n]
    return LinkedSplit(
        train=everybody.take(order[:n]),
        control=everybody.take(order[n : 2 * n]),
        synthetic=everybody.take(order[2 * n :]),
    )


def leaked(share: float, plant: LeakyPeople) -> Change:
    """Put a share of people into the release, as the risk model plants them."""

    def change(split: LinkedSplit, rng: Generator) -> LinkedSplit:
        return replace(split, synthetic=plant(split.train, split.synthetic, share, rng=rng))

    return change


@dataclass
class Seen:
    """What was read in the draws of one case."""

    views: list[float] = field(default_factory=list)
    linked: list[float] = field(default_factory=list)
    copied: list[float] = field(default_factory=list)
    seen_by_views: list[bool] = field(default_factory=list)
    seen: list[bool] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)
    seconds: float = 0.0


WHOLE_NUMBERS_TOO = Noisy(sigma_moves="every")
CASES: Mapping[str, Change] = {
    "clean": lambda split, _: split,
    "5 % of people, all rows": leaked(0.05, LeakyPeople()),
    "1 % of people, all rows": leaked(0.01, LeakyPeople()),
    "5 %, linked rows alone": leaked(0.05, LeakyPeople(part="linked")),
    "5 %, own rows alone": leaked(0.05, LeakyPeople(part="own")),
    "5 % behind noise .05": leaked(0.05, NoisyPeople()),
    "1 % behind noise .05": leaked(0.01, NoisyPeople()),
    "1 % behind noise .05, whole numbers too": leaked(0.01, NoisyPeople(noise=WHOLE_NUMBERS_TOO)),
}


def ask(split: Split, seen: Seen, rng: Generator) -> None:
    """Ask two attacks, the count of copies and three traces, and keep what they say."""
    start = time.process_time()
    views = MembershipViews()(split, rng=rng)
    linkability = Linkability(auxiliary=pairs_of_tables(split.train))(split, rng=rng)
    counted = copies(split, rng=rng)
    linked = databases_of(split)
    traces = [nearly_copied(split, confidence=0.95, rng=rng), sets(linked), runs(linked)]
    seen.seconds += time.process_time() - start
    seen.views.append(views.gain.value)
    seen.linked.append(linkability.gain.value)
    seen.copied.append(counted.share.value)
    seen.seen_by_views.append(views.p_value <= LEVEL)
    p_values = [views.p_value, linkability.p_value, counted.p_value, counted.proven_p]
    p_values += [trace.p_value for trace in traces if trace is not None]
    seen.seen.append(min(p_values) <= LEVEL)
    seen.leads.append(views.leading.label.split(", ")[0])


def measured() -> Iterator[tuple[str, str, Seen]]:
    """Try every case on both databases."""
    for database, load in DATABASES.items():
        for case, change in CASES.items():
            seen = Seen()
            for draw in range(FEW_DRAWS if case.startswith("5 %") else DRAWS):
                rng = stream(draw, database, case)
                split = change(dealt(load(), stream(draw, database)), rng)
                ask(people_tables(split).split, seen, rng)
            yield database, case, seen


SIZES = "## How long a whole audit takes"
KNOWN = "## What somebody could see who knows the noise"
"""Sections of the page; benchmarks/linked_known.py makes the second."""
PEOPLE_AND_EVENTS = ((1_000, 24), (100_000, 10))


def with_events(n_people: int, n_events: int, seed: int) -> dict[str, pd.DataFrame]:
    """Invent patients who all have so many visits."""
    rng = stream(seed, "events")
    tables = clinic(n_people, seed=seed)
    key = tables["patients"]["patient"].to_numpy()
    n = n_people * n_events
    gaps = rng.gamma(3.0, rng.gamma(3.0, 4.0, n_people)[:, None], (n_people, n_events)).cumsum(axis=1)
    begins = rng.integers(0, 365, n_people)[:, None]
    ward = np.where(
        rng.random(n) < 0.6, np.repeat(rng.integers(0, 4, n_people), n_events), rng.integers(0, 4, n)
    )
    tables["visits"] = pd.DataFrame(
        {
            "patient": np.repeat(key, n_events),
            "day": np.datetime64("2024-01-01") + (begins + gaps).astype("timedelta64[D]").reshape(-1),
            "ward": np.array(["surgery", "cardiology", "neurology", "trauma"])[ward],
            "days": rng.poisson(2.0, n),
            "cost": np.round(rng.gamma(2.0, 400.0, n), 2),
        }
    )
    return tables


def cpu_seconds(n_people: int, n_events: int) -> float:
    """Measure the CPU seconds of ``tabveil audit --quick --no-advice``, with as many people in each table."""
    with tempfile.TemporaryDirectory() as folder:
        for seed, role in enumerate(("train", "control", "synthetic"), 1):
            place = Path(folder) / role
            place.mkdir()
            for name, table in with_events(n_people, n_events, seed).items():
                table.to_parquet(place / f"{name}.parquet")
        said = "person: {table: patients, key: patient}\nlinked: {visits: {key: patient, order: day}}\n"
        said += "train: train/\ncontrol: control/\nsynthetic: synthetic/\n"
        (Path(folder) / "db.yaml").write_text(said, encoding="utf-8")
        command = [sys.executable, "-m", "tabveil", "audit", "--tables", "db.yaml", "--quick", "--no-advice"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sizes() -> None:
    """Measure whole audits, and write that part of the page."""
    rows = []
    for n_people, n_events in PEOPLE_AND_EVENTS:
        rows.append(f"| {n_people:,} | {n_events} | {cpu_seconds(n_people, n_events):,.0f} |")
        print(rows[-1], flush=True)
    leaks, *before = PAGE.read_text(encoding="utf-8").split(SIZES)
    known = "".join(f"\n{KNOWN}{part}" for text in before for part in text.split(KNOWN)[1:])
    PAGE.write_text(
        f"{leaks.rstrip()}\n\n{SIZES}\n\nMade by `python benchmarks/linked.py sizes`: "
        "`tabveil audit --tables --quick --no-advice` of invented patients, as many in train as in control "
        "and in the release, each with as many visits. Where people are very many, `membership_views` "
        "attacks a part of them.\n\n"
        "| people of each | events of each person | CPU s |\n|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
        + known,
        encoding="utf-8",
    )


def main() -> None:
    """Measure and write the page."""
    write(list(rows()))


def rows() -> Iterator[str]:
    """Measure, and return the rows of the table."""
    for database, case, seen in measured():
        draws = len(seen.seen)
        commonest = max(set(seen.leads), key=seen.leads.count)
        row = (
            f"| {database} | {case} | {np.mean(seen.views):.3f} | {np.mean(seen.linked):.3f} | "
            f"{np.mean(seen.copied):.3f} | {sum(seen.seen_by_views)} of {draws} | "
            f"{sum(seen.seen)} of {draws} | {commonest} | "
            f"{seen.seconds / draws:.1f} |"
        )
        print(row, flush=True)
        yield row


def best_case() -> tuple[int, int, int]:
    """Ask what anybody could see of the own rows of 5 % of patients, where these are the five columns.

    How many of 1,500 own rows are one of a kind; and in how many draws a leak is seen by somebody who counts
    how many of those that one real person has are in the release, and by one who also knows how frequent each
    own row is among all patients, and how many were leaked (Neyman and Pearson 1933).
    """
    everybody = patients()
    kinds, counts = np.unique(everybody.own.row_hash(), return_counts=True)
    frequency = dict(zip(kinds.tolist(), (counts / len(everybody)).tolist(), strict=True))
    unique, by_count, by_odds = [], 0, 0
    for draw in range(DRAWS):
        split = leaked(0.05, LeakyPeople(part="own"))(
            dealt(everybody, stream(draw, "diabetes130")), stream(draw, "best case")
        )
        train, control, released = (getattr(split, role).own.row_hash() for role in ROLES)
        unique.append(int((np.unique(train, return_counts=True)[1] == 1).sum()))
        real = np.concatenate([train, control])
        _, place, times = np.unique(real, return_inverse=True, return_counts=True)
        seen = np.isin(real, released) & (times[place] == 1)
        n = len(train)
        by_count += chance_of_difference(int(seen[:n].sum()), n, int(seen[n:].sum()), n) <= LEVEL
        there = dict(zip(*(each.tolist() for each in np.unique(released, return_counts=True)), strict=True))
        odds = np.log(
            [0.95 + 0.05 * there.get(row, 0) / (len(released) * frequency[row]) for row in real.tolist()]
        )
        apart = (odds[:n].mean() - odds[n:].mean()) / (odds.std() * np.sqrt(2 / n))
        by_odds += float(ndtr(-apart)) <= LEVEL
    return round(float(np.mean(unique))), by_count, by_odds


def whose_rows_leaked() -> float:
    """Count clients whose rows leak where 5 % are planted: these, and who shares rows with them."""
    shares = []
    for draw in range(DRAWS):
        split = leaked(0.05, LeakyPeople())(dealt(bank(), stream(draw, "bank_1999")), stream(draw, "leaked"))
        planted = np.isin(split.train.person_hash(), split.synthetic.person_hash())
        family = relatives(split.train)
        shares.append(np.isin(family, family[planted]).mean())
    return float(np.mean(shares))


def write(lines: Sequence[str]) -> None:
    """Write the page, and keep what stands there of sizes."""
    unique, by_count, by_odds = best_case()
    head = (
        "| database | release | membership over views | linkability | copies | seen by views | seen | view "
        "that leads most | CPU s |\n|---|---|---|---|---|---|---|---|---|\n"
    )
    measured_before = PAGE.read_text(encoding="utf-8").split(SIZES)[1:] if PAGE.exists() else []
    PAGE.write_text(
        "# Leaks of linked tables, and what is seen of them\n\n"
        f"Made by `python benchmarks/linked.py`: draws of {PEOPLE:,} people each of train, control "
        "and release from the same database. The release holds people whom nobody learned from, but "
        "for those that are planted. Means of gains (shares of all people, of copies: of the release) over "
        f"draws; a leak is seen where a p-value is at most {LEVEL:g}, about the level of a whole audit. "
        "Linkability is asked with each table against the others. “Seen” counts these, copies, rows that are "
        "copied but for a column or two, whole sets and runs; keys are new, and a whole audit has more "
        "attacks. In bank_1999 twelve pairs of clients are equal in all that is there; they stay together, "
        "as `tabveil split` keeps them. Noise is that of `NoisyPeople`: 5 % of categories are replaced, "
        "numbers with decimals and dates are moved by 0.05 standard deviations, and whole numbers by 0.05 on "
        "average; in the last case whole numbers are moved like the others, too.\n\n"
        "In diabetes130 the own rows are race, gender, age, payer and specialty; "
        f"{unique} of {PEOPLE:,} are one of a kind in train. Of 5 % of them leaked alone, somebody who "
        f"counts how many own rows of one real person are released sees {by_count} of {DRAWS}. Who also knew "
        "how frequent each own row is among all patients, and how many were leaked, would see "
        f"{by_odds} of {DRAWS}: so little do these rows tell of one person.\n\n"
        "In bank_1999 a third of the clients share an account with another one, whose rows leak with theirs. "
        f"Where 5 % are planted, rows of {100 * whose_rows_leaked():.1f} of 100 clients have leaked (mean of "
        f"{DRAWS} draws): membership reads more there than was planted, as it should.\n\n"
        "How to weigh what agrees was chosen on invented patients and on diabetes130, not on bank_1999. On "
        "these, no other way to compare people by distances saw clearly more: differences that count in full "
        "from a tolerance on, columns weighed by how much they tell, the best of all tables instead of each, "
        "and five other people instead of the nearest one.\n\n"
        + head
        + "\n".join(lines)
        + "\n"
        + "".join(f"\n{SIZES}{part}" for part in measured_before),
        encoding="utf-8",
    )


if __name__ == "__main__":
    sizes() if sys.argv[1:] == ["sizes"] else main()
