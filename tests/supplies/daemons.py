"""Processes that leave their session, and what to wait for."""

import time

import pytest

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[-1] + '.half', 'w') as file:
            file.write(str(os.getpid()))
        os.rename(sys.argv[-1] + '.half', sys.argv[-1])
        time.sleep(60)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[-1]):
    time.sleep(0.01)
"""
"""A script that leaves a daemon, whose number stands in the file that is its last argument."""


def waited_for(answer):
    """Return the first answer that is one."""
    for _ in range(1000):
        if found := answer():
            return found
        time.sleep(0.02)
    return pytest.fail("nothing came")
