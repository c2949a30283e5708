"""The papers' experiments: every full study is sound, and every small one runs and shows what it is about."""

import importlib.util
import sys
from collections import defaultdict
from statistics import fmean

import pytest
import yaml
from supplies.places import ROOT

from tabveil.metrics.registry import METRICS
from tabveil.workflows.benchmark import DATASETS, Store, Study, run

FOLDER = ROOT / "experiments"
SMALL = sorted((FOLDER / "small").glob("*.yaml"))
PAPERS = FOLDER / "papers.yaml"  # the published numbers, not a study
FULL = [path for path in sorted(FOLDER.glob("*.yaml")) if path != PAPERS]
PIPELINES = sorted((FOLDER / "hybrid").glob("*.yaml"))
FURTHER = {path.stem for path in FULL if any(path.stem.startswith(f"{other.stem}_") for other in FULL)}
"""Variants of studies on other tables or sizes, or with other generators, which need no small one."""


@pytest.fixture(scope="module")
def own_datasets():
    """Know the datasets of the experiments for the length of these tests."""
    before = set(DATASETS)
    sys.path.insert(0, str(FOLDER))
    try:
        __import__("people")
        yield
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("people", None)
        for name in set(DATASETS) - before:
            del DATASETS._kinds[name]


@pytest.mark.parametrize("path", FULL, ids=lambda path: path.stem)
def test_a_full_study_is_sound_and_has_a_small_variant(path, own_datasets):
    study = Study.read(path)
    assert study.seed >= 1000, "seeds below were used to choose settings"
    small = FOLDER / "small" / path.name
    if path.stem not in FURTHER:
        assert small.exists()
        assert "small variant of" in small.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PIPELINES, ids=lambda path: path.stem)
def test_a_study_of_pipelines_is_sound(path, own_datasets):
    study = Study.read(path)
    assert study.seed >= 1000
    assert study.repeats == 3
    assert study.utility


def test_the_pipelines_of_the_thesis_are_all_tried_with_trees(own_datasets):
    labels = {risk.label for risk in Study.read(FOLDER / "hybrid" / "trees.yaml").risks}
    assert len(labels) == 1 + 4 * 7 * 4  # k, ways of sampling, transitions
    assert {
        "k=5 β=1 post-uniform",
        "k=20 β=0.5 random pre-uniform",
        "k=50 β=0.1 stratified pre-single",
    } < labels


def test_the_papers_pate_gan_has_the_papers_teachers():
    found = [
        risk["settings"]
        for path in FULL
        for risk in yaml.safe_load(path.read_text(encoding="utf-8")).get("risks", [])
        if isinstance(risk, dict) and risk.get("generator") == "pategan"
    ]
    assert len(found) >= 2
    assert all(settings["teachers"] == "networks" for settings in found)


def means(folder):
    """Return the mean of what is judged, by risk, level, level of the modifier, and metric."""
    store, found = Store(folder), defaultdict(list)
    for place in store.plan().places:
        answer = store.record(place).answer
        if answer.measure is not None:
            key = (place.risk, place.level, place.modifier_level, place.metric)
            found[key].append(answer.measure.value)
    return {key: fmean(values) for key, values in found.items()}


@pytest.fixture(scope="module", params=SMALL, ids=lambda path: path.stem)
def ran(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.stem)
    outcome = run(request.param, folder, workers=1)
    assert not outcome.failures
    return request.param.stem, folder


def test_a_small_study_shows_what_it_is_about(ran):
    name, folder = ran
    found = means(folder)
    CHECKS[name](found, folder)


def rises(found, metric, risk, low, high, *, by, strength=None):
    assert found[risk, high, strength, metric] > found[risk, low, strength, metric] + by


def leaky(found, folder):
    for (_, level, _, metric), value in found.items():
        if metric not in {"ml_inference", "mmd", "closest_share"}:
            assert value == pytest.approx(level, abs=0.15), metric


def noisy(found, folder):
    assert found["σ, λ, p", 1, None, "identical_match_share"] < 0.2
    assert found["no noise", 1, None, "identical_match_share"] == 1
    assert found["σ, λ, p", 1, None, "membership_distance"] > 0.9


def overfit_transformer(found, folder):
    (risk,) = {key[0] for key in found}
    rises(found, "membership_distance", risk, 1.0, 1.5, by=0.02)
    facts = [Store(folder).record(place).answer.facts for place in Store(folder).plan().places]
    assert {round(item["ratio"], 1) for item in facts} == {1.0, 1.5}


def overfit_trees(found, folder):
    rises(found, "membership_distance", "overfit (generator trees)", 1.0, 2.0, by=0.15)
    rises(found, "distance_to_closest", "overfit (generator trees)", 1.0, 2.0, by=0.05)


def private(found, folder):
    rises(found, "membership_distance", "aim", 1, 100, by=0.05)


def outlier_removal(found, folder):
    for strength in (0, 0.1):
        rises(found, "domias_kde", "overfit (generator trees)", 1.0, 1.6, by=0.05, strength=strength)


def neighbors(found, folder):
    assert found["leaky", 0.5, None, "k = 1"] > found["leaky", 0.5, None, "k = 10"] + 0.3


