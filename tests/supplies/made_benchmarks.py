"""Benchmarks whose every answer is chosen, to be summed up and drawn."""

from tabveil.core.estimate import Estimate
from tabveil.core.result import Labels
from tabveil.workflows.benchmark.findings import findings
from tabveil.workflows.benchmark.plan import CellPlace, Series, StudyDataset, StudyMetric, StudyPlan
from tabveil.workflows.benchmark.records import Record
from tabveil.workflows.benchmark.trials import MetricAnswer

LABELS = {
    "attack": Labels(pillar="attack", wp29="linkability", mechanism="distance"),
    "indicator": Labels(pillar="indicator", wp29="propensity", mechanism="distance"),
    "membership": Labels(pillar="attack", wp29="propensity", mechanism="density"),
}


def metric(label, kind="attack", *, title=None, name=None):
    labels = LABELS.get(kind)
    return StudyMetric(label=label, name=name or label, title=title or label.capitalize(), labels=labels)


def answer(value, *, seen=None, **more):
    """An answer of this value; seen where its interval lies above zero."""
    seen = value > 0 if seen is None else seen
    low = 0.001 if seen else -0.001
    return MetricAnswer(risk=Estimate(value=value, low=low, high=max(value, 0) + 0.1, n=100), **more)


def series(levels=(0.0, 0.5, 1.0), *, label="leaky", model="leaky", modifier=None, modifier_levels=()):
    return Series(
        label=label, model=model, modifier=modifier, levels=tuple(levels), modifier_levels=modifier_levels
    )


def people(label="adult"):
    return StudyDataset(
        label=label, rows=3000, columns=15, sha256="ab" * 32, train=1000, control=1000, release=1000
    )


def plan(metrics, risks=None, *, datasets=("adult",), repeats=2, title="A study"):
    risks = risks or (series(),)
    places = [
        CellPlace(
            key=f"{dataset}-{risk.label}-{repeat}-{level}-{modified}-{item.label}",
            dataset=dataset,
            risk=risk.label,
            level=level,
            modifier_level=modified,
            repeat=repeat,
            metric=item.label,
        )
        for dataset in datasets
        for risk in risks
        for repeat in range(repeats)
        for level in risk.levels
        for modified in (risk.modifier_levels or (None,))
        for item in metrics
    ]
    return StudyPlan(
        version="1.0",
        title=title,
        seed=7,
        repeats=repeats,
        datasets=tuple(map(people, datasets)),
        risks=tuple(risks),
        metrics=tuple(metrics),
        places=tuple(places),
    )


def records(made, answered, *, cpu_seconds=None):
    """Ask ``answered(place)`` about every cell; None is a cell that is not known."""
    known = {}
    for place in made.places:
        said = answered(place)
        if said is not None:
            seconds = (cpu_seconds or {}).get(place.metric, 0.5)
            known[place.key] = Record(place=place, answer=said, cpu_seconds=seconds)
    return known


def found(made, answered, *, failures=None, cpu_seconds=None):
    """What a report says of these answers."""
    return findings(made, records(made, answered, cpu_seconds=cpu_seconds), failures or {})
