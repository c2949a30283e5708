"""One call for a whole pipeline: hold rows back, run it, fit its generator alone, and audit every stage."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabveil.auditing.audit import conduct, load_all
from tabveil.auditing.plan import checked_control
from tabveil.auditing.request import AuditRequest
from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.sampling import random_order
from tabveil.core.wording import plural
from tabveil.core.workers import Listener, part, tell, working
from tabveil.errors import ParameterError
from tabveil.protocols import Metric
from tabveil.synthesis.generators.hybrid.synthesizer import GENERATOR, Hybrid, HybridModel
from tabveil.tables.holdout import split_rows
from tabveil.tables.reading import as_read, declare, listed_columns, parts_as_read, raw_rows
from tabveil.tables.reading.layout import without_unused_labels
from tabveil.version import __version__
from tabveil.workflows.pipeline import settings as configuration
from tabveil.workflows.pipeline.report import TITLES, AnonymizedTable, PipelineReport, Stage, StageName
from tabveil.workflows.pipeline.settings import PipelineSettings, RealRows, StepTaken, filtered, perturbed
from tabveil.workflows.synthesizing import SyntheticRows, TableModel, learn, prepare
from tabveil.workflows.synthesizing.configuration import SynthesisFile
from tabveil.workflows.synthesizing.fresh_identifiers import Identifiers
from tabveil.workflows.synthesizing.learning import RareLabels, needing_extra, wants_secret_seed
from tabveil.workflows.synthesizing.table_model import stated_by, whole_rows, whole_seed

HOLDOUT = 0.3
WITHHELD = (
    "The seed of the pipeline is withheld: what it promises holds only while nobody can guess it. Audits of "
    "the stages have a seed of their own."
)
UNREPEATABLE = (
    "The pipeline was fitted with a secret seed, as what it promises holds only while nobody can guess it: "
    "another run makes other rows."
)
FILTERED = "training rows decided which rows of the release were dropped"
_READ, _PIPED, _FILTERED, _LEARNED, _LOADED = 0.02, 0.2, 0.22, 0.35, 0.37
"""How much is done when tables are read, the pipeline ran, rows are filtered, the generator learned, and all
stages are read."""


def run_pipeline(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    config: str | Path | Mapping[str, Any] | Hybrid,
    *,
    control: Any = None,  # noqa: ANN401 - likewise
    holdout: float | None = None,
    by: str | None = None,
    rows: int | None = None,
    title: str = "",
    metrics: str | Metric | Iterable[str | Metric | type[Metric]] | None = None,
    quick: bool = False,
    secrets: Iterable[str] | None = None,
    known: Iterable[str] | None = None,
    utility: bool = True,
    target: str | Sequence[str] | None = None,
    policy: Any = None,  # noqa: ANN401 - a path or plain data
    seed: int | None = None,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    drop: str | Iterable[str] = (),
    missing: Iterable[str] = (),
    rare_labels: RareLabels | None = None,
    identifiers: Identifiers | None = None,
    threads: int | None = None,
    progress: Listener | None = None,
) -> PipelineReport:
    """Run a hybrid pipeline, and audit what comes out of each of its steps beside its generator alone.

    Four tables are audited as if each were the release, against the same train and control rows: the
    original rows themselves, the anonymized ones after the transition, the rows that the pipeline makes in
    the end, and those of its generator where that learns the original rows. With a filter there is a fifth:
    the rows before it.

    Parameters
    ----------
    data
        The real rows: a path (CSV, Parquet, Feather, Excel) or a pandas, polars or Arrow table.
    config
        What ``tabveil synthesize --config`` takes: a file (YAML, JSON) or a mapping with ``generator:
        hybrid``, its ``settings``, and perhaps rows, seed, schema, missing, rare_labels, identifiers, and the
        steps deduplicate, pseudonymize, perturb and filter. What is given here by name replaces what it says.
        Or the generator ``hybrid`` itself, as an object.
    control
        Real rows that nothing learns from. None holds some of ``data`` back. Steps before the generator are
        taken with these rows, too.
    holdout, by
        The share of ``data`` to hold back (0.3), and the column that says whose row it is: rows of one person
        stay together, and audits count people. None takes the person that deduplicate names, if it does. Only
        without ``control``.
    rows
        How many rows to make; None makes as many as are learned from.
    title
        What the report is called.
    metrics, quick, secrets, known, utility, target, policy
        What the audits ask, as in :func:`tabveil.audit`; usefulness unless ``utility`` is false.
    seed
        The same seed gives the same rows and numbers. None is 0; but a pipeline with a promise that a known
        seed would void is then fitted with a secret one. Where a promise is stated, reports withhold it.
    schema, drop, missing, rare_labels, identifiers
        How columns are read and learned, and which are left out of all tables from the start, as in
        :func:`tabveil.synthesize`.
    threads
        How many threads to use; None takes all cores.
    progress
        Told what is being done and which share of the whole is complete.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> by_age = {"hierarchies": {"age": {"intervals": [10, 20]}}, "models": [{"k": 5}]}
    >>> asked = {"generator": "hybrid", "settings": {**by_age, "generator": "marginals"}}
    >>> found = run_pipeline(hospital(200, seed=1), asked, metrics="identical_match_share")
    >>> [stage.name for stage in found.stages], found.promises.k >= 5
    (['original', 'anonymized', 'final', 'generator'], True)
    """
    start = time.perf_counter()
    asked = configuration.read(config)
    said = asked.file
    seed, rows = said.seed if seed is None else seed, said.rows if rows is None else rows
    n_rows, known_seed = None if rows is None else whole_rows(rows), whole_seed(seed or 0)
    left_out = declare.columns_named(drop)
    given = RealRows.of(data=data, control=control).without(left_out)
    real, notes = _held_back(given, said, holdout=holdout, by=by, seed=known_seed)
    if left_out:
        notes = (f"Left out of all tables, as asked: {listed_columns(left_out)}.", *notes)
    reading: dict[str, Any] = {
        "schema": declare.read(said.schema if schema is None else schema).about_rest(left_out),
        "missing": ((missing,) if isinstance(missing, str) else tuple(missing)) or said.missing,
    }
    request = AuditRequest.read(
        train=real.get("train"),
        synthetic=real.get("train"),
        control=real.get("control"),
        person=by or said.person,
        title=title,
        metrics=metrics,
        quick=quick,
        secrets=secrets,
        known=known,
        target=target,
        policy=policy,
        utility=utility,
        advice=False,
        seed=known_seed,
        threads=threads,
        **reading,
    )
    learning = {
        "seed": seed,
        "rare_labels": rare_labels or said.rare_labels or "pool",
        "identifiers": identifiers or said.identifiers or "fresh",
        "person": by,
        "deduplicated": said.deduplicate,
        **reading,
    }
    with working(threads=threads, listener=progress):
        made = _made(asked, real, request, learning, n_rows=n_rows, seed=known_seed)
        unnamed = leaves_identifiers_out(made.model)
        # Reports tell the seed of their audit. Where a promise is stated, it must not be that of the fit.
        told = {"drop_identifiers": unnamed, **({"seed": 0} if made.promising else {})}
        audited = _audit(made.sources, request.model_copy(update=told))
    model, fitted = made.model, made.model.model
    assert isinstance(fitted, HybridModel), "a pipeline was fitted"
    promises = fitted.promises
    if asked.chosen_by_train:  # less is promised of rows that training rows chose than of the model
        promises = replace(promises, sampled=None, noise=None, covers=(), voided=(*promises.voided, FILTERED))
    promised = fitted.promises.sentences()  # which stand elsewhere
    after = model.people.after if control is not None else (*model.people.after, "holding rows back")
    return PipelineReport(
        version=__version__,
        seed=None if made.promising else known_seed,
        title=request.title,
        settings=asked.told(),
        stages=audited,
        steps=(*real.steps, *made.steps),
        promises=promises,
        people=replace(model.people, after=after),
        anonymized=made.anonymized,
        kept=_kept(asked, fitted),
        notes=(
            *notes,
            *((UNREPEATABLE,) if seed is None and wants_secret_seed(asked.hybrid) else ()),
            *((WITHHELD,) if seed is not None and made.promising else ()),
            *model.notes,
            *(note for note in model.account.notes if note not in promised),
            *made.notes,
        ),
        rows=made.final,
        model=model,
        seconds=time.perf_counter() - start,
    )


def _held_back(
    given: RealRows,
    said: SynthesisFile,
    *,
    holdout: float | None,
    by: str | None,
    seed: int,
) -> tuple[RealRows, tuple[str, ...]]:
    """Return the rows to learn from and those held back, after the steps before the generator, and notes."""
    if given.get("control") is not None:
        for name, value in (("holdout", holdout), ("by", by)):
            if value is not None:
                raise ParameterError(
                    "pipeline", f"{name} says how to hold rows back; control already has them."
                )
    share = HOLDOUT if holdout is None else holdout
    check.between("pipeline", "holdout", share, 0, 1)
    once = given.deduplicated(said.deduplicate, seed=seed)
    train, held_back = once.get("data"), once.get("control")
    notes: tuple[str, ...] = ()
    if held_back is None:
        rows = split_rows(raw_rows(train), control=share, by=by or said.person, seed=seed)
        held = plural(len(rows[1]), "row was", "rows were")
        left = f"{len(rows[0]):,} are left to learn from"
        notes = (f"{held} held back as control and learned by nothing, {left}.",)
        train, held_back = parts_as_read(train, rows)
    real = RealRows(tables={"train": train, "control": held_back}, steps=once.steps)
    return real.pseudonymized(said.pseudonymize), notes


@dataclass(frozen=True, kw_only=True, eq=False)
class _Made:
    """The stages as tables that can be audited, and what else was found on the way."""

    sources: Mapping[StageName, Any]
    final: SyntheticRows
    model: TableModel
    promising: bool  # whether a promise is stated that a known seed would void
    anonymized: AnonymizedTable | None
    steps: tuple[StepTaken, ...]
    notes: tuple[str, ...]


def _made(
    asked: PipelineSettings,
    real: RealRows,
    request: AuditRequest,
    learning: Mapping[str, Any],
    *,
    n_rows: int | None,
    seed: int,
) -> _Made:
    """Run the pipeline, and fit its generator alone."""
    train = real.get("train")

    def draw(model: TableModel) -> SyntheticRows:
        return model.draw(n_rows or model.n_rows or 1, seed=seed)

    tell("reading the table", 0.0)
    alone = asked.alone()
    learned_from, steps = perturbed(
        train,
        asked.file,
        asked.hybrid,
        *filter(None, [alone]),
        person=learning["person"],
        seed=seed,
        schema=learning["schema"],
        missing=learning["missing"],
    )
    lesson = prepare(learned_from, generator=asked.hybrid, **learning)
    check.known_names("audit", "column", request.columns(), lesson.loaded.table.schema.names)
    with part(_READ, _PIPED, title="pipeline: "):
        with needing_extra(asked.hybrid.name):
            stages = asked.hybrid.stages(
                lesson.table,
                rng=lesson.rng(),
                layout=lesson.layout,
                declared=lesson.declared,
                n_rows=1,  # rows are drawn by the model below, in the form of the data
            )
        model = lesson.learned(stages.model)
        final = draw(model)
    # In random order, as if released: what the order of train gives away is none of the steps' doing.
    rows = stages.transitioned.take(random_order(stages.transitioned, rng=stream(0, "anonymize order")))
    used = without_unused_labels(rows, lesson.layout, keep=lesson.loaded.declared)
    sources: dict[StageName, Any] = {"original": train}
    was_perturbed = bool(steps)
    if was_perturbed:
        sources["perturbed"] = learned_from
    sources["anonymized"] = as_read(*used)
    if asked.file.filter is not None:
        sources["unfiltered"] = as_read(final.table, final.layout)
        with part(_PIPED, _FILTERED, title="filter: "):
            final, taken = filtered(
                final,
                asked.file,
                model,
                train=train,
                control=real.get("control"),
                schema=learning["schema"],
                missing=learning["missing"],
                drop_identifiers=leaves_identifiers_out(model),
                seed=seed,
            )
        steps = (*steps, taken)
    sources["final"] = as_read(final.table, final.layout)
    notes: tuple[str, ...] = ()
    promising = stated_by(model.model) is not None
    if alone is not None:
        with part(_FILTERED, _LEARNED, title=f"{alone.name} alone: "):
            stating = wants_secret_seed(alone) or wants_secret_seed(asked.hybrid)  # read as no row decides
            known = train if stating or was_perturbed else lesson.loaded  # the rows as they were
            learned = learn(known, generator=alone, **learning)
            drawn = draw(learned)
        sources["generator"] = as_read(drawn.table, drawn.layout)
        notes = tuple(f"{alone.name} alone: {note}" for note in learned.account.notes)
        promising = promising or stated_by(learned.model) is not None
    anonymized = AnonymizedTable.of(asked.hybrid, stages, lesson.layout)
    return _Made(
        sources=sources,
        final=final,
        model=model,
        promising=promising,
        anonymized=anonymized,
        steps=steps,
        notes=notes,
    )


def _audit(sources: Mapping[StageName, Any], request: AuditRequest) -> tuple[Stage, ...]:
    """Audit every table as if it were the release: on one scale, with the same control and random numbers."""
    with part(_LEARNED, _LOADED, title="all stages: "):
        loaded = load_all(request, sources)
        checked = checked_control(request, loaded["final"])
    found = []
    for place, (name, table) in enumerate(sources.items()):
        first, last = (_LOADED + (1 - _LOADED) * step / len(sources) for step in (place, place + 1))
        with part(first, last, title=f"{TITLES[name]}: "):
            asked = request.model_copy(update={"synthetic": table})
            report = conduct(asked, loaded=loaded[name], checked=checked)
        found.append(Stage(name=name, report=report))
    tell("done", 1.0)
    return tuple(found)


def leaves_identifiers_out(model: TableModel) -> bool:
    """Whether identifiers have no place in an audit: the rows lack them, or carry some of nobody."""
    return bool(model.left_out or model.fresh)


def _kept(asked: PipelineSettings, model: HybridModel) -> tuple[str, ...]:
    """Say what a stored model holds of what it was made from, and what it does not do."""
    kept = []
    if model.rows is not None:
        kept.append(f"{plural(len(model.rows), 'anonymized row')}, as they are")
    if GENERATOR in model.parts:
        learned = "generalized rows" if model.way_back is not None else "rows with concrete values"
        kept.append(f"what {asked.generator} learned from {learned}")
    if model.way_back is not None:
        values = "what each generalized value may stand for, by the hierarchies"
        kept.append(asked.hybrid.way().keeps or values)
    if asked.file.filter is not None:
        kept.append("no filter: rows drawn from it later are not filtered")
    return tuple(kept)