def radius(found, folder):
    assert found["leaky", 0.5, None, "radius 0"] > found["leaky", 0.5, None, "radius 0.2"]


def size(found, folder):
    few, many = (found["generated (generator trees)", 1, times, "distance_to_closest"] for times in (1, 4))
    assert many == pytest.approx(few, abs=0.03), "larger releases are not nearer by our measure"


def canaries(found, folder):
    rises(found, "inference (secrets ward)", "canaries", 0, 1, by=0.7, strength=100)
    assert found["canaries", 0, 100, "inference (secrets ward)"] == pytest.approx(0, abs=0.06)


def utility(found, folder, in_order=("real rows", "trees", "marginals")):
    store = Store(folder)
    told_apart = {
        place.risk: store.record(place).answer.figures["discriminator"]
        for place in store.plan().places
        if place.metric == "utility"
    }
    shown = [told_apart[name] for name in in_order]
    assert shown == sorted(set(shown))


def power(found, folder):
    store = Store(folder)
    seen = [
        store.record(place).answer.seen
        for place in store.plan().places
        if (place.metric, place.level) == ("membership_distance", 0.2)
    ]
    assert len(seen) == 10
    assert all(seen)


def calibration(found, folder):
    for metric in ("membership_calibrated", "membership_ratio", "membership_trees", "membership_influence"):
        assert abs(found["leaky", 0, None, metric]) < 0.05, metric
        rises(found, metric, "leaky", 0, 0.1, by=0.02)
    assert found["noise .05", 0.1, None, "membership_calibrated"] > 0.02


def coverage(found, folder):
    assert all(abs(value) < 0.05 for value in found.values())


def contrastive(found, folder):
    rises(found, "linkability, contrastive", "behind noise", 0, 1, by=0.1)
    rises(found, "membership, both spaces", "behind noise", 0, 1, by=0.5)


def hybrid(found, folder):
    utility(found, folder, ("generator alone", "k=5 β=1 pre-uniform"))
    tables = load("pipelines")
    by_k = tables.pipelines(folder, "k").splitlines()
    assert [line.split(" | ")[:2] for line in by_k[2:]] == [["| generator alone", "1"], ["| k = 5", "2"]]
    ways = tables.pipelines(folder, "sampling")
    assert "| β = 0.5, stratified | 1 |" in ways
    better = tables.improved(folder).splitlines()
    assert [line.split(" | ")[0] for line in better[2:]] == [
        "| k=5 β=1 pre-uniform",
        "| k=5 β=0.5 stratified post-conditional",
    ]
    assert all("-" in line.split(" | ")[5] for line in better[2:]), "rows are told apart more easily"


def published_leaky(found, folder):
    for (_, level, _, metric), value in found.items():
        if metric != "domias_kde, papers":  # compares outlying members with anybody
            assert value == pytest.approx(level, abs=0.35 if metric.startswith("inference") else 0.15), metric
    assert found["leaky", 0, None, "domias_kde, papers"] > 0.3


def published_noisy(found, folder):
    assert found["absolute", 1, None, "distance_to_closest, papers"] > 0.9
    assert found["absolute", 1, None, "identical_match_share, papers"] < 0.1


def published_overfit_trees(found, folder):
    rises(found, "distance_to_closest, papers", "trees", 1.0, 2.0, by=0.1)


def published_overfit_transformer(found, folder):
    facts = [Store(folder).record(place).answer.facts for place in Store(folder).plan().places]
    assert {round(item["ratio"], 1) for item in facts} == {1.0, 1.5}


def published_private(found, folder):
    assert found["aim", 1, None, "distance_to_closest, papers"] == pytest.approx(-0.0204, abs=0.02)


def published_size(found, folder):
    (risk,) = {key[0] for key in found}
    for metric, expected in {"papers": 3 * 0.02 / 0.98, "real to synthetic": 0.0}.items():
        few, many = (found[risk, 0, times, f"distance_to_closest, {metric}"] for times in (1, 4))
        assert many - few == pytest.approx(expected, abs=0.05), metric


def published_radius(found, folder):
    store = Store(folder)
    cells = [(place, store.record(place).answer) for place in store.plan().places]
    attack = defaultdict(list)
    for place, answer in cells:
        attack[place.level, place.metric].append(answer.attack)
    for level in (0, 0.5):
        assert fmean(attack[level, "radius 0.5"]) > fmean(attack[level, "radius 0"]) + 0.2, "on train alone"
    assert found["leaky", 0.5, None, "radius 0"] > found["leaky", 0.5, None, "radius 0.5"] + 0.2


def published_neighbors(found, folder):
    assert found["leaky", 1, None, "k = 1"] > found["leaky", 1, None, "k = 10"] + 0.3


def published_outliers(found, folder):
    assert len([key for key in found if key[3] == "domias_kde, outlying members"]) == 2  # levels of removal


def published_noises(found, folder):
    assert all(value > 0.1 for value in found.values())


def published_generators(found, folder):
    assert found["ctgan", 1, None, "distance_to_closest, papers"] < 0.02
    assert len(found) == 4


