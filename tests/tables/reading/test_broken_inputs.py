import pytest
from supplies.broken_inputs import BROKEN, SECRET

from tabveil.errors import TabveilError
from tabveil.tables import reading as frame


def test_there_are_many_kinds():
    assert len(BROKEN) >= 60
    assert len({case.name for case in BROKEN}) == len(BROKEN)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_each_gives_one_clear_line_and_no_value(case, tmp_path):
    with pytest.raises(TabveilError) as caught:
        frame.load_split(**case.arguments(tmp_path))
    message = str(caught.value)
    assert case.fragment in message
    assert "\n" not in message
    assert len(message) < 400
    assert SECRET not in message
    assert caught.value.__cause__ is None or SECRET not in str(caught.value.__cause__)
