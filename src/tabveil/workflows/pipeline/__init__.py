"""A hybrid pipeline with the audit in the loop: every stage of it measured, beside the generator alone."""

from tabveil.workflows.pipeline.report import AnonymizedTable, PipelineChange, PipelineReport, StageName
from tabveil.workflows.pipeline.running import run_pipeline
from tabveil.workflows.pipeline.settings import StepTaken

__all__ = ["AnonymizedTable", "PipelineChange", "PipelineReport", "StageName", "StepTaken", "run_pipeline"]
