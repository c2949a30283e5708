"""What a pipeline is asked for, and the steps around its generator.

>>> half = {"generator": "marginals", "sampling": 0.5}
>>> asked = read({"generator": "hybrid", "settings": half, "rows": 100})
>>> asked.generator, asked.hybrid.sampling, asked.file.rows
('marginals', 0.5, 100)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tabveil.core import check
from tabveil.core.settings import yaml_files
from tabveil.core.settings.registry import settings_of, values_of
from tabveil.core.storage.plain import PlainData, to_plain
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators.hybrid.plain_settings import read_named
from tabveil.synthesis.generators.hybrid.synthesizer import NOTHING, Hybrid
from tabveil.tables.reading import Source, as_read, declare, parts_as_read, sources
from tabveil.workflows.perturbing import NOTHING_PROMISED, perturb
from tabveil.workflows.pseudonyms import STILL_PERSONAL, pseudonymize_together
from tabveil.workflows.steps import NEAR, deduplicate, filter_release
from tabveil.workflows.synthesizing import SyntheticRows, TableModel, choose, configuration
from tabveil.workflows.synthesizing.configuration import SynthesisFile
from tabveil.workflows.synthesizing.learning import wants_secret_seed


@dataclass(frozen=True, kw_only=True)
class PipelineSettings:
    """A pipeline, and what else its file says: how the table is read, how many rows are made."""

    hybrid: Hybrid
    file: SynthesisFile = field(default_factory=SynthesisFile)

    @property
    def generator(self) -> str:
        """The name of the generator, or that there is none."""
        return read_named("generator", self.hybrid.generator)[0]

    @property
    def chosen_by_train(self) -> bool:
        """Whether training rows decide which rows of the release are dropped."""
        return self.file.filter is not None and self.file.filter.get("near", NEAR) > 0

    def alone(self) -> Synthesizer | None:
        """Return the generator, as one that learns the real rows; None if nothing is generated."""
        name, given = read_named("generator", self.hybrid.generator)
        return None if name == NOTHING else choose(name, given)

    def told(self) -> dict[str, Any]:
        """Return what a reader is told about the settings; the labels in hierarchies do not belong there."""
        defaults = settings_of(Hybrid)
        given = {
            name: value for name, value in values_of(self.hybrid).items() if value != defaults[name].default
        }
        if "hierarchies" in given:
            given["hierarchies"] = {name: _kind(entry) for name, entry in given["hierarchies"].items()}
        if "models" in given:
            given["models"] = [
                {key: _kind(value) if key == "hierarchy" else value for key, value in model.items()}
                for model in given["models"]
            ]
        # Where a key lies is nobody's business.
        steps = {
            step: {key: value for key, value in asked.items() if key != "key"}
            for step in configuration.STEPS
            if (asked := getattr(self.file, step)) is not None
        }
        told: dict[str, Any] = to_plain({"generator": self.hybrid.generator, **given, **steps})
        return told


def read(source: str | Path | Mapping[str, Any] | Hybrid) -> PipelineSettings:
    """Read a file (YAML, JSON) or a mapping; paths in a file start at its folder."""
    if isinstance(source, Hybrid):
        return PipelineSettings(hybrid=source)
    said = configuration.read(source)
    where = yaml_files.place(source, "configuration")
    if said.generator != Hybrid.name:
        raise ParameterError(where, f"a pipeline needs generator: {Hybrid.name}, and its settings.")
    try:
        hybrid = choose(Hybrid.name, said.settings)
    except TabveilError as error:
        raise ParameterError(where, error.without(Hybrid.name)) from None
    assert isinstance(hybrid, Hybrid), "it was chosen by its name"
    return PipelineSettings(hybrid=hybrid, file=said)


def _kind(entry: object) -> Any:  # noqa: ANN401 - JSON types
    """Say what kind of hierarchy it is: its name, or the keys that it is given by."""
    return list(entry) if isinstance(entry, Mapping) else entry


StepName = Literal["deduplicate", "pseudonymize", "perturb", "filter"]

KEY_MADE = "A new key was made. Keep it, away from the table, and show it to nobody."
PROMISES_OF_ROWS = (
    "a promise of differential privacy, or one that rests on sampling, would hold of the perturbed "
    "rows and not of people, whose values others have. Leave out one of both."
)
SAME_CONTROL = (
    "The control rows that set the bar also judge what is left: distances look better than they are."
)


@dataclass(frozen=True, kw_only=True)
class StepTaken(PlainData):
    """What one step did to one table: in counts and in words, and what to know about it; no value of anybody.

    ``table`` is what it was done to: the ``data`` before rows are held back, the ``train`` or ``control``
    rows, the rows that were ``learned`` from, or the ``release``.
    """

    step: StepName
    table: str
    counts: Mapping[str, int]
    sentences: tuple[str, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The step, and what it was done to."""
        return f"{self.step} ({self.table})"


