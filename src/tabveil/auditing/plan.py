"""What an audit will do, settled before any table is read, and what becomes of what it finds."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeVar

from tabveil.auditing import config
from tabveil.auditing.advising import advise
from tabveil.auditing.attackers import Attacker
from tabveil.auditing.carriers import exposed
from tabveil.auditing.claimed_epsilon import examine
from tabveil.auditing.detection import Power
from tabveil.auditing.dictionary import Dictionary, describe_columns
from tabveil.auditing.extras import extra_steps
from tabveil.auditing.fitting import require_room
from tabveil.auditing.initial import InitialRisk, as_released
from tabveil.auditing.judging import Grounds, judge
from tabveil.auditing.overview import overview, pairs_of_tables
from tabveil.auditing.policy import Risk, risk_of
from tabveil.auditing.positive_control import deciding, positive_controls, spreads
from tabveil.auditing.report import Report
from tabveil.auditing.request import AuditRequest
from tabveil.auditing.sampled import Sampled, stamped
from tabveil.auditing.steps import AuditedMetric, AuditStep, answer
from tabveil.core.result import Omission, Result
from tabveil.core.rng import stream
from tabveil.core.settings.registry import as_given, make, settings_of, values_of
from tabveil.core.table import Split
from tabveil.core.workers import current, working
from tabveil.engines.neighbors.shared import expect
from tabveil.engines.networks import load_torch, require_device
from tabveil.engines.representation import Contrastive
from tabveil.errors import NotApplicable, NothingToAsk, ParameterError
from tabveil.metrics import linked_traces
from tabveil.metrics.agreement import nearly_copied
from tabveil.metrics.attacks import MembershipViews
from tabveil.metrics.black_box import ShadowResult
from tabveil.metrics.control import ControlCheck, check_control
from tabveil.metrics.control.copies import Copies, copies
from tabveil.metrics.portrait import Portrait
from tabveil.metrics.properties import SplitProperties
from tabveil.metrics.properties.replay import case_numbers, numbered_apart, replayed
from tabveil.metrics.registry import METRICS, Explanation, MetricChoice, contrastive, defaults, explain
from tabveil.metrics.traces import Trace, Traces, order
from tabveil.metrics.utility import Utility
from tabveil.protocols import Metric
from tabveil.tables.linked.summaries import databases_of
from tabveil.tables.lot import SplitRecord
from tabveil.tables.reading import LoadedTables
from tabveil.version import __version__

NO_CONTROL = (
    "No control table: without real rows the generator never saw there is nothing to compare with, and "
    "little can be concluded. Run 'tabveil split' before training the next generator."
)

Found = TypeVar("Found")


def checked_control(request: AuditRequest, loaded: LoadedTables) -> ControlCheck:
    """Check the control as the audit of such a request does."""
    return check_control(
        loaded.split,
        asked=loaded.shown("people"),
        parted_by=loaded.parted_by,
        grouped_by=loaded.grouped_by,
        rng=stream(request.seed, "control"),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditPlan:
    """What was asked for, and the metrics that it comes to."""

    request: AuditRequest
    metrics: Sequence[Metric]
    attacked: ShadowResult | None = None  # found by an attack of the generator, and only passed on
    checked: ControlCheck | None = None  # the control, where it was checked before

    @classmethod
    def of(cls, request: AuditRequest, *, checked: ControlCheck | None = None) -> Self:
        """Settle what a request comes to."""
        require_device("audit", request.device)
        if request.claimed_epsilon is None and (request.split is not None or request.delta):
            raise ParameterError(
                "audit", "split and delta are about a stated ε: name it, too (claimed_epsilon)."
            )
        return cls(request=request, metrics=choose(request), attacked=request.attacked, checked=checked)

    def knowing(self, loaded: LoadedTables) -> Self:
        """Return the same with metrics that know which columns are of which linked table."""
        pairs = pairs_of_tables(loaded.split.train)
        if not pairs:
            return self
        told = [
            make(type(metric), {**values_of(metric), "auxiliary": pairs}, as_given)
            if values_of(metric).get("auxiliary", pairs) is None
            else metric
            for metric in self.metrics
        ]
        return replace(self, metrics=told)

    @property
    def runs(self) -> list[AuditedMetric]:
        """The metrics, and each attacker's turn at them."""
        return [
            *(AuditedMetric(metric=metric) for metric in self.metrics),
            *(
                AuditedMetric(metric=metric, attacker=attacker)
                for attacker, metric in by_attackers(self.request.attackers, self.metrics)
            ),
        ]

    def steps(self, loaded: LoadedTables) -> list[AuditStep]:
        """Return what to do, in order: the metrics, each attacker's turn at them, and what else was asked."""
        request = self.request.without_tables()  # they are read, and a step may go to another machine
        control = partial(checked_control, request, loaded)
        expect(search for ran in self.runs for search in ran.metric.searches(loaded.split))
        count = partial(
            copies,
            loaded.split,
            confidence=request.judged_by.confidence,
            near=loaded.drawn is None,
            rng=stream(request.seed, "copies"),
        )
        nearly = partial(
            nearly_copied,
            loaded.split,
            confidence=request.judged_by.confidence,
            rng=stream(request.seed, "nearly copied"),
        )
        return [
            AuditStep(title="control", work=partial(_same, self.checked) if self.checked else control),
            AuditStep(title="copies", work=count),
            AuditStep(title="copies but for a column", work=nearly, weight=0),
            *(
                AuditStep(title=title, work=work, weight=0)
                for title, work in _kinds_of_trace(loaded.split, request).items()
            ),
            AuditStep(title="identifiers", work=partial(_case_numbers, loaded, request), weight=0),
            AuditStep(title="columns", work=partial(describe_columns, loaded, request), weight=0),
            *self._initial_steps(loaded),
            *(
                AuditStep(
                    title=ran.metric.name,
                    attacker=ran.attacker,
                    work=partial(_answer, ran.metric, loaded, request.seed, ran.attacker),
                    weight=ran.weight,
                    silent=request.metrics is None,
                )
                for ran in self.runs
            ),
            *extra_steps(loaded, self.metrics, request),
        ]

    def _initial_steps(self, loaded: LoadedTables) -> list[AuditStep]:
        """Return the step that attacks the training rows as if they were released, if it was asked for."""
        attacks = [ran for ran in self.runs if risk_of(ran.metric.labels) is not None]
        if not self.request.initial_risk or not attacks:
            return []
        work = partial(_before, attacks, loaded, self.request.without_tables())
        return [AuditStep(title="initial risk", work=work, weight=sum(ran.weight for ran in attacks))]

    def promised(self, report: Report, loaded: LoadedTables) -> Report:
        """Add whether the release refutes the ε that the generator states, if somebody asked."""
        request, promise = self.request, self.request.promise
        if promise is None:
            return report
        record = None if request.split is None else SplitRecord.read(request.split)
        doubt = (
            None
            if record is None or request.control is None
            else record.doubt(request.train, request.control)
        )
        found = examine(
            promise,
            loaded.given,
            record,
            doubt,
            person=None if loaded.given.train.people is None else loaded.person,
            alpha=round(1 - request.judged_by.confidence, 12),
            rng=stream(request.seed, "claimed epsilon"),
        )
        return replace(report, claim=found)

    @property
    def positive_weight(self) -> float:
        """About how long it takes to try the attacks with planted people, if all risks would be within."""
        if self.request.control is None:
            return 0.0
        by_risk: dict[Risk | None, list[str]] = {}
        for ran in self.runs:
            by_risk.setdefault(risk_of(ran.metric.labels), []).append(ran.key)
        attacks = self._attacks
        required = self.request.judged_by.required
        chosen = [deciding(keys, required, attacks) for risk, keys in by_risk.items() if risk is not None]
        return sum(attacks[key].weight for keys in chosen for key in keys)

    def tried(self, report: Report, loaded: LoadedTables) -> Report:
        """Add what attacks see of planted people, wherever a risk would be within, and how bounds move."""
        split = loaded.shown("people")
        report = replace(report, positive=positive_controls(report, split, self._attacks))
        return replace(report, spread=spreads(report, split, self._attacks))

    @property
    def _attacks(self) -> dict[str, AuditedMetric]:
        """The metrics that ran, by the keys of their results, where the key tells which it was."""
        keys = [ran.key for ran in self.runs]
        return {ran.key: ran for ran in self.runs if keys.count(ran.key) == 1}

    @property
    def advice_weight(self) -> float:
        """About how long it takes to say what next, where there is something to say: as long as attacks."""
        weights = [ran.weight for ran in self.runs if ran.metric.labels.pillar == "attack"]
        return sum(weights) if self.request.advice and self.request.control is not None else 0.0

    def advised(self, report: Report, loaded: LoadedTables) -> Report:
        """Add what would change the verdict, unless nobody wants to know."""
        if not self.request.advice:
            return report
        return replace(report, advice=advise(report, loaded, self._attacks))

    def report(self, loaded: LoadedTables, found: Sequence[Any], seconds: float) -> Report:
        """Put together what the steps found."""
        request = self.request
        results = tuple(item for item in found if isinstance(item, Result))
        checked = _first(found, ControlCheck)
        return Report(
            version=__version__,
            title=self.request.heading,
            seed=self.request.seed,
            inputs=loaded.inputs,
            results=results,
            skipped=tuple(item for item in found if isinstance(item, Omission)),
            notes=(
                *(() if len(loaded.split.control) else (NO_CONTROL,)),
                *loaded.notes,
            ),
            dropped=loaded.dropped,
            explanations=self._explanations(),
            settings=self._settings(),
            request=config.written(self.request),
            attackers=self.request.attackers,
            policy=self.request.judged_by,
            control=checked,
            copies=_first(found, Copies),
            dictionary=_first(found, Dictionary),
            initial=_first(found, InitialRisk),
            traces=Traces(
                found=(*(item for item in found if isinstance(item, Trace)), *_replayed(results, loaded))
            ),
            utility=_first(found, Utility),
            power=_first(found, Power),
            portrait=_first(found, Portrait),
            properties=_first(found, SplitProperties),
            shadow=self.attacked,
            linked=overview(loaded.split),
            sampled=None if loaded.drawn is None else Sampled.of(loaded.drawn, request.judged_by.confidence),
            exposed=exposed(results, loaded) if self.request.show_values else None,
            library=loaded.layout.library,
            seconds=seconds,
        )

    def _explanations(self) -> dict[str, Explanation]:
        """Explain every metric there is, also those that did not run, and those of the user's own."""
        own = {metric.name: type(metric) for metric in self.metrics}
        return {name: explain(metric) for name, metric in {**METRICS, **own}.items()}

    def _settings(self) -> Mapping[str, Any]:
        """Return what the report tells its readers about how the audit was set."""
        request = self.request
        return {
            "metrics": None if request.metrics is None else [metric.name for metric in self.metrics],
            "quick": request.quick,
            "contrastive": request.contrastive is not None,
            "secrets": request.secrets,
            "known": request.known,
            "auxiliary": request.auxiliary,
            "schema": None if request.column_types is None else "given",
            "missing": request.missing,
            "drop_identifiers": request.drop_identifiers,
            **({"drop": request.drop} if request.drop else {}),
            **({} if request.person is None else {"person": request.person}),
            **({"independent_rows": True} if request.independent_rows else {}),
            "target": request.target or None,
            "show_values": request.show_values,
            **({"searched_on": sorted(current().used)} if current().used else {}),
        }


