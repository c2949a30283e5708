"""Run metrics over three tables and collect what they answer.

The package is not called ``audit`` because ``tabveil.audit`` is the function users call.
"""

from tabveil.auditing.audit.auditor import audit, conduct
from tabveil.metrics.registry import METRICS

__all__ = ["METRICS", "audit", "conduct"]
