"""Attacks: what an intruder who holds only the release can do with it."""

from tabveil.metrics.attacks.contrastive.inference import InferenceContrastive
from tabveil.metrics.attacks.contrastive.linkability import LinkabilityContrastive
from tabveil.metrics.attacks.contrastive.membership import MembershipContrastive
from tabveil.metrics.attacks.contrastive.singling_out import SinglingOutContrastive
from tabveil.metrics.attacks.domias.flow import DomiasFlow
from tabveil.metrics.attacks.domias.kde import DomiasKde
from tabveil.metrics.attacks.gtcap.attack import Attribution
from tabveil.metrics.attacks.inference import Inference
from tabveil.metrics.attacks.linkability import Linkability
from tabveil.metrics.attacks.membership import MembershipDistance
from tabveil.metrics.attacks.membership_calibrated import MembershipCalibrated
from tabveil.metrics.attacks.membership_influence import MembershipInfluence
from tabveil.metrics.attacks.membership_ratio import MembershipRatio
from tabveil.metrics.attacks.membership_trees import MembershipTrees
from tabveil.metrics.attacks.ml_inference.attack import MLInference
from tabveil.metrics.attacks.neighbor_vote.attack import NeighborVote
from tabveil.metrics.attacks.singling_out.attack import SinglingOut
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
    "NeighborVote",
    "SinglingOut",
    "SinglingOutContrastive",
]
