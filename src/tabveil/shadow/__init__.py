"""Somebody who owns the generator: fit it again and again, with a person and without (SPEC 3, black box)."""

from tabveil.shadow.games import Game, InferenceGame, MembershipGame
from tabveil.shadow.judging import judge_inference, judge_membership
from tabveil.shadow.pool import Pool
from tabveil.shadow.result import Attacked, ShadowResult
from tabveil.shadow.targets import Targets

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
