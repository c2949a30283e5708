"""What all tests share."""

import os
import signal

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("supplies")  # so that what it compares is shown where it differs

from supplies.snapshots import Snapshot  # noqa: E402 - rewritten, as all that it compares

# Continuous integration tries the same examples each time: what others find is found by hand, where it can be
# mended, and a change is judged by itself alone.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="session", autouse=True)
def _no_lines_of_progress():
    """Compare what commands say on a slow machine, too: there, lines of progress would come between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tabveil.cli.progress.SECONDS", 3600.0)
        yield


@pytest.fixture
def ctrl_c_is_heard():
    """Let this process and those it starts hear Ctrl-C as on a terminal.

    A shell starts what runs in the background (``nohup make test &``) with the signal ignored, and whoever is
    started by it inherits that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def as_said(request):
    """Hand out what was said when it was last stored: ``assert text == as_said(text)``."""
    return Snapshot(request.path, request.node.name)