def _kinds_of_trace(split: Split, request: AuditRequest) -> dict[str, Callable[[], Trace | None]]:
    """Return what looks for traces, by the title of its step.

    People of linked tables stand in an order of what they hold, so that the order of files tells nothing.
    """
    linked = databases_of(split)
    if linked is None:
        return {"order": partial(order, split, rng=stream(request.seed, "order"))}
    if len(split.control) == 0:
        return {}
    kinds = {"keys": linked_traces.keys, "sets": linked_traces.sets, "runs": linked_traces.runs}
    confidence = request.judged_by.confidence
    return {title: partial(look, linked, confidence=confidence) for title, look in kinds.items()}


def _same(checked: ControlCheck) -> ControlCheck:
    """Return what was found before."""
    return checked


def _case_numbers(loaded: LoadedTables, request: AuditRequest) -> Trace | None:
    """Look for identifiers of people, also of those that no metric compares."""
    if loaded.identifiers is None:
        return None
    return case_numbers(loaded.identifiers, confidence=request.judged_by.confidence)


def _answer(metric: Metric, loaded: LoadedTables, seed: int, attacker: str | None) -> Result:
    """Ask a metric about rows, or about the words that stand in them."""
    asked, written = metric.asked(), loaded.words if loaded.drawn is None else None
    split = (written or loaded.written) if metric.reads_words else loaded.split
    if split is None:
        raise NothingToAsk(metric.name, "no column holds labels or texts.")

    def ask(tables: Split) -> Result:
        with working(sampled=loaded.drawn is not None and asked != "everything"):
            shown = loaded.shown(asked, tables)
            require_room(metric, shown)
            found = answer(metric, shown, seed, attacker)
        return found if loaded.drawn is None else stamped(found, loaded.drawn, asked)

    found = ask(split)
    if not metric.by_equality or not loaded.turned:
        return found
    # What was brought to the scale of the real rows may have lost what was equal: two readings, two tests.
    given = ask(loaded.given)
    surer = min((found, given), key=lambda result: 1.0 if result.p_value is None else result.p_value)
    return replace(surer, p_value=None if surer.p_value is None else min(2 * surer.p_value, 1.0))


