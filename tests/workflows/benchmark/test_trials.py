from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from tabveil.core.table import Table
from tabveil.metrics.indicators import ClosestShare, IdenticalMatchShare
from tabveil.protocols import Release
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.risks import Generated, Leaky, Noisy
from tabveil.workflows.benchmark.plan import work_of
from tabveil.workflows.benchmark.study import Hospital, Sizes, Study, load
from tabveil.workflows.benchmark.trials import MetricCell, RiskTrial
from tabveil.workflows.cells.store import content, identified

PEOPLE = load(Hospital(rows=600))
TRIAL = RiskTrial(
    sha256=content(PEOPLE),
    sizes=Sizes(train=200, control=150, release=100),
    seed=3,
    repeat=0,
    model=Leaky(),
    level=0.2,
)


def rows(table):
    return set(table.row_hash().tolist())


def test_people_are_disjoint_and_as_many_as_asked_for():
    people = TRIAL.people(PEOPLE)
    assert [len(people.train), len(people.control), len(people.release)] == [200, 150, 100]
    assert rows(people.train) | rows(people.control) | rows(people.release) <= rows(PEOPLE)
    assert len(rows(people.train) | rows(people.control) | rows(people.release)) == 450


def test_all_levels_and_models_of_a_repeat_have_the_same_people():
    for other in (replace(TRIAL, level=1.0), replace(TRIAL, model=Noisy())):
        np.testing.assert_array_equal(other.people(PEOPLE).train.values, TRIAL.people(PEOPLE).train.values)
    assert rows(replace(TRIAL, repeat=1).people(PEOPLE).train) != rows(TRIAL.people(PEOPLE).train)
    assert rows(replace(TRIAL, seed=4).people(PEOPLE).train) != rows(TRIAL.people(PEOPLE).train)


def test_a_higher_leak_has_the_rows_of_a_lower_one():
    def planted(level):
        split, _ = replace(TRIAL, level=level).split(PEOPLE)
        return set(np.flatnonzero(np.isin(split.synthetic.row_hash(), split.train.row_hash())))

    assert len(planted(0.2)) == 20
    assert planted(0.2) < planted(0.6)


def test_the_tables_know_no_other_labels_and_ranges_than_their_own():
    split, _ = TRIAL.split(PEOPLE)
    for column in split.schema.columns:
        cells = np.concatenate(
            [table.column(column.name) for table in (split.train, split.control, split.synthetic)]
        )
        if hasattr(column, "labels"):
            assert len(np.unique(cells[~np.isnan(cells)])) == len(column.labels)
        else:
            assert (np.nanmin(cells), np.nanmax(cells)) == (column.low, column.high)


def test_the_address_of_a_cell_changes_with_all_that_decides_it_and_nothing_else():
    cell = MetricCell(trial=TRIAL, metric=ClosestShare()).key
    others = [
        replace(TRIAL, seed=4),
        replace(TRIAL, repeat=1),
        replace(TRIAL, level=0.3),
        replace(TRIAL, model=Noisy()),
        replace(TRIAL, sha256="another"),
        replace(TRIAL, sizes=replace(TRIAL.sizes, control=100)),
    ]
    keys = {cell, *(MetricCell(trial=other, metric=ClosestShare()).key for other in others)}
    keys |= {
        MetricCell(trial=TRIAL, metric=IdenticalMatchShare()).key,
        MetricCell(trial=TRIAL, metric=None).key,
    }
    assert len(keys) == len(others) + 3
    assert MetricCell(trial=replace(TRIAL), metric=ClosestShare()).key == cell


def test_labels_are_no_part_of_an_address():
    def keys(label):
        risks = [{"name": "leaky", "label": label, "levels": [0]}]
        study = Study.read(
            {"datasets": [{"name": "hospital", "rows": 60}], "risks": risks, "metrics": ["mmd"]}
        )
        return set(work_of(study).cells)

    assert keys("one") == keys("another")


def test_the_code_of_a_class_of_the_users_own_is_part_of_the_address(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    keys = set()
    for number in (1, 2):
        (tmp_path / f"own{number}.py").write_text(
            "from dataclasses import dataclass\nfrom typing import ClassVar\n\n"
            "@dataclass(frozen=True)\nclass Own:\n    name: ClassVar[str] = 'own'\n"
            f"    levels: ClassVar = (0.0,)\n    def __call__(self, *given, rng):\n        return {number}\n"
        )
        own = __import__(f"own{number}").Own()
        keys.add(replace(TRIAL, model=own).key)
    assert len(keys) == 2


@dataclass(frozen=True)
class OwnGenerator:
    name: ClassVar[str] = "own_generator"

    def fit(self, table, *, rng):
        raise NotImplementedError

    @classmethod
    def load(cls, folder):
        raise NotImplementedError


def test_so_is_the_code_of_a_generator_of_their_own():
    with GENERATORS.adding(OwnGenerator):
        said = identified(Generated(generator="own_generator"))
    assert len(said["code"]) == 1
    assert "code" not in identified(Generated(generator="trees"))


@dataclass(frozen=True)
class Counted:
    name: ClassVar[str] = "counted"
    levels: ClassVar[tuple[float, ...]] = (0.0,)
    costly: ClassVar[bool] = True
    calls: ClassVar[list[float]] = []

    def __call__(self, train, release, level, *, rng):
        self.calls.append(level)
        return Release(rows=release, facts={"ratio": 1.5})


def test_a_release_that_was_kept_is_not_made_again():
    trial = replace(TRIAL, model=Counted())
    split, release = trial.split(PEOPLE)
    again, same = trial.split(PEOPLE, release)
    assert Counted.calls == [0.2]
    np.testing.assert_array_equal(split.synthetic.values, again.synthetic.values)
    assert same is release
    answer = MetricCell(trial=trial, metric=IdenticalMatchShare()).answer(split, release)
    assert answer.facts == {"ratio": 1.5}


def test_the_digest_of_a_dataset_follows_its_cells_and_their_order():
    turned = PEOPLE.take(np.arange(len(PEOPLE))[::-1])
    values = np.array(PEOPLE.values)
    values[0, 0] += 1
    changed = Table(schema=PEOPLE.schema, values=values)
    assert len({content(PEOPLE), content(turned), content(changed)}) == 3
    assert content(PEOPLE) == content(load(Hospital(rows=600)))


@pytest.mark.parametrize("metric", [None, ClosestShare()])
def test_same_trial_same_answer(metric):
    cell = MetricCell(trial=TRIAL, metric=metric)
    assert cell.answer(*TRIAL.split(PEOPLE)) == cell.answer(*TRIAL.split(PEOPLE))
