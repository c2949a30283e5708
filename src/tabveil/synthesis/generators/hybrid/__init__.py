"""The steps of a hybrid pipeline: generalize, sample, and the transition back to concrete values.

See docs/definitions.md, Hybrid pipeline.

Each can be used alone. The generator ``hybrid`` brings them together with any other generator.
"""

from tabveil.synthesis.generators.hybrid.domains import Domain
from tabveil.synthesis.generators.hybrid.promises import Sampling
from tabveil.synthesis.generators.hybrid.transitions import TRANSITIONS, read_transition
from tabveil.synthesis.generators.hybrid.way_back import GeneralizedRows, Transition, WayBack

__all__ = ["TRANSITIONS", "Domain", "GeneralizedRows", "Sampling", "Transition", "WayBack", "read_transition"]
