"""Learn a table with a generator, and draw from it or store it."""

import inspect
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from numpy.random import Generator

from tabveil.core import check, wording
from tabveil.core.people import LEAST_SHARED
from tabveil.core.rng import stream
from tabveil.core.settings.registry import SettingType, as_given, check_names, make, settings_of, values_of
from tabveil.core.storage.files import refuse_existing
from tabveil.core.table import Categorical, Schema, Table
from tabveil.core.workers import Listener, tell, warn, working
from tabveil.errors import ParameterError
from tabveil.protocols import Model, Synthesizer
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.dependencies import dependencies_of
from tabveil.synthesis.generators.hybrid.synthesizer import Hybrid
from tabveil.synthesis.generators.models import require_model, require_synthesizer
from tabveil.synthesis.generators.persons import RowsOfPeople
from tabveil.synthesis.generators.privacy import PARTLY, PUBLIC, SEED_GIVEN, too_likely
from tabveil.synthesis.generators.rare_values import pool_rare_labels
from tabveil.synthesis.generators.trees.synthesizer import Trees
from tabveil.tables.reading import Layout, LoadedTable, declare, load_table
from tabveil.tables.reading.layout import without_unused_labels
from tabveil.tables.reading.raw_column import Kind
from tabveil.workflows.synthesizing import left_open
from tabveil.workflows.synthesizing.arranging import arrange
from tabveil.workflows.synthesizing.finding import KnownTable
from tabveil.workflows.synthesizing.fresh_identifiers import Identifiers, SetAside, set_aside
from tabveil.workflows.synthesizing.learned_form import LearnedForm
from tabveil.workflows.synthesizing.table_model import TableModel, stated_by, whole_rows, whole_seed

RareLabels = Literal["pool", "keep"]

MANY_LABELS = 1000
"""With so many in a column, training a network on a CPU takes minutes instead of seconds."""

_EXTRA = {"torch", "opacus", "dp_accounting"}


def synthesize(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    generator: str | Synthesizer = "trees",
    rows: int | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    rare_labels: RareLabels = "pool",
    identifiers: Identifiers = "fresh",
    save: str | Path | None = None,
    drop: str | Iterable[str] = (),
    threads: int | None = None,
    progress: Listener | None = None,
) -> Any:  # noqa: ANN401 - the kind of table that came in
    """Learn a table and return new rows that look like it: the same columns, types and order.

    A synthetic table can still reveal data of the people it was learned from: audit it before you release it.

    Parameters
    ----------
    data
        The real rows: a path (CSV, Parquet, Feather, Excel) or a pandas, polars or Arrow table. New rows come
        back as the same kind of table; those of a file as an Arrow table.
    generator
        A name (``tabveil synthesize --help`` lists them) or a synthesizer object.
    rows
        How many rows to draw; None draws as many as there are in ``data``. That tells how many there are,
        which the promise of a private generator does not cover.
    settings
        The generator's settings by name; what is left out keeps its default.
    seed
        The same seed gives the same rows. None is 0; but private generators are then fitted with a secret
        seed, because their promise holds only while nobody can guess it.
    schema
        A file or mapping that overrides the types found and declares labels, bounds and forms. Generators
        that state an ε take what is declared as public, and their rows leave in the declared form;
        everything else they read from the rows, outside their promise.
    missing
        Texts that stand for a missing value, such as ``"?"``.
    rare_labels
        ``"pool"`` learns labels that fewer than ten rows share as one, ``"other"`` (as other labels of their
        column where fewer than ten rows have any), ``"keep"`` as they are, so that the rows may tell a name
        that only one person has. Declared labels are kept either
        way, and so are those of ordered columns and of booleans. The generator ``copy`` keeps all labels, and
        private ones have a promise of their own.
    identifiers
        What becomes of columns that name people: those in which nearly every row has its own label or its own
        number, unless it is a measure, and those that a schema declares. They are not learned. ``"fresh"``
        gives the rows others of the same form that nobody in the data has, ``"drop"`` leaves the columns
        out, ``"learn"`` learns them as they are, so that the rows may carry those of real people. For private
        generators only declared ones count.
    drop
        Columns to leave out: they are not learned, and the rows lack them.
    save
        A new folder for the fitted model, to draw more rows later with :func:`sample`. Guard it like the
        data.
    threads
        How many threads to use; None takes all cores.
    progress
        Told what is being done and which share of the training is complete.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> people = hospital(50, seed=1)
    >>> rows = synthesize(people, generator="marginals", rows=3)
    >>> list(rows.columns) == list(people.columns), len(rows)
    (True, 3)
    """
    rows = None if rows is None else whole_rows(rows)
    if save is not None:
        refuse_existing(Path(save))
    with working(threads=threads):
        learned = learn(
            data,
            generator=generator,
            settings=settings,
            seed=seed,
            schema=declare.read(schema, drop=drop),
            missing=missing,
            rare_labels=rare_labels,
            identifiers=identifiers,
            progress=progress,
        )
        if save is not None:
            learned.save(save)
        assert learned.n_rows is not None, "just learned"
        return learned.draw(learned.n_rows if rows is None else rows, seed=seed or 0).native()


