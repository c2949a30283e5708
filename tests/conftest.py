"""What all tests share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # strategies and oracles, importable from every folder


@pytest.fixture(scope="session", autouse=True)
def _no_lines_of_progress():
    """Compare what commands say on a slow machine, too: there, lines of progress would come between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tabveil.cli.progress.SECONDS", 3600.0)
        yield
