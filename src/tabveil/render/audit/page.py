"""The page a data protection officer reads, questions, files and signs."""

import datetime as dt

from tabveil.auditing.policy import COMMON_THRESHOLDS, WHY_THE_DEFAULT
from tabveil.auditing.report import Report
from tabveil.auditing.sentence import called_so
from tabveil.metrics.utility import DOWNSTREAM, FIDELITY
from tabveil.render import black_box
from tabveil.render.audit import advice, evidence, frameworks, governance, linked, measures
from tabveil.render.audit import view as words
from tabveil.render.audit.charts import charts_of
from tabveil.render.html import Undated, laid_out
from tabveil.render.svg import state_key

TITLE = "Privacy audit of a synthetic table"


def page(
    report: Report, *, title: str = "", made: dt.date | Undated | None = None, brief: bool = False
) -> str:
    """Lay out one report as a page to read, print and sign.

    ``title`` stands in the place of the report's own; ``made`` is the page's date, today if left out; an
    :data:`UNDATED` page is the same whenever it is made.
    ``brief`` leaves out the annex: what is signed, and nothing else.
    """
    view, policy = words.AuditView(report), report.policy
    return laid_out(
        "page.html.j2",
        title,
        report.title,
        kind=TITLE,
        made=made,
        report=report,
        verdict=report.verdict,
        state=state_key(report.verdict.state),
        view=view,
        access=black_box.of_report(report),
        brief=brief,
        charts=charts_of(view),
        diagnostics=view.of_pillar("indicator"),
        inferred=evidence.inferred(report),
        judged_by_default=policy.judges_by_default,
        columns=governance.column_rows(report),
        expected=frameworks.expectations(report, view.ran),
        stated=governance.facts(policy),
        unstated=governance.unstated(policy),
        next_steps=advice.next_steps(report),
        properties=measures.properties(report),
        reappearing=view.of_pillar("property"),
        required=", ".join(evidence.title_of(report, metric) for metric in policy.required),
        sheet=words.sheet(report, view.risks),
        spaces=evidence.spaces(report),
        to_do=advice.to_do(report),
        thresholds_in_words=words.thresholds_in_words(report),
        untested=words.untested(report),
        ACCESS=black_box,
        BY_COLUMN=measures.BY_COLUMN,
        COMMON_THRESHOLDS=COMMON_THRESHOLDS,
        DOWNSTREAM=DOWNSTREAM,
        DROPPED=words.DROPPED,
        EVIDENCE=evidence,
        FIDELITY=FIDELITY,
        LINKED=linked,
        MOST_UNTESTED=words.MOST_UNTESTED,
        NEXT=advice,
        PROPERTIES=measures,
        REAPPEARING=evidence.REAPPEARING,
        SCORES=measures.SCORES,
        STATES_AT=words.STATES_AT,
        WHY_THE_DEFAULT=WHY_THE_DEFAULT,
        called_so=called_so,
    )
