"""A policy file to edit: every field explained, thresholds with their sources, for a model of release.

What others accept is a probability, what is judged here is a gain, and a reader who takes one number for the
other is misled by either. So a file says both, and how they differ.
"""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from tabveil.auditing.policy import (
    RELEASE_MODELS,
    RISKS,
    SENSITIVITIES,
    WHY_THE_DEFAULT,
    Framework,
    Policy,
    ReleaseModel,
    Sensitivity,
    Thresholds,
)
from tabveil.core.settings import yaml_files

BY_SENSITIVITY: Mapping[Sensitivity, float] = {"low": 0.09, "medium": 0.075, "high": 0.05}
"""What the guidelines of the IPC Ontario accept, by how far a disclosure would invade people's privacy."""

SOURCES: Mapping[str, str] = {
    "0.09": (
        "European Medicines Agency, Policy 0070, and Health Canada, Public Release of Clinical Information: "
        "what both recommend in most cases for clinical data that anybody may read. It stands for groups of "
        "11 people who look alike (1 / 11). Read in summaries."
    ),
    "0.09, 0.075, 0.05": (
        "Information and Privacy Commissioner of Ontario, De-identification Guidelines for Structured Data "
        "(2025): for a low, medium and high invasion of privacy, about groups of 11, 15 and 20 people. Read "
        "in summaries."
    ),
}
"""Thresholds in use, and who uses them."""

HOW_OURS_DIFFER = (
    "Theirs is a probability: how likely it is that a record is recognized as a certain person's, where at "
    "least k people look alike (1 / k). Ours is a gain: of all people trained on, the share for whom an "
    "attack succeeds because their data were trained on, beyond those for whom it succeeds anyway. The two "
    "are not the same number. A gain of 0.05 may be 5 people of 100 who are recognized with certainty, which "
    "a rule of groups of 20 does not allow; and a gain of 0 does not say that groups are large, only that "
    "the release tells no more about people trained on than about others. The numbers are taken over as an "
    "order of size. Where theirs must be met as it is meant, measure it, too: k with 'tabveil audit "
    "--quasi-identifiers'."
)
CONTROLS_DO_NOT_CHANGE_IT = (
    "For a release that is not public, the guidelines of Ontario also count how likely it is that somebody "
    "tries. A gain is measured with an attack that is tried, and no contract makes it smaller: thresholds "
    "here follow sensitivity alone, whatever the model of release."
)
_FOR_MODEL: Mapping[ReleaseModel, Mapping[str, Any]] = {
    "public": {
        "recipient": "anybody",
        "context": "published, without conditions",
        "frameworks": ("wp29", "edpb", "ico", "iso27559"),
        "intruder": ("anybody with an interest in one person or in the newspaper story", "none assumed"),
    },
    "controlled": {
        "recipient": "name those who will hold it",
        "context": "name the contract, the place, who may enter it, and that nothing is handed on",
        "frameworks": ("wp29", "iso27559"),
        "intruder": ("somebody at the recipient's who breaks the contract", "those of an analyst"),
    },
    "internal": {
        "recipient": "name the teams",
        "context": "name who may read it, and what else these people can read",
        "frameworks": ("wp29", "iso27559"),
        "intruder": ("a colleague who can read other tables about the same people", "those of an analyst"),
    },
}
_WIDTH = 100


def template(model: ReleaseModel | None = None, sensitivity: Sensitivity | None = None) -> str:
    """Return a policy file in which every field is written out and explained.

    Without a model of release every field has its default. With one, thresholds follow the sensitivity, which
    is high where nobody says otherwise, and what must be filled in stands beside its field as a remark.

    >>> import yaml
    >>> Policy(**yaml.safe_load(template())) == Policy()
    True
    >>> public = Policy(**yaml.safe_load(template("public", "medium")))
    >>> public.thresholds.membership, public.release_model, public.recipient
    (0.075, 'public', '')
    """
    policy = Policy() if model is None else _policy_for(model, sensitivity or "high")
    return "\n".join(_lines(policy, {} if model is None else _FOR_MODEL[model])) + "\n"