def published_dimension(found, folder):
    assert all(value > 0.1 for value in found.values())


def published_pipeline(found, folder):
    assert all(abs(value) < 0.1 for value in found.values())


def test_changes_are_counted_from_the_generator_alone():
    assert load("pipelines").change([(0.5, 0.25), (0.5, 0.5)]) == "+25 ± 35 %"


CHECKS = {
    "calibration": calibration,
    "canaries": canaries,
    "contrastive": contrastive,
    "coverage": coverage,
    "hybrid": hybrid,
    "leaky": leaky,
    "neighbors": neighbors,
    "noisy": noisy,
    "outlier_removal": outlier_removal,
    "overfit_transformer": overfit_transformer,
    "overfit_trees": overfit_trees,
    "power": power,
    "private": private,
    "published_dimension": published_dimension,
    "published_generators": published_generators,
    "published_leaky": published_leaky,
    "published_neighbors": published_neighbors,
    "published_noises": published_noises,
    "published_noisy": published_noisy,
    "published_outliers": published_outliers,
    "published_overfit_transformer": published_overfit_transformer,
    "published_overfit_trees": published_overfit_trees,
    "published_pipeline": published_pipeline,
    "published_private": published_private,
    "published_radius": published_radius,
    "published_size": published_size,
    "radius": radius,
    "size": size,
    "utility": utility,
}


def test_every_small_study_is_checked():
    assert set(CHECKS) == {path.stem for path in SMALL}


def test_comments_say_which_table_or_figure_a_study_is_for():
    for path in FULL:
        assert path.read_text(encoding="utf-8").startswith("# "), path.name
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["title"]


@pytest.fixture(scope="module")
def pages():
    """The script that fills the documentation; loaded by its path, as there are others of its name."""
    return load("pages")


def load(name):
    """Import a script of the experiments, and what it needs of the others."""
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"experiments_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(FOLDER))
    return module


def marks(pages):
    docs = FOLDER.parent / "docs"
    return [(page.name, mark) for page in docs.glob("*.md") for mark in pages.MARK.findall(page.read_text())]


def test_what_pages_ask_for_can_be_made(pages):
    asked = marks(pages)
    assert len(asked) > 30
    for page, mark in asked:
        kind, study, *_ = (part.strip() for part in mark.split("|"))
        assert callable(getattr(pages.Tables, kind)), page
        assert (FOLDER / f"{study}.yaml").exists(), page


def test_published_numbers_stand_beside_metrics_that_exist(pages, tmp_path):
    papers = pages.Tables(tmp_path).papers
    names = {name for study in papers.values() for name in study}
    assert names <= set(METRICS)
    assert papers["leaky"]["linkability"]["adult"] == [0.0015, 0.6433]


def test_a_page_is_filled_where_it_asks_and_nowhere_else(pages, tmp_path):
    study = {
        "datasets": [{"name": "hospital", "rows": 300, "label": "adult"}],
        "risks": [{"name": "leaky", "levels": [0, 1]}],
        "metrics": ["identical_match_share"],
        "repeats": 2,
    }
    run(study, tmp_path / "leaky", workers=1)
    page = tmp_path / "page.md"
    wanted = "<!-- table: {} -->\n<!-- end -->\n"
    asked = (
        "curve | leaky | adult | leaky | spread",
        "cards | leaky | adult | leaky",
        "beside | leaky | leaky | adult",
        "seconds | leaky | adult",
        "covered | leaky",
        "choices | leaky | adult | leaky",
        "correlations | leaky | adult | leaky",
        "answered | leaky",
        "curve | unknown | adult | leaky",
    )
    page.write_text("before\n" + "between\n".join(map(wanted.format, asked)) + "after\n", encoding="utf-8")
    tables = pages.Tables(tmp_path)
    pages.fill(page, tables)
    text = page.read_text(encoding="utf-8")
    assert "| `identical_match_share` | 0.000 ± 0.000 | 1.000 ± 0.000 |" in text
    assert "| `identical_match_share` | 0.000 → 1.000 | 0.000 → 1.000 | 0.000 → 1.000 |" in text
    assert "| `leaky` | adult | 100 | 2 of 2 | 4 of 4 |" in text
    assert "<!-- table: curve | unknown | adult | leaky -->\n<!-- end -->" in text, "left as it was"
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    pages.fill(page, tables)
    assert page.read_text(encoding="utf-8") == text, "filling again changes nothing"


def test_what_nobody_has_run_is_left_out_of_a_table(pages):
    table = (
        "| metric | 0 | 1 |\n| --- | --- | --- |\n| `a` | not computed | 0.5 |\n| `b` | not computed | {} |"
    )
    assert pages._without_gaps(table.format("not computed")).splitlines()[::2] == [
        "| metric | 1 |",
        "| `a` | 0.5 |",
    ]
    assert pages._without_gaps(table.format("0.1")).splitlines()[-1] == "| `b` | 0.1 |"
    assert pages._without_gaps(table.format("").replace("0.5", "not computed")) == "Not run yet."
    assert pages._without_gaps("No answers.") == "No answers."
