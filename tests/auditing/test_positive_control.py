"""People planted into the release that would be within: who, where, and what becomes of a blind attack."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from tabveil import audit
from tabveil.auditing.policy import RISKS
from tabveil.auditing.positive_control import deciding, plant
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import COULD_NOT_SEE
from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels, Result
from tabveil.datasets import hospital
from tabveil.render.audit.view import planted_here
from tabveil.tables.reading import load_split

LAX = {"thresholds": {risk.replace(" ", "_"): 0.25 for risk in RISKS}, "copies": 0.2}


NOTHING = Estimate(value=0.0, low=-0.01, high=0.01, n=100)


def people(n, seed):
    return hospital(n, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Blind:
    """An attack that finds nothing, whatever stands in the release."""

    name: ClassVar[str] = "blind"
    title: ClassVar[str] = "Blind linkage"
    cost: ClassVar[str] = "quick"
    labels: ClassVar[Labels] = Labels(pillar="attack", wp29="linkability", mechanism="distance")

    def __call__(self, split, *, rng):
        return Result(metric=self.name, labels=self.labels, gain=NOTHING, p_value=0.5)

    def sentence(self, result):
        return "Nothing."

    def threat(self, result):
        return None


def test_a_blind_attack_is_found_out():
    report = audit(people(200, 1), people(200, 2), people(200, 3), metrics=[Blind()], policy={"required": []})
    risk = report.verdict.risks[1]
    assert (risk.state, risk.reason, risk.blind) == ("inconclusive", COULD_NOT_SEE, ("Blind linkage",))
    assert risk.within_at is None
    (tried,) = report.positive.tried
    assert (tried.n_planted, tried.share, tried.seen) == (20, 0.1, False)
    assert "Blind linkage saw 0 (at most 1: too little)" in next(planted_here(report))
    assert any("Blind linkage" in told for told in report.advice.obstacles)


def test_a_bound_that_stays_below_the_threshold_bounds_nothing():
    capped = Estimate(value=0.04, low=0.03, high=0.045, n=100)

    @dataclass(frozen=True, kw_only=True)
    class Capped(Blind):
        name: ClassVar[str] = "capped"

        def __call__(self, split, *, rng):
            return replace(super().__call__(split, rng=rng), metric="capped", gain=capped, p_value=1e-9)

    report = audit(
        people(200, 1), people(200, 2), people(200, 3), metrics=[Capped()], policy={"required": []}
    )
    assert report.verdict.risks[1].reason == COULD_NOT_SEE


def marginals(rows, seed=0):
    rng = np.random.default_rng(seed)
    return rows.apply(lambda column: column.to_numpy()[rng.permutation(len(rows))])


@pytest.mark.parametrize("release", ["fresh", "marginals"])
def test_clean_releases_are_within_where_planted_people_are_seen(release):
    made = people(900, 2) if release == "fresh" else marginals(people(900, 2))
    report = audit(people(900, 1), made, people(900, 3), policy=LAX, quick=True)
    assert report.verdict.state == "within threshold"
    assert {item.metric for item in report.positive.tried} == set(report.policy.required)
    assert all(item.seen and item.n_planted == 450 for item in report.positive.tried)
    assert "people who were planted into this release" in report.verdict.sentence
    (told,) = planted_here(report)
    assert "50 of 100 training people (450 people, with all of their rows) were planted into this" in told
    again = Report.from_json(report.to_json())
    assert again.positive == report.positive
    assert again.verdict == report.verdict


def test_nobody_is_planted_where_it_decides_nothing():
    train, control = people(300, 1), people(300, 3)
    assert audit(train, train, control, metrics="linkability", advice=False).positive is None
    assert audit(train, people(300, 2), None, metrics="linkability", advice=False).positive is None


def test_attacks_that_use_some_columns_are_tried_with_these_alone():
    report = audit(
        people(900, 1),
        people(900, 2),
        people(900, 3),
        policy=LAX,
        metrics=["inference"],
        known=["age", "ward", "triage", "region"],
        secrets=["sex"],
    )
    whole, some = report.positive.tried
    assert (whole.columns, set(some.columns)) == ((), {"age", "ward", "triage", "region", "sex"})
    assert "only their " in list(planted_here(report))[-1]


def loaded(n_release=60, person=None):
    train, control, release = people(60, 1), people(60, 2), people(n_release, 3)
    return load_split(train, release, control, person=person).split


def common(first, second):
    return int(np.isin(first.row_hash(), second.row_hash()).sum())


def test_people_take_the_place_of_as_many_rows():
    split = loaded()
    made, appended = plant(split, 12, rng=np.random.default_rng(0))
    assert not appended
    assert len(made.synthetic) == 60
    assert common(split.train, made.synthetic) == 12
    assert common(made.synthetic, split.synthetic) == 48


def test_a_release_that_is_too_small_gets_longer():
    split = loaded(5)
    made, appended = plant(split, 12, rng=np.random.default_rng(0))
    assert appended
    assert len(made.synthetic) == 17
    assert common(split.synthetic, made.synthetic) == 5


@pytest.mark.parametrize("n_release", [5, 60])
def test_only_some_columns_may_be_planted(n_release):
    split = loaded(n_release)
    made, _ = plant(split, 12, ("age", "ward"), rng=np.random.default_rng(0))
    rest = [name for name in split.schema.names if name not in {"age", "ward"}]
    assert common(made.synthetic.select(rest), split.synthetic.select(rest)) == len(made.synthetic)
    assert common(made.synthetic, split.synthetic) < len(made.synthetic)


def test_all_rows_of_a_person_are_planted():
    split = loaded()
    whose = np.arange(60) // 3
    split = replace(split, train=replace(split.train, people=whose))
    made, _ = plant(split, 4, rng=np.random.default_rng(0))
    there = np.isin(split.train.row_hash(), made.synthetic.row_hash())
    assert there.sum() == 12
    assert len(np.unique(whose[there])) == 4


def test_who_is_planted_does_not_depend_on_the_order_of_the_file():
    split = loaded()
    turned = replace(split, train=split.train.take(np.arange(60)[::-1]))
    first, second = (plant(one, 12, rng=np.random.default_rng(0))[0].synthetic for one in (split, turned))
    assert sorted(first.row_hash()) == sorted(second.row_hash())


def test_required_attacks_are_tried_or_the_quickest_of_the_others():
    from tabveil.auditing.steps import AuditedMetric  # noqa: PLC0415 - here only
    from tabveil.metrics.attacks import Inference, MLInference  # noqa: PLC0415 - here only

    runs = {item.name: AuditedMetric(metric=item) for item in (Inference(), MLInference(), Blind())}
    assert deciding(list(runs), ("ml_inference",), runs) == ["ml_inference"]
    assert deciding(list(runs), (), runs) == ["inference", "blind"]
    assert deciding(["ml_inference", "gone"], (), runs) == ["ml_inference"]
