"""A release policy: how much risk is accepted, for whom, and what must have been tested (the user's YAML).

>>> policy = read_policy({"recipient": "research group", "thresholds": {"inference": 0.02}})
>>> policy.thresholds.inference, policy.thresholds.linkability
(0.02, 0.05)
"""

from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
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

Threshold = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Words = Annotated[str, Field(max_length=500), AfterValidator(lambda text: " ".join(text.split()))]


class Thresholds(Strict):
    """The largest gain that is accepted, as a share of people: no attack's upper bound may lie above it."""

    singling_out: Threshold = DEFAULT_THRESHOLD
    linkability: Threshold = DEFAULT_THRESHOLD
    inference: Threshold = DEFAULT_THRESHOLD
    membership: Threshold = DEFAULT_THRESHOLD

    def of(self, risk: Risk) -> float:
        """Return the threshold of one risk."""
        return float(getattr(self, risk.replace(" ", "_")))


class Policy(Strict):
    """What the controller decided before the audit. What is left out takes its stated default."""

    recipient: Words = ""
    context: Words = ""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = CONFIDENCE
    thresholds: Thresholds = Thresholds()
    copies: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = DEFAULT_COPIES
    required: tuple[str, ...] = REQUIRED

    def with_threshold(self, threshold: float) -> Self:
        """Return the policy with one threshold for all risks."""
        everywhere = {risk.replace(" ", "_"): threshold for risk in RISKS}
        return self.model_copy(update={"thresholds": Thresholds(**everywhere)})

    def to_json(self) -> dict[str, Any]:
        """Return plain data, as it could stand in a policy file."""
        return self.model_dump(mode="json")


def read_policy(source: str | Path | Mapping[str, Any] | Policy | None) -> Policy:
    """Read a policy from a file or a mapping; None takes every default."""
    return yaml_files.read(source, Policy, "policy")


def risk_of(labels: Labels) -> Risk | None:
    """Say which risk a metric is evidence for; indicators and properties are evidence for none."""
    if labels.pillar != "attack":
        return None
    return "membership" if labels.wp29 == "propensity" else labels.wp29


_WIDTH = 100


def template() -> str:
    """Return a policy file in which every default is written out and explained.

    >>> import yaml
    >>> Policy(**yaml.safe_load(template())) == Policy()
    True
    """
    policy = Policy()
    thresholds = "\n".join(f"  {risk.replace(' ', '_')}: {policy.thresholds.of(risk):g}" for risk in RISKS)
    return "\n".join(
        [
            _remark("A release policy for 'tabveil audit --policy'. What is left out takes its default."),
            "",
            _remark("Who receives the release, and how. Both are printed on the report."),
            'recipient: ""',
            'context: ""',
            "",
            _remark("The confidence of every interval. Verdicts are judged on their upper bounds."),
            f"confidence: {policy.confidence:g}",
            "",
            _remark(
                "The largest share of people that may be exposed because their data were trained on, from 0 "
                f"(nobody) to 1 (everyone). {WHY_THE_DEFAULT}"
            ),
            "thresholds:",
            thresholds,
            "",
            _remark(
                "The largest share of the release that may be copies of training rows, or nearly so, beyond "
                "what chance explains."
            ),
            f"copies: {policy.copies:g}",
            "",
            _remark(
                "Attacks that must have run and answered before a release is called within threshold "
                "('tabveil metrics' lists all)."
            ),
            f"required: [{', '.join(policy.required)}]",
            "",
        ]
    )


def _remark(text: str) -> str:
    return "\n".join(f"# {line}" for line in wrap(text, _WIDTH))
