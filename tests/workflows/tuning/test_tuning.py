"""Searches: planted truth, failures that stop nothing, kills that lose nothing, and rows held out."""

import json
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from supplies.needs import need_optuna

from tabveil.datasets import hospital
from tabveil.errors import ParameterError
from tabveil.render.tuning import view
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.baselines import Bootstrap
from tabveil.synthesis.generators.privacy import SEED_IS_TOLD
from tabveil.workflows.benchmark.study import Hospital, load
from tabveil.workflows.cells.store import content
from tabveil.workflows.tuning import PartOfRows, SearchFindings, Tuning, tune
from tabveil.workflows.tuning.search import ByOptuna, searcher_of
from tabveil.workflows.tuning.tradeoffs import Attempt, SearchScore

PEOPLE = {"name": "hospital", "rows": 240}
COPIES = {
    "data": PEOPLE,
    "generator": "hybrid",
    "search": {"generator": ["copy", "marginals", {"name": "copy", "noise": 0.02}]},
    "objectives": {"privacy": "membership_distance"},
    "repeats": 2,
    "policy": {"thresholds": {"membership": 0.5}},
}
CONTINUOUS = {
    **COPIES,
    "generator": "copy",
    "search": {"noise": {"low": 0.0, "high": 1.0}},
    "trials": 5,
    "batch": 2,
    "repeats": 1,
}