def learn(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    generator: str | Synthesizer = "trees",
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    rare_labels: RareLabels = "pool",
    identifiers: Identifiers = "fresh",
    person: str | None = None,
    deduplicated: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Listener | None = None,
) -> TableModel:
    """Fit a generator; see :func:`synthesize`. What is returned can be drawn from, stored, and asked.

    ``person`` is the column that says whose row it is, by which a promise is also stated for people; None is
    that of the schema. ``deduplicated`` is what was asked of that step, if it was taken before.
    """
    with working(threads=threads, listener=progress):
        lesson = prepare(
            data,
            generator=generator,
            settings=settings,
            seed=seed,
            schema=schema,
            missing=missing,
            rare_labels=rare_labels,
            identifiers=identifiers,
            person=person,
            deduplicated=deduplicated,
        )
        synthesizer = lesson.synthesizer
        with needing_extra(synthesizer.name):
            model = synthesizer.fit_written(
                lesson.table, lesson.layout, declared=lesson.declared, rng=lesson.rng()
            )
        return lesson.learned(require_model(synthesizer.name, model))


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """A table as a generator is to learn it: without identifiers and rare labels; and all else about it."""

    synthesizer: Synthesizer  # told what is public
    seed: int
    seed_given: bool  # by somebody, so that it may be guessed
    table: Table
    layout: Layout
    released: Layout  # of the rows that will be drawn
    form: LearnedForm
    declared: tuple[str, ...]  # columns to be learned whose domain a schema says
    loaded: LoadedTable
    set_aside: SetAside
    people: RowsOfPeople
    notes: tuple[str, ...]

    def rng(self) -> Generator:
        """Return the random numbers to fit with, from their beginning."""
        return stream(self.seed, "fit", self.synthesizer.name)

    def learned(self, model: Model) -> TableModel:
        """Return a model that was fitted to the table, with the form of the data."""
        n_rows = len(self.loaded.table)
        stated = stated_by(model)
        warning = None if stated is None else too_likely(stated[1], n_rows)
        warnings = [] if warning is None else [warning]
        if stated is not None and self.seed_given:
            warnings.append(SEED_GIVEN)
        return TableModel(
            model=model,
            layout=self.released,
            form=self.form,
            declared=self.loaded.declared,
            fresh=self.set_aside.fresh,
            notes=(*self.notes, *warnings),
            people=self.people,
            n_rows=n_rows,
            left_out=self.set_aside.left_out,
        )


