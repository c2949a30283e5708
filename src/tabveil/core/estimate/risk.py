"""How far does an attack go from the control's score to the worst case? One risk, three intervals.

The value is always ``(attack - control) / (worst - control)``. Which interval is right depends on what the
two scores are: counts of right guesses (:func:`risk_between`), means of scores with bounds of their own
(:func:`risk_toward`), or anything against a control that is known (:func:`excess`).
"""

import math

from tabveil.core.estimate.difference import difference, exact_bounds
from tabveil.core.estimate.rates import CONFIDENCE, Estimate


def excess(attack: Estimate, control: Estimate, worst: float = 1.0) -> Estimate | None:
    """How much of the way from the control's score to the worst case does the attack go?

    ``(attack - control) / (worst - control)``, errors propagated from both sides by the derivatives, as
    Anonymeter does (Giomi et al. 2023). None where the control is already at the worst case, so that nothing
    is left to measure. Right where the control is given (a coin) or the risk is small; where both sides are
    estimated and control is near the worst case, the derivatives say too little (:func:`risk_between`).

    >>> from tabveil.core.estimate import wilson
    >>> round(excess(wilson(300, 1000), wilson(100, 1000)).value, 3)
    0.222
    """
    room = worst - control.value
    if room == 0:
        return None
    value = (attack.value - control.value) / room
    by_attack = 1 / room
    by_control = (attack.value - worst) / room**2
    below = math.hypot(
        _error(attack, upward=by_attack < 0) * by_attack, _error(control, upward=by_control < 0) * by_control
    )
    above = math.hypot(
        _error(attack, upward=by_attack > 0) * by_attack, _error(control, upward=by_control > 0) * by_control
    )
    return Estimate(value=value, low=value - below, high=value + above, n=attack.n)


def _error(estimate: Estimate, *, upward: bool) -> float:
    """Return the half of the interval on one side: bootstrap intervals are not symmetric."""
    return estimate.high - estimate.value if upward else estimate.value - estimate.low


def risk_between(
    successes: float, n: int, others: float, n_others: int, confidence: float = CONFIDENCE
) -> Estimate | None:
    """How much of the way from the control's rate to certain success does the attack go?

    ``(attack - control) / (1 - control)``, that is 1 less the ratio of the two failure rates, each in its
    exact bounds; the errors of a ratio's logarithm add in squares, each on the side where it moves the ratio
    (MOVER; Donner and Zou 2012). Never above 1, and above zero exactly when the :func:`difference` of the
    rates is. None where control never fails, so that nothing is left to measure.

    >>> risk = risk_between(300, 1000, 100, 1000)
    >>> round(risk.low, 3), round(risk.value, 3), round(risk.high, 3)
    (0.186, 0.222, 0.258)
    """
    failed, control_failed = 1 - successes / n, 1 - others / n_others
    if control_failed <= 0:
        return None
    low, high = exact_bounds(n - successes, n, confidence)
    control_low, control_high = exact_bounds(n_others - others, n_others, confidence)
    ratio = failed / control_failed
    if failed > 0:
        least = ratio * math.exp(-math.hypot(math.log(failed / low), math.log(control_high / control_failed)))
        most = ratio * math.exp(math.hypot(math.log(high / failed), math.log(control_failed / control_low)))
    else:
        least, most = 0.0, high / control_low
    gain = difference(successes, n, others, n_others, confidence)
    return Estimate(
        value=1 - ratio, low=_same_side(1 - most, gain.low), high=_same_side(1 - least, gain.high), n=n
    )


def _same_side(bound: float, gain: float) -> float:
    """Move a bound to zero where it says otherwise than the gain's: one cannot be without the other."""
    return bound if bound * gain > 0 else 0.0


def risk_toward(attack: Estimate, control: Estimate, worst: float = 1.0) -> Estimate | None:
    """How far does the attack go from the control's score to the worst one? None where that is no way at all.

    Errors are those at no risk, where both sides weigh alike. Propagated at the value itself, the control's
    would vanish as the attack nears the worst case, and a handful of guesses that happen to be right in train
    would pass for proof.
    """
    room = worst - control.value
    if room <= 0:
        return None
    return part_of_room((attack.value - control.value) / room, attack, control, room)


def part_of_room(value: float, gained: Estimate, lost: Estimate, room: float) -> Estimate:
    """Put bounds around what was gained less what was lost, as a part of the room there was.

    The errors of a difference of two independent estimates add in squares, each taken on the side where it
    moves the difference (Newcombe 1998, method 10; MOVER). Nothing exceeds all of the room.
    """
    below = math.hypot(gained.value - gained.low, lost.high - lost.value) / room
    above = math.hypot(gained.high - gained.value, lost.value - lost.low) / room
    return Estimate(value=value, low=value - below, high=min(value + above, max(value, 1.0)), n=gained.n)
