"""A hybrid pipeline with the audit in the loop: every stage of it measured, beside the generator alone."""

from tabveil.pipeline.confirming import AnonymizedTable, Confirmation
from tabveil.pipeline.report import Change, PipelineReport, Stage, StageName
from tabveil.pipeline.running import run_pipeline
from tabveil.pipeline.taking import StepTaken

__all__ = [
    "AnonymizedTable",
    "Change",
    "Confirmation",
    "PipelineReport",
    "Stage",
    "StageName",
    "StepTaken",
    "run_pipeline",
]
