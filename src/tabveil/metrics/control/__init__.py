"""Is the control what it should be: real rows like those of train, and none of them?"""

from tabveil.metrics.control.checking import ControlCheck, check_control

__all__ = ["ControlCheck", "check_control"]
