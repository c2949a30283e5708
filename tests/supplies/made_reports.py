"""Reports made by hand, so that a page can be tried without an audit: any state, any size, any text."""

import math
from dataclasses import replace

from supplies.charts import two_columns
from tabveil.auditing.attackers import Attacker
from tabveil.auditing.detection import Detection, PlantedTrial, Power
from tabveil.auditing.policy import Policy
from tabveil.auditing.report import ExposedRows, Report
from tabveil.core.estimate import Estimate
from tabveil.core.findings import ColumnRisk, Configuration, Curve, Setting
from tabveil.core.result import DroppedColumn, Input, Omission, Result
from tabveil.metrics.attacks import Inference, Linkability, MembershipDistance, SinglingOut
from tabveil.metrics.control.copies import Copies
from tabveil.metrics.indicators import ClosestShare, IdenticalMatchShare
from tabveil.metrics.portrait import Cell, Distances, Map, Outlying, OutlyingCell, Portrait
from tabveil.metrics.properties import Properties, SensitiveProperties, SplitProperties
from tabveil.metrics.registry import METRICS, described, explain
from tabveil.metrics.utility import (
    Associations,
    Bar,
    ChiSquared,
    ColumnUtility,
    Fidelity,
    Figure,
    Rule,
    Rules,
    TargetUtility,
    Telling,
    Utility,
)

CLEAN, LEAKY = 0.002, 0.25
COLUMN_FIGURES = ("total_variation", "jensen_shannon", "cramers_v", "wasserstein", "kolmogorov_smirnov")


def estimate(value, half=0.004, n=2000):
    return Estimate(value=value, low=value - half, high=value + half, n=n)


def attack(metric, risk, setting, **parts):
    """An attack whose rates follow from its risk."""
    found = Configuration(
        setting=setting,
        risk=estimate(risk),
        attack=estimate(0.01 + 0.99 * risk),
        control=estimate(0.01),
        facts={
            "successes_train": round(20 + 1980 * risk),
            "n_train": 2000,
            "successes_control": 10,
            "n_control": 1000,
        },
    )
    result = Result(
        metric=metric.name,
        labels=metric.labels,
        params={"n_attacks": None, "confidence": 0.95},
        risk=found.risk,
        attack=found.attack,
        control=found.control,
        baseline=parts.pop("baseline", estimate(0.001)),
        leading=setting,
        configurations=(found,),
        **parts,
    )
    return described(metric(), result)


def membership(metric, risk):
    found = attack(metric, risk, Setting(label="distance", level=0.01), baseline=estimate(0.01))
    curve = Curve(
        points=((0.0, 0.0), (0.001, 0.01 + risk), (0.1, 0.15 + 0.5 * risk), (1.0, 1.0)),
        area=estimate(0.5 + risk / 2),
        readings=((0.001, None), (0.01, estimate(0.01 + risk)), (0.1, estimate(0.1 + risk))),
    )
    return replace(found, curve=curve)


def indicator(metric, risk, **details):
    result = Result(
        metric=metric.name,
        labels=metric.labels,
        risk=estimate(risk),
        attack=estimate(0.02 + risk),
        control=estimate(0.02),
        details=details,
    )
    return described(metric(), result)


def results(risk, columns=("age", "income")):
    secrets = tuple(
        ColumnRisk(
            column=name,
            configuration=f"{name}, 1.0% most confident",
            risk=estimate(risk),
            attack=estimate(risk),
        )
        for name in columns
    )
    split = Setting(label="first 2 | other 3 columns, k = 1", n_neighbors=1)
    return (
        attack(SinglingOut, risk, Setting(label="window 0.02, all columns", width=0.02)),
        attack(Linkability, risk, split),
        attack(
            Inference,
            risk,
            Setting(label=columns[0], target=columns[0], level=0.01),
            columns=secrets,
            notes=(f"Not attacked, being constant: {columns[-1]}.",),
        ),
        membership(MembershipDistance, risk),
        indicator(IdenticalMatchShare, risk, matches_in_train=17),
        indicator(ClosestShare, risk),
    )


def column(name, variation=0.03):
    labels = [Bar(kind="label", real=0.3, synthetic=0.28, label=f"{name} {place}") for place in range(3)]
    rest = [Bar(kind="other", real=0.06, synthetic=0.1), Bar(kind="missing", real=0.04, synthetic=0.06)]
    figures = {key: Figure(value=estimate(variation), reference=estimate(0.02)) for key in COLUMN_FIGURES[:3]}
    return ColumnUtility(
        name=name,
        numeric=False,
        figures=figures,
        chi_squared=ChiSquared(statistic=3.0, dof=2, p_value=0.2),
        bars=(*labels, *rest),
    )


