"""What may be said about a release: the user's policy, and the audit judged by it (SPEC 11)."""

from tabveil.verdict.exit_codes import EXIT_CODES
from tabveil.verdict.judging import Grounds, judge, level_of, rows_needed
from tabveil.verdict.judgment import CopiesVerdict, Judgment, RiskVerdict, State, Verdict
from tabveil.verdict.policy import RISKS, Policy, Risk, Thresholds, read, risk_of
from tabveil.verdict.positive import PositiveControl, PositiveControls
from tabveil.verdict.spread import Spread, Spreads

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
