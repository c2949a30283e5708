"""Tables made in code, so that examples, demos and tests need nobody's data.

The people of :func:`hospital` do not exist; their table is as awkward as a real one: mixed types, dates, a
long tail of codes, skewed numbers, rare values, values missing for a reason, columns that depend on others.
Nor do those of :func:`letters`, who have names, addresses and texts about them, those of :func:`visits`, who
come several times, and those of :func:`clinic`, whose visits stand in a table of their own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.tables.reading.dataframes import DataFrame, from_columns

Floats = NDArray[np.float64]
Texts = NDArray[Any]

TRIAGE = ("non-urgent", "standard", "urgent", "emergency", "resuscitation")
_DAYS_IN_YEAR = 365
_ADULT = 18
_RETIRED = 67
_SATURDAY = 5  # the simulated two years begin on a Monday
_EMERGENCY = TRIAGE.index("emergency")


@dataclass(frozen=True, kw_only=True)
class _Chapter:
    """A group of diagnoses: who gets them, where they are treated and how long that takes."""

    letter: str
    weight: float  # how common at the age where it is most common
    peak_age: float
    spread: float  # years around the peak
    women: float  # how many times as likely among women as among men
    smokers: float  # likewise, smokers
    ward: str
    days: float  # median length of stay
    severity: float  # 0 mild, 1 grave
    n_codes: int  # different codes; the later ones are rare


_CHAPTERS = (
    _Chapter(letter="I", weight=2.6, peak_age=76, spread=16, women=0.8, smokers=1.9, ward="cardiology",
             days=5.0, severity=0.65, n_codes=40),
    _Chapter(letter="J", weight=1.5, peak_age=71, spread=24, women=0.9, smokers=2.4, ward="pulmonology",
             days=5.5, severity=0.60, n_codes=30),
    _Chapter(letter="C", weight=1.2, peak_age=68, spread=14, women=1.0, smokers=1.6, ward="oncology",
             days=7.0, severity=0.75, n_codes=50),
    _Chapter(letter="K", weight=1.6, peak_age=52, spread=22, women=1.0, smokers=1.1, ward="surgery",
             days=3.5, severity=0.40, n_codes=35),
    _Chapter(letter="S", weight=1.5, peak_age=44, spread=34, women=0.8, smokers=1.0, ward="trauma",
             days=3.0, severity=0.45, n_codes=60),
    _Chapter(letter="O", weight=2.2, peak_age=31, spread=5.5, women=400.0, smokers=0.7, ward="maternity",
             days=2.5, severity=0.15, n_codes=25),
    _Chapter(letter="F", weight=0.7, peak_age=37, spread=16, women=1.1, smokers=1.8, ward="psychiatry",
             days=14.0, severity=0.35, n_codes=25),
    _Chapter(letter="E", weight=0.8, peak_age=62, spread=20, women=1.1, smokers=1.1, ward="internal",
             days=4.0, severity=0.40, n_codes=25),
    _Chapter(letter="P", weight=1.6, peak_age=0, spread=2.0, women=0.9, smokers=1.0, ward="pediatrics",
             days=4.0, severity=0.35, n_codes=20),
    _Chapter(letter="A", weight=0.5, peak_age=30, spread=45, women=1.0, smokers=1.0, ward="internal",
             days=4.5, severity=0.50, n_codes=45),
)  # fmt: skip


def hospital(n_rows: int, *, seed: int) -> DataFrame:
    """Simulate the admissions of a hospital; the same seed gives the same table.

    Age and sex drive the diagnosis, the diagnosis drives ward, triage level, laboratory values and length of
    stay, and all of them the cost. Laboratory values are missing mostly where nobody had a reason to measure
    them, smoking mostly where nobody could ask. Two calls with different seeds draw different people from one
    population, so one table can stand in for a perfect generator trained on the other.

    >>> patients = hospital(1000, seed=1)
    >>> patients.shape
    (1000, 16)
    >>> bool(patients.loc[patients["ward"] == "maternity", "sex"].eq("female").mean() > 0.9)
    True
    """
    check.at_least("hospital", "n_rows", n_rows, 1)
    check.at_least("hospital", "seed", seed, 0)
    rng = stream(seed, "hospital")
    age, female = _people(n_rows, rng)
    smoking = np.where(female, 0.19, 0.27) * np.exp(-(((age - 45) / 40) ** 2))
    smoker = (age >= _ADULT) & _happens(smoking, n_rows, rng)
    chapter = _chapters(age, female, smoker, rng)
    severity = np.array([c.severity for c in _CHAPTERS])[chapter] + (age - 55) / 250
    severity = severity + rng.normal(0, 0.18, n_rows)
    triage = np.clip(np.floor(severity * 4 + rng.normal(0.5, 0.6, n_rows)), 0, 4).astype(np.int64)
    days = _days(chapter, severity, rng)
    private = _happens(np.where(age >= _RETIRED, 0.07, 0.13), n_rows, rng)
    columns = {
        "age": age,
        "sex": np.where(_happens(0.002, n_rows, rng), "diverse", np.where(female, "female", "male")),
        "region": _regions(n_rows, rng),
        "insurance": _insurance(age, private, rng),
        "smoker": np.ma.array(smoker),
        "admitted": _admissions(chapter, rng),
        "triage": np.array(TRIAGE)[triage],
        "ward": _wards(chapter, triage, rng),
        "diagnosis": _codes(chapter, rng),
        **_measurements(age, female, severity, rng),
        "days": days,
        "cost": _costs(days, chapter, triage, private, rng),
        "outcome": _outcomes(age, severity, rng),
    }
    _forget(columns, age=age, triage=triage, rng=rng)
    return from_columns(columns, ordered={"triage": TRIAGE})


def _happens(chance: float | Floats, n_rows: int, rng: Generator) -> NDArray[np.bool_]:
    """Throw a coin for every row."""
    return rng.random(n_rows) < chance


def _people(n_rows: int, rng: Generator) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draw age and sex: newborns, adults of all ages, many old people, more women among the oldest."""
    group = rng.choice(3, size=n_rows, p=[0.09, 0.38, 0.53])
    age = np.select(
        [group == 0, group == 1],
        [rng.exponential(5, n_rows), rng.normal(36, 13, n_rows)],
        rng.normal(71, 11, n_rows),
    )
    age = np.clip(np.floor(np.abs(age)), 0, 104).astype(np.int64)
    return age, rng.random(n_rows) < 0.5 + np.clip(age - 70, 0, 30) / 120


