"""What next? Where a verdict is above or inconclusive: who carries the leak, and what was found to change it.

Changes of the release that cost nothing but time are tried, and the attacks that are above are repeated on
the changed release with the seeds they had. To keep that affordable one attack a risk, the one with the
fewest configurations, is repeated after every change; all others that are above only after the change that
did best, and only if the first ones see no leak any more. What is tried follows from the
tables and the seed alone, never from the time it takes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from tabveil.auditing.advice import (
    Advice,
    AttackChange,
    ChangeKind,
    CopiesChange,
    MoreRows,
    ReleaseChange,
    Remedy,
    UtilityChange,
)
from tabveil.auditing.carriers import exposed_groups, leaking_columns, leaking_rows
from tabveil.auditing.changes import ChangedRelease, coarsened, filtered, left_out
from tabveil.auditing.policy import Risk
from tabveil.auditing.report import Report
from tabveil.auditing.sampled import Sampled
from tabveil.auditing.sentence import rounded_rows
from tabveil.auditing.steps import AuditedMetric, answer, fits_a_model, together
from tabveil.auditing.verdict import (
    ABOVE,
    COULD_NOT_SEE,
    INCONCLUSIVE,
    NEARLY,
    NOT_TESTED,
    REPEATED,
    SIZE_UNCLEAR,
    TOO_FEW,
    WITHIN,
    Judgment,
    RiskVerdict,
    Verdict,
)
from tabveil.core import workers
from tabveil.core.result import Result
from tabveil.core.rng import stream
from tabveil.core.settings.registry import as_given, make, values_of
from tabveil.core.table import Numeric, Split
from tabveil.core.wording import joined
from tabveil.errors import NotApplicable
from tabveil.metrics.control.copies import RARE, copies
from tabveil.metrics.utility import Figure
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.marginals import mean_total_variation
from tabveil.protocols import Metric
from tabveil.tables.reading import LoadedTables

NARROW, WIDE = RARE, 0.02
"""The filters: rows nearer than (almost) all fresh rows, then nearer than one in fifty."""

COLUMNS_IF_SEEN, COLUMNS_IF_GONE = 2, 1
"""How many columns are coarsened and left out: fewer where no leak is seen after a filter."""

MOST_CHANGES = 2 + 2 * COLUMNS_IF_SEEN

NO_ANSWER = "no answer on the changed release"


def advise(report: Report, loaded: LoadedTables, metrics: Mapping[str, AuditedMetric]) -> Advice | None:
    """Say what would change a verdict; None where it is within, and there is nothing to change.

    Parameters
    ----------
    report
        What the audit found.
    loaded
        The tables it looked at.
    metrics
        The metrics as they ran, by the keys of their results.
    """
    verdict, split = report.verdict, loaded.split
    if verdict.state == WITHIN:
        return None
    advice = Advice(more_rows=more_rows(report), obstacles=obstacles(report))
    if report.has_control and not verdict.control:
        seen = [report[item.metric] for risk in verdict.risks for item in risk.metrics if item.leak_seen]
        level = 1 - report.policy.confidence
        advice = replace(advice, groups=exposed_groups(split, loaded.layout, seen, level=level))
    if report.sampled is not None:
        return _of_sample(advice, report.sampled)
    if verdict.state == ABOVE and report.has_control and not verdict.control:
        trials = _Trials(report=report, split=split, metrics=metrics)
        columns = leaking_columns(split, trials.results_above, rng=stream(report.seed, "advice", "columns"))
        advice = replace(
            advice,
            rows=None
            if report.copies is None
            else leaking_rows(report.copies, verdict, split.train.n_people),
            columns=columns,
            remedies=trials.remedies([item.column for item in columns]),
            not_repeated=trials.not_repeated,
            obstacles=(*trials.refusals, *advice.obstacles),
        )
    return advice


def _of_sample(advice: Advice, sampled: Sampled) -> Advice:
    """Say how many people would have to be asked; no change is tried on a part of them."""
    needed = advice.more_rows
    ask = "Only a sample was asked: repeat the audit without --sample to have changes of the release tried."
    if needed is not None and max(needed.control, needed.train or 0) <= sampled.of_control:
        ask = (
            f"Only a sample was asked. As many as would settle it are there: --sample {needed.control}, or "
            "everybody."
        )
        needed = None
    return replace(advice, more_rows=needed, obstacles=(ask, *advice.obstacles))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Trials:
    """Everything that is needed to try a change of the release."""

    report: Report
    split: Split
    metrics: Mapping[str, AuditedMetric]
    refusals: list[str] = field(default_factory=list)  # why a change could not be made

    @cached_property
    def above(self) -> list[tuple[RiskVerdict, Judgment]]:
        return [
            (risk, item)
            for risk in self.report.verdict.risks
            for item in risk.metrics
            if item.state == ABOVE and item.gain is not None and item.metric in self.metrics
        ]

    @cached_property
    def results_above(self) -> list[Result]:
        return [self.report[item.metric] for _, item in self.above]

    @cached_property
    def repeatable(self) -> list[str]:
        """The attacks that are above and can be repeated: networks would be trained for minutes."""
        return [item.metric for _, item in self.above if not _trains(self.metrics[item.metric].metric)]

    @property
    def not_repeated(self) -> tuple[str, ...]:
        return tuple(
            item.title or item.metric for _, item in self.above if item.metric not in self.repeatable
        )

    @cached_property
    def scouts(self) -> list[str]:
        """One attack for each risk that is above: the one that takes least."""
        by_risk: dict[Risk, list[str]] = {}
        for risk, item in self.above:
            if item.metric in self.repeatable:
                by_risk.setdefault(risk.risk, []).append(item.metric)
        return [min(keys, key=self._effort) for keys in by_risk.values()]

    def _effort(self, key: str) -> tuple[bool, int]:
        return fits_a_model(self.metrics[key].metric), len(self.report[key].configurations)

    @cached_property
    def utility(self) -> Figure:
        return self._useful(self.split)

    def _useful(self, split: Split) -> Figure:
        sides = ComparedTables.of(split, rng=stream(self.report.seed, "advice", "utility"))
        return mean_total_variation(sides, confidence=self.report.policy.confidence)

    def remedies(self, columns: Sequence[str]) -> tuple[Remedy, ...]:
        """Try the changes one after the other, and put first what did most."""
        found: list[Remedy] = []
        for number, (change, changed) in enumerate(self._changes(columns, found)):
            with workers.part(number / (MOST_CHANGES + 1), (number + 1) / (MOST_CHANGES + 1)):
                found.append(self._try(change, changed, self.scouts))
        ranked = sorted(found, key=_remaining)
        if ranked and not ranked[0].leak_seen:
            with workers.part(MOST_CHANGES / (MOST_CHANGES + 1), 1.0):
                ranked[0] = self._completed(ranked[0])
            ranked.sort(key=_remaining)
        return tuple(ranked)

    def _changes(
        self, columns: Sequence[str], found: Sequence[Remedy]
    ) -> Iterator[tuple[ReleaseChange, ChangedRelease]]:
        """Make the changes to try, given what those before them did."""
        for share in (NARROW, WIDE):
            if any(not item.leak_seen for item in found):
                break
            try:
                changed = self._filtered(share)
            except NotApplicable as reason:
                self.refusals.append(str(reason))
                break
            if changed is not None:
                yield ReleaseChange(kind="filter", share=share), changed
        gone = any(not item.leak_seen for item in found)
        for column in columns[: COLUMNS_IF_GONE if gone else COLUMNS_IF_SEEN]:
            coarse = coarsened(self.split, column)
            if coarse is not None:
                numbers = isinstance(self.split.schema[column], Numeric)
                kind: ChangeKind = "coarsen" if numbers else "merge"
                yield ReleaseChange(kind=kind, column=column, levels=coarse.levels), coarse
            less = left_out(self.split, column)
            if less is not None:
                yield ReleaseChange(kind="leave out", column=column), less

    def _filtered(self, share: float) -> ChangedRelease | None:
        with workers.working(listener=workers.unheard):
            return filtered(self.split, share, rng=stream(self.report.seed, "filter"))

    def _try(self, change: ReleaseChange, changed: ChangedRelease, keys: Sequence[str]) -> Remedy:
        found = workers.side_by_side(
            [partial(_repeat, self.metrics[key], self.report.seed, changed.split) for key in keys],
            titles=[f"{change.kind} {change.column or 'near rows'}: {key}" for key in keys],
            at_once=together(changed.split),
            portable=True,
        )
        after = dict(zip(keys, found, strict=True))
        verdict = self._judge(after, changed.split)
        return Remedy(
            change=change,
            rows_left=len(changed.split.synthetic),
            rows_changed=changed.rows_changed,
            attacks=tuple(
                _attack_change(risk, item, after[item.metric], verdict)
                for risk, item in self.above
                if item.metric in after
            ),
            copies=self._copies_change(verdict),
            utility=UtilityChange(
                before=self.utility.value,
                after=self._useful(changed.split).value,
                fresh=self.utility.reference,
            ),
            all_repeated=set(keys) == set(self.repeatable),
        )

    def _completed(self, remedy: Remedy) -> Remedy:
        """Repeat the other attacks that are above, too, after the change that did best."""
        others = [key for key in self.repeatable if key not in self.scouts]
        if not others:
            return remedy
        again = self._try(remedy.change, self._again(remedy.change), others)
        return replace(remedy, attacks=(*remedy.attacks, *again.attacks), all_repeated=True)

    def _again(self, change: ReleaseChange) -> ChangedRelease:
        made = {
            "filter": lambda: self._filtered(change.share or NARROW),
            "coarsen": lambda: coarsened(self.split, change.column or ""),
            "merge": lambda: coarsened(self.split, change.column or ""),
            "leave out": lambda: left_out(self.split, change.column or ""),
        }[change.kind]()
        assert made is not None, "it was made before"
        return made

    def _judge(self, after: Mapping[str, Result | None], split: Split) -> Verdict:
        """Judge the changed release beside all that was not repeated, so that the level is the same."""
        results = tuple(after.get(item.key) or item for item in self.report.results)
        counted = self.report.copies and copies(
            split, confidence=self.report.policy.confidence, rng=stream(self.report.seed, "copies")
        )
        return replace(
            self.report, results=results, copies=counted, positive=None, given_verdict=None
        ).verdict

    def _copies_change(self, verdict: Verdict) -> CopiesChange | None:
        before, after = self.report.verdict.copies, verdict.copies
        if before is None or after is None or before.high is None or after.high is None:
            return None
        return CopiesChange(
            threshold=after.threshold, before=before.high, after=after.high, state=after.state
        )


def _repeat(ran: AuditedMetric, seed: int, split: Split) -> Result | None:
    """Ask one attack again, with the seed it had; None where it has no answer."""
    try:
        metric = _knowing(ran.metric, split)
        with workers.working(listener=workers.unheard):
            return answer(metric, split, seed, ran.attacker)
    except NotApplicable:
        return None


def _attack_change(risk: RiskVerdict, item: Judgment, after: Result | None, verdict: Verdict) -> AttackChange:
    assert item.gain is not None, "what is above has a gain"
    judged = next(
        (one for every in verdict.risks for one in every.metrics if one.metric == item.metric), None
    )
    if after is None or judged is None:
        state, reason, rows = INCONCLUSIVE, NO_ANSWER, None
    else:
        state, reason, rows = judged.state, judged.reason, judged.rows_needed
    return AttackChange(
        metric=item.metric,
        title=item.title,
        risk=risk.risk,
        threshold=risk.threshold,
        before=item.gain,
        after=None if after is None else after.measure,
        state=state,
        reason=reason,
        rows_needed=rows,
        settled=state == WITHIN,
    )


def _remaining(remedy: Remedy) -> tuple[bool, bool, float, float]:
    """Order by what is left of the risk: its highest upper bound in units of its threshold, then utility."""
    parts = [item.after.high / item.threshold if item.after else 0.0 for item in remedy.attacks]
    if remedy.copies and remedy.copies.threshold > 0:
        parts.append(remedy.copies.after / remedy.copies.threshold)
    lost = remedy.utility.after.value if remedy.utility else 0.0
    return remedy.leak_seen, not remedy.settles, max(parts, default=0.0), lost


def _trains(metric: Metric) -> bool:
    learned = metric.representation is not None and metric.representation.learns
    return metric.cost == "training" or learned


def _knowing(metric: Metric, split: Split) -> Metric:
    """Return the metric with those of its columns that are left; refuse one that has none left."""
    told = {}
    for key, value in values_of(metric).items():
        if key in {"secrets", "known"} and value is not None:
            told[key] = tuple(name for name in value if name in split.schema.names)
        elif key == "auxiliary" and value is not None:
            sides = [
                tuple(tuple(n for n in side if n in split.schema.names) for side in pair) for pair in value
            ]
            told[key] = tuple(pair for pair in sides if all(pair))
    if not told:
        return metric
    if not all(told.values()):
        raise NotApplicable(metric.name, "none of its columns is left.")
    return make(type(metric), {**values_of(metric), **told}, as_given)


KEEP_BACK = (
    "Without people the generator never saw nothing can be measured: keep real rows back before the next "
    "generator is trained (tabveil split), and audit its release with them."
)
OTHER_CONTROL = (
    "The control must be drawn at random from the people that train was drawn from, before training: "
    "without such a control no step can be judged."
)


def more_rows(report: Report) -> MoreRows | None:
    """Return how many control rows would settle the attacks that leave it open how large a leak is."""
    undecided = [
        item
        for risk in report.verdict.risks
        for item in risk.metrics
        if item.reason in {TOO_FEW, SIZE_UNCLEAR} and item.rows_needed is not None
    ]
    n_control = report.inputs["control"].counted if report.has_control else 0
    undecided = [item for item in undecided if not _attackable(item, n_control)]
    if not undecided:
        return None
    needed = max(item.rows_needed or 0 for item in undecided)
    n_train = report.inputs["train"].counted
    return MoreRows(
        control=needed,
        n_control=report.inputs["control"].counted,
        train=needed if needed > n_train else None,
        titles=tuple(item.title or item.metric for item in undecided),
    )


def _attackable(item: Judgment, n_control: int) -> bool:
    """Whether as many people as would settle it are there, and only were not all attacked."""
    return item.attacked is not None and (item.rows_needed or 0) <= n_control


def obstacles(report: Report) -> tuple[str, ...]:
    """Say what keeps a verdict from being given beside the number of rows."""
    verdict = report.verdict
    if not report.has_control:
        return (KEEP_BACK,)
    if verdict.control:
        return (OTHER_CONTROL,)
    told = []
    answered = {result.key for result in report.results}
    missing = [report.titled(metric) for metric in report.policy.required if metric not in answered]
    if missing:
        told.append(f"The policy requires attacks that gave no answer here: {joined(missing)}. Run them.")
    untested = [risk.risk for risk in verdict.risks if risk.reason == NOT_TESTED]
    if untested and not missing:
        told.append(f"No attack answered on {joined(untested)}: run one, and the risk can be judged.")
    n_control = report.inputs["control"].counted
    told += [
        f"{item.title or item.metric} attacked {item.attacked:,} of {n_control:,} control {report.counted}, "
        f"drawn at random. About {rounded_rows(item.rows_needed or 0):,} would probably be enough: set its "
        "n_attacks."
        for risk in verdict.risks
        for item in risk.metrics
        if item.reason in {TOO_FEW, SIZE_UNCLEAR} and _attackable(item, n_control)
    ]
    blind = [title for risk in verdict.risks if risk.reason == COULD_NOT_SEE for title in risk.blind]
    if blind:
        told.append(
            f"Did not see training people planted into this release: {joined(list(dict.fromkeys(blind)))}. "
            "Look for columns of a wrong type or scale ('tabveil schema'), for a cap on the rows it attacks, "
            "or for other known and secret columns; an attack that stays blind here cannot speak for this "
            "release."
        )
    copied = verdict.copies
    if copied is not None and copied.state == INCONCLUSIVE and copied.reason != SIZE_UNCLEAR:
        n_train, called = report.inputs["train"].counted, report.a_row[1]
        rows = joined(
            [word for word, why in (("equal", REPEATED), ("nearly equal", NEARLY)) if why in copied.reason]
        )
        told.append(
            f"How many {rows} {called} are chance is told by control {called}: up to {n_train:,}, as "
            "many as train has, each one makes it surer."
        )
    return tuple(told)
