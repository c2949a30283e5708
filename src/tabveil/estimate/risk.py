"""How far does an attack go from the control's score to the worst case? One risk, three intervals.

The value is always ``(attack - control) / (worst - control)``. Which interval is right depends on what the
two scores are: counts of right guesses (:func:`risk_between`), means of scores with bounds of their own
(:func:`risk_toward`), or anything against a control that is known (:func:`excess`).
"""

import math

from tabveil.estimate.rates import Estimate

NEVER = 1e-12  # a failure rate that only rounding tells from zero


def excess(attack: Estimate, control: Estimate, worst: float = 1.0) -> Estimate | None:
    """How much of the way from the control's score to the worst case does the attack go?

    ``(attack - control) / (worst - control)``, errors propagated from both sides by the derivatives, as
    Anonymeter does (Giomi et al. 2023). None where the control is already at the worst case, so that nothing
    is left to measure. Right where the control is given (a coin) or the risk is small; where both sides are
    estimated and control is near the worst case, the derivatives say too little (:func:`risk_between`).

    >>> from tabveil.estimate import wilson
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


def risk_between(attack: Estimate, control: Estimate) -> Estimate:
    """How much of the way from the control's rate to certain success does the attack go?

    ``(attack - control) / (1 - control)``, that is 1 less the ratio of the two failure rates, in the interval
    that Fieller's theorem gives a ratio whose two rates lie in symmetric intervals such as Wilson's (MOVER-R;
    Donner and Zou 2012). It is above zero exactly when the difference of the rates is. Errors propagated by
    derivatives are far too small where control seldom fails, as with a secret that is easily guessed: with
    4,000 train and 1,000 control rows guessed right in 97 % they raise several times the false alarms meant.

    >>> from tabveil.estimate import wilson
    >>> risk = risk_between(wilson(300, 1000), wilson(100, 1000))
    >>> round(risk.low, 3), round(risk.value, 3), round(risk.high, 3)
    (0.186, 0.222, 0.257)
    """
    failed, control_failed = 1 - attack.value, 1 - control.value
    ends = (1 - attack.high) * (1 - attack.low)
    control_ends = (1 - control.high) * (1 - control.low)
    value = 1 - failed / control_failed
    if 1 - control.high < NEVER:  # the ratio has no bound: take the difference, by the room there was
        half = math.hypot(attack.high - attack.value, control.high - control.value) / control_failed
        return Estimate(value=value, low=value - half, high=value + half, n=attack.n)
    middle = failed * control_failed
    half = math.sqrt(max(middle**2 - ends * control_ends, 0.0))
    return Estimate(
        value=value,
        low=1 - (middle + half) / control_ends,
        high=1 - (middle - half) / control_ends,
        n=attack.n,
    )


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
    moves the difference (Newcombe 1998, method 10; MOVER).
    """
    below = math.hypot(gained.value - gained.low, lost.high - lost.value) / room
    above = math.hypot(gained.high - gained.value, lost.value - lost.low) / room
    return Estimate(value=value, low=value - below, high=value + above, n=gained.n)
