"""The hybrid pipeline as a generator: anonymize, sample, go back to concrete values, generate."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.settings.registry import make
from tabveil.core.table import Schema, Table
from tabveil.core.workers import part, tell
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.anonymize import Anonymization
from tabveil.synthesis.anonymize.search import BUDGET
from tabveil.synthesis.generators.hybrid.model import GENERATOR, HybridModel
from tabveil.synthesis.generators.hybrid.plain_settings import as_plain, read_named
from tabveil.synthesis.generators.hybrid.promises import Promises, SampledPrivacy, broken, measure_classes
from tabveil.synthesis.generators.hybrid.sampling import Sampling
from tabveil.synthesis.generators.hybrid.transitions import (
    GeneralizedRows,
    Transition,
    WayBack,
    read_transition,
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
from tabveil.synthesis.generators.privacy import PUBLIC, WARNING

if TYPE_CHECKING:
    from tabveil.synthesis.generators.hybrid.generalizing import Generalizing
    from tabveil.tables.reading import Layout

Placement = Literal["pre", "post"]
NOTHING = "none"
"""The generator that generates nothing: the rows themselves are released."""
_PREPARED = 0.3  # of the work is done when the generator begins


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
            if self._sampling().by is not None and not anonymized:
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
        return bool(self.way().covers) or not broken(self._generalizing(), self._sampling(), self.way())

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
                transitioned=_concrete(prepared, table.schema, rng=_again(prepared.rngs[0])),
                model=model,
                final=model.sample(len(table) if n_rows is None else n_rows, rng=rng),
            )

    def _prepare(
        self, table: Table, layout: "Layout | None", declared: Iterable[str] | None, *, rng: Generator
    ) -> _Prepared:
        require_rows(self.name, table)
        sampling, generalizing = self._sampling(), self._generalizing()
        of_sampling, of_transition, of_generator = (_child(rng) for _ in range(3))
        tell("preparing", 0.0)
        original = table
        if sampling.when == "before":
            table = table.take(sampling.draw(table, None, rng=of_sampling))
        if generalizing is None:
            if sampling.when == "after":
                table = table.take(sampling.draw(table, None, rng=of_sampling))
            return _Prepared(
                anonymization=None,
                generalized=table,
                way_back=None,
                promises=Promises(voided=broken(None, sampling, self.way())),
                rngs=(of_transition, of_generator),
            )
        with part(0, _PREPARED):
            found = generalizing.apply(table, layout)
        chosen = np.arange(len(found.rows))
        if sampling.when == "after":
            chosen = sampling.draw(found.table, found.classes, rng=of_sampling)
        rows = GeneralizedRows(found=found, chosen=chosen)
        changed = any(level > 0 for node in found.nodes for level in node)
        return _Prepared(
            anonymization=found,
            generalized=rows.table,
            way_back=self.way().learn(rows, rng=of_transition) if changed else None,
            promises=self._promises(generalizing, rows, original.schema, declared),
            rngs=(of_transition, of_generator),
        )

    def _fit(self, table: Table, prepared: _Prepared) -> HybridModel:
        inner, back = self._inner(), prepared.way_back
        if back is not None and self.placement == "pre":
            learned, back = _concrete(prepared, table.schema, rng=_again(prepared.rngs[0])), None
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
            notes=(*self._inner_notes(account), *self._said(prepared), *self._kept(back)),
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

    def _said(self, prepared: _Prepared) -> tuple[str, ...]:
        """Say what is promised, and what the noise of a transition covers."""
        covers = self.way().covers if prepared.way_back is not None else ""
        return (*prepared.promises.sentences(), *((covers,) if covers else ()))

    def _kept(self, back: WayBack | None) -> tuple[str, ...]:
        """Say what the model holds of real rows beside what a generator learned."""
        kept = []
        if self._inner() is None:
            kept.append("the anonymized rows themselves")
        if back is not None and self.way().keeps:
            kept.append(self.way().keeps)
        return (f"The model holds {', and '.join(kept)}: guard it like the data.",) if kept else ()

    def sampled_privacy(self, schema: Schema) -> SampledPrivacy | None:
        """Return the promise that follows from settings and a schema, if that is public knowledge."""
        generalizing, sampling = self._generalizing(), self._sampling()
        if generalizing is None or broken(generalizing, sampling, self.way(), schema=schema):
            return None
        return SampledPrivacy.of(sampling.beta, generalizing.k)

    def _promises(
        self,
        generalizing: "Generalizing",
        rows: GeneralizedRows,
        schema: Schema,
        declared: Iterable[str] | None,
    ) -> Promises:
        own, sensitive = generalizing.quasi_identifiers, generalizing.asked.sensitive
        k, diversity = measure_classes(rows.found.table, own, sensitive)
        k_learned, diversity_learned = measure_classes(rows.table, own, sensitive)
        known = None if declared is None else set(declared)
        voided = broken(generalizing, self._sampling(), self.way(), schema=schema, declared=known)
        return Promises(
            k=k,
            k_learned=k_learned,
            diversity=diversity,
            diversity_learned=diversity_learned,
            sampled=None if voided else self.sampled_privacy(schema),
            voided=voided,
        )

    def way(self) -> Transition:
        """Return the transition."""
        return read_transition(self.transition)

    def _sampling(self) -> Sampling:
        return Sampling.read(self.sampling)

    def _generalizing(self) -> "Generalizing | None":
        """Return how the rows are anonymized; None if they are not."""
        if not self.hierarchies:
            for name in ("models", "levels"):
                if getattr(self, name):
                    raise ParameterError(name, "they need hierarchies of the quasi-identifiers.")
            return None
        # What builds hierarchies reads files and tables of all libraries: not needed where none is built.
        from tabveil.synthesis.generators.hybrid.generalizing import Generalizing  # noqa: PLC0415

        asked = ("hierarchies", "models", "loss", "suppression", "local", "budget")
        return Generalizing.read({name: getattr(self, name) for name in asked}, self.levels)

    def _inner(self) -> Synthesizer | None:
        """Return the generator; None if nothing is generated."""
        name, settings = read_named("generator", self.generator)
        if name == NOTHING and not settings:
            return None
        if name == self.name:
            raise ParameterError("generator", "a pipeline needs another generator than itself.")
        kind = GENERATORS.find("generator", name)
        if PUBLIC in settings:
            raise ParameterError("generator", f"{PUBLIC!r} belongs to a promise, which a pipeline voids.")
        return require_synthesizer(make(kind, settings))


def _concrete(prepared: _Prepared, schema: Schema, *, rng: Generator) -> Table:
    back = prepared.way_back
    return prepared.generalized if back is None else back.concrete(prepared.generalized, schema, rng=rng)


def _child(rng: Generator) -> Generator:
    """Make random numbers of their own, so that a step more or less changes no other's."""
    return np.random.default_rng(rng.integers(2**32, size=4))


def _again(rng: Generator) -> Generator:
    """Return the same random numbers once more, from where they are."""
    copied = np.random.default_rng(0)
    copied.bit_generator.state = rng.bit_generator.state
    return copied


@contextmanager
def _complaining() -> Iterator[None]:
    """Let whatever a step refuses be told in one line that names the pipeline."""
    try:
        yield
    except TabveilError as error:
        raise ParameterError(Hybrid.name, error.without(Hybrid.name)) from None
