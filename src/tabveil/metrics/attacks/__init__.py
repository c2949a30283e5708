"""Attacks: what an intruder who holds only the release can do with it."""

from tabveil.metrics.attacks.calibrated import MembershipCalibrated, MembershipContrastive
from tabveil.metrics.attacks.domias.density_ratios import DomiasFlow, DomiasKde
from tabveil.metrics.attacks.gtcap.attribution import Attribution
from tabveil.metrics.attacks.inference import Inference, InferenceContrastive
from tabveil.metrics.attacks.linkability import Linkability, LinkabilityContrastive
from tabveil.metrics.attacks.membership import MembershipDistance
from tabveil.metrics.attacks.membership_sampled import MembershipInfluence, MembershipRatio, MembershipTrees
from tabveil.metrics.attacks.membership_views import MembershipViews
from tabveil.metrics.attacks.ml_inference import MLInference
from tabveil.metrics.attacks.neighbor_vote import NeighborVote
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOut, SinglingOutContrastive
from tabveil.protocols import Metric

ATTACKS: tuple[type[Metric], ...] = (
    SinglingOut,
    SinglingOutContrastive,
    Linkability,
    LinkabilityContrastive,
    Inference,
    InferenceContrastive,
    MLInference,
    NeighborVote,
    Attribution,
    MembershipDistance,
    MembershipCalibrated,
    MembershipRatio,
    MembershipTrees,
    MembershipInfluence,
    MembershipContrastive,
    MembershipViews,
    DomiasKde,
    DomiasFlow,
)
"""Every attack, in the order of a report."""

__all__ = [
    "ATTACKS",
    "Attribution",
    "DomiasFlow",
    "DomiasKde",
    "Inference",
    "InferenceContrastive",
    "Linkability",
    "LinkabilityContrastive",
    "MLInference",
    "MembershipCalibrated",
    "MembershipContrastive",
    "MembershipDistance",
    "MembershipInfluence",
    "MembershipRatio",
    "MembershipTrees",
    "MembershipViews",
    "NeighborVote",
    "SinglingOut",
    "SinglingOutContrastive",
]
