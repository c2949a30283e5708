"""A release as one more thing that tests check: in pytest, or anywhere else.

>>> from tabveil import datasets
>>> train, release, control = (datasets.hospital(150, seed=seed) for seed in (1, 1, 3))
>>> assert_within(train, release, control, metrics=["membership_distance"], quick=True)
Traceback (most recent call last):
...
tabveil.testing.NotWithinError: Above threshold: ...
"""

from typing import Any

from tabveil.auditing.audit import audit
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import WITHIN

__all__ = ["NotWithinError", "assert_within"]


class NotWithinError(AssertionError):
    """A release that is not within its policy: above, or inconclusive. ``report`` is the whole audit."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


def assert_within(
    train: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    release: Any,  # noqa: ANN401 - likewise
    control: Any,  # noqa: ANN401 - likewise
    *,
    policy: Any = None,  # noqa: ANN401 - a path or plain data
    **options: Any,  # noqa: ANN401 - those of an audit
) -> Report:
    """Is a release within its policy? Fails like an assertion where it is above, or nobody can tell.

    Parameters
    ----------
    train, release, control
        As in :func:`tabveil.audit`: paths or tables. Without a control nothing can be within.
    policy
        The accepted risks; the defaults where there is none.
    options
        Any other option of :func:`tabveil.audit`, such as ``seed``, ``person`` or ``quick``. Advice is left
        out unless it is asked for. A stated ε (``claimed_epsilon``) that is refuted fails, too.

    Returns
    -------
    The report, to write its page or to look at its numbers.
    """
    report = audit(train, release, control, policy=policy, **{"advice": False, **options})
    refuted = report.claim is not None and report.claim.state == "refuted"
    if report.verdict.state != WITHIN or refuted:
        raise NotWithinError(report)
    return report