def _chapters(
    age: NDArray[np.int64], female: NDArray[np.bool_], smoker: NDArray[np.bool_], rng: Generator
) -> NDArray[np.int64]:
    """Draw the group of diagnoses of every patient, given who they are."""
    odds = np.column_stack(
        [
            c.weight
            * (0.01 + np.exp(-(((age - c.peak_age) / c.spread) ** 2) / 2))
            * np.where(female, c.women, 1.0)
            / max(c.women, 1.0)
            * np.where(smoker, c.smokers, 1.0)
            for c in _CHAPTERS
        ]
    )  # (n, chapters)
    bounds = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    drawn = (rng.random(len(age))[:, None] > bounds).sum(axis=1)
    return np.asarray(np.minimum(drawn, len(_CHAPTERS) - 1), dtype=np.int64)


def _codes(chapter: NDArray[np.int64], rng: Generator) -> Texts:
    """Draw a code within each group: the first are common, most of the others occur a handful of times."""
    codes = np.empty(len(chapter), dtype=object)
    for number, group in enumerate(_CHAPTERS):
        rows = np.flatnonzero(chapter == number)
        share = 1 / np.arange(1, group.n_codes + 1) ** 1.4  # Zipf's law
        picks = rng.choice(group.n_codes, size=len(rows), p=share / share.sum())
        names = np.array(
            [f"{group.letter}{7 * i % 90 + 10}.{i % 7}" for i in range(group.n_codes)], dtype=object
        )
        codes[rows] = names[picks]
    return codes


