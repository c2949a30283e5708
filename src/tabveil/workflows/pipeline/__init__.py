"""A hybrid pipeline with the audit in the loop: every stage of it measured, beside the generator alone."""

from tabveil.workflows.pipeline.report import (
    AnonymizedTable,
    Confirmation,
    PipelineChange,
    PipelineReport,
    Stage,
    StageName,
)
from tabveil.workflows.pipeline.running import run_pipeline
from tabveil.workflows.pipeline.settings import StepTaken

__all__ = [
    "AnonymizedTable",
    "Confirmation",
    "PipelineChange",
    "PipelineReport",
    "Stage",
    "StageName",
    "StepTaken",
    "run_pipeline",
]