def cells(folder):
    """Every file of the store's cells, byte by byte, without those that were being written."""
    files = (folder / "cells").iterdir()
    return {path.name: path.read_bytes() for path in files if not path.name.startswith(".")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The small search in one piece."""
    folder = tmp_path_factory.mktemp("grid")
    return tune(COPIES, folder, workers=1), folder


def test_copies_are_risky_and_useful_and_marginals_are_taken(whole):
    found, _ = whole
    copied, drawn, shaken = found.tried
    assert min(copied.score.privacy, shaken.score.privacy) > 0.5 > drawn.score.privacy
    assert max(copied.score.loss, shaken.score.loss) < drawn.score.loss
    assert [item.within for item in found.tried] == [False, True, False]
    assert found.front[0] == 2
    assert (found.choice.number, found.choice.within) == (2, True)
    assert found.asked.searcher == "grid"
    assert SearchFindings.from_json(json.loads(found.json_text())) == found


def test_the_choice_is_checked_on_rows_that_the_search_never_used(whole):
    found, folder = whole
    search, held = (
        PartOfRows(dataset=Hospital(rows=240), held_out=0.5, seed=0, checked=checked).load()
        for checked in (False, True)
    )
    assert not set(search.row_hash().tolist()) & set(held.row_hash().tolist())
    everybody = load(Hospital(rows=240)).row_hash().tolist()
    assert sorted([*search.row_hash().tolist(), *held.row_hash().tolist()]) == sorted(everybody)
    used = [json.loads(text)["trial"] for text in cells(folder).values()]
    of_check = [item for item in used if item["dataset"] == content(held)]
    assert {item["dataset"] for item in used} == {content(search), content(held)}
    assert {item["risk"]["settings"]["settings"]["generator"] for item in of_check} == {"marginals"}
    assert {(item["rows"]["train"], item["rows"]["control"]) for item in used} == {(84, 36)}, "equal sizes"
    chosen = found.of(found.choice.number).score
    assert found.check.optimism_privacy == found.check.score.privacy - chosen.privacy
    assert found.check.optimism_loss == found.check.score.loss - chosen.loss


@pytest.mark.parametrize(("held_out", "sizes"), [(0.25, (180, 60)), (0.75, (60, 180)), (0.001, (239, 1))])
def test_so_many_rows_are_held_out_and_at_least_one(held_out, sizes):
    parts = [
        PartOfRows(dataset=Hospital(rows=240), held_out=held_out, seed=1, checked=checked).load()
        for checked in (False, True)
    ]
    assert tuple(map(len, parts)) == sizes


def test_train_and_control_of_a_trial_are_different_people(monkeypatch, tmp_path):
    seen = []

    @dataclass(frozen=True, kw_only=True)
    class Watching(Bootstrap):
        loud: bool = False
        name: ClassVar[str] = "watching"

        def fit(self, table, *, rng):
            seen.append(table)
            return super().fit(table, rng=rng)

    with GENERATORS.adding(Watching):
        asked = {**COPIES, "generator": "watching", "search": {"loud": [True, False]}, "rows": 100}
        found = tune(asked, tmp_path, workers=1)
    assert (found.rows.train, found.rows.control) == (70, 30)
    assert len(seen) == 6, "two configurations twice, and the choice twice"
    drawn = Counter(frozenset(table.row_hash().tolist()) for table in seen[:4])
    assert sorted(drawn.values()) == [2, 2], "other people in every repeat, the same for all configurations"


def test_the_same_command_measures_nothing_again(whole, monkeypatch):
    found, folder = whole
    monkeypatch.setattr(
        "tabveil.workflows.cells.engine.Processes", lambda *_, **__: pytest.fail("nothing is left to run")
    )
    assert tune(COPIES, folder) == found


def test_rows_handed_over_take_the_place_of_those_in_the_file(tmp_path):
    rows = hospital(240, seed=5)
    asked = {**COPIES, "search": {"generator": ["copy", "marginals"]}, "repeats": 1}
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    by_file = tune({**asked, "data": str(tmp_path / "rows.parquet")}, tmp_path / "a", workers=1)
    given = {name: value for name, value in asked.items() if name != "data"}
    found = tune(given, tmp_path / "b", data=rows, workers=1)
    assert [item.score for item in found.tried] == [item.score for item in by_file.tried]
    assert found.rows.all == 240
    with pytest.raises(ParameterError, match="was read already"):
        tune(Tuning.read(asked), tmp_path / "c", data=rows)


def test_more_to_search_measures_only_what_is_new(whole, tmp_path):
    tune({**COPIES, "search": {"generator": ["copy", "marginals"]}}, tmp_path, workers=1)
    before = cells(tmp_path)
    found = tune(COPIES, tmp_path, workers=1)
    assert found == whole[0]
    assert before.items() <= cells(tmp_path).items()
    assert cells(tmp_path) == cells(whole[1])


def test_another_hierarchy_under_the_same_name_is_measured_anew(tmp_path):
    table = tmp_path / "sex.csv"
    asked = {
        **COPIES,
        "settings": {"hierarchies": {"sex": {"file": str(table)}}, "generator": "none"},
        "search": {"models.0.k": [2]},
        "objectives": {"privacy": "membership_distance", "utility": "total_variation"},
        "repeats": 1,
    }
    for text in ("female;both\nmale;both\n", "female;*\nmale;*\n"):
        table.write_text(text, encoding="utf-8")
        tune(asked, tmp_path / "store", workers=1)
    assert len(cells(tmp_path / "store")) == 8, "search and check of either"


def test_processes_come_to_the_same_numbers(whole, tmp_path):
    told = []
    found = tune(COPIES, tmp_path, workers=2, progress=lambda doing, share: told.append(share))
    assert found == whole[0]
    assert cells(tmp_path) == cells(whole[1])
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)


def test_a_configuration_that_cannot_be_run_stops_nothing_and_is_listed(tmp_path):
    asked = {
        **COPIES,
        "settings": {"hierarchies": {"age": {"intervals": [10, 20]}}, "generator": "marginals"},
        "search": {"models": [[{"k": 2}], [{"k": 1000}]], "transition": ["uniform", "single"]},
        "repeats": 1,
    }
    found = tune(asked, tmp_path, workers=1)
    assert [item.score is None for item in found.tried] == [False, False, True, True]
    assert all("no class keeps all promises" in item.why for item in found.failed)
    assert found.choice.number in {1, 2}
    assert tune(asked, tmp_path, workers=1) == found, "what failed is not tried again"


def test_settings_that_do_not_go_together_are_a_failed_configuration(tmp_path):
    asked = {
        **COPIES,
        "settings": {"generator": "marginals"},
        "search": {
            "hierarchies": [{}, {"age": {"intervals": [10, 20]}}],
            "models": [[], [{"k": 2}]],
        },
        "repeats": 1,
    }
    found = tune(asked, tmp_path, workers=1)
    whys = [item.why and item.why.partition(": ")[0] for item in found.tried]
    assert whys == [None, "hybrid", "hybrid", None]


def test_failures_are_tried_again_only_when_asked(tmp_path):
    fault = tmp_path / "fault"
    fault.touch()

    @dataclass(frozen=True, kw_only=True)
    class Fragile(Bootstrap):
        size: int = 1
        name: ClassVar[str] = "fragile"

        def fit(self, table, *, rng):
            if fault.exists():
                raise RuntimeError("Mrs Smith, born 1950")
            return super().fit(table, rng=rng)

    asked = {**COPIES, "generator": "fragile", "search": {"size": [1, 2]}, "repeats": 1}
    with GENERATORS.adding(Fragile):
        found = tune(asked, tmp_path / "store", workers=1)
        assert {item.why for item in found.tried} == {"RuntimeError inside the code"}
        assert (found.choice, found.check, found.front) == (None, None, ())
        fault.unlink()
        assert tune(asked, tmp_path / "store", workers=1) == found
        again = tune(asked, tmp_path / "store", workers=1, retry=True)
    assert again.failed == ()
    assert again.choice is not None


SCRIPT = """
import json, sys
from tabveil.workflows.tuning import tune
if __name__ == "__main__":
    asked, store = json.loads(sys.argv[1]), sys.argv[2]
    tune(asked, store, workers=1, progress=lambda doing, share: print(share, flush=True))
"""


def kill_after(tmp_path, asked, folder, share):
    """Kill a search with SIGKILL once it has told of so much."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, script, json.dumps(asked), folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for line in process.stdout:
        if float(line) >= share:
            break
    process.kill()
    process.stdout.close()
    return process.wait()


@pytest.mark.parametrize("share", [0.05, 0.6, 0.9])
def test_a_search_that_was_killed_ends_with_the_same_numbers(share, whole, tmp_path):
    folder = tmp_path / "store"
    assert kill_after(tmp_path, COPIES, folder, share) == -signal.SIGKILL
    killed_with = cells(folder)
    assert len(killed_with) < len(cells(whole[1]))
    assert tune(COPIES, folder, workers=1) == whole[0]
    assert cells(folder) == cells(whole[1])
    assert killed_with.items() <= cells(folder).items(), "nothing was lost"


@pytest.fixture(scope="module")
def proposed(tmp_path_factory):
    """A search with Optuna in one piece."""
    need_optuna()
    folder = tmp_path_factory.mktemp("optuna")
    return tune(CONTINUOUS, folder, workers=1), folder


def test_optuna_tries_as_many_as_it_may_all_different_and_within_the_range(proposed):
    found, _ = proposed
    noises = [item.point["noise"] for item in found.tried]
    assert len(set(noises)) == 5
    assert all(0 <= noise <= 1 for noise in noises)
    assert (found.asked.searcher, found.asked.space_size) == ("optuna", None)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_search_with_optuna_that_was_killed_ends_with_the_same_numbers(share, proposed, tmp_path):
    folder = tmp_path / "store"
    assert kill_after(tmp_path, CONTINUOUS, folder, share) == -signal.SIGKILL
    assert len(cells(folder)) < len(cells(proposed[1]))
    assert tune(CONTINUOUS, folder, workers=1) == proposed[0]
    assert cells(folder) == cells(proposed[1])


def searching(search, **more):
    return ByOptuna(tuning=Tuning.read({**COPIES, "generator": "hybrid", "search": search, **more}))


def answered(searcher, value_of):
    """Play a search whose answers are a formula."""
    tried = []
    while points := searcher.propose(tried):
        for point in points:
            found = value_of(point)
            score = found and SearchScore(
                risks={}, informative={}, largest="", privacy=found[0], figure=0.0, loss=found[1]
            )
            tried.append(Attempt(number=len(tried) + 1, point=point, settings={}, score=score))
    return tried


def test_optuna_finds_what_pays_more_often_than_chance():
    need_optuna()
    search = {"sampling.beta": {"low": 0.01, "high": 1.0}, "placement": ["pre", "post"]}

    def value_of(point):
        worse = point["placement"] == "pre"
        return abs(point["sampling.beta"] - 0.3) + worse, abs(point["sampling.beta"] - 0.3) + worse

    tried = answered(searching(search, trials=60), value_of)
    late = [item for item in tried if item.number > 30]
    near = np.mean([item.score.loss < 0.2 for item in late])
    assert near > 0.5, "by chance it would be one in five"
    assert answered(searching(search, trials=60), value_of) == tried
    other = answered(searching(search, trials=60, seed=1), value_of)
    assert [item.point for item in other] != [item.point for item in tried]


def test_optuna_never_repeats_itself_and_ends_where_nothing_is_left():
    need_optuna()
    search = {"sampling.beta": [0.2, 0.5, 1.0], "placement": ["pre", "post"]}
    tried = answered(searching(search, searcher="optuna", trials=50), lambda point: (0.0, 0.0))
    assert len({json.dumps(item.point) for item in tried}) == len(tried) == 6


def test_failures_do_not_keep_optuna_from_proposing():
    need_optuna()
    search = {"sampling.beta": {"low": 0.01, "high": 1.0}, "budget": {"low": 1, "high": 1000, "log": True}}
    tried = answered(
        searching(search, trials=20),
        lambda point: None if point["sampling.beta"] > 0.5 else (point["sampling.beta"], 0.1),
    )
    assert len(tried) == 20
    assert all(isinstance(item.point["budget"], int) for item in tried)


def test_a_grid_larger_than_the_trials_is_drawn_by_the_seed():
    noises = [round(0.01 * step, 2) for step in range(100)]
    asked = {**CONTINUOUS, "search": {"noise": noises}, "searcher": "grid", "trials": 4}

    def drawn(seed):
        searcher = searcher_of(Tuning.read({**asked, "seed": seed}))
        return [point["noise"] for point in searcher.propose([])]

    assert len(set(drawn(0))) == 4
    assert drawn(0) == drawn(0) != drawn(1)


def test_what_no_dask_answers_for_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("tabveil.core.cluster._SECONDS_TO_ANSWER", 0.5)
    with pytest.raises(ParameterError, match=r"tune: no scheduler answers at 127\.0\.0\.1:1"):
        tune(COPIES, tmp_path, scheduler="127.0.0.1:1")


def test_no_promise_is_read_beside_a_seed_that_is_told(whole, tmp_path):
    """Whoever tunes a pipeline that states ε must fit it anew: a search's seed stands in its report."""
    assert whole[0].asked.cautions == ()
    noisy = {
        "hierarchies": {"age": {"intervals": [20]}},
        "models": [{"k": 5}],
        "transition": "noisy_conditional",
    }
    asked = {**COPIES, "settings": noisy, "search": {"generator": ["marginals"]}, "repeats": 1}
    found = tune(asked, tmp_path, workers=1)
    assert found.asked.cautions == (SEED_IS_TOLD,)
    assert SEED_IS_TOLD in view.cautions(found)
