"""Audit, benchmark and synthesize tables about people.

>>> import tabveil
>>> train, fresh, control = (tabveil.datasets.hospital(200, seed=seed) for seed in (1, 2, 3))
>>> report = tabveil.audit(train, fresh, control, metrics=["identical_match_share"])
>>> report["identical_match_share"].risk.low < 0.01
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tabveil import pages
from tabveil.version import __version__

if TYPE_CHECKING:
    from tabveil import datasets, errors
    from tabveil.attacking import attack
    from tabveil.auditing import audit
    from tabveil.errors import TabveilError
    from tabveil.frame import load_split
    from tabveil.generators import load_model
    from tabveil.holdout import split
    from tabveil.outlying import Outliers, Vulnerable, outliers, vulnerable
    from tabveil.pipeline import PipelineReport, run_pipeline
    from tabveil.pseudonyms import Pseudonymized, pseudonymize
    from tabveil.render.html import page as html_page
    from tabveil.render.side_by_side import compare
    from tabveil.report import Report
    from tabveil.result import Result
    from tabveil.shadow import ShadowResult
    from tabveil.steps import Deduplicated, FilteredRelease, deduplicate, filter_release
    from tabveil.synthesizing import sample, synthesize

__all__ = [
    "Deduplicated",
    "FilteredRelease",
    "Outliers",
    "PipelineReport",
    "Pseudonymized",
    "Report",
    "Result",
    "ShadowResult",
    "TabveilError",
    "Vulnerable",
    "__version__",
    "attack",
    "audit",
    "compare",
    "datasets",
    "deduplicate",
    "errors",
    "filter_release",
    "html_page",
    "load_model",
    "load_split",
    "outliers",
    "pseudonymize",
    "run_pipeline",
    "sample",
    "split",
    "synthesize",
    "vulnerable",
]

# Loaded when first asked for, so that `tabveil --help` does not wait for pandas and the compiler.
_HOMES = {
    "Deduplicated": ("tabveil.steps", "Deduplicated"),
    "FilteredRelease": ("tabveil.steps", "FilteredRelease"),
    "Outliers": ("tabveil.outlying", "Outliers"),
    "PipelineReport": ("tabveil.pipeline", "PipelineReport"),
    "Pseudonymized": ("tabveil.pseudonyms", "Pseudonymized"),
    "Report": ("tabveil.report", "Report"),
    "Result": ("tabveil.result", "Result"),
    "ShadowResult": ("tabveil.shadow", "ShadowResult"),
    "TabveilError": ("tabveil.errors", "TabveilError"),
    "Vulnerable": ("tabveil.outlying", "Vulnerable"),
    "attack": ("tabveil.attacking", "attack"),
    "audit": ("tabveil.auditing", "audit"),
    "compare": ("tabveil.render.side_by_side", "compare"),
    "deduplicate": ("tabveil.steps", "deduplicate"),
    "filter_release": ("tabveil.steps", "filter_release"),
    "html_page": ("tabveil.render.html", "page"),
    "load_model": ("tabveil.generators", "load_model"),
    "load_split": ("tabveil.frame", "load_split"),
    "outliers": ("tabveil.outlying", "outliers"),
    "run_pipeline": ("tabveil.pipeline", "run_pipeline"),
    "pseudonymize": ("tabveil.pseudonyms", "pseudonymize"),
    "sample": ("tabveil.synthesizing", "sample"),
    "split": ("tabveil.holdout", "split"),
    "synthesize": ("tabveil.synthesizing", "synthesize"),
    "vulnerable": ("tabveil.outlying", "vulnerable"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    if name in __all__:
        return import_module(f"tabveil.{name}")
    raise AttributeError(f"module 'tabveil' has no attribute {name!r}")


def _draw(report: Any) -> str:  # noqa: ANN401 - a report, whose class is not loaded yet
    drawn: str = __getattr__("html_page")(report)
    return drawn


def _draw_pipeline(report: Any) -> str:  # noqa: ANN401 - likewise
    drawn: str = import_module("tabveil.render.pipeline").page(report)
    return drawn


pages.draw, pages.draw_pipeline = _draw, _draw_pipeline


def __dir__() -> list[str]:
    return sorted(__all__)