@dataclass(frozen=True, kw_only=True, eq=False)
class RealRows:
    """Tables of real rows by their roles, the first of which is learned from, and the steps taken so far."""

    tables: Mapping[str, Any]
    steps: tuple[StepTaken, ...] = ()

    @classmethod
    def of(cls, **tables: Any) -> "RealRows":  # noqa: ANN401 - paths or tables of any dataframe library
        """Take tables as they came; None is none."""
        return cls(tables={role: table for role, table in tables.items() if table is not None})

    def get(self, role: str) -> Any:  # noqa: ANN401 - likewise
        """Return a table; None if there is none."""
        return self.tables.get(role)

    def without(self, drop: str | Iterable[str]) -> "RealRows":
        """Leave columns out of every table that has them; one of the tables must."""
        names = declare.columns_named(drop)
        if not names:
            return self
        read = {role: sources.read(table, role) for role, table in self.tables.items()}
        held = {name for source in read.values() for name in source.data.column_names}
        check.known_names("drop", "column", [name for name in names if name], held)
        return replace(
            self,
            tables={
                role: sources.leave_out(source, [name for name in names if name in source.data.column_names])
                for role, source in read.items()
            },
        )

    def deduplicated(self, asked: Mapping[str, Any] | None, *, seed: int) -> "RealRows":
        """Drop rows of every table by itself: people never seen must be like those that are learned from."""
        if asked is None:
            return self
        fewer, taken = {}, []
        for role, table in self.tables.items():
            whole = sources.read(table, role)
            found = deduplicate(whole, **asked, seed=seed)
            (fewer[role],) = parts_as_read(whole, [found.kept])
            counts = {"rows": found.n_rows, "kept": len(found.kept), "equal": found.n_equal}
            if found.n_persons is not None:
                counts |= {"beyond": found.n_beyond, "people": found.n_people, "persons": found.n_persons}
            said: dict[str, Any] = {"sentences": found.sentences, "notes": found.notes}
            taken.append(StepTaken(step="deduplicate", table=role, counts=counts, **said))
        return RealRows(tables=fewer, steps=(*self.steps, *taken))

    def pseudonymized(self, asked: Mapping[str, Any] | None) -> "RealRows":
        """Replace identifiers in all tables together: whoever is in two of them has one pseudonym."""
        if asked is None:
            return self
        found = pseudonymize_together(list(self.tables.values()), **asked)
        hidden: dict[str, Source] = {}
        taken = []
        for role, own in zip(self.tables, found, strict=True):
            hidden[role] = own.as_read()
            first = role == next(iter(self.tables))
            taken.append(
                StepTaken(
                    step="pseudonymize",
                    table=role,
                    counts={
                        **{name: len(column.texts) for name, column in own.columns.items()},
                        **{name: counts.n_places for name, counts in own.counts.items()},
                    },
                    sentences=own.sentences,
                    notes=(*((KEY_MADE,) if own.key_made else ()), *own.notes) if first else (),
                    warnings=(STILL_PERSONAL,) if first else (),
                )
            )
        return RealRows(tables=hidden, steps=(*self.steps, *taken))


def perturbed(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    said: SynthesisFile,
    *synthesizers: Synthesizer,
    person: str | None = None,
    **reading: Any,  # noqa: ANN401 - seed, schema and missing
) -> tuple[Any, tuple[StepTaken, ...]]:
    """Change what is learned from, and nothing that audits compare with: the people are as they were.

    A promise of one of the ``synthesizers`` that speaks of rows is refused: it would not be one about people
    any more.
    """
    if said.perturb is None:
        return data, ()
    for synthesizer in synthesizers:
        if wants_secret_seed(synthesizer):
            raise ParameterError(f"{synthesizer.name}: perturb", PROMISES_OF_ROWS)
    found = perturb(
        data, **said.perturb, **reading, leave=said.naming if person is None else (*said.naming, person)
    )
    counts = {"rows": len(found.changed), "swapped": found.swapped, "alone": found.alone}
    counts |= {**found.moved, **found.redrawn}
    taken = StepTaken(
        step="perturb",
        table="learned",
        counts=counts,
        sentences=found.sentences,
        warnings=(NOTHING_PROMISED,),
    )
    return found.as_read(), (taken,)


def filtered(
    drawn: SyntheticRows,
    said: SynthesisFile,
    model: TableModel,
    *,
    schema: Any,  # noqa: ANN401 - a path or plain data
    **about: Any,  # noqa: ANN401 - passed on
) -> tuple[SyntheticRows, StepTaken]:
    """Drop rows that are too near to those learned from; what that costs, audits before and after can say.

    Columns that name people by the word of a step are not compared, nor those that the ``model`` makes anew:
    whose row it is says nothing about how near it is. ``about`` says which rows were learned from, and how
    they are read.
    """
    fresh = [column.name for column in model.fresh]
    found = filter_release(
        synthetic=as_read(drawn.table, drawn.layout),
        schema=declare.read(schema).without([*said.naming, *fresh]),
        measure_utility=False,
        **about,
        **(said.filter or {}),
    )
    counts = {"rows": found.n_rows, "kept": len(found.kept), "outliers": found.n_outliers}
    if found.near is not None:
        counts |= {"near": found.n_near, "equal": found.near.equal}
    taken = StepTaken(
        step="filter",
        table="release",
        counts=counts,
        sentences=found.sentences,
        warnings=(*found.warnings, *((SAME_CONTROL,) if found.near is not None else ())),
    )
    return replace(drawn, table=drawn.table.take(found.kept)), taken