def utility(columns=("age", "income")):
    overall = ("discriminator", "correlation", "mmd", "pair_variation", *COLUMN_FIGURES)
    square = [[1.0 if i == j else 0.1 for j in range(len(columns))] for i in range(len(columns))]
    return Utility(
        params={"target": None, "halved": True},
        figures={key: Figure(value=estimate(0.55), reference=estimate(0.5)) for key in overall},
        fidelity=Fidelity(
            figure=Figure(value=estimate(0.85), reference=estimate(0.97)),
            parts={
                part: Figure(value=estimate(value), reference=estimate(0.97))
                for part, value in (("columns", 0.95), ("pairs", 0.7), ("rows", 0.9))
            },
        ),
        telling=(Telling(column=columns[0], left=estimate(0.53)),),
        pairs=(two_columns(),),
        left_out=("case",),
        columns=tuple(column(name, 0.01 + place / 1000) for place, name in enumerate(columns)),
        targets=(
            TargetUtility(
                name=columns[0],
                score="accuracy",
                figure=Figure(value=estimate(0.7), reference=estimate(0.75)),
                gap=estimate(0.05),
                baseline=estimate(0.4),
            ),
        ),
        associations=Associations(
            names=tuple(columns), real=tuple(map(tuple, square)), synthetic=tuple(map(tuple, square))
        ),
        rules=Rules(
            figure=Figure(value=estimate(0.2), reference=estimate(0.01)),
            found=(
                Rule(
                    kind="order",
                    columns=(columns[0], columns[-1]),
                    broken=Figure(value=estimate(0.2), reference=estimate(0.01)),
                    unrelated=0.4,
                ),
            ),
        ),
        skipped=(Omission(metric="mmd", reason="mmd: too few rows."),),
        notes=("Chosen as targets: one column.",),
    )


def power():
    return Power(
        detections=(
            Detection(
                metric="inference",
                smallest=0.02,
                trials=(PlantedTrial(leak=0.01, seen=3, of=5), PlantedTrial(leak=0.02, seen=20, of=20)),
                people=500,
            ),
            Detection(
                metric="linkability",
                smallest=None,
                trials=(PlantedTrial(leak=0.2, seen=1, of=3),),
                people=500,
            ),
            Detection(
                metric="singling_out", smallest=None, trials=(), people=500, reason="no guess was made"
            ),
        ),
        people=500,
        release_rows=400,
        repetitions=20,
        notes=("A larger audit sees more.",),
    )


def portrait():
    cells = (Cell(x=0, y=0, real=0.5, synthetic=0.4), Cell(x=1, y=0, real=None, synthetic=0.1))
    drawn = Map(columns=2, rows=2, cells=cells, explained=(0.4, 0.2), hidden_real=0.5, hidden_synthetic=0.5)
    apart = Outlying(
        share=0.1,
        n_neighbors=20,
        columns=1,
        rows=1,
        cells=(OutlyingCell(x=0, y=0, share=0.75),),
        hidden=0.25,
    )
    return Portrait(
        distances=Distances(
            grid=(0.0, 0.1, 0.2),
            synthetic=(0.0, 0.5, 1.0),
            control=(0.0, 0.4, 1.0),
            median_synthetic=0.1,
            median_control=0.12,
        ),
        map=drawn,
        learned=replace(drawn, outlying=apart),
    )


def properties(columns=("income",)):
    sensitive = tuple(
        SensitiveProperties(
            column=name,
            distinct=2,
            entropy=1.5,
            recursive=1,
            factor=3.0,
            equal=0.5,
            ordered=None,
            hierarchical=None,
            information_gain=math.inf,
            largest_gain=math.inf,
            reference="all rows of the original table",
        )
        for name in columns
    )
    found = Properties(
        quasi_identifiers=("age",), n_rows=1500, n_classes=30, k=2, n_unique=0, sensitive=sensitive
    )
    return SplitProperties(train=found, synthetic=found)


def inputs(*, control=1000, columns=5):
    sizes = {"train": 2000, "control": control, "synthetic": 1500}
    return {
        role: Input(
            rows=rows,
            columns=columns,
            sha256=f"{place}" * 64,
            audited_columns=columns - 1,
            audited_sha256=f"{place + 3}" * 64,
        )
        for place, (role, rows) in enumerate(sizes.items())
        if rows
    }


def report(risk=CLEAN, *, columns=("age", "income"), full=True, **parts):
    """A report of a clean or a leaky release, with all that an audit can add unless ``full`` is off."""
    extra = {"utility": utility(columns), "power": power(), "portrait": portrait()} if full else {}
    given = {
        "version": "1.2.3",
        "seed": 7,
        "inputs": inputs(columns=len(columns)),
        "results": results(risk, columns),
        "explanations": {name: explain(metric) for name, metric in METRICS.items()},
        "skipped": (Omission(metric="gtcap", reason="gtcap: no claim is left."),),
        "notes": ("A note about the tables.",),
        "dropped": (DroppedColumn(name="case", reason="identifier", lacking=("synthetic",)),),
        "settings": {"quick": False, "secrets": None, "missing": ["?"]},
        "request": {
            "train": f"{'a/rather/long/way/to/' * 6}train.csv",
            "synthetic": None,
            "metrics": ["inference", {"name": "linkability", "n_neighbors": [1, 5]}],
            "secrets": list(columns),
            "policy": {"thresholds": {"inference": 0.02}},
        },
        "seconds": 12.0,
        **extra,
        **parts,
    }
    return Report(**given)


def copied(n_rows):
    """A release of 1,500 rows, so many of which equal a training row."""
    share = Estimate(value=n_rows / 1500, low=n_rows / 2000, high=n_rows / 1500, n=1500)
    return Copies(
        n_synthetic=1500,
        n_train=2000,
        n_control=1000,
        equal_train=n_rows,
        equal_control=0,
        expected=0.0,
        share=share,
        p_value=1e-9,
        people=n_rows,
    )


def exposed(value="Ann"):
    return ExposedRows(metric="inference", columns=("row", "name"), rows=(("3", value), ("8", "nan")))


def attacker(name="neighbor"):
    return Attacker(name=name, knows=("age",), wants=("income",))


def policy(recipient="a research group", **parts):
    return Policy(recipient=recipient, context="a secure room", **parts)