def prepare(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    generator: str | Synthesizer = "trees",
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    rare_labels: RareLabels = "pool",
    identifiers: Identifiers = "fresh",
    person: str | None = None,
    deduplicated: Mapping[str, Any] | None = None,
) -> Lesson:
    """Read a table that was not loaded before, and set aside what is not learned; see :func:`learn`."""
    check.one_of("synthesize", "rare_labels", rare_labels, get_args(RareLabels))
    check.one_of("synthesize", "identifiers", identifiers, get_args(Identifiers))
    synthesizer = choose(generator, settings)
    if seed is not None:
        fit_seed = whole_seed(seed)
    else:  # who can guess that of a private generator can take its noise away
        fit_seed = secrets.randbits(128) if wants_secret_seed(synthesizer) else 0
    tell("reading the table", 0.0)
    private, by_schema = is_private(synthesizer), wants_secret_seed(synthesizer)
    loaded = data
    if not isinstance(data, LoadedTable):
        loaded = load_table(data, schema=schema, missing=missing, form_by_schema=by_schema)
    said = declare.read(schema)
    kept = set_aside(
        loaded, identifiers, by_schema=by_schema, looking=not private, rng=stream(fit_seed, "identifiers")
    )
    if not len(kept.table.schema):
        raise ParameterError(
            "synthesize",
            f"no column is left to learn without identifiers ({wording.listed(loaded.identifiers)}); "
            "choose identifiers=learn to learn them.",
        )
    _require_learned(synthesizer, loaded.table.schema, kept.table.schema)
    # Where rows told which columns name people, rows decide what is learned: nothing counts as declared.
    declared = tuple(
        name for name in kept.table.schema.names if name in loaded.declared and not kept.by_looks
    )
    read = left_open.facts_read(loaded, schema) if by_schema else {}
    synthesizer = with_public(synthesizer, declared, [(name, *facts) for name, facts in read.items()])
    table, layout, notes = kept.table, kept.layout, (*loaded.notes, *kept.notes)
    if read and not private:  # private ones say so themselves
        notes += (left_open.note(read),)
    truths = {name for name, place in layout.columns.items() if place.kind is Kind.BOOLEAN}
    # Nobody's rows had to be read for labels that stand in the settings.
    listed = loaded.declared.union(truths, synthesizer.names_labels)
    form, places = LearnedForm(), layout
    if takes_arranged(synthesizer):
        known = KnownTable(
            table=table,
            layout=layout,
            kept=listed,
            explained=[name for name in table.schema.names if said.of(name) is not None],
            named=named_in_settings(synthesizer, table.schema.names),
            least=LEAST_SHARED if rare_labels == "pool" else 1,
        )
        arranged = arrange(
            known, looking_up=synthesizer.keeps_dependencies, rng=stream(fit_seed, "rare labels")
        )
        table, places, form, notes = arranged.table, arranged.layout, arranged.form, (*notes, *arranged.notes)
    elif rare_labels == "pool" and pools_labels(synthesizer):
        pooled = pool_rare_labels(
            table,
            keep=listed,
            dependencies=dependencies_of(table) if synthesizer.keeps_dependencies else (),
            rng=stream(fit_seed, "rare labels"),
        )
        if pooled.columns:
            others = set(table.schema.names) - set(pooled.columns)
            table, layout = without_unused_labels(pooled.table, layout, keep=others)
            places = layout
            notes += (pooled.note,)
    _warn_of_labels(synthesizer, table.schema)
    return Lesson(
        synthesizer=synthesizer,
        seed=fit_seed,
        seed_given=seed is not None,
        table=table,
        layout=places,
        released=layout,
        form=form,
        declared=declared,
        loaded=loaded,
        set_aside=kept,
        people=RowsOfPeople.of(loaded.table, person or said.person, deduplicated),
        notes=notes,
    )


def _require_learned(synthesizer: Synthesizer, before: Schema, kept: Schema) -> None:
    """Refuse settings that speak of a column that was set aside because it names people."""
    for name in synthesizer.hierarchies:
        if name in before.names and name not in kept.names:
            raise ParameterError(
                synthesizer.name,
                f"column {name!r} names people, so it is not learned and needs no "
                "hierarchy; choose identifiers=learn to learn it.",
            )


def sample(folder: str | Path, rows: int, *, seed: int = 0) -> Any:  # noqa: ANN401 - as it was learned from
    """Draw rows from a stored model, as the kind of table it learned from.

    Where that was a file, or the model promises privacy and keeps nothing of what came, they are Arrow.

    The seed that the model was fitted with draws the same rows again; another one draws fresh rows.
    """
    return TableModel.load(folder).draw(rows, seed=seed).native()