def _before(attacks: Sequence[AuditedMetric], loaded: LoadedTables, request: AuditRequest) -> InitialRisk:
    """Attack the training rows as if they were released."""
    own = as_released(loaded)
    found: list[Result] = []
    for ran in attacks:
        with suppress(NotApplicable):
            found.append(_answer(ran.metric, own, request.seed, ran.attacker))
    grounds = Grounds(results=found, n_train=len(own.split.train), n_control=len(own.split.control))
    return InitialRisk.of(judge(grounds, request.judged_by))


def _replayed(results: Sequence[Result], loaded: LoadedTables) -> tuple[Trace, ...]:
    named = loaded.identifiers
    return replayed(results, apart=() if named is None else numbered_apart(named))


def _first(found: Iterable[Any], kind: type[Found]) -> Found | None:
    return next((item for item in found if isinstance(item, kind)), None)


def choose(request: AuditRequest) -> list[Metric]:
    """Return the metrics to run, each told what concerns it."""
    asked = list(request.metrics or [MetricChoice(name=name) for name in defaults(quick=request.quick)])
    if request.metrics is None and request.database is not None:
        asked.append(MetricChoice(name=MembershipViews.name))
    if request.contrastive is not None:
        space = request.contrastive
        space = replace(space, device="cuda") if request.device == "cuda" else space
        asked += _through(space, without={item.name for item in asked})
    knowledge = request.knowledge
    return [knowledge.make(item) if isinstance(item, MetricChoice) else item for item in asked]


