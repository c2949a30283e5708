"""Stores that a disk damaged or somebody forged: the next run names what is lost, and makes it again."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from supplies.damaged_models import copy_of
from supplies.damaged_stores import flip, seal, store_damages, swap
from supplies.time_limits import time_limit
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.datasets import hospital

EXAMPLES = int(os.environ.get("TABVEIL_HOSTILE_STORES", "8"))
"""How many damages of each kind of store; by hand, hundreds."""

STUDY = {
    "datasets": [{"name": "hospital", "rows": 60}],
    "risks": [
        {"name": "leaky", "levels": [0, 0.5]},
        {"name": "generated", "generator": "copy", "settings": {"noise": 0.1}},
    ],
    "metrics": ["identical_match_share", {"name": "closest_share", "label": "mine"}],
    "repeats": 1,
    "utility": False,
}
SEARCH = {
    "data": "train.csv",
    "generator": "copy",
    "search": {"noise": [0.0, 0.9]},
    "objectives": {"privacy": "membership_distance", "utility": "total_variation"},
    "repeats": 1,
    "rows": 20,
}
HERE = "--workers 1 --store store --json found.json"
COMMANDS = {
    "benchmark": ["benchmark", "run", "study.yaml", "--store", "store", "--workers", "1"],
    "tune": f"tune --config search.yaml {HERE}".split(),
    "attack": f"attack --data train.csv --generator copy --targets 2 --fits 40 {HERE}".split(),
    "epsilon": f"audit-epsilon --generator copy --epsilon 1 --delta 0 --fits 20 --seed 1 {HERE}".split(),
}
REPORT = ["benchmark", "report", "store", "--json", "found.json"]
MOST_LINES = 8


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder for each kind of store, with all that its command needs and what it found."""
    place, before = tmp_path_factory.mktemp("stores"), Path.cwd()
    for kind in COMMANDS:
        (place / kind).mkdir()
        os.chdir(place / kind)
        hospital(80, seed=1)[["age", "sex", "cost"]].to_csv("train.csv", index=False)
        Path("study.yaml").write_text(yaml.safe_dump(STUDY))
        Path("search.yaml").write_text(yaml.safe_dump(SEARCH))
        done = run(kind)
        assert "cannot be read" not in done.stderr
        told(kind, "answer.json")
    os.chdir(before)
    return place


def run(kind, *args):
    with time_limit():
        done = CliRunner().invoke(
            app, [*COMMANDS[kind], "--force"] if "--json" in COMMANDS[kind] else COMMANDS[kind]
        )
    return checked(done)


def checked(done):
    assert done.exit_code in {0, 1, 2, 3}, done.stderr[:2000]
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if "cannot be read" in line]) <= MOST_LINES
    return done


def told(kind, name="found.json"):
    """What a store tells, without the times that differ between equal runs."""
    if kind == "benchmark":
        with time_limit():
            checked(CliRunner().invoke(app, [*REPORT, "--force"]))
    found = json.loads(Path("found.json").read_text())
    Path(name).write_text(json.dumps(found))
    return without_times(found)


def without_times(found):
    timed = {"times", "cpu_seconds", "choices", "seconds"}
    match found:
        case dict():
            return {key: without_times(value) for key, value in found.items() if key not in timed}
        case list():
            return list(map(without_times, found))
    return found


def files_of(store):
    """Every file of cells in a store."""
    found = (str(path.relative_to(store)) for path in store.rglob("*") if path.suffix in {".json", ".npz"})
    return sorted(found)


@pytest.mark.parametrize("kind", COMMANDS)
def test_what_is_damaged_is_named_and_made_again(kind, whole, monkeypatch):
    monkeypatch.chdir(whole / kind)
    answer = without_times(json.loads(Path("answer.json").read_text()))
    copy_of(Path("store"), Path("kept"))

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def check(data):
        damage, name, forged = data.draw(store_damages(files_of(Path("kept"))))
        store = copy_of(Path("kept"), Path("store"))
        damage(store)
        changed = not same(store / name, Path("kept", name))
        if kind == "benchmark":
            with time_limit():
                checked(CliRunner().invoke(app, [*REPORT, "--force", "--html", "found.html"]))
        done = run(kind)
        if forged or (store / name).is_dir():
            return
        if changed and name != "plan.json" and not name.startswith("releases"):
            assert f"{Path(name).name} cannot be read (" in done.stderr, done.stderr
        assert told(kind) == answer
        assert "cannot be read" not in run(kind).stderr

    check()


