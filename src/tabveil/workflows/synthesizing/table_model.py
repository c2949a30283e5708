"""A model together with the form of the data it learned from: what draws files like those that came in."""

import json
import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.sampling import random_order
from tabveil.core.storage.files import Unreadable, new_folder, read_json, write_text
from tabveil.core.storage.plain import require_plain, to_plain
from tabveil.core.table import Categorical, Column, Numeric, Schema, Table
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Model
from tabveil.synthesis.generators import Account, Privacy, load_model, save_model
from tabveil.synthesis.generators.hybrid.synthesizer import HybridModel
from tabveil.synthesis.generators.persons import RowsOfPeople
from tabveil.tables import reading as frame
from tabveil.tables.reading import Layout, layout_json
from tabveil.tables.reading.layout import ColumnLayout, Library, without_unused_labels
from tabveil.tables.reading.raw_column import Kind
from tabveil.workflows.synthesizing.fresh_identifiers import MOST_ROWS, FreshColumn, note, with_fresh
from tabveil.workflows.synthesizing.learned_form import LearnedForm

LAYOUT = "layout.json"
_DAY = 86_400_000_000  # microseconds
_CLOCK = {
    Kind.MOMENT: (-(2.0**62), 2.0**62),
    Kind.DURATION: (-(2.0**62), 2.0**62),
    Kind.TIME: (0, _DAY - 1),
}
"""The microseconds that each kind of time can have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticRows:
    """Synthetic rows and the form they leave in."""

    table: Table
    layout: Layout

    def native(self) -> Any:  # noqa: ANN401 - whichever library the user works with
        """Return the rows as pandas, polars or Arrow, as the data came (Arrow where they were a file)."""
        return frame.to_native(self.table, self.layout)

    def write(self, path: str | Path) -> None:
        """Write the rows to a file of the kind its suffix says, whole or not at all."""
        frame.write(self.table, self.layout, path)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableModel:
    """A fitted model and the form of the data it learned from.

    ``declared`` names the columns whose domain a schema gave; of all others, labels, ranges and forms were
    read from the rows. ``notes`` are for whoever fits the model: they may tell of the rows, such as how many
    there are, so they are not stored. ``fresh`` are columns of identifiers: no part of the model, and made
    anew for every row.
    """

    model: Model
    layout: Layout
    declared: frozenset[str]
    fresh: tuple[FreshColumn, ...] = ()
    form: LearnedForm = field(default_factory=LearnedForm)
    people: RowsOfPeople = field(default_factory=RowsOfPeople)
    notes: tuple[str, ...] = ()
    n_rows: int | None = None  # learned from; None once stored
    left_out: tuple[str, ...] = ()  # identifiers that the rows come without; none once stored

    def __post_init__(self) -> None:
        if not _belong_together(self.model.schema, self.form, self.layout, self.fresh):
            raise ParameterError(self.model.name, "the model must have the columns that were learned.")
        if not _keeps_to(self.account.privacy, self.declared):
            raise ParameterError(self.model.name, "the promise calls columns public that no schema declares.")

    @property
    def account(self) -> Account:
        """What the model tells about itself."""
        return Account.of(self.model)

    @property
    def for_people(self) -> str:
        """What a promise for a row is worth to a person, in words; empty where nothing is promised."""
        stated = stated_by(self.model)
        return "" if stated is None else self.people.sentence(*stated)

    def draw(self, rows: int, *, seed: int = 0) -> SyntheticRows:
        """Draw rows, in random order; the same seed draws the same."""
        rows, seed = whole_rows(rows), whole_seed(seed)
        name, schema = self.model.name, self.model.schema
        table = self.model.sample(rows, rng=stream(seed, "draw", name))
        if not isinstance(table, Table) or table.schema != schema or len(table) != rows:
            raise ParameterError(name, f"sample must return a Table of its schema with {rows} rows.")
        table = table.take(random_order(table, rng=stream(seed, "order", name)))
        rng = stream(seed, "identifiers", name)
        return finished(table, self.form, self.layout, declared=self.declared, fresh=self.fresh, rng=rng)

    def save(self, folder: str | Path) -> None:
        """Store the model and the form of its rows in a new folder, whole or not at all."""
        with new_folder(Path(folder)) as place:
            save_model(self.model, place)
            if (place / LAYOUT).exists():
                raise ParameterError(self.model.name, f"save must not write {LAYOUT}, the form of its data.")
            about = {
                **layout_json.to_json(self.layout),
                # Under a promise what is stored follows from the schema, and from nothing that came.
                "library": (
                    self.layout.library if self.account.privacy is None else Library.FILE
                ).name.lower(),
                "declared": sorted(self.declared),
                "fresh": [to_plain(item) for item in self.fresh],
                "form": to_plain(self.form),
                "people": to_plain(self.people.stored()),
            }
            write_text(place / LAYOUT, json.dumps(about, indent=1) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open what :meth:`save` wrote."""
        place = Path(folder)
        model = load_model(place)
        layout, declared, fresh, form, people = _read_layout(place)
        privacy = Account.of(model).privacy
        if not _belong_together(model.schema, form, layout, fresh) or not _keeps_to(privacy, declared):
            raise ParameterError(place, f"{LAYOUT} belongs to another model; fit the model again.")
        said = (note(fresh),) if fresh else ()
        return cls(
            model=model,
            layout=layout,
            declared=declared,
            fresh=fresh,
            form=form,
            people=people,
            notes=said,
        )


