"""Audit, benchmark and synthesize tables about people.

>>> import tabveil
>>> train, fresh, control = (tabveil.datasets.hospital(200, seed=seed) for seed in (1, 2, 3))
>>> report = tabveil.audit(train, fresh, control, metrics=["identical_match_share"])
>>> report["identical_match_share"].risk.low < 0.01
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tabveil.version import __version__

if TYPE_CHECKING:
    from tabveil import datasets, errors
    from tabveil.auditing.audit import audit
    from tabveil.auditing.report import Report
    from tabveil.core.result import Result
    from tabveil.errors import TabveilError
    from tabveil.metrics.black_box import ShadowResult
    from tabveil.metrics.outlying import Outliers, Vulnerable, outliers, vulnerable
    from tabveil.render.audit.bundle import bundle
    from tabveil.render.audit.page import page as html_page
    from tabveil.render.comparison.side_by_side import compare
    from tabveil.synthesis.generators import load_model
    from tabveil.tables.holdout import split
    from tabveil.tables.reading import load_split
    from tabveil.workflows.anonymizing import Anonymized, anonymize, hierarchies, quasi_identifiers
    from tabveil.workflows.black_box import attack
    from tabveil.workflows.epsilon import audit_epsilon
    from tabveil.workflows.perturbing import Perturbed, perturb
    from tabveil.workflows.pipeline import PipelineReport
    from tabveil.workflows.pipeline import run_pipeline as pipeline
    from tabveil.workflows.pseudonyms import Pseudonymized, pseudonymize
    from tabveil.workflows.steps import Deduplicated, FilteredRelease, deduplicate
    from tabveil.workflows.steps import filter_release as filter  # noqa: A004 - as the command is called
    from tabveil.workflows.synthesizing import sample, synthesize
    from tabveil.workflows.tuning import tune

__all__ = [
    "Anonymized",
    "Deduplicated",
    "FilteredRelease",
    "Outliers",
    "Perturbed",
    "PipelineReport",
    "Pseudonymized",
    "Report",
    "Result",
    "ShadowResult",
    "TabveilError",
    "Vulnerable",
    "__version__",
    "anonymize",
    "attack",
    "audit",
    "audit_epsilon",
    "bundle",
    "compare",
    "datasets",
    "deduplicate",
    "errors",
    "filter",
    "hierarchies",
    "html_page",
    "load_model",
    "load_split",
    "outliers",
    "perturb",
    "pipeline",
    "pseudonymize",
    "quasi_identifiers",
    "sample",
    "split",
    "synthesize",
    "tune",
    "vulnerable",
]

# Loaded when first asked for, so that `tabveil --help` does not wait for pandas and the compiler.
_HOMES = {
    "Deduplicated": ("tabveil.workflows.steps", "Deduplicated"),
    "FilteredRelease": ("tabveil.workflows.steps", "FilteredRelease"),
    "Outliers": ("tabveil.metrics.outlying", "Outliers"),
    "Perturbed": ("tabveil.workflows.perturbing", "Perturbed"),
    "PipelineReport": ("tabveil.workflows.pipeline", "PipelineReport"),
    "Pseudonymized": ("tabveil.workflows.pseudonyms", "Pseudonymized"),
    "Report": ("tabveil.auditing.report", "Report"),
    "Result": ("tabveil.core.result", "Result"),
    "ShadowResult": ("tabveil.metrics.black_box", "ShadowResult"),
    "TabveilError": ("tabveil.errors", "TabveilError"),
    "Vulnerable": ("tabveil.metrics.outlying", "Vulnerable"),
    "Anonymized": ("tabveil.workflows.anonymizing", "Anonymized"),
    "anonymize": ("tabveil.workflows.anonymizing", "anonymize"),
    "bundle": ("tabveil.render.audit.bundle", "bundle"),
    "audit_epsilon": ("tabveil.workflows.epsilon", "audit_epsilon"),
    "hierarchies": ("tabveil.workflows.anonymizing", "hierarchies"),
    "quasi_identifiers": ("tabveil.workflows.anonymizing", "quasi_identifiers"),
    "tune": ("tabveil.workflows.tuning", "tune"),
    "attack": ("tabveil.workflows.black_box", "attack"),
    "audit": ("tabveil.auditing.audit", "audit"),
    "compare": ("tabveil.render.comparison.side_by_side", "compare"),
    "deduplicate": ("tabveil.workflows.steps", "deduplicate"),
    "filter": ("tabveil.workflows.steps", "filter_release"),
    "html_page": ("tabveil.render.audit.page", "page"),
    "load_model": ("tabveil.synthesis.generators", "load_model"),
    "load_split": ("tabveil.tables.reading", "load_split"),
    "outliers": ("tabveil.metrics.outlying", "outliers"),
    "perturb": ("tabveil.workflows.perturbing", "perturb"),
    "pipeline_page": ("tabveil.render.pipeline.page", "page"),
    "pipeline": ("tabveil.workflows.pipeline", "run_pipeline"),
    "pseudonymize": ("tabveil.workflows.pseudonyms", "pseudonymize"),
    "sample": ("tabveil.workflows.synthesizing", "sample"),
    "split": ("tabveil.tables.holdout", "split"),
    "synthesize": ("tabveil.workflows.synthesizing", "synthesize"),
    "vulnerable": ("tabveil.metrics.outlying", "vulnerable"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    if name in __all__:
        return import_module(f"tabveil.{name}")
    raise AttributeError(f"module 'tabveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