def same(file, kept):
    """Whether a file says what it said before, or is gone: then it is just not there."""
    if not file.exists():  # also where a link leads nowhere
        return True
    if not file.is_file() or file.is_symlink():
        return False
    if file.suffix == ".npz":  # an archive says some things that nobody needs, such as the time it was made
        return True
    try:
        return json.loads(file.read_bytes()) == json.loads(kept.read_bytes())
    except (ValueError, RecursionError):
        return False


def forged(change):
    """Change what the first cell says, and give it the digest of that, as whoever knows the form can."""

    def damage():
        file = next(
            path for path in sorted(Path("store/cells").glob("*.json")) if '"risk": {' in path.read_text()
        )
        told = json.loads(file.read_text())
        change(told)
        file.write_text(json.dumps(told))
        seal(file)
        return file

    return damage


def risk(**changed):
    return forged(lambda told: told["answer"]["risk"].update(changed))


def answer(**changed):
    return forged(lambda told: told["answer"].update(changed))


def replaced(data):
    def damage():
        file = min(Path("store/cells").iterdir())
        file.unlink()
        file.write_bytes(data)
        return file

    return damage


def piped():
    file = min(Path("store/cells").iterdir())
    file.unlink()
    os.mkfifo(file)
    return file


def swapped():
    one, other = sorted(Path("store/cells").glob("*.json"))[:2]
    swap(one, other)
    return one


def readdressed():
    """Let a cell say that it belongs where another stood."""
    one, other = sorted(Path("store/cells").glob("*.json"))[:2]
    told = json.loads(one.read_text())
    other.write_text(json.dumps({**told, "key": f"cells/{other.stem}"}))
    seal(other)
    return other


FORGERIES = {
    "low above high": (risk(low=0.9, high=0.1), "risk must lie between its bounds"),
    "a value beyond its bounds": (risk(value=5.0), "risk must lie between its bounds"),
    "no number of people": (risk(n=-1), "risk must lie between its bounds"),
    "a p of 77": (answer(p_value=77.0), "p_value must lie from 0 to 1"),
    "a number of 400 digits": (risk(value=10**400), "it holds a whole number of more than 300 digits"),
    "a text": (risk(value="half"), "answer.risk.value: input should be a valid number"),
    "an empty answer": (answer(risk=None, gain=None, informative=None), "the answer is empty"),
    "no answer": (forged(lambda told: told.update(answer={})), "does not have the parts"),
    "more than an answer": (answer(more=1), "does not have the parts"),
    "another level": (forged(lambda told: told["trial"].update(level=0.25)), "belongs to another address"),
    "another question": (
        forged(lambda told: told.update(asked={"metric": "x"})),
        "belongs to another address",
    ),
    "an empty cell": (replaced(b"{}"), "it is not what is written there"),
    "an empty file": (replaced(b""), "it is not valid JSON"),
    "NaN": (replaced(b'{"answer": NaN}'), "it is not valid JSON"),
    "a deep one": (replaced(b'{"a":' * 100_000), "it is not valid JSON"),
    "a deep one that ends": (replaced(b'{"a":' * 500 + b"1" + b"}" * 500), "lie too deep in each other"),
    "a key twice": (replaced(b'{"answer": 1, "answer": 2}'), "it holds a key twice"),
    "a large one": (replaced(b" " * (1 << 25)), "at most 16,777,216 are read"),
    "a pipe": (piped, "it is a pipe, not a file"),
    "cells in each other's place": (swapped, "it belongs to another address"),
    "a cell with another's address": (readdressed, "it belongs to another address"),
}


@pytest.fixture
def study(whole, tmp_path, monkeypatch):
    """A folder with the study and its store."""
    shutil.copytree(whole / "benchmark", tmp_path / "benchmark")
    monkeypatch.chdir(tmp_path / "benchmark")
    return without_times(json.loads(Path("answer.json").read_text()))


