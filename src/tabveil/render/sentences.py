"""One plain sentence for every result: what was counted, against what, and what risk follows.

What ``attack``, ``control`` and ``baseline`` are differs from metric to metric, so each has its own sentence;
a metric that is not known here gets a general one that claims no more than that there are scores.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tabveil.render.wording import NOT_COMPUTED, base, interval, level, name, number, percent, plural
from tabveil.result import Result

UNSEEN = "people the generator never saw"
SCALE = "0 = like fresh data, 1 = the worst case"

_LEVEL = re.compile(r", (\d+(?:\.\d+)?)% most confident$")
_AREA = ", 2·AUC − 1"
_RADIUS = re.compile(r", radius ([0-9.e+-]+)$")


def sentence(result: Result) -> str:
    """Say what the metric counted on the training side and what stands beside it."""
    if result.attack is None and base(result.metric) != "mmd":
        return "No score was measured."
    return _SENTENCES.get(base(result.metric), _general)(result)


def risk_sentence(result: Result, confidence: float) -> str:
    """Say the risk with its interval and its scale."""
    if result.risk is None:
        return f"Risk: {NOT_COMPUTED}; {why_no_risk(result)}."
    return (
        f"Risk {number(result.risk.value)} ({SCALE}; {level(confidence)} interval {interval(result.risk)})."
    )


def why_no_risk(result: Result) -> str:
    """Say why no risk was derived, where the result itself tells."""
    if result.control is None:
        return "nothing tells how the attack does on people the generator never saw"
    return "people the generator never saw fare as badly as could be, so there is no room for a risk"


def _configuration(result: Result) -> str:
    return str(result.details.get("configuration") or "")


def _facts(result: Result) -> Mapping[str, Any]:
    """Return what was counted in the configuration that leads."""
    configurations = result.details.get("configurations")
    found = configurations.get(_configuration(result)) if isinstance(configurations, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def split_level(configuration: str) -> tuple[str, str | None]:
    """Take the careful attacker's level off the name of a configuration.

    >>> split_level("age, 1.0% most confident"), split_level("age")
    (('age', '1'), ('age', None))
    """
    found = _LEVEL.search(configuration)
    if found is None:
        return configuration, None
    return configuration[: found.start()], f"{float(found.group(1)):g}"


def split_radius(configuration: str) -> str:
    """Take the radius off the name of a configuration.

    >>> split_radius("income, radius 0.02")
    'income'
    """
    return _RADIUS.sub("", configuration)


def _sure(share: str | None) -> str:
    return "" if share is None else f"Counting only guesses as sure as the surest {share}% about {UNSEEN}: "


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]


def _of(side: str, result: Result, who: str) -> str:
    """Write how many people of one side the attack succeeded on, by count where there is one."""
    facts = _facts(result)
    successes, among = facts.get(f"successes_{side}"), facts.get(f"n_{side}")
    if isinstance(successes, (int, float)) and isinstance(among, int) and among > 0:
        return f"{round(successes):,} of {among:,} {who} ({percent(round(successes) / among)})"
    estimate = result.attack if side == "train" else result.control
    return f"{percent(estimate.value)} of {who}" if estimate else f"an unknown share of {who}"


def _both_sides(result: Result) -> str:
    train = _of("train", result, "training people")
    return f"{train} and {_of('control', result, UNSEEN)}" if result.control else train


def _naive(result: Result) -> str:
    """Say how often a guesser without the release is right: counted, where the sides are counted, too."""
    if result.baseline is None:
        return ""
    counted = _facts(result).get("naive")
    rate = counted if isinstance(counted, (int, float)) else result.baseline.value
    return f" Guessing without the release would do so for {percent(rate)}."


def _singling_out(result: Result) -> str:
    facts = _facts(result)
    guesses, worth = facts.get("guesses"), facts.get("independent_guesses")
    made = "Of the descriptions read off the release"
    if isinstance(guesses, int) and guesses:
        made = f"Of {plural(guesses, 'description')} read off the release"
        if isinstance(worth, int) and 0 < worth < guesses:
            made += f" (worth {worth:,} independent ones)"
    attack = percent(result.attack.value) if result.attack else NOT_COMPUTED
    text = f"{made}, {attack} fit exactly one training person"
    if result.control is not None:
        text += f", and {percent(result.control.value)} fit exactly one of the {UNSEEN}"
    if any("differ in size" in note for note in result.notes):
        text += "; both are adjusted to tables of equal size"
    if result.baseline is not None:
        text += f". Descriptions made up without the release: {percent(result.baseline.value)}"
    return f"{text}."


def _linkability(result: Result) -> str:
    columns, share = split_level(_configuration(result))
    text = f"{_sure(share)}two parts of a person's data are matched for {_both_sides(result)}"
    setting = f" (columns split as: {name(columns)})" if columns else ""
    return f"{_begin(text)}{setting}.{_naive(result)}"


def _guessed(result: Result) -> str:
    """Inference of one secret: labels, and numbers that are near enough."""
    secret, share = split_level(_configuration(result))
    what = f"the value of “{name(secret)}”" if secret else "the unknown value"
    return f"{_begin(f'{_sure(share)}{what} is guessed right for {_both_sides(result)}')}.{_naive(result)}"


def _learned(result: Result) -> str:
    """Inference by a model: labels are right or wrong, numbers are off by a share of their range."""
    if "successes_train" in _facts(result) or result.attack is None:
        return _guessed(result)
    secret = name(_configuration(result))
    text = f"Guesses of “{secret}” are typically off by {percent(1 - result.attack.value)} of its range"
    text += " for training people"
    if result.control is not None:
        text += f" and by {percent(1 - result.control.value)} for {UNSEEN}"
    if result.baseline is not None:
        text += f"; always naming the mean is off by {percent(1 - result.baseline.value)}"
    return f"{text} (root mean square)."


def _voted(result: Result) -> str:
    _, share = split_level(_configuration(result))
    attack = percent(result.attack.value) if result.attack else NOT_COMPUTED
    text = f"{_sure(share)}{attack} of the unknown facts about training people are filled in right"
    if result.control is not None:
        text += f", and {percent(result.control.value)} of those about {UNSEEN}"
    if result.baseline is not None:
        text += f"; without the release {percent(result.baseline.value)}"
    return f"{_begin(text)}. Columns in which people differ more count more."


def _claimed(result: Result) -> str:
    configuration = _configuration(result)
    target = name(split_radius(configuration))
    claims = _facts(result).get("claims_kept")
    count = plural(claims, "claim") if isinstance(claims, int) else "claims"
    text = f"The release makes {count} of the kind “people with these data have this {target}”. Among the"
    text += f" training people whom a claim fits it is true of {_share(result.attack)} on average"
    if result.control is not None:
        text += f", among {UNSEEN} of {_share(result.control)}"
    if result.baseline is not None:
        text += f"; always claiming the most usual value is true of {_share(result.baseline)}"
    return f"{text}. A claim that fits nobody counts as 0%."


def _value(estimate: Any) -> str:  # noqa: ANN401 - an estimate or None
    return number(None if estimate is None else estimate.value)


def _membership(result: Result) -> str:
    configuration = _configuration(result)
    if configuration.endswith(_AREA) and result.attack is not None:
        return (
            "Shown one training person and one of the people the generator never saw, the attack tells which "
            f"is which in {percent(result.attack.value)} of cases; a coin is right in 50%."
        )
    _, share = split_level(configuration)
    if share is None:
        return _general(result)
    return (
        f"An attacker who would take at most about {share}% of {UNSEEN} for members names "
        f"{_both_sides(result)}. Equal shares would mean that membership does not show."
    )


def _identical(result: Result) -> str:
    found = result.details.get("matches_in_train")
    verb = "equals" if found == 1 else "equal"
    text = f"{plural(found, 'synthetic row')} {verb} a training row" if isinstance(found, int) else ""
    share = f"{_share(result.attack)} of synthetic rows equal a training row"
    text = f"{text}. At equal table sizes, {share}" if text else _begin(share)
    if result.control is not None:
        text += f", and {_share(result.control)} equal a row the generator never saw"
    return f"{text}."


def _share(estimate: Any) -> str:  # noqa: ANN401 - an estimate or None
    return percent(None if estimate is None else estimate.value)


def _close(result: Result) -> str:
    turned = result.params.get("direction") == "real_to_synthetic"
    which, to = ("training rows", "a synthetic row") if turned else ("synthetic rows", "a training row")
    alpha, k = result.params.get("alpha"), result.details.get("n_neighbors")
    bar = f"the closest {level(alpha)} of fresh rows" if isinstance(alpha, float) else "few fresh rows"
    by = f", by the mean distance to the {k} nearest" if isinstance(k, int) and k > 1 else ""
    return (
        f"{_share(result.attack)} of {which} and {_share(result.control)} of fresh real rows lie very close "
        f"to {to}: as close as {bar} come{by}."
    )


def _nearer(result: Result) -> str:
    return (
        f"{_share(result.attack)} of synthetic rows are nearer to a training row than to a row the generator "
        "never saw; chance alone gives 50%."
    )


def _ratio(result: Result) -> str:
    return (
        "The distance to the nearest record, divided by that to the second nearest, is "
        f"{_value(result.attack)} on average among training records and {_value(result.control)} among "
        "records never seen. Near 0 a synthetic row points at one record, near 1 at none in particular."
    )


def _entangled(result: Result) -> str:
    return (
        f"Neighbors tell synthetic rows from training rows with accuracy {_value(result.attack)}, from rows "
        f"never seen with {_value(result.control)}. 0.5: not to be told apart; 0: every row has its copy."
    )


def _discrepant(result: Result) -> str:
    near, far = (result.details.get(f"mmd2_synthetic_{side}") for side in ("train", "control"))
    if not isinstance(near, (int, float)) or not isinstance(far, (int, float)):
        return _general(result)
    return (
        f"The release differs from the training rows by {near:.3g} (MMD², 0 = same distribution) and from "
        f"rows never seen by {far:.3g}. If it had been copied from train, the first would be 0."
    )


def _general(result: Result) -> str:
    text = f"The metric scores {_value(result.attack)} with the training rows"
    if result.control is not None:
        text += f" and {_value(result.control)} with rows the generator never saw"
    if result.baseline is not None:
        text += f"; without the release {_value(result.baseline)}"
    return f"{text}."


_SENTENCES: Mapping[str, Callable[[Result], str]] = {
    "singling_out": _singling_out,
    "linkability": _linkability,
    "inference": _guessed,
    "ml_inference": _learned,
    "neighbor_vote": _voted,
    "gtcap": _claimed,
    "membership_distance": _membership,
    "domias_kde": _membership,
    "domias_flow": _membership,
    "identical_match_share": _identical,
    "distance_to_closest": _close,
    "closest_share": _nearer,
    "nearest_neighbors": _close,
    "neighbor_distance_ratio": _ratio,
    "adversarial_accuracy": _entangled,
    "mmd": _discrepant,
}
