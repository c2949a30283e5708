"""A release policy: how much risk is accepted, for whom, and what must have been tested (the user's YAML).

>>> policy = read_policy({"recipient": "research group", "thresholds": {"inference": 0.02}})
>>> policy.thresholds.inference, policy.thresholds.linkability
(0.02, 0.05)
"""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from tabveil.core.estimate import CONFIDENCE
from tabveil.core.result import Labels
from tabveil.core.settings import yaml_files
from tabveil.core.settings.yaml_files import Strict

Risk = Literal["singling out", "linkability", "inference", "membership"]
RISKS: tuple[Risk, ...] = ("singling out", "linkability", "inference", "membership")
"""The three risks of WP29 and membership, in the order of a report."""

DEFAULT_THRESHOLD = 0.05
COMMON_THRESHOLDS = (0.09, 0.05)
"""What agencies accept of published clinical data, and the default: a report says the state at both."""

DEFAULT_COPIES = 0.001
"""The share of the release that may be copies of training rows, beyond those that chance explains."""

WHY_THE_DEFAULT = (
    "No law names a number. The nearest in use is 0.09, one in eleven: the largest chance of recognizing a "
    "person that the European Medicines Agency (Policy 0070) and Health Canada accept in published clinical "
    "data. tabveil judges the share of people for whom an attack succeeds because their data were trained "
    "on, so the default is stricter: 0.05, five people of a hundred. Set what fits your data and recipient."
)
REQUIRED = ("singling_out", "linkability", "inference", "membership_distance")
"""One attack for each risk: what must have run and answered before a release is called within threshold."""

ReleaseModel = Literal["public", "controlled", "internal"]
RELEASE_MODELS: Mapping[ReleaseModel, str] = {
    "public": "anybody may take the release, and nothing can be called back",
    "controlled": "known recipients, under a contract or in a place that the controller watches",
    "internal": "people of the same organization only",
}
"""To whom a release goes, and what each means."""

Sensitivity = Literal["low", "medium", "high"]
SENSITIVITIES: tuple[Sensitivity, ...] = ("low", "medium", "high")

Framework = Literal["wp29", "edpb", "ico", "iso27559", "nist", "ehds", "pdpc", "ipc"]
"""Whose expectations the legal part of a report goes through."""

Threshold = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Words = Annotated[str, Field(max_length=500), AfterValidator(lambda text: " ".join(text.split()))]


Listed = Annotated[tuple[Words, ...], Field(max_length=50)]


def _each_once(frameworks: tuple[Framework, ...]) -> tuple[Framework, ...]:
    return tuple(dict.fromkeys(frameworks))


class Thresholds(Strict):
    """The largest gain that is accepted, as a share of people: no attack's upper bound may lie above it."""

    singling_out: Threshold = DEFAULT_THRESHOLD
    linkability: Threshold = DEFAULT_THRESHOLD
    inference: Threshold = DEFAULT_THRESHOLD
    membership: Threshold = DEFAULT_THRESHOLD

    def of(self, risk: Risk) -> float:
        """Return the threshold of one risk."""
        return float(getattr(self, risk.replace(" ", "_")))


class Intruder(Strict):
    """Who may try to find people in the release, as the controller expects them, and what was tried."""

    who: Words = ""
    skills: Words = ""
    sources: Listed = ()


class Policy(Strict):
    """What the controller decided before the audit. What is left out takes its stated default.

    Fields of words and choices are printed on the part to sign; no number of a report depends on them.
    """

    recipient: Words = ""
    context: Words = ""
    purpose: Words = ""
    release_model: ReleaseModel | None = None
    sensitivity: Sensitivity | None = None
    generator: Words = ""
    generator_version: Words = ""
    earlier_releases: Listed = ()
    review_date: dt.date | None = None
    responsible: Words = ""
    second_signatory: Words = ""
    frameworks: Annotated[tuple[Framework, ...], AfterValidator(_each_once)] = ("wp29",)
    intruder: Intruder = Intruder()
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = CONFIDENCE
    thresholds: Thresholds = Thresholds()
    copies: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = DEFAULT_COPIES
    required: tuple[str, ...] = REQUIRED

    def with_threshold(self, threshold: float) -> Self:
        """Return the policy with one threshold for all risks."""
        everywhere = {risk.replace(" ", "_"): threshold for risk in RISKS}
        return self.model_copy(update={"thresholds": Thresholds(**everywhere)})

    @property
    def judges_by_default(self) -> bool:
        """Whether everything that a verdict rests on has its default."""
        usual = Policy()
        return all(getattr(self, name) == getattr(usual, name) for name in JUDGED)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, as it could stand in a policy file."""
        return self.model_dump(mode="json")


JUDGED = ("confidence", "thresholds", "copies", "required")
"""The fields that a verdict rests on."""


def read_policy(source: str | Path | Mapping[str, Any] | Policy | None) -> Policy:
    """Read a policy from a file or a mapping; None takes every default."""
    return yaml_files.read(source, Policy, "policy")


def risk_of(labels: Labels) -> Risk | None:
    """Say which risk a metric is evidence for; indicators and properties are evidence for none."""
    if labels.pillar != "attack":
        return None
    return "membership" if labels.wp29 == "propensity" else labels.wp29