@pytest.mark.parametrize("name", FORGERIES)
def test_cells_that_nobody_wrote_are_left_out_and_made_again(name, study):
    damage, why = FORGERIES[name]
    file = damage()
    report = checked(CliRunner().invoke(app, [*REPORT, "--force", "--quiet"]))
    assert report.exit_code == 0
    report = checked(CliRunner().invoke(app, [*REPORT, "--force", "--html", "found.html"]))
    line = f"store/cells/{file.name} cannot be read ("
    (said,) = [item for item in report.stderr.splitlines() if item.startswith(line)] or [report.stderr]
    assert said.startswith(line)
    assert why in said
    assert "left out" in said
    found = json.loads(Path("found.json").read_text())
    assert sum(gap["n"] for gap in found["gaps"] if gap["kind"] == "unreadable") >= 1
    done = run("benchmark")
    assert f"{line}{said.removeprefix(line).partition('): ')[0]}): it is made again." in done.stderr
    assert told("benchmark") == study


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda plan: plan["places"][0].update(key="../.." * 4), "a cell has no address"),
        (lambda plan: plan["places"][0].update(key="../../plan"), "a cell has no address"),
        (lambda plan: plan["places"][0].update(dataset="others"), "of no dataset, risk or metric"),
        (lambda plan: plan["places"][0].update(level=77.0), "of no level"),
        (lambda plan: plan["places"][0].update(repeat=3), "of no repeat"),
        (lambda plan: plan["metrics"].clear(), "of no dataset, risk or metric"),
        (lambda plan: plan.update(seed=10**400), "it holds a whole number"),
    ],
)
def test_plans_that_nobody_wrote_are_refused_and_made_again(change, why, study):
    plan = json.loads(Path("store/plan.json").read_text())
    change(plan)
    Path("store/plan.json").write_text(json.dumps(plan))
    refused = checked(CliRunner().invoke(app, [*REPORT, "--force"]))
    assert refused.exit_code == 2
    assert refused.stderr.startswith("tabveil: store/plan.json cannot be read (")
    assert why in refused.stderr
    run("benchmark")
    assert told("benchmark") == study


def test_a_cell_of_another_place_in_the_plan_is_no_answer_there(study):
    plan = json.loads(Path("store/plan.json").read_text())
    one, other = (item for item in plan["places"] if item["risk"] == "leaky" and item["metric"] == "mine")
    one["key"], other["key"] = other["key"], one["key"]
    Path("store/plan.json").write_text(json.dumps(plan))
    report = checked(CliRunner().invoke(app, [*REPORT, "--force"]))
    assert report.stderr.count("it is of another trial") == 2


def test_cells_of_earlier_versions_are_read(study):
    for file in Path("store").glob("*/*.json"):
        kept = json.loads(file.read_text())
        file.write_text(json.dumps({k: kept[k] for k in set(kept) - {"key", "seal", "asked"}}))
    assert told("benchmark") == study
    assert "6 cells known before, 0 new" in run("benchmark").stdout


@pytest.mark.parametrize("workers", ["1", "2"])
def test_releases_that_cannot_be_read_are_named_and_made_again(workers, study):
    releases = sorted(Path("store/releases").iterdir())
    before = [file.read_bytes() for file in releases]
    flip(releases[0], 0.5, 255)
    for file in Path("store/cells").iterdir():
        file.unlink()
    with time_limit():
        done = checked(CliRunner().invoke(app, [*COMMANDS["benchmark"][:-1], workers]))
    assert f"store/releases/{releases[0].name} cannot be read (" in done.stderr
    assert done.stderr.count("cannot be read") == 1
    assert len([file.read_bytes() for file in releases]) == len(before)
    assert told("benchmark") == study


def test_a_store_of_many_damaged_files_is_told_in_a_few_lines(study):
    for file in Path("store/cells").iterdir():
        file.write_text("")
    assert "1 more files cannot be read: it is made again." in run("benchmark").stderr


@pytest.mark.parametrize("kind", ["attack", "epsilon"])
def test_fits_of_others_are_made_again(kind, whole, tmp_path, monkeypatch):
    shutil.copytree(whole / kind, tmp_path / kind)
    monkeypatch.chdir(tmp_path / kind)
    found = json.loads(Path("answer.json").read_text())
    one, other = sorted(path for path in Path("store").rglob("*") if path.suffix in {".json", ".npz"})[:2]
    swap(one, other)
    done = run(kind)
    assert done.stderr.count("it belongs to another address): it is made again.") == 2
    assert json.loads(Path("found.json").read_text()) == found
