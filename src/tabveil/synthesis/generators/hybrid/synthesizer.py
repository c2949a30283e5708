"""The hybrid pipeline as a generator: anonymize, sample, go back to concrete values, generate.

A fitted one is a generator that learned anonymized rows, and perhaps the way back to concrete values.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.settings.registry import make
from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays
from tabveil.core.storage.plain import FORBID_OTHERS, require_plain, to_plain
from tabveil.core.table import Floats, Schema, Table
from tabveil.core.workers import part, tell
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.anonymize import Anonymization
from tabveil.synthesis.anonymize.search import BUDGET
from tabveil.synthesis.generators.hybrid.plain_settings import as_plain, read_named
from tabveil.synthesis.generators.hybrid.promises import Promises, SampledPrivacy, Sampling, broken, uncovered
from tabveil.synthesis.generators.hybrid.transitions import read_transition
from tabveil.synthesis.generators.hybrid.way_back import (
    GeneralizedRows,
    Stored,
    Transition,
    WayBack,
    stored_rows,
)
from tabveil.synthesis.generators.models import (
    GENERATORS,
    Account,
    FittedModel,
    Maker,
    require_model,
    require_rows,
    require_synthesizer,
)
from tabveil.synthesis.generators.privacy import PARTLY, PUBLIC, WARNING

if TYPE_CHECKING:
    from tabveil.synthesis.anonymize.configuration import AnonymizationSettings
    from tabveil.tables.reading import Layout

Placement = Literal["pre", "post"]
NOTHING = "none"
"""The generator that generates nothing: the rows themselves are released."""
_PREPARED = 0.3  # of the work is done when the generator begins
GENERATOR, ROWS = "generator", "rows"


@dataclass(frozen=True, kw_only=True, eq=False)
class HybridModel(FittedModel):
    """What draws rows: a generator, or rows themselves where nothing is generated; and the way back, if any.

    Where the transition comes after the generator, what is drawn is generalized, and the way back a part of
    the model.
    """

    part_names: ClassVar[tuple[str, ...]] = (GENERATOR,)

    drawn: Schema  # of what the generator draws
    promises: Promises
    rows: Floats | None = None  # (n, d) under the drawn schema, where there is no generator
    way_back: WayBack | None = None
    quasi_identifiers: tuple[str, ...] = ()

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows, and let the generalized values among them be concrete again."""
        if self.rows is None:
            table = self.parts[GENERATOR].sample(n_rows, rng=rng)
        else:
            n = len(self.rows)  # in random order, none again before all were chosen
            turns = [rng.permutation(n) for _ in range(-(-n_rows // n))]
            table = Table(schema=self.drawn, values=self.rows[np.concatenate(turns)[:n_rows]])
        return table if self.way_back is None else self.way_back.concrete(table, self.schema, rng=rng)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the schema of what is drawn, the way back, and rows, where there is no generator."""
        back = self.way_back
        state = {
            "drawn": self.drawn.to_json(),
            "quasi_identifiers": list(self.quasi_identifiers),
            "changed": [domain.name for domain in back.domains] if back is not None else [],
            "promises": to_plain(self.promises),
        }
        arrays = {f"back_{name}": array for name, array in back.arrays().items()} if back is not None else {}
        return state, arrays | ({} if self.rows is None else {ROWS: self.rows})

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model."""
        known = require_plain(_HybridState, state, "state")
        schema, drawn, made_by = shared["schema"], Schema.from_json(known.drawn), shared["made_by"]
        require(drawn.names == schema.names, "what is drawn must have the columns of the schema")
        fitting = set(known.changed) <= set(known.quasi_identifiers) <= set(schema.names)
        others = [name for name in schema.names if name not in known.changed]
        same = all(drawn[name] == schema[name] for name in others)
        require(fitting and same, "only quasi-identifiers can be generalized")
        rows = None
        if ROWS in arrays:
            cells = Expected(dtype=np.float64, shape=(None, len(drawn)), missing=True)
            require_arrays({ROWS: arrays[ROWS]}, {ROWS: cells})
            rows = stored_rows(arrays, ROWS, drawn).values
        parts: Mapping[str, Any] = shared["parts"]
        wanted = {GENERATOR} if rows is None else set()
        require(set(parts) == wanted, "a generator or rows must be there")
        chosen = read_named("generator", made_by.generator)[0]
        by = NOTHING if rows is not None else parts[GENERATOR].name
        require(by == chosen, f"the generator must be the one that was chosen, {chosen}")
        require(rows is not None or parts[GENERATOR].schema == drawn, "the generator must draw these columns")
        said = known.promises.sampled
        require(
            said is None or said.says_the_same(made_by.sampled_privacy(schema)),
            "the stored promise of differential privacy is not one that follows from the settings",
        )
        require(
            known.promises.noise in (None, made_by.noise()),
            "the stored ε of the transition's noise is not that of the settings",
        )
        stored = Stored(
            schema=schema,
            generalized=drawn,
            quasi_identifiers=known.quasi_identifiers,
            changed=known.changed,
            arrays={name.removeprefix("back_"): array for name, array in arrays.items() if name != ROWS},
        )
        require(bool(known.changed) or not stored.arrays, "without generalized columns there is no way back")
        return cls(
            drawn=drawn,
            promises=known.promises,
            rows=rows,
            way_back=made_by.way().open(stored) if known.changed else None,
            quasi_identifiers=known.quasi_identifiers,
            **shared,
        )


@dataclass(frozen=True, kw_only=True)
class _HybridState:
    """What is stored beside arrays."""

    __pydantic_config__ = FORBID_OTHERS

    drawn: list[Any]
    quasi_identifiers: tuple[str, ...]
    changed: tuple[str, ...]
    promises: Promises


@dataclass(frozen=True, kw_only=True, eq=False)
class Stages:
    """The rows of a pipeline on their way: as they came, anonymized, concrete again, and drawn in the end.

    ``generalized`` are the rows that take part, as the generator sees them after the transition was put off
    (*post*); ``transitioned`` the same rows with concrete values under the schema of ``original``.
    """

    original: Table
    anonymization: Anonymization | None  # None where nothing is anonymized
    generalized: Table
    transitioned: Table
    model: HybridModel
    final: Table


@dataclass(frozen=True, kw_only=True, eq=False)
class _Prepared:
    """What comes before the generator."""

    anonymization: Anonymization | None
    generalized: Table
    way_back: WayBack | None  # None where nothing is generalized
    promises: Promises
    rngs: tuple[Generator, Generator]  # of the transition, and of the generator

    def concrete(self, schema: Schema) -> Table:
        """Return the rows with concrete values, the same ones each time."""
        if self.way_back is None:
            return self.generalized
        again = np.random.default_rng(0)
        again.bit_generator.state = self.rngs[0].bit_generator.state
        return self.way_back.concrete(self.generalized, schema, rng=again)


@dataclass(frozen=True, kw_only=True)
class Hybrid(Maker):
    """Anonymize, sample and go back to concrete values, before or after another generator learns.

    Every step can be left out: without ``hierarchies`` nothing is anonymized, and with the generator ``none``
    nothing is generated. What is promised, the model says in its notes.

    Parameters
    ----------
    hierarchies, models, loss, suppression, local, budget
        How quasi-identifiers are anonymized, each as in a file for ``tabveil anonymize``.
    levels
        The level of every quasi-identifier, if they are not to be searched for: only then no record has a say
        in how records are generalized.
    sampling
        The chance with which a record takes part, or names and values: ``beta``, ``by`` (class) or ``column``
        for strata, ``when`` (after the table is anonymized, or before).
    transition
        How generalized values become concrete: a name, or a name and its settings; see
        :data:`tabveil.synthesis.generators.hybrid.TRANSITIONS`.
    placement
        Whether the transition comes before the generator (pre), which then learns concrete rows, or after it
        (post): then it learns generalized values as labels.
    generator
        Another generator: a name, or a name and its settings.
    """

    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[Mapping[str, Any], ...] = ()
    loss: str = "geometric loss"
    suppression: float | str = 1.0
    local: bool = False
    budget: int = BUDGET
    levels: Mapping[str, Any] = field(default_factory=dict)
    sampling: float | Mapping[str, Any] = 1.0
    transition: str | Mapping[str, Any] = "uniform"
    placement: Placement = "pre"
    generator: str | Mapping[str, Any] = "trees"

    name: ClassVar[str] = "hybrid"
    model: ClassVar[type[FittedModel]] = HybridModel

    def __post_init__(self) -> None:
        with _complaining():
            check.one_of("hybrid", "placement", self.placement, get_args(Placement))
            anonymized = self._generalizing() is not None
            if Sampling.read(self.sampling).by is not None and not anonymized:
                raise ParameterError("sampling", "by: class needs hierarchies, by which there are classes.")
            self.way()
            self._inner()
        for name in ("hierarchies", "levels", "sampling", "transition", "generator"):
            object.__setattr__(self, name, as_plain(getattr(self, name)))
        object.__setattr__(self, "models", tuple(as_plain(self.models)))

    @property
    def keeps_dependencies(self) -> bool:  # type: ignore[override]  # as the settings say
        """Whether the generator keeps columns that follow from others."""
        inner = self._inner()
        return inner is not None and inner.keeps_dependencies

    @property
    def names_labels(self) -> frozenset[str]:  # type: ignore[override]  # as the settings say
        """The columns whose hierarchies name every label: it is the user's word that they may be learned."""
        generalizing = self._generalizing()
        return frozenset() if generalizing is None else generalizing.named

    @property
    def needs_secret_seed(self) -> bool:  # type: ignore[override]  # as the settings say
        """Whether a promise is at stake that a known seed would void."""
        sampling = Sampling.read(self.sampling)
        return bool(self.way().covers) or not broken(self._generalizing(), sampling, self.way())

    def fit(self, table: Table, *, rng: Generator) -> HybridModel:
        """Anonymize and sample the rows, and let the generator learn."""
        return self.fit_written(table, None, declared=None, rng=rng)

    def fit_written(
        self, table: Table, layout: "Layout | None", *, declared: Iterable[str] | None, rng: Generator
    ) -> HybridModel:
        """Fit, told how the columns are written and which of them a schema declares (None: unknown)."""
        with _complaining():
            return self._fit(table, self._prepare(table, layout, declared, rng=rng))

    def stages(
        self,
        table: Table,
        *,
        rng: Generator,
        layout: "Layout | None" = None,
        declared: Iterable[str] | None = None,
        n_rows: int | None = None,
    ) -> Stages:
        """Run the pipeline and keep what came out of each step; as many rows are drawn in the end as came in.

        The model is the one that :meth:`fit_written` makes with the same random numbers.
        """
        with _complaining():
            prepared = self._prepare(table, layout, declared, rng=rng)
            model = self._fit(table, prepared)
            return Stages(
                original=table,
                anonymization=prepared.anonymization,
                generalized=prepared.generalized,
                transitioned=prepared.concrete(table.schema),
                model=model,
                final=model.sample(len(table) if n_rows is None else n_rows, rng=rng),
            )

    def _prepare(
        self, table: Table, layout: "Layout | None", declared: Iterable[str] | None, *, rng: Generator
    ) -> _Prepared:
        require_rows(self.name, table)
        sampling, generalizing = Sampling.read(self.sampling), self._generalizing()
        # Each has random numbers of its own, so that a step more or less changes no other's.
        seeds = (rng.integers(2**32, size=4) for _ in range(3))
        of_sampling, of_transition, of_generator = map(np.random.default_rng, seeds)
        tell("preparing", 0.0)
        way = self.way()
        declared = None if declared is None else tuple(declared)
        voided = broken(generalizing, sampling, way, schema=table.schema, declared=declared)
        blind = bool(way.covers) or not voided  # where ε is stated, no row may have a say in the hierarchies
        if sampling.when == "before" or generalizing is None:
            table = table.take(sampling.draw(table, None, rng=of_sampling))
        found, back, promises = None, None, Promises(voided=voided)
        if generalizing is not None:
            from tabveil.synthesis.anonymize.configuration import generalize  # noqa: PLC0415

            with part(0, _PREPARED):
                found = generalize(generalizing, table, layout, blind=blind)
            chosen = np.arange(len(found.rows))
            if sampling.when == "after":
                chosen = sampling.draw(found.table, found.classes, rng=of_sampling)
            rows = GeneralizedRows(found=found, chosen=chosen, blind=blind)
            read = uncovered(generalizing, table.schema, declared)
            table = rows.table
            if any(level > 0 for node in found.nodes for level in node):
                back = way.learn(rows, rng=of_transition)
            promises = Promises.of(generalizing, rows, beta=sampling.beta, voided=voided)
            if back is not None and way.covers:
                covers = (way.covers, *([read] if read else []))
                promises = replace(promises, noise=self.noise(), covers=covers)
        return _Prepared(
            anonymization=found,
            generalized=table,
            way_back=back,
            promises=promises,
            rngs=(of_transition, of_generator),
        )

    def _fit(self, table: Table, prepared: _Prepared) -> HybridModel:
        inner, back = self._inner(), prepared.way_back
        if back is not None and self.placement == "pre":
            learned, back = prepared.concrete(table.schema), None
        else:
            learned = prepared.generalized
        parts, account = {}, Account()
        if inner is not None:
            with part(_PREPARED, 1.0):
                parts = {GENERATOR: require_model(inner.name, inner.fit(learned, rng=prepared.rngs[1]))}
            account = Account.of(parts[GENERATOR])
        tell("pipeline ready", 1.0)
        found = prepared.anonymization
        return HybridModel(
            made_by=self,
            schema=table.schema,
            parts=parts,
            history=account.history,
            notes=(
                *self._inner_notes(account),
                *prepared.promises.sentences(),
                *self._kept(back),
            ),
            drawn=learned.schema,
            promises=prepared.promises,
            rows=None if inner is not None else np.array(learned.values),
            way_back=back,
            quasi_identifiers=() if back is None or found is None else found.quasi_identifiers,
        )

    def _inner_notes(self, account: Account) -> tuple[str, ...]:
        """Pass on what the generator says; what it says of its own promise would mislead here."""
        if account.privacy is None:
            return account.notes
        said = f"{WARNING}: the promise of {read_named('generator', self.generator)[0]} does not hold here: "
        why = "it learned from rows that were prepared by looking at others, for which it does not account."
        return (*(note for note in account.notes if note == INTERRUPTED), said + why)

    def _kept(self, back: WayBack | None) -> tuple[str, ...]:
        """Say what the model holds of real rows beside what a generator learned."""
        kept = ["the anonymized rows themselves"] if self._inner() is None else []
        if back is not None and self.way().keeps:
            kept.append(self.way().keeps)
        return (f"The model holds {', and '.join(kept)}: guard it like the data.",) if kept else ()

    def sampled_privacy(self, schema: Schema) -> SampledPrivacy | None:
        """Return the promise that follows from settings and a schema, if that is public knowledge."""
        generalizing, sampling = self._generalizing(), Sampling.read(self.sampling)
        if generalizing is None or broken(generalizing, sampling, self.way(), schema=schema):
            return None
        return SampledPrivacy.of(sampling.beta, generalizing.k)

    def noise(self) -> float | None:
        """Return the ε of the noise that the transition adds; None if it adds none."""
        way = self.way()
        return float(getattr(way, "epsilon", math.inf)) if way.covers else None

    def way(self) -> Transition:
        """Return the transition."""
        return read_transition(self.transition)

    def _generalizing(self) -> "AnonymizationSettings | None":
        """Return how the rows are anonymized; None if they are not."""
        if not self.hierarchies:
            for name in ("models", "levels"):
                if getattr(self, name):
                    raise ParameterError(name, "they need hierarchies of the quasi-identifiers.")
            return None
        # What builds hierarchies reads files and tables of all libraries: not needed where none is built.
        from tabveil.synthesis.anonymize.configuration import read_step  # noqa: PLC0415

        asked = ("hierarchies", "models", "loss", "suppression", "local", "budget")
        return read_step({name: getattr(self, name) for name in asked}, self.levels)

    def _inner(self) -> Synthesizer | None:
        """Return the generator; None if nothing is generated."""
        name, settings = read_named("generator", self.generator)
        if name == NOTHING and not settings:
            return None
        if name == self.name:
            raise ParameterError("generator", "a pipeline needs another generator than itself.")
        kind = GENERATORS.find("generator", name)
        for own in (PUBLIC, PARTLY):
            if own in settings:
                raise ParameterError("generator", f"{own!r} belongs to a promise, which a pipeline voids.")
        return require_synthesizer(make(kind, settings))


@contextmanager
def _complaining() -> Iterator[None]:
    """Let whatever a step refuses be told in one line that names the pipeline."""
    try:
        yield
    except TabveilError as error:
        raise ParameterError(Hybrid.name, error.without(Hybrid.name)) from None
