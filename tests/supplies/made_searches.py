"""Searches whose every number is chosen."""

from tabveil.core.estimate import Estimate
from tabveil.workflows.tuning.tradeoffs import (
    Attempt,
    Check,
    Choice,
    SearchFindings,
    SearchRows,
    SearchScore,
    SearchTerms,
)


def score(*, loss=0.2, uninformative=(), **highs):
    """A score whose attacks have these upper ends."""
    risks = {
        label: Estimate(value=high - 0.02, low=high - 0.04, high=high, n=100) for label, high in highs.items()
    }
    return SearchScore(
        risks=risks,
        informative={label: label not in uninformative for label in risks},
        largest=max(highs, key=highs.__getitem__),
        privacy=max(highs.values()),
        figure=0.5 + loss,
        loss=loss,
    )


def tried(number, found, *, within=False, why="cannot be made", point=None):
    point = point or {"k": number}
    return Attempt(
        number=number,
        point=point,
        settings={"models": [point]},
        score=found,
        within=within,
        why=None if found else why,
    )


def tuned(items, *, front, choice=None, check=None, **asked):
    """What a search found, with these configurations."""
    said = {
        "version": "1.0",
        "title": "A search",
        "seed": 3,
        "repeats": 2,
        "searcher": "grid",
        "space_size": len(items),
        "trials": 50,
        "generator": "hybrid",
        "settings": {},
        "search": {"k": [1, 2, 3]},
        "metrics": {"linkability": "Linkability"},
        "by": "upper",
        "utility": "discriminator",
        "target": (),
        "thresholds": {"linkability": 0.1},
        "risks": {"linkability": "linkability"},
        "confidence": 0.95,
        "not_searched": (),
    }
    return SearchFindings(
        asked=SearchTerms(**{**said, **asked}),
        rows=SearchRows(
            dataset="adult", all=1000, columns=5, searched=500, held_out=500, train=350, control=150
        ),
        tried=tuple(items),
        front=tuple(front),
        choice=None if choice is None else Choice(number=choice, within=items[choice - 1].within),
        check=check,
    )


def check(found, chosen, *, within=False):
    return Check(
        score=found,
        within=within,
        optimism_privacy=found.privacy - chosen.privacy,
        optimism_loss=found.loss - chosen.loss,
    )
