"""Which metric when: strengths and weaknesses by hand, burden as declared, what it sees as measured."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from markdown_text import plain, table

from tabveil.metrics.properties import WEAKNESSES
from tabveil.metrics.registry import METRICS
from tabveil.protocols import Metric

DOCS = Path(__file__).resolve().parents[1] / "docs"
_CARDS = re.compile(
    r"<!-- table: cards \| power \| adult \| leaky -->\n(?P<table>.*?)<!-- end -->", flags=re.DOTALL
)


class Judged(NamedTuple):
    """What speaks for a metric, and what against it."""

    strengths: str
    weaknesses: str


_OWN_SPACE = "Needs an embedding, which takes a training; on many tables its plain twin sees as much."
_SAMPLE = "A part of control is held back, so fewer people are tested."
_TABLES = "Compares tables as wholes: tells nothing about single people, and no verdict rests on it."

BY_HAND: Mapping[str, Judged] = {
    "singling_out": Judged(
        "Asks what the law asks; needs to know nothing about anybody; names the columns that do it.",
        "Behind noise on values of every kind it sees about half of what is there.",
    ),
    "singling_out_contrastive": Judged("Looks at unusual rows first.", _OWN_SPACE),
    "linkability": Judged(
        "Asks what the law asks; shows what two holders of data can do together.",
        "Who is like many others is linked to the wrong row, so a full copy need not read 1.",
    ),
    "linkability_contrastive": Judged("A learned sense of nearness.", _OWN_SPACE),
    "inference": Judged(
        "Asks what the law asks, column by column; worst case: the attacker knows all else.",
        "Each column that is attacked widens the bounds of all: name the secrets that matter.",
    ),
    "inference_contrastive": Judged("A learned sense of nearness.", _OWN_SPACE),
    "ml_inference": Judged(
        "Uses all of the release, and not one row of it.",
        "What holds for everybody is subtracted and is most of what a model learns: small leaks are missed.",
    ),
    "neighbor_vote": Judged(
        "The attacker knows a few columns only, as people do.", "What few columns tell is less than all."
    ),
    "gtcap": Judged(
        "Counts only claims on which all near rows agree; no training, no draw.",
        "No claim without a near row in all keys: behind noise it sees about half of what is there.",
    ),
    "membership_distance": Judged(
        "Quick, plain, easy to explain; outlying people are also attacked alone.",
        "The same distance means more for an unusual person than for a common one, which it does not know.",
    ),
    "membership_calibrated": Judged(
        "Knows how near is near for whom: with domias_kde, it sees most behind noise.",
        "Harder to explain; an attacker needs a sample of the population.",
    ),
    "membership_ratio": Judged("An attacker with a sample of the population.", _SAMPLE),
    "membership_trees": Judged("Sees most where the release was drawn from trees.", _SAMPLE),
    "membership_influence": Judged("Asks what one person adds to a sample.", _SAMPLE),
    "membership_views": Judged(
        "Linked tables: sees people by their own row, by their linked rows, and by gaps between events.",
        "Linked tables only; where they are many, a part of the people is attacked, and bounds are wider.",
    ),
    "membership_contrastive": Judged("Also by how many columns differ.", _OWN_SPACE),
    "domias_kde": Judged(
        "Rests on a theory of overfitting; sees much behind noise; can test outlying people by themselves.",
        "Densities of many columns are hard to learn. " + _SAMPLE,
    ),
    "domias_flow": Judged("A density that is learned by a network.", "Trains networks. " + _SAMPLE),
    "identical_match_share": Judged(
        "Quickest, and anybody understands it; chance is subtracted.",
        "One cell changed, and a copy is none. No verdict rests on it (copies are judged by themselves).",
    ),
    "distance_to_closest": Judged(
        "Also near copies; the customary figure.", "Blind to who is near. " + _TABLES
    ),
    "distance_to_closest_contrastive": Judged("The same in a learned space.", _OWN_SPACE),
    "closest_share": Judged("One number, at any sizes of the tables.", _TABLES),
    "nearest_neighbors": Judged("Groups of people that a generator follows.", _TABLES),
    "neighbor_distance_ratio": Judged("Rows that sit on one person.", _TABLES),
    "adversarial_accuracy": Judged("Both ways: real rows near synthetic, and back.", _TABLES),
    "mmd": Judged("Whole distributions, not nearest rows.", "Small leaks drown in it. " + _TABLES),
    "pii_replay": Judged(
        "Names, addresses and numbers of real people, found by their form.",
        "Names that no column holds and no title precedes are not found.",
    ),
    "text_replay": Judged("Passages of free text.", "The same said in other words is not found."),
}


def which_metric() -> str:
    """Return the table: a row for every metric."""
    measured = _measured()
    rows = []
    for name, metric in METRICS.items():
        judged = BY_HAND.get(name, Judged("", ""))
        weaker = " Weaker the larger the tables are." if metric.weaker_when_larger else ""
        seconds, seen = measured.get(name, ("", "not in that study"))
        rows.append(
            [
                f"[`{name}`](metrics/{name}.md)",
                plain(judged.strengths),
                plain(judged.weaknesses + weaker),
                _burden(metric, seconds),
                seen,
            ]
        )
    return table(["metric", "strengths", "weaknesses", "burden", "sees copies from"], rows)


_COSTS = {"quick": "low", "slow": "medium", "training": "high: trains networks"}


def _burden(metric: type[Metric], seconds: str) -> str:
    told = [
        _COSTS[metric.cost] if metric.extra is None or metric.cost == "training" else "high: trains networks"
    ]
    told += [f"{seconds} s"] if seconds else []
    told += ["only where it is named"] if metric.on_request or metric.extra else []
    return ", ".join(told)


def _measured() -> dict[str, tuple[str, str]]:
    """Return the CPU seconds and the smallest leak seen, by metric, from the table of the study."""
    found = _CARDS.search((DOCS / "power.md").read_text(encoding="utf-8"))
    lines = found["table"].strip().splitlines()[2:] if found else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0].strip("`"): (row[-1], row[-2]) for row in cells}


PROPERTIES = (
    (
        "[k-anonymity](anonymize.md)",
        "How many rows, at least, share their quasi-identifiers?",
        ("property", "singling out", "uniqueness", "no-box", "yes"),
        "k",
    ),
    (
        "[l-diversity](anonymize.md)",
        "How many different sensitive values, at least, stand among rows that share them?",
        ("property", "inference", "uniqueness", "no-box", "yes"),
        "l",
    ),
    (
        "[t-closeness](anonymize.md)",
        "How far, at most, are the sensitive values of such rows from those of the whole table?",
        ("property", "inference", "density", "no-box", "yes"),
        "t",
    ),
)


def beside_metrics() -> list[list[str]]:
    """Return rows of the taxonomy that are no metrics: properties, and attacks on the generator."""
    rows = [[name, plain(question), *places] for name, question, places, _ in PROPERTIES]
    rows.append(
        [
            "[differential privacy](epsilon.md)",
            "How much may what a generator makes depend on one row?",
            "property of the generator",
            "none of the three",
            "noise",
            "all",
            "no",
        ]
    )
    rows.append(
        [
            "[shadow attack](black_box.md)",
            "Can somebody who fits the generator again and again tell whether a person was in?",
            "attack",
            "none of the three",
            "ML",
            "black-box",
            "yes",
        ]
    )
    return rows


def known_against() -> str:
    """Return what is known against the properties of tables."""
    return "\n".join(f"- {name}: {plain(WEAKNESSES[key])}" for name, _, _, key in PROPERTIES)
