"""Is it stable? The attack with the highest upper bound on each risk is asked again, with another seed."""

from collections.abc import Mapping

from tabveil.auditing.audit.advising import AuditedMetric
from tabveil.auditing.audit.power import fits_a_model
from tabveil.auditing.audit.steps import answer, judged_part
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import Spread, Spreads
from tabveil.core import workers
from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.errors import NotApplicable


def spreads(report: Report, split: Split, metrics: Mapping[str, AuditedMetric]) -> Spreads | None:
    """Ask again; None where nothing is judged, or nothing could be asked.

    ``metrics`` are those that ran, by the keys of their results. What trains or fits a model takes too long.
    """
    if report.verdict.control or not report.has_control:
        return None
    found = []
    for risk in report.verdict.risks:
        judged = risk.leading
        if judged is None or judged.gain is None or judged.metric not in metrics:
            continue
        ran = metrics[judged.metric]
        if getattr(ran.metric, "cost", "quick") != "quick" or fits_a_model(ran.metric):
            continue
        seed = int(stream(report.seed, ran.key, "again").integers(2**31))
        try:
            with workers.working(listener=workers.unheard):
                again = answer(judged_part(ran.metric), split, seed, ran.attacker).gain
        except NotApplicable:
            continue
        if again is not None:
            title = judged.title or judged.metric
            found.append(
                Spread(risk=risk.risk, metric=ran.key, title=title, high=judged.gain.high, again=again.high)
            )
    return Spreads(found=tuple(found)) if found else None
