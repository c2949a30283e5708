"""Attacks: what an intruder who holds only the release can do with it."""

from tabveil.attacks.contrastive.inference import InferenceContrastive
from tabveil.attacks.contrastive.linkability import LinkabilityContrastive
from tabveil.attacks.contrastive.membership import MembershipContrastive
from tabveil.attacks.contrastive.singling_out import SinglingOutContrastive
from tabveil.attacks.domias.flow import DomiasFlow
from tabveil.attacks.domias.kde import DomiasKde
from tabveil.attacks.gtcap.attack import Attribution
from tabveil.attacks.inference import Inference
from tabveil.attacks.linkability import Linkability
from tabveil.attacks.membership import MembershipDistance
from tabveil.attacks.membership_calibrated import MembershipCalibrated
from tabveil.attacks.membership_influence import MembershipInfluence
from tabveil.attacks.membership_ratio import MembershipRatio
from tabveil.attacks.membership_trees import MembershipTrees
from tabveil.attacks.ml_inference.attack import MLInference
from tabveil.attacks.neighbor_vote.attack import NeighborVote
from tabveil.attacks.singling_out.attack import SinglingOut
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