def _policy_for(model: ReleaseModel, sensitivity: Sensitivity) -> Policy:
    threshold = BY_SENSITIVITY[sensitivity]
    frameworks: tuple[Framework, ...] = _FOR_MODEL[model]["frameworks"]
    return Policy(
        release_model=model,
        sensitivity=sensitivity,
        thresholds=Thresholds(**{risk.replace(" ", "_"): threshold for risk in RISKS}),
        frameworks=frameworks,
    )


def _lines(policy: Policy, hints: Mapping[str, Any]) -> Iterator[str]:
    for part in (_head(), _release(policy, hints), _people(), _legal(policy, hints), _judged(policy)):
        yield from part


def _head() -> Iterator[str]:
    yield _remark("A release policy for 'tabveil audit --policy'. What is left out takes its default.")
    yield ""


def _release(policy: Policy, hints: Mapping[str, Any]) -> Iterator[str]:
    yield _remark("What is released, to whom, and why. All of this is printed on the part to sign.")
    yield from (_field(name, "", hints.get(name)) for name in ("recipient", "context", "purpose"))
    yield _remark(f"To whom: {'; '.join(f'{name} ({told})' for name, told in RELEASE_MODELS.items())}.")
    yield _field("release_model", policy.release_model)
    yield _remark(f"How much a disclosure would harm people: {', '.join(SENSITIVITIES)}.")
    yield _field("sensitivity", policy.sensitivity)
    yield _remark("What made the release, and which version of it, with its settings if they matter.")
    yield from (_field(name, "") for name in ("generator", "generator_version"))
    yield _remark("Other releases made from the same people, also the same table in an earlier year.")
    yield "earlier_releases: []"
    yield ""


def _people() -> Iterator[str]:
    yield _remark("Who answers for the release, who signs beside them, and when this is looked at again.")
    yield from (_field(name, "") for name in ("responsible", "second_signatory"))
    yield "review_date: null  # such as 2027-03-01"
    yield ""


def _legal(policy: Policy, hints: Mapping[str, Any]) -> Iterator[str]:
    yield _remark(
        "Whose expectations the legal part of the report goes through: wp29 (with recital 26 of the GDPR), "
        "edpb, ico, iso27559, nist (SP 800-226), ehds, pdpc (Singapore), ipc (Ontario)."
    )
    yield f"frameworks: [{', '.join(policy.frameworks)}]"
    yield _remark("For 'ico': who might try, what they can, and which sources they or you have tried.")
    who, skills = hints.get("intruder", (None, None))
    yield "intruder:"
    yield f"  {_field('who', '', who)}"
    yield f"  {_field('skills', '', skills)}"
    yield "  sources: []"
    yield ""


def _judged(policy: Policy) -> Iterator[str]:
    yield _remark("The confidence of every interval. Verdicts are judged on their upper bounds.")
    yield f"confidence: {policy.confidence:g}"
    yield ""
    why = WHY_THE_DEFAULT
    if policy.release_model is not None:
        why = " ".join(f"{number}: {source}" for number, source in SOURCES.items())
    yield _remark(
        "The largest share of people that may be exposed because their data were trained on, from 0 "
        f"(nobody) to 1 (everyone). {why}"
    )
    if policy.release_model is not None:
        yield _remark(HOW_OURS_DIFFER)
        yield _remark(CONTROLS_DO_NOT_CHANGE_IT)
    yield "thresholds:"
    yield from (f"  {risk.replace(' ', '_')}: {policy.thresholds.of(risk):g}" for risk in RISKS)
    yield ""
    yield _remark(
        "The largest share of the release that may be copies of training rows, or nearly so, beyond "
        "what chance explains."
    )
    yield f"copies: {policy.copies:g}"
    yield ""
    yield _remark(
        "Attacks that must have run and answered before a release is called within threshold "
        "('tabveil metrics' lists all)."
    )
    yield f"required: [{', '.join(policy.required)}]"


def _field(name: str, value: str | None, hint: str | None = None) -> str:
    """Write a field; what could stand in it follows as a remark, so that nobody signs words of ours."""
    written = yaml_files.to_yaml({name: value}).strip()
    return f"{written}  # {hint}" if hint else written


def _remark(text: str) -> str:
    return "\n".join(f"# {line}" for line in wrap(text, _WIDTH))
