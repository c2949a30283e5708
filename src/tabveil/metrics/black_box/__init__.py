"""Somebody who owns the generator: fit it again and again, with a person and without.

See docs/definitions.md, Black box.
"""

from tabveil.metrics.black_box.games import Game, InferenceGame, MembershipGame
from tabveil.metrics.black_box.judging import judge_inference, judge_membership
from tabveil.metrics.black_box.pool import Pool, Targets
from tabveil.metrics.black_box.result import Attacked, ShadowResult

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
