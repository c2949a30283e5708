"""The whole audit: what is asked for, settled, measured and put together."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from tabveil.auditing.linked import load_people
from tabveil.auditing.plan import AuditPlan
from tabveil.auditing.report import Report
from tabveil.auditing.request import AuditRequest
from tabveil.auditing.steps import run, together
from tabveil.core import check
from tabveil.core.cluster import Elsewhere, cluster
from tabveil.core.drawn import Drawn
from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import Listener, part, sharing, tell, warn, working
from tabveil.engines.representation import Contrastive
from tabveil.metrics.black_box import ShadowResult
from tabveil.metrics.control import ControlCheck
from tabveil.metrics.scales import all_on_one_scale
from tabveil.protocols import Metric
from tabveil.tables.reading import LoadedTables, declare, load_releases

MANY_COLUMNS, VERY_MANY_COLUMNS = 300, 2000
"""Attacked each in turn, so many columns take minutes, or hours: the time grows with their square."""

Name = TypeVar("Name", bound=str)


def audit(
    train: Any = None,  # noqa: ANN401 - a path or a table of any dataframe library, or several by name
    synthetic: Any = None,  # noqa: ANN401 - likewise
    control: Any = None,  # noqa: ANN401 - likewise
    *,
    tables: Any = None,  # noqa: ANN401 - a path or plain data
    metadata: Any = None,  # noqa: ANN401 - a path or plain data
    person_table: str | None = None,
    title: str = "",
    metrics: str | Metric | Iterable[str | Metric | type[Metric]] | None = None,
    quick: bool = False,
    contrastive: bool | Contrastive = False,
    secrets: Iterable[str] | None = None,
    known: Iterable[str] | None = None,
    auxiliary: Iterable[tuple[Iterable[str], Iterable[str]]] | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    sensitive: Iterable[str] | None = None,
    attackers: Any = None,  # noqa: ANN401 - a path or plain data
    policy: Any = None,  # noqa: ANN401 - a path or plain data
    shadow: str | Path | ShadowResult | None = None,
    utility: bool = False,
    target: str | Sequence[str] | None = None,
    power: bool | None = False,
    portrait: bool = False,
    advice: bool = True,
    initial_risk: bool = False,
    claimed_epsilon: float | None = None,
    delta: float = 0.0,
    neighbors: Literal["add-remove", "replace"] = "add-remove",
    split: Any = None,  # noqa: ANN401 - a path or plain data
    show_values: bool = False,
    seed: int = 0,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    drop: Iterable[str] = (),
    person: str | None = None,
    independent_rows: bool = False,
    scheduler: str | None = None,
    threads: int | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    memory: int | str | None = None,
    sample: int | None = None,
    progress: Listener | None = None,
) -> Report:
    """How much does a synthetic table reveal about the people it was learned from?

    Parameters
    ----------
    train
        The real rows the generator learned from: a path (CSV, Parquet or a folder of such files, Feather,
        Excel) or a pandas, polars or Arrow table. The same holds for the other two.
    synthetic
        The rows to be released.
    control
        Real rows the generator never saw. Without them little can be concluded, and the report says so.
    tables
        A file or mapping that says how linked tables hang together, and whose rows are people
        (:func:`tabveil.tables.linked.read_database`). Then the three are databases: folders with one file a
        table, or mappings of names to tables; the file may name them itself. People are attacked and counted,
        each with all rows that belong to them.
    metadata, person_table
        SDV's metadata of several tables in the place of ``tables``, and the table whose rows are people.
    title
        What the report is called: the release, its data, the organization that answers for it. The name of
        the released file if left out.
    metrics
        Names or metric objects; None runs all that need no extra and wait for no request.
    quick
        Leave out what takes longer than seconds.
    contrastive
        Also attack in a contrastive embedding of the release, which stands small changes of values better.
        Training it takes a minute or two for ten thousand rows, and needs the extra ``deep``. How it is
        trained can be said by a :class:`tabveil.engines.representation.Contrastive`.
    secrets, known
        The columns attackers want to learn, and those they know of a person. Where they are not given, the
        attacks choose and say what they tried.
    auxiliary
        Pairs of disjoint sets of columns that an attacker wants to link.
    quasi_identifiers, sensitive
        Also measure properties (k, l, t) of train and release: how many rows are equal in the columns that
        others may know of a person, and how much such rows tell about the sensitive ones (None: the secrets
        that are no quasi-identifiers). A property is no attack and gives no verdict.
    attackers
        A file or mapping of attacker profiles (who knows and wants what); each is tried as well.
    policy
        A file or mapping that says which risks are accepted, at which confidence, and who receives the
        release; the report's verdict follows it. Defaults are in :class:`tabveil.auditing.policy.Policy`.
    shadow
        What :func:`tabveil.attack` found about the generator, or the file that ``tabveil attack --json``
        wrote: the report shows it. No verdict rests on it.
    utility, target
        Also measure how useful the release is, with models that predict the target columns (None: those that
        can be predicted best). Needs seconds.
    power
        Also find out which leaks this audit would have seen, by planting some. Needs a minute or several;
        None leaves out what takes long: metrics that fit models, and all of it where columns are many.
    portrait
        Also compute what the HTML page draws: distances and a map.
    advice
        Where the verdict is above or inconclusive, also find out what would change it: changes of the release
        are tried, and the attacks that are above repeated. Takes up to about twice the time of the attacks.
    initial_risk
        Also attack the training rows as if they were released, so that the risk before and after stand side
        by side. Takes as long as the attacks, once more; no number of the release depends on it.
    claimed_epsilon, delta, neighbors
        What the generator states: an ε and δ, between tables of which one row (or person) is added or removed
        (``"add-remove"``), or replaced by another (``"replace"``). Is it refuted by this release?
    split
        The record of ``tabveil split``, a file (``split.json``) or what it holds: it proves that train and
        control were divided by lot, without which no ε can be refuted.
    show_values
        Add the values of the training rows most at risk, and name rare labels. Sensitive.
    seed
        The same seed gives the same numbers, whatever else runs and on however many threads.
    schema
        A file or mapping that overrides the types found (``tabveil schema FILE`` writes one to edit).
    missing
        Texts that stand for a missing value, such as ``"?"``.
    drop_identifiers
        Leave out columns that look like identifiers, also where a release rightly lacks them. The report
        names them; where they are not left out, in its notes.
    drop
        Columns to leave out, also such that not all tables have: an index, say, or what was predicted.
    person
        The column that says whose row it is, where people have several rows. Then people are attacked, by all
        of their rows, and counted: rows of one person stand or fall together, and intervals that take them
        for different people do not hold. The column itself is not compared; a release may lack it.
    independent_rows
        Say that every row is another person. Else a column that looks like a number of people, whose rows
        stand on both sides or in groups on one, makes the verdict inconclusive until ``person`` names it.
    scheduler
        The address of a Dask scheduler, such as ``tls://host:8786``, whose workers then take the metrics, and
        what is asked again; ``threads`` are those of each. Rows travel to them: beyond this machine none is
        used without TLS. The numbers are those of one machine.
    threads
        How many threads to use; None takes all cores.
    device
        Where rows are searched: "cpu", "cuda" (a GPU, which also trains the embedding of ``contrastive``) or
        "auto", which takes a GPU where that is faster. The answers are the same; those of an embedding hold
        for the device it was trained on.
    memory
        How much memory the audit may take, in bytes or as ``"2GiB"``; None is all there is. What grows with
        the rows then stands on disk, in files without a name (``TMPDIR``), and what would not fit is left out
        with the reason. The numbers are the same.
    sample
        Attack so many people of train and of control, drawn at random, and ask so many released rows; None is
        all. The tables in which they are looked for stay whole, so that a leak reads no smaller; intervals
        are wider, and the report says by how much.
    progress
        Told what is being done and which share of the whole audit is complete.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> train, fresh = hospital(200, seed=1), hospital(200, seed=2)
    >>> audit(train, train, fresh, metrics="identical_match_share")["identical_match_share"].risk.low > 0.9
    True
    """
    given = {name: value for name, value in locals().items() if name != "progress"}
    given |= {
        "contrastive": contrastive or None,
        "utility": utility or None,  # a page may still bring what is not asked for
        "power": "affordable" if power is None else power or None,
        "portrait": portrait or None,
    }
    return conduct(AuditRequest.read(**given), progress=progress)


def load(request: AuditRequest) -> LoadedTables:
    """Read the tables that a request names, and bring the release to the scale of the real rows."""
    if request.database is not None:
        loaded = load_people(request)
        return replace(loaded, drawn=_drawn(request, loaded.split))
    return load_all(request, {"synthetic": request.synthetic})["synthetic"]


def load_all(request: AuditRequest, releases: Mapping[Name, Any]) -> dict[Name, LoadedTables]:
    """Read several releases in the place of the one that a request names, all of them on one scale."""
    given = load_releases(
        request.train,
        releases,
        request.control,
        schema=declare.read(request.column_types).without(request.drop),
        missing=request.missing,
        drop_identifiers=request.drop_identifiers,
        person=request.person,
        independent_rows=request.independent_rows,
    )
    attacked = all_on_one_scale([tables.split for tables in given.values()])
    return {
        name: replace(
            tables,
            split=own.split,
            turned=own.turned,
            notes=(*tables.notes, *own.notes),
            drawn=_drawn(request, own.split),
        )
        for (name, tables), own in zip(given.items(), attacked, strict=True)
    }


def _drawn(request: AuditRequest, split: Split) -> Drawn | None:
    """Draw the people to ask, where not everybody is asked."""
    if request.sample is None:
        return None
    return Drawn.of(split, request.sample, rng=lambda role: stream(request.seed, "sample", role))


def conduct(
    request: AuditRequest,
    *,
    loaded: LoadedTables | None = None,
    checked: ControlCheck | None = None,
    progress: Listener | None = None,
) -> Report:
    """Do what was asked for: the one way that Python, the command line and a web page all take.

    Tables that were ``loaded`` before are not read again, and a control that was ``checked`` before is not
    checked again (see :func:`load` and :func:`tabveil.auditing.plan.checked_control`): so releases of one
    train and control can stand on one schema. What the request says of tables then only names them.
    """
    start = time.perf_counter()
    plan = AuditPlan.of(request, checked=checked)
    settings = working(
        threads=request.threads, device=request.device, listener=progress, memory=request.memory
    )
    with settings, sharing(request.seed), _elsewhere(request) as keep:
        if loaded is None:
            tell("reading the tables", 0.0)
            loaded = load(request)
        keep(loaded, loaded.split, loaded.given)
        plan = plan.knowing(loaded)
        check.known_names("audit", "column", request.columns(), loaded.split.schema.names)
        _warn_of_columns(plan, len(loaded.split.schema))
        steps = plan.steps(loaded)
        weight = sum(step.weight for step in steps)
        whole = weight + plan.positive_weight + plan.advice_weight
        measured, tried = weight / whole, (weight + plan.positive_weight) / whole
        with part(0.0, measured):
            found = run(steps, at_once=together(loaded.split))
        report = plan.report(loaded, found, 0.0)
        with part(measured, tried, title="positive control: "):
            report = plan.tried(report, loaded)
        report = plan.promised(report, loaded)
        with part(tried, 1.0, title="what next: "):
            report = plan.advised(report, loaded)
        tell("done", 1.0)
    return replace(report, seconds=time.perf_counter() - start)


@contextmanager
def _elsewhere(request: AuditRequest) -> Iterator[Callable[..., None]]:
    """Let steps go to a cluster in the block, if one was named; hand out what sends tables there."""
    if request.scheduler is None:
        yield lambda *_tables: None
        return
    with cluster(request.scheduler, (), owner="audit") as client:
        others = Elsewhere(client, owner="audit", threads=request.threads)
        with working(others=others):
            yield others.keep


def _warn_of_columns(plan: AuditPlan, n_columns: int) -> None:
    """Say so before an attack on every column from all others takes its time."""
    in_turn = [metric.name for metric in plan.metrics if getattr(metric, "secrets", ()) is None]
    if n_columns < MANY_COLUMNS or not in_turn:
        return
    warn(
        f"{n_columns:,} columns: each is a secret that attackers may infer from all others "
        f"({', '.join(in_turn)}), which may take {'hours' if n_columns >= VERY_MANY_COLUMNS else 'minutes'}. "
        "Name the columns that matter with --secrets, drop others in a schema ('tabveil schema' writes the "
        "file), or choose metrics with --metrics."
    )
