"""One number says how many people must share a value; pages and documents say the same one."""

import pytest
from supplies.places import ROOT

from tabveil.core.people import LEAST_SHARED, LEAST_SHARED_IN_WORDS


def test_the_word_is_the_number():
    number = {"five": 5, "eight": 8, "ten": 10, "twelve": 12, "twenty": 20}
    assert number[LEAST_SHARED_IN_WORDS] == LEAST_SHARED


@pytest.mark.parametrize("name", ["README.md", "docs/tool_privacy.md"])
def test_the_documents_state_the_rule(name):
    assert f"at least {LEAST_SHARED_IN_WORDS} real" in (ROOT / name).read_text(encoding="utf-8")
