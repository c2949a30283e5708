"""Tests of what might never end."""

import faulthandler
import signal
from contextlib import contextmanager

SECONDS = 30


@contextmanager
def time_limit():
    """End what takes too long: by an exception in Python, the process where compiled code does not end."""

    def too_long(*_):
        raise AssertionError(f"not done after {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
