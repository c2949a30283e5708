"""Short names: whole words go, what tells releases apart stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabveil.render.comparison.names import fitted, shortened

WORDS = st.lists(st.sampled_from(["hepatitis", "ctgan", "v1", "2", "é"]), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["hepatitis_ctgan_v1", "hepatitis_trees_v1"], ["ctgan", "trees"]),
        (["hepatitis_ctgan_v1", "hepatitis_trees_v2"], ["ctgan_v1", "trees_v2"]),
        (["hepatitis_ctgan", "hepatology_trees"], ["hepatitis_ctgan", "hepatology_trees"]),
        (["hepatitis_release_1", "hepatitis_release_2"], ["release_1", "release_2"]),
        (["runs/hepatitis ctgan", "runs/hepatitis trees"], ["ctgan", "trees"]),
        (["hepatitis_ctgan", "hepatitis_ctgan_long"], ["ctgan", "ctgan_long"]),
        (["one long name of a release"], ["one long name of a release"]),
        (["a_1", "a_2"], ["a_1", "a_2"]),  # short as they are
    ],
)
def test_whole_words_that_all_share_are_left_out(names, short):
    assert list(shortened(names).names) == short


@given(st.lists(WORDS.map("_".join), min_size=1, max_size=6, unique=True))
def test_names_stay_distinct_and_nothing_is_lost(names):
    found = shortened(names)
    assert [f"{found.start}{text}{found.end}" for text in found.names] == names
    assert len(set(found.names)) == len(names)
    assert all(found.names)


def test_names_are_not_cut_where_they_would_be_one():
    assert fitted(["a" * 20 + "x" + "b" * 20, "a" * 20 + "y" + "b" * 20], 12)[0].count("x") == 1
