"""How a pipeline hears a verdict: the exit code of a command that judges a release."""

from collections.abc import Mapping

from tabveil.auditing.verdict.judgment import State

WITHIN, ABOVE, INCONCLUSIVE = 0, 1, 3  # 2 is what programs say of a faulty command line

EXIT_CODES: Mapping[State, int] = {
    "within threshold": WITHIN,
    "above threshold": ABOVE,
    "inconclusive": INCONCLUSIVE,
}
