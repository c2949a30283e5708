"""Which configurations are worth a look, and which one to take under a policy."""

from collections.abc import Mapping, Sequence

from tabveil.auditing.verdict.policy import Policy, Risk
from tabveil.workflows.tuning.findings import Choice, Tried
from tabveil.workflows.tuning.objectives import Score


def front(tried: Sequence[Tried]) -> tuple[int, ...]:
    """Return the numbers of those that no other beats: as good in both, and better in one.

    They come in the order of their risk, the least first.
    """
    known = [(item.score.privacy, item.score.loss, item.number) for item in tried if item.score is not None]
    kept = [
        item
        for item in known
        if not any(other[0] <= item[0] and other[1] <= item[1] and other[:2] != item[:2] for other in known)
    ]
    return tuple(number for *_, number in sorted(kept))


def is_within(score: Score, risks: Mapping[str, Risk], policy: Policy) -> bool:
    """Tell whether no attack's upper end lies above its threshold.

    An attack that is no better than its baseline cannot object, so each risk needs one that is.
    """
    below = all(score.risks[label].high <= policy.thresholds.of(risk) for label, risk in risks.items())
    tested = {risk for label, risk in risks.items() if score.informative[label]}
    return below and tested == set(risks.values())


def choose(tried: Sequence[Tried], risks: Mapping[str, Risk], policy: Policy) -> Choice | None:
    """Return what to take: of those within the policy, the one that loses least.

    If none is, it is the one whose largest upper end is the smallest part of its threshold. Of equals the one
    with less risk, or less loss, is taken, then the first. None where no configuration has numbers.
    """
    known = [(item, item.score) for item in tried if item.score is not None]
    within = [(score.loss, score.privacy, item.number) for item, score in known if item.within]
    if within:
        return Choice(number=min(within)[-1], within=True)
    nearest = [(_share(score, risks, policy), score.loss, item.number) for item, score in known]
    return Choice(number=min(nearest)[-1], within=False) if nearest else None


def _share(score: Score, risks: Mapping[str, Risk], policy: Policy) -> float:
    """Return the largest upper end of an attack as a part of its threshold."""
    return max(score.risks[label].high / policy.thresholds.of(risk) for label, risk in risks.items())