def finished(
    drawn: Table,
    form: LearnedForm,
    layout: Layout,
    *,
    declared: Collection[str],
    fresh: Sequence[FreshColumn],
    rng: Generator,
) -> SyntheticRows:
    """Return rows as they leave: columns as in the data, no unused labels, fresh identifiers."""
    table = form.restored(drawn)
    table = table.select([column for column in layout.columns if column in table.schema.names])
    table, layout = without_unused_labels(table, layout, keep=declared)
    if fresh:
        table, layout = with_fresh(table, layout, fresh, rng=rng)
    return SyntheticRows(table=table, layout=layout)


def stated_by(model: Model) -> tuple[float, float] | None:
    """Return the ε that a model states, of whatever kind, and its δ; None if it states none."""
    privacy: Privacy | None = Account.of(model).privacy
    if privacy is not None:
        return privacy.epsilon, privacy.delta
    return model.promises.stated if isinstance(model, HybridModel) else None


def _read_layout(
    place: Path,
) -> tuple[Layout, frozenset[str], tuple[FreshColumn, ...], LearnedForm, RowsOfPeople]:
    """Return the form of the data, columns declared, fresh identifiers, the way back, and rows of people."""
    try:
        about = read_json(place / LAYOUT)
        layout = layout_json.from_json(about)
        library = Library[require_plain(str, about.get("library", "file"), "library").upper()]
        layout = replace(layout, library=_here(library))
        declared = frozenset(require_plain(tuple[str, ...], about.get("declared"), "declared"))
        fresh = require_plain(tuple[FreshColumn, ...], about.get("fresh", ()), "fresh")
        form = require_plain(LearnedForm, about.get("form", {}), "form")
        return layout, declared, fresh, form, require_plain(RowsOfPeople, about.get("people", {}), "people")
    except FileNotFoundError:
        raise ParameterError(
            place, "the model was stored without the form of its data; use tabveil.load_model in Python."
        ) from None
    except TabveilError as error:
        raise ParameterError(place, error) from None
    except Unreadable as error:
        raise ParameterError(place, f"{LAYOUT} cannot be read: {error}; fit the model again.") from error
    except (OSError, KeyError, RecursionError) as error:
        raise ParameterError(place, f"{LAYOUT} cannot be read; fit the model again.") from error


def _here(library: Library) -> Library:
    """Return the library that rows leave in: Arrow where the one that the data came in is not installed."""
    if library is Library.POLARS and find_spec("polars") is None:
        return Library.ARROW
    return library


def _belong_together(
    learned: Schema, form: LearnedForm, layout: Layout, fresh: Sequence[FreshColumn]
) -> bool:
    """Whether the layout says of every column, drawn or fresh, and of no other how values are written."""
    if not form.sound(learned):
        return False
    schema = form.restored(Table(schema=learned, values=np.empty((0, len(learned))))).schema
    names = [*schema.names, *(item.name for item in fresh)]
    return (
        sorted(layout.columns) == sorted(names)
        and all(_can_write(column, layout.columns[column.name]) for column in schema.columns)
        and all(item.sound(layout.columns[item.name]) for item in fresh)
    )


def _can_write(column: Column, place: ColumnLayout) -> bool:
    match place.kind, column:
        case (Kind.LABELS, Categorical()) | (Kind.NUMBER, Numeric()):
            return True
        case Kind.BOOLEAN, Categorical(labels=labels):
            return len(labels) == len(("False", "True"))
        case ((Kind.MOMENT | Kind.TIME | Kind.DURATION), Numeric(low=low, high=high)):
            least, most = _CLOCK[place.kind]
            return column.integer and least <= low * place.step and high * place.step <= most
    return False


def _keeps_to(privacy: Privacy | None, declared: frozenset[str]) -> bool:
    """Whether a promise takes no more as public than was declared."""
    return privacy is None or declared.issuperset(privacy.public)


def whole(owner: str, name: str, value: int, least: int) -> int:
    """Return a whole number that is not below the least."""
    try:
        value = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise ParameterError(owner, f"{name} must be a whole number, got {kind}.") from None
    check.at_least(owner, name, value, least)
    return value


def whole_rows(rows: int) -> int:
    """Return a number of rows that can be drawn."""
    rows = whole("synthesize", "rows", rows, 1)
    if rows > MOST_ROWS:
        raise ParameterError("synthesize", f"rows must be <= {MOST_ROWS:,}, got {rows:,}.")
    return rows


def whole_seed(seed: int) -> int:
    """Return a seed that random numbers can be drawn from."""
    return whole("synthesize", "seed", seed, 0)
