"""What may be said about a release: the user's policy, and the audit judged by it (SPEC 11)."""

from tabveil.verdict.exit_codes import EXIT_CODES
from tabveil.verdict.judging import Grounds, judge, rows_needed
from tabveil.verdict.judgment import CopiesVerdict, Judgment, RiskVerdict, State, Verdict
from tabveil.verdict.policy import RISKS, Policy, Risk, Thresholds, read, risk_of

__all__ = [
    "EXIT_CODES",
    "RISKS",
    "CopiesVerdict",
    "Grounds",
    "Judgment",
    "Policy",
    "Risk",
    "RiskVerdict",
    "State",
    "Thresholds",
    "Verdict",
    "judge",
    "read",
    "risk_of",
    "rows_needed",
]
