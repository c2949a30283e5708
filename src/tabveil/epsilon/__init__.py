"""Does a generator keep the ε it states? Lower bounds from fits with and without a row."""

from tabveil.epsilon.auditing import audit_epsilon
from tabveil.epsilon.finding import EpsilonFinding
from tabveil.epsilon.setups import Setup
from tabveil.epsilon.worlds import Worlds, equal_rows

__all__ = ["EpsilonFinding", "Setup", "Worlds", "audit_epsilon", "equal_rows"]
