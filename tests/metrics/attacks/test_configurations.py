"""One headline for many configurations: what leads, what bounds, and how often a configuration is asked."""

from collections import Counter
from functools import partial

import pytest

from tabveil.core.findings import Setting
from tabveil.metrics.attacks.configurations import choose, compare_counts, headline
from tabveil.metrics.attacks.guessing import Tally

N = 1000
CONFIDENCE = 0.95


def tally(train, control, n_control=N):
    return Tally(train=train, n_train=N, control=control, n_control=n_control, naive=0, n_naive=N)


def named(tallies):
    return {Setting(label=str(place)): item for place, item in enumerate(tallies)}


MANY = [tally(100 + 3 * place, 100) for place in range(40)]
WIDE = tally(105, 10, n_control=100)  # it leads nowhere, and reaches farthest


@pytest.mark.parametrize("tallies", [MANY, [*MANY, WIDE], [tally(5, 9)], [tally(7, 7)] * 3])
def test_the_gain_is_bounded_by_the_largest_bound_that_any_configuration_has_by_itself(tallies):
    found = headline(named(tallies), CONFIDENCE)
    alone = [compare_counts(item, CONFIDENCE).gain.high for item in tallies]
    together = [item.gain.low for item in found.configurations]
    assert found.gain.high == max(alone)
    assert found.gain.low == max(together)


def test_only_what_may_reach_farthest_is_asked_again():
    asked = Counter()

    def compare(setting, item, confidence):
        asked[setting] += 1
        return compare_counts(item, confidence)

    settings = named(MANY)
    choose({setting: partial(compare, setting, item) for setting, item in settings.items()}, CONFIDENCE)
    again = [int(setting.label) for setting, times in asked.items() if times > 1]
    assert set(asked) == set(settings)
    assert len(MANY) - 1 in again  # the one that does
    assert len(again) < len(MANY) / 2


def test_what_leaves_no_room_for_a_risk_leads_nothing_and_bounds_all_the_same():
    full, some = tally(N, N), tally(60, 55)
    found = headline({Setting(label="full"): full, Setting(label="some"): some}, CONFIDENCE)
    lows = {item.name: item.gain.low for item in found.configurations}
    assert lows["full"] > lows["some"]  # nothing can be gained, and so nothing lost
    assert found.setting.label == "some"
    assert found.gain.low == lows["some"]
    assert not found.notes
    alone = headline({Setting(label="full"): full}, CONFIDENCE)
    assert "no room" in alone.notes[0]
    reaching = headline({Setting(label="full"): full, Setting(label="some"): tally(0, 40)}, CONFIDENCE)
    assert reaching.setting.label == "some"
    assert reaching.gain.high == compare_counts(full, CONFIDENCE).gain.high


def test_hardly_any_room_leads_nothing_but_what_is_seen_does():
    nearly, some = tally(N - 8, N - 9), tally(60, 55)
    found = headline({Setting(label="nearly"): nearly, Setting(label="some"): some}, CONFIDENCE)
    assert found.setting.label == "some"
    seen = headline({Setting(label="nearly"): tally(N, N - 15), Setting(label="some"): some}, CONFIDENCE)
    assert seen.gain.low > 0
    assert seen.setting.label == "nearly"