def _through(space: Contrastive, *, without: Collection[str]) -> list[MetricChoice]:
    """Choose what looks through an embedding, unless it was asked for by name; refuse what cannot be trained.

    An attack that was chosen by its name is skipped where its extra is not installed. Whoever asks for the
    embedding itself should know at once.
    """
    load_torch(space.name)
    require_device(space.name, space.device)
    return [
        MetricChoice(name=name, parameters={"representation": space})
        for name in contrastive()
        if name not in without
    ]


def by_attackers(attackers: Iterable[Attacker], metrics: Iterable[Metric]) -> list[tuple[str, Metric]]:
    """Let each attacker, by name, try every chosen attack they have the knowledge for."""
    return [
        (attacker.name, _tried_by(attacker, metric))
        for attacker in attackers
        for metric in metrics
        if _can_try(attacker, metric)
    ]


def _can_try(attacker: Attacker, metric: Metric) -> bool:
    parameters = settings_of(type(metric))
    return ("secrets" in parameters and attacker.wants is not None) or (
        "auxiliary" in parameters and attacker.links is not None
    )


def _tried_by(attacker: Attacker, metric: Metric) -> Metric:
    """Return the metric with this attacker's knowledge in the place of any other."""
    links = None if attacker.links is None else (attacker.links,)
    knows: dict[str, Any] = {"secrets": attacker.wants, "known": attacker.knows, "auxiliary": links}
    parameters = values_of(metric)
    told = {key: value for key, value in knows.items() if key in parameters}
    return make(type(metric), {**parameters, **told}, as_given)