def _measurements(
    age: NDArray[np.int64], female: NDArray[np.bool_], severity: Floats, rng: Generator
) -> dict[str, Floats]:
    """Measure blood pressure and blood: each has its own precision, and two are skewed."""
    n_rows = len(age)
    shock = severity > 1
    hemoglobin = rng.normal(14.6 - 1.2 * female - 1.6 * np.clip(severity, 0, 1), 1.3)
    creatinine = np.exp(rng.normal(-0.15, 0.22, n_rows) + (age - 50) / 170 - 0.16 * female + 0.25 * shock)
    crp = np.exp(rng.normal(0.6, 1.0, n_rows) + 2.2 * np.clip(severity, 0, 1.2))
    return {
        "systolic": np.round(rng.normal(112 + 0.38 * age - 14 * shock, 15)),
        "hemoglobin": np.round(hemoglobin, 1),
        "creatinine": np.round(creatinine, 2),
        "crp": np.round(crp, 1),
    }


def _wards(chapter: NDArray[np.int64], triage: NDArray[np.int64], rng: Generator) -> Texts:
    """Send most patients to the ward of their diagnosis, the gravest to intensive care."""
    wards = np.array([c.ward for c in _CHAPTERS], dtype=object)[chapter]
    n_rows = len(wards)
    wards[_happens(0.04, n_rows, rng)] = "internal"
    wards[_happens(np.array([0.0, 0.0, 0.01, 0.08, 0.55])[triage], n_rows, rng)] = "intensive care"
    return wards


def _days(chapter: NDArray[np.int64], severity: Floats, rng: Generator) -> NDArray[np.int64]:
    """Draw the length of stay: skewed, longer for graver cases."""
    median = np.array([c.days for c in _CHAPTERS])[chapter]
    stay = median * np.exp(rng.normal(0, 0.55, len(median)) + 0.7 * (severity - 0.45))
    return np.clip(np.round(stay), 0, 180).astype(np.int64)


def _costs(
    days: NDArray[np.int64],
    chapter: NDArray[np.int64],
    triage: NDArray[np.int64],
    private: NDArray[np.bool_],
    rng: Generator,
) -> Floats:
    """Add up a stay: a price a day that depends on the ward, more for grave cases and private patients."""
    price = np.array([640 + 520 * c.severity for c in _CHAPTERS])[chapter] * (
        1 + 0.35 * (triage >= _EMERGENCY)
    )
    cost = (450 + price * days) * np.exp(rng.normal(0, 0.16, len(days))) * (1 + 0.22 * private)
    return np.asarray(np.round(cost, 2))


def _admissions(chapter: NDArray[np.int64], rng: Generator) -> NDArray[np.datetime64]:
    """Draw admission days in two years: fewer on weekends, lung disease in winter."""
    n_rows = len(chapter)
    day = rng.integers(0, 2 * _DAYS_IN_YEAR, n_rows)
    winter = np.floor(rng.normal(0, 45, n_rows)).astype(np.int64) % _DAYS_IN_YEAR
    lungs = np.array([c.letter == "J" for c in _CHAPTERS])[chapter] & _happens(0.6, n_rows, rng)
    day = np.where(lungs, winter + _DAYS_IN_YEAR * rng.integers(0, 2, n_rows), day)
    weekend = (day % 7 >= _SATURDAY) & _happens(0.45, n_rows, rng)
    day = np.where(weekend, day - day % 7, day)
    return np.datetime64("2024-01-01", "s") + day.astype("timedelta64[D]")


def _regions(n_rows: int, rng: Generator) -> Texts:
    """Draw the area of the postcode: most patients live near, a few come from far away."""
    share = np.exp(-np.arange(60) / 9) + 0.002
    names = np.array([f"N{37 * i % 97 + 1:02d}" for i in range(len(share))], dtype=object)
    return np.asarray(names[rng.choice(len(share), size=n_rows, p=share / share.sum())])


def _insurance(age: NDArray[np.int64], private: NDArray[np.bool_], rng: Generator) -> Texts:
    """Draw the payer."""
    payer = np.where(private, "private", np.where(age >= _RETIRED, "public, retired", "public")).astype(
        object
    )
    payer[_happens(0.010, len(age), rng)] = "self-paying"
    payer[_happens(0.002, len(age), rng)] = "military"
    return payer


def _outcomes(age: NDArray[np.int64], severity: Floats, rng: Generator) -> Texts:
    """Draw how the stay ended, given how grave it was."""
    draw = rng.random(len(age))
    grave = 1 / (1 + np.exp(-(7 * (severity - 1.25) + (age - 75) / 25)))
    outcome = np.full(len(age), "home", dtype=object)
    outcome[draw < 0.03 + 0.35 * grave] = "other hospital"
    outcome[draw < 0.02 + 0.30 * grave * (age >= _RETIRED)] = "nursing home"
    outcome[draw < 0.12 * grave] = "died"
    return outcome


