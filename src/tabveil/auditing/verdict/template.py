"""A policy to edit: every key with its default and what it means."""

from textwrap import wrap

from tabveil.auditing.verdict.policy import RISKS, WHY_THE_DEFAULT, Policy

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
