"""Steps around a generator: rows dropped and names replaced before it learns, rows dropped once it drew."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tabveil.core.settings.plain import PlainData
from tabveil.tables.reading import Source, as_read, declare, parts_as_read, sources
from tabveil.workflows.pseudonyms import STILL_PERSONAL, pseudonymize_together
from tabveil.workflows.steps import deduplicate, filter_release
from tabveil.workflows.synthesizing import SyntheticRows, TableModel
from tabveil.workflows.synthesizing.configuration import Configuration

StepName = Literal["deduplicate", "pseudonymize", "filter"]

KEY_MADE = "A new key was made. Keep it, away from the table, and show it to nobody."
SAME_CONTROL = (
    "The control rows that set the bar also judge what is left: distances look better than they are."
)


@dataclass(frozen=True, kw_only=True)
class StepTaken(PlainData):
    """What one step did to one table: in counts and in words, and what to know about it; no value of anybody.

    ``table`` is what it was done to: the ``data`` before rows are held back, the ``train`` or ``control``
    rows, or the ``release``.
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
            taken.append(
                StepTaken(
                    step="deduplicate",
                    table=role,
                    counts=counts,
                    sentences=found.sentences,
                    notes=found.notes,
                )
            )
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


def filtered(
    drawn: SyntheticRows,
    said: Configuration,
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
