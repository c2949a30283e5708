"""What all tests share."""

import signal

import pytest

pytest.register_assert_rewrite("supplies")  # so that what it compares is shown where it differs

from supplies.snapshots import Snapshot  # noqa: E402 - rewritten, as all that it compares


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