def _forget(
    columns: dict[str, Any], *, age: NDArray[np.int64], triage: NDArray[np.int64], rng: Generator
) -> None:
    """Take values away where a hospital would not have them: not measured, not asked, not recorded."""
    n_rows = len(age)
    mild = np.array([0.55, 0.35, 0.12, 0.05, 0.02])[triage]
    blood = _happens(mild, n_rows, rng)  # one blood sample: hemoglobin and creatinine are missing together
    columns["hemoglobin"][blood] = columns["creatinine"][blood] = np.nan
    columns["crp"][blood | _happens(0.10, n_rows, rng)] = np.nan
    columns["systolic"][_happens(0.03, n_rows, rng)] = np.nan
    unasked = np.where(age < _ADULT, 0.7, np.where(triage >= _EMERGENCY, 0.35, 0.05))
    columns["smoker"][_happens(unasked, n_rows, rng)] = np.ma.masked
    columns["insurance"][_happens(0.015, n_rows, rng)] = None


_FIRST_NAMES = ("Ada", "Bela", "Cora", "Dov", "Enid", "Faro", "Gwen", "Hugo", "Ines", "Jory", "Kaia", "Lars")
_SURNAMES = tuple(
    tree + place
    for tree in ("Alder", "Birk", "Dorn", "Esch", "Hasel", "Linden", "Tann", "Weid")
    for place in ("bach", "berg", "feld", "hain", "hof", "moor", "stein", "wald")
)
_SENTENCES = (
    ("Last week", "For some days", "Since spring", "At night", "After meals", "In the morning", "At work"),
    ("the left knee", "the right hand", "the lower back", "one shoulder", "the neck", "a tooth", "an ankle"),
    ("hurt badly", "felt numb", "was swollen", "kept aching", "could not move", "burned", "was stiff"),
    (
        "while walking",
        "when climbing stairs",
        "in the garden",
        "on the bus",
        "during sleep",
        "in the cold",
    ),
    ("and rest helped", "and nothing helped", "but tea helped", "until noon", "for an hour", "now and then"),
)
_REGARDS = "With kind regards, the whole team of your clinic."


def letters(n_rows: int, *, seed: int) -> DataFrame:
    """Invent letters about patients, with their names and e-mail addresses; the same seed, the same letters.

    Full names are rarely shared, first names and surnames often, and all letters end in the same formula.

    >>> letters(200, seed=1).columns.tolist()
    ['name', 'email', 'age', 'ward', 'letter']
    """
    check.at_least("letters", "n_rows", n_rows, 1)
    check.at_least("letters", "seed", seed, 0)
    rng = stream(seed, "letters")
    names = [
        f"{rng.choice(_FIRST_NAMES)} {rng.choice(_FIRST_NAMES)} {rng.choice(_SURNAMES)}"
        for _ in range(n_rows)
    ]
    numbers = rng.integers(10_000, 100_000, n_rows)
    return from_columns(
        {
            "name": names,
            "email": [
                f"{name.replace(' ', '.').lower()}.{number}@example.org"
                for name, number in zip(names, numbers.tolist(), strict=True)
            ],
            "age": rng.integers(_ADULT, 95, n_rows),
            "ward": rng.choice(["cardiology", "surgery", "trauma"], n_rows),
            "letter": [f"{_story(rng)} {_REGARDS}" for _ in range(n_rows)],
        }
    )


def _story(rng: Generator) -> str:
    """Put three to six sentences together."""
    return " ".join(
        " ".join(str(rng.choice(words)) for words in _SENTENCES) + "." for _ in range(rng.integers(3, 7))
    )


_TOWNS = tuple(
    f"{first}{last}" for first in ("Al", "Bor", "Cam", "Dun", "Ost") for last in ("by", "ford", "heim")
)
_MOST_VISITS = 12
_LOYAL = 0.7  # the share of visits to a patient's own ward