@contextmanager
def needing_extra(generator: str) -> Iterator[None]:
    """Say which extra is not installed where the block needs one."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _EXTRA:
            raise
        raise ParameterError(
            generator, f"{error.name} is not installed; install tabveil[deep] to use this generator."
        ) from None


def _warn_of_labels(synthesizer: Synthesizer, schema: Schema) -> None:
    """Say so before a network has to learn a column with very many labels: each is a part of it."""
    for column in schema.columns if synthesizer.device == "cpu" else ():
        if isinstance(column, Categorical) and len(column.labels) >= MANY_LABELS:
            warn(
                f"Column '{wording.name(column.name)}' has {len(column.labels):,} labels: training "
                f"{synthesizer.name} may take many minutes, and drawing rows, too. If they are identifiers, "
                "drop the column, and if they are numbers or dates, declare it as such: 'tabveil schema' "
                "writes the file to say it in. Or take the generator trees."
            )


def choose(generator: str | Synthesizer, settings: Mapping[str, object] | None = None) -> Synthesizer:
    """Return a synthesizer with its settings checked."""
    given = dict(settings or {})
    if not isinstance(generator, str):
        if given:
            raise ParameterError("synthesize", "settings belong to a generator's name; this one has its own.")
        return require_synthesizer(generator)
    kind = GENERATORS.find("synthesize", generator)
    known = settings_for_users(kind)
    if any(own in given and own not in known for own in (PUBLIC, PARTLY)):
        raise ParameterError(generator, "the schema says what is public; declare labels and bounds there.")
    check_names(generator, given, known)
    return require_synthesizer(make(kind, given))


def settings_for_users(kind: type) -> dict[str, SettingType]:
    """Return the settings that users may choose, each with its type and default."""
    return {name: setting for name, setting in settings_of(kind).items() if name not in (PUBLIC, PARTLY)}


def summary(kind: type) -> str:
    """Return the first line of what was written about a generator, or nothing."""
    text = inspect.cleandoc(kind.__doc__ or "")
    by_itself = is_dataclass(kind) and text.startswith(f"{kind.__name__}(")  # a signature, not a sentence
    return "" if by_itself or not text else text.splitlines()[0]


def is_private(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers that promise privacy: they want to know what is public."""
    return PUBLIC in settings_of(type(synthesizer))


def pools_labels(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers whose labels are pooled: not those with a promise, nor who copies on purpose."""
    return not is_private(synthesizer) and not synthesizer.copies_rows


def takes_arranged(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers that learn codes as labels and columns that determine each other as one.

    Not those with a promise, whose rows must not be asked; nor who copies or memorizes on purpose; nor trees
    as published, which are measured beside; nor a pipeline, whose steps speak of columns as they are.
    """
    if isinstance(synthesizer, Trees) and not synthesizer.careful:
        return False
    return pools_labels(synthesizer) and not isinstance(synthesizer, Hybrid)


def named_in_settings(synthesizer: Synthesizer, names: Iterable[str]) -> set[str]:
    """Return the columns that a generator's settings name: these must be learned under their names."""
    listed = [item for item in values_of(synthesizer).values() if isinstance(item, (tuple, list))]
    return {name for name in names if any(name in item for item in listed)}


def wants_secret_seed(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers whose promise, of whatever kind, holds only while nobody can guess the seed."""
    return is_private(synthesizer) or synthesizer.needs_secret_seed


def with_public(
    synthesizer: Synthesizer, names: Iterable[str], partly: Iterable[tuple[str, ...]] = ()
) -> Synthesizer:
    """Tell a private synthesizer which columns were declared, so that no row was asked about them.

    One that calls others public is refused: their labels and ranges have just been read from the rows.
    ``partly`` says what was, where it can say so itself.
    """
    if not is_private(synthesizer):
        return synthesizer
    known, public = values_of(synthesizer), tuple(names)
    for name in known[PUBLIC]:
        if name not in public:
            raise ParameterError(
                synthesizer.name, f"the schema says what is public, and does not declare all of {name!r}."
            )
    told = {PUBLIC: public, **({PARTLY: tuple(partly)} if PARTLY in known else {})}
    return make(type(synthesizer), {**known, **told}, as_given)
