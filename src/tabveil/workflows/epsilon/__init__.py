"""Does a generator keep the ε it states? Lower bounds from fits with and without a row."""

from tabveil.core.estimate.one_run import CanaryGuesses
from tabveil.workflows.epsilon.auditing import EpsilonFinding, audit_epsilon
from tabveil.workflows.epsilon.bounds import audit_in_one_run, tell_canaries, tell_split
from tabveil.workflows.epsilon.worlds import Setup, Worlds, equal_rows

__all__ = [
    "CanaryGuesses",
    "EpsilonFinding",
    "Setup",
    "Worlds",
    "audit_epsilon",
    "audit_in_one_run",
    "equal_rows",
    "tell_canaries",
    "tell_split",
]