def visits(n_people: int, *, seed: int) -> DataFrame:
    """Invent visits of patients to a clinic: most come several times; the same seed, the same visits.

    What a person is stays the same from visit to visit, or nearly so: the rows of one are much alike, and
    unlike those of others. Nobody is a patient under two seeds.

    >>> table = visits(200, seed=1)
    >>> table.columns.tolist(), table["patient"].nunique(), len(table) > 600
    (['patient', 'birth', 'sex', 'town', 'insurance', 'weight', 'ward', 'days', 'cost'], 200, True)
    """
    check.at_least("visits", "n_people", n_people, 1)
    check.at_least("visits", "seed", seed, 0)
    rng = stream(seed, "visits")
    times = np.minimum(rng.geometric(0.25, n_people), _MOST_VISITS)
    who = np.repeat(np.arange(n_people), times)
    weight = np.round(rng.normal(75, 13, n_people)[who] + rng.normal(0, 1.5, len(who)), 1)
    days = rng.poisson(np.repeat(rng.gamma(2.0, 2.0, n_people), times))
    return from_columns(
        {
            "patient": [f"P{number:015x}" for number in rng.integers(2**60, size=n_people)[who].tolist()],
            "birth": rng.integers(1930, 2006, n_people)[who],
            "sex": rng.choice(["female", "male"], n_people)[who],
            "town": rng.choice(_TOWNS, n_people)[who],
            "insurance": rng.choice(["statutory", "private", "none"], n_people, p=[0.8, 0.15, 0.05])[who],
            "weight": weight,
            "ward": rng.choice(["surgery", "cardiology", "neurology", "trauma"], len(who)),
            "days": days,
            "cost": np.round(rng.lognormal(6.5, 0.5, len(who)) * (1 + days)).astype(np.int64),
        }
    )


def clinic(n_people: int, *, seed: int) -> dict[str, DataFrame]:
    """Invent patients with their visits, as two linked tables: a few never come; the same seed, the same.

    What a patient is shows in the visits: the sick come often, to the ward of their illness, and cost more;
    days between visits are a patient's own habit. Nobody is a patient under two seeds.

    >>> tables = clinic(200, seed=1)
    >>> [table.columns.tolist() for table in tables.values()]
    [['patient', 'born', 'sex', 'town', 'weight'], ['patient', 'day', 'ward', 'days', 'cost']]
    >>> len(tables["patients"]), tables["visits"]["patient"].nunique() < 200 < len(tables["visits"])
    (200, True)
    """
    check.at_least("clinic", "n_people", n_people, 1)
    check.at_least("clinic", "seed", seed, 0)
    rng = stream(seed, "clinic")
    patient = np.array([f"P{number:015x}" for number in rng.integers(2**60, size=n_people).tolist()])
    born = rng.integers(1930, 2006, n_people)
    sick = rng.gamma(2.0, 0.5, n_people) * (1 + (1980 - born) / 100)
    times = np.minimum(rng.poisson(3.5 * sick), _MOST_VISITS)
    who = np.repeat(np.arange(n_people), times)
    first = rng.integers(0, _DAYS_IN_YEAR, n_people)
    pause = rng.gamma(3.0, 12.0, n_people)[who] * rng.uniform(0.7, 1.3, len(who)) + 1
    begins = np.cumsum(times) - times
    passed = np.cumsum(np.append(0.0, pause))
    day = first[who] + (passed[:-1] - passed[begins][who]).astype(np.int64)
    wards = np.array(["surgery", "cardiology", "neurology", "trauma"])
    ward = np.where(
        rng.random(len(who)) < _LOYAL, rng.integers(0, 4, n_people)[who], rng.integers(0, 4, len(who))
    )
    days = rng.poisson(2 * sick[who])
    return {
        "patients": from_columns(
            {
                "patient": patient,
                "born": born,
                "sex": rng.choice(["female", "male"], n_people),
                "town": rng.choice(_TOWNS, n_people),
                "weight": np.round(rng.normal(75, 13, n_people), 1),
            }
        ),
        "visits": from_columns(
            {
                "patient": patient[who],
                "day": np.datetime64("2024-01-01", "s") + day.astype("timedelta64[D]"),
                "ward": wards[ward],
                "days": days,
                "cost": np.round(rng.lognormal(5.5, 0.4, len(who)) * (1 + days)).astype(np.int64),
            }
        ),
    }
