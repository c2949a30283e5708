"""Somebody who owns the generator: fit it again and again, with a person and without.

See docs/definitions.md, Black box.
"""

from tabveil.metrics.black_box.games import Game, InferenceGame, MembershipGame, Pool, Targets
from tabveil.metrics.black_box.judging import Attacked, ShadowResult, judge_inference, judge_membership

__all__ = [
    "Attacked",
    "Game",
    "InferenceGame",
    "MembershipGame",
    "Pool",
    "ShadowResult",
    "Targets",
    "judge_inference",
    "judge_membership",
]
