"""What a pipeline hands over: its stages audited, its promises about classes measured again, and the rows."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from tabveil.auditing.report import Report
from tabveil.auditing.verdict import Verdict
from tabveil.core.estimate import Estimate, ratio
from tabveil.core.storage.files import write_text
from tabveil.core.storage.plain import PlainData, to_plain
from tabveil.core.wording import LONGEST_TITLE, clean, escaped
from tabveil.metrics.properties import Properties, measure
from tabveil.metrics.utility import MEANINGS
from tabveil.synthesis.anonymize import Anonymization, privacy_models
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.synthesis.anonymize.releasing import Summary
from tabveil.synthesis.generators.hybrid.promises import Promises
from tabveil.synthesis.generators.hybrid.synthesizer import Hybrid, Stages
from tabveil.synthesis.generators.persons import RowsOfPeople
from tabveil.tables.reading import Layout
from tabveil.workflows.pipeline.settings import StepTaken
from tabveil.workflows.synthesizing import SyntheticRows, TableModel


@dataclass(frozen=True, kw_only=True)
class Confirmation(PlainData):
    """One promise that was asked for, and what was measured."""

    asked: str
    measured: float | None  # None for a model that is not known here
    kept: bool | None


@dataclass(frozen=True, kw_only=True)
class AnonymizedTable(PlainData):
    """The rows between anonymization and transition: how they were made, and the classes that they form.

    ``original`` are the rows that came in, by the same columns; ``learned`` those anonymized rows that take
    part after sampling, from which a generator learns.
    """

    summary: Summary
    original: Properties
    anonymized: Properties
    learned: Properties
    confirmations: tuple[Confirmation, ...]

    @classmethod
    def of(cls, hybrid: Hybrid, stages: Stages, layout: Layout) -> Self | None:
        """Measure what the anonymized rows are; None where nothing was anonymized."""
        found = stages.anonymization
        if found is None:
            return None
        columns: dict[str, Any] = {
            "quasi_identifiers": found.quasi_identifiers,
            "sensitive": tuple(
                dict.fromkeys(item.column for item in found.models if item.column is not None)
            ),
            "levels": _levels(hybrid, found, layout),
        }
        anonymized = measure(found.table, reference=found.original, **columns)
        return cls(
            summary=Summary.of(found),
            original=measure(found.original, **columns),
            anonymized=anonymized,
            learned=measure(stages.generalized, reference=found.original, **columns),
            confirmations=tuple(_confirm(model, found, anonymized) for model in found.models),
        )


def _levels(hybrid: Hybrid, found: Anonymization, layout: Layout) -> dict[str, Any]:
    """Return the hierarchies of sensitive columns, as distances by levels need them."""
    trees = {}
    for model in hybrid.models:
        if "hierarchy" in model:
            column = str(model["column"])
            entry = read_entry(column, model["hierarchy"], Path())
            tree = entry.build(ColumnValues.of(found.original, column, layout))
            trees[column] = (tree.cells, tree.codes)
    return trees


def _confirm(model: privacy_models.PrivacyModel, found: Anonymization, measured: Properties) -> Confirmation:
    own = {item.column: item for item in measured.sensitive}
    value: float | None = None
    kept: bool | None = None
    match model:
        case privacy_models.KAnonymity(k=k):
            value, kept = measured.k, measured.k >= k
        case privacy_models.DistinctDiversity(column=column, l=least):
            value, kept = own[column].distinct, own[column].distinct >= least
        case privacy_models.EntropyDiversity(column=column, l=least_entropy):
            value, kept = own[column].entropy, own[column].entropy >= least_entropy - privacy_models.ROUNDING
        case privacy_models.RecursiveDiversity(column=column, l=least):
            (again,) = measure(
                found.table, quasi_identifiers=measured.quasi_identifiers, sensitive=[column], factor=model.c
            ).sensitive
            value, kept = again.recursive, again.recursive >= least
        case privacy_models.Closeness(column=column, t=most):
            by_distance: Mapping[str, float | None] = vars(own[column])
            value = by_distance[model.distance]  # equal, ordered or hierarchical
            kept = None if value is None else value <= most + privacy_models.ROUNDING
    return Confirmation(asked=model.in_words(), measured=value, kept=kept)


StageName = Literal["original", "perturbed", "anonymized", "unfiltered", "final", "generator"]
TITLES: Mapping[StageName, str] = {
    "original": "original",
    "perturbed": "perturbed",
    "anonymized": "anonymized",
    "unfiltered": "unfiltered",
    "final": "final",
    "generator": "generator alone",
}
"""The stages in their order, and what the pipeline is compared with; how sentences and tables call them."""

NOT_THE_REPORT = "It holds of the model and its rows, not of this report, which is measured on real rows."

UNCLEAR = "not told apart from zero for the generator alone"
UNMEASURED = "not measured for both"
UNINFORMATIVE = "no better than guessing for the generator alone"
BAD_CONTROL = "measured with a control table that does not fit"


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """One table on the way, audited as if it were the release."""

    name: StageName
    report: Report

    @property
    def title(self) -> str:
        """What it is called."""
        return TITLES[self.name]

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return self.report.inputs["synthetic"].rows


@dataclass(frozen=True, kw_only=True)
class PipelineChange(PlainData):
    """One number of the pipeline beside that of the generator alone: ``(pipeline - generator) / generator``.

    Of a risk, less than zero is better. ``change`` is None where it means nothing, and ``reason`` says why.
    """

    key: str
    title: str
    kind: Literal["privacy", "utility"]
    pipeline: Estimate | None
    generator: Estimate | None
    change: Estimate | None = None
    reason: str = ""

    @classmethod
    def between(
        cls,
        pipeline: Estimate | None,
        generator: Estimate | None,
        *,
        reason: str = "",
        **about: Any,  # noqa: ANN401 - the other fields
    ) -> "PipelineChange":
        """Compare two numbers, unless there is a ``reason`` not to.

        That none could be told apart from zero goes before a ratio.
        """
        unmeasured = pipeline is None or generator is None
        both = None if reason or pipeline is None or generator is None else ratio(pipeline, generator)
        if both is None:
            reason = reason or (UNMEASURED if unmeasured else UNCLEAR)
            return cls(pipeline=pipeline, generator=generator, reason=reason, **about)
        change = Estimate(value=both.value - 1, low=both.low - 1, high=both.high - 1, n=both.n)
        return cls(pipeline=pipeline, generator=generator, change=change, **about)


@dataclass(frozen=True, kw_only=True, eq=False)
class PipelineReport:
    """Everything that one run of a pipeline found.

    ``stages`` are audited like releases, each with a report of its own. ``rows`` and ``model`` are what was
    made: the rows to release, and what draws more of them.
    """

    version: str
    seed: int | None  # None where a promise is stated that holds while nobody knows it
    title: str
    settings: Mapping[str, Any]  # what a reader is told about them
    stages: tuple[Stage, ...]
    steps: tuple[StepTaken, ...]  # before and after the generator, in their order
    promises: Promises
    anonymized: AnonymizedTable | None
    kept: tuple[str, ...]  # what a stored model holds
    notes: tuple[str, ...]
    rows: SyntheticRows = field(repr=False)
    model: TableModel = field(repr=False)
    people: RowsOfPeople = field(default_factory=RowsOfPeople)  # in the table that was learned from
    seconds: float = 0.0

    def __getitem__(self, name: str) -> Report:
        return {str(stage.name): stage.report for stage in self.stages}[name]

    @property
    def verdict(self) -> Verdict:
        """The rows to release, judged by the policy."""
        return self["final"].verdict

    @property
    def has_filter(self) -> bool:
        """Whether rows of the release were dropped, so that there is a stage before that."""
        return any(stage.name == "unfiltered" for stage in self.stages)

    @property
    def has_generator(self) -> bool:
        """Whether there is a generator to compare with."""
        return any(stage.name == "generator" for stage in self.stages)

    @property
    def promised(self) -> tuple[str, ...]:
        """What is promised, to a row and to a person, and what is not."""
        stated = self.promises.stated
        to_people = () if stated is None else (self.people.sentence(*stated), NOT_THE_REPORT)
        return (*self.promises.sentences(), *to_people)

    @cached_property
    def changes(self) -> tuple[PipelineChange, ...]:
        """What the pipeline changes beside the generator alone: risks, then measures of utility."""
        if not self.has_generator:
            return ()
        final, alone = self["final"], self["generator"]
        return (*_risks(final, alone), *_utilities(final, alone))

    def __repr__(self) -> str:
        """Say the verdict; all else is asked for by name."""
        lines = [clean(self.title, LONGEST_TITLE)] if self.title else []
        return escaped("\n".join([*lines, self.verdict.sentence, *self.promised]))

    def native(self) -> Any:  # noqa: ANN401 - whichever library the user works with
        """Return the rows to release, as the kind of table that came in."""
        return self.rows.native()

    def to_json(self) -> str:
        """Return all numbers as JSON text; only ``seconds`` differ where the same was asked for."""
        return json.dumps(
            {
                "tabveil": self.version,
                "title": self.title,
                "seed": self.seed,
                "pipeline": self.settings,
                "verdict": self.verdict.to_json(),
                "changes": [change.to_json() for change in self.changes],
                "promises": to_plain(self.promises),
                "people": self._people(),
                "promised": list(self.promised),
                "anonymized": None if self.anonymized is None else self.anonymized.to_json(),
                "steps": [step.to_json() for step in self.steps],
                "kept": list(self.kept),
                "notes": list(self.notes),
                "stages": {stage.name: json.loads(stage.report.to_json()) for stage in self.stages},
                "seconds": self.seconds,
            },
            indent=2,
            allow_nan=False,
            ensure_ascii=False,
        )

    def _people(self) -> dict[str, Any]:
        """Return how many rows a person has, and what the promise is worth to whoever has most."""
        stated = self.promises.stated
        worth = None if stated is None else self.people.to_person(*stated)
        return {**to_plain(self.people), "promise": None if worth is None else to_plain(worth)}

    def to_html(self, path: str | Path) -> None:
        """Write the page that ``tabveil pipeline --html`` writes, whole or not at all."""
        door: Any = sys.modules["tabveil"]  # it knows who draws a run, which the run does not
        write_text(Path(path), door.pipeline_page(self))

    def write(self, path: str | Path) -> None:
        """Write the rows to release to a file of the kind its suffix says, whole or not at all."""
        self.rows.write(path)

    def save(self, folder: str | Path) -> None:
        """Store the model in a new folder, to draw more rows later. Guard it like the data."""
        self.model.save(folder)


def _risks(final: Report, alone: Report) -> Iterator[PipelineChange]:
    known = [{result.key: result for result in report.results} for report in (final, alone)]
    for key, result in (known[0] | known[1]).items():
        both = [results.get(key) for results in known]
        reason = ""
        if alone.verdict.control:
            reason = BAD_CONTROL
        elif both[1] is not None and not both[1].informative:
            reason = UNINFORMATIVE
        pipeline, generator = (None if item is None else item.measure for item in both)
        about: dict[str, Any] = {"key": key, "title": result.full_title, "kind": "privacy"}
        yield PipelineChange.between(pipeline, generator, reason=reason, **about)


def _utilities(final: Report, alone: Report) -> Iterator[PipelineChange]:
    known = [{} if report.utility is None else report.utility.figures for report in (final, alone)]
    for key, meaning in MEANINGS.items():
        if any(key in figures for figures in known):
            pipeline, generator = (figures[key].value if key in figures else None for figures in known)
            about: dict[str, Any] = {"key": key, "title": meaning.title, "kind": "utility"}
            yield PipelineChange.between(pipeline, generator, **about)
