"""What may be said about a release: the user's policy, and the audit judged by it.

See docs/definitions.md, Verdicts.
"""

from tabveil.auditing.verdict.exit_codes import EXIT_CODES
from tabveil.auditing.verdict.judging import Grounds, judge, level_of, rows_needed
from tabveil.auditing.verdict.judgment import CopiesVerdict, Judgment, RiskVerdict, State, Verdict
from tabveil.auditing.verdict.policy import RISKS, Policy, Risk, Thresholds, read, risk_of
from tabveil.auditing.verdict.positive import PositiveControl, PositiveControls
from tabveil.auditing.verdict.spread import Spread, Spreads

__all__ = [
    "EXIT_CODES",
    "RISKS",
    "CopiesVerdict",
    "Grounds",
    "Judgment",
    "Policy",
    "PositiveControl",
    "PositiveControls",
    "Risk",
    "RiskVerdict",
    "Spread",
    "Spreads",
    "State",
    "Thresholds",
    "Verdict",
    "judge",
    "level_of",
    "read",
    "risk_of",
    "rows_needed",
]
