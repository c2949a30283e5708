"""The attacks on Adult thirds, each alone and all together, and a whole audit at a million rows."""

import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import data
import numpy as np
import pandas as pd
from measure import Row, cpu_seconds, machine, markdown, once, peak_mebibytes, warm
from scipy.stats import gaussian_kde

import tabveil
from tabveil.core.rng import stream
from tabveil.core.table import Categorical
from tabveil.engines.boosting import train as grow
from tabveil.metrics.attacks import ATTACKS, Attribution, MLInference
from tabveil.metrics.attacks.domias.density_ratios import gaussian_log_density

LIMITS = {"membership_distance": 0.5}
MILLION = """# A million rows

`make bench-million` writes this page: a default audit of train, control and synthetic tables of 1,000,000
rows and 15 columns each (Adult, resampled and jittered), from Parquet files to the report.

Measured on {machine}.

{table}
"""
N_KDE, N_KDE_ROWS, N_KDE_COLUMNS = 4_000, 16_280, 6


def rows():
    split = data.thirds()
    return [*each(split), gtcap(split), kernel_density(), ml_inference(split), forest(split), whole_audit()]


def each(split):
    """Every attack as the default audit runs it."""
    return [
        Row(
            what=f"`{attack.name}`, thirds",
            seconds=warm(lambda attack=attack: attack()(split, rng=stream(0, attack.name)), repeats=2),
            limit=LIMITS.get(attack.name),
        )
        for attack in ATTACKS
    ]


def gtcap(split):
    """One target and one radius, all rows, train and control."""
    metric = Attribution(secrets=("income",), radii=(0.1,))
    seconds = warm(lambda: metric(split, rng=stream(0, "gtcap")))
    return Row(what="`gtcap` of income, radius 0.1, thirds", seconds=seconds, limit=0.2)


def kernel_density():
    """Take the same points and bandwidth as SciPy, at scores equal to a billionth."""
    rng = np.random.default_rng(0)
    known, asked = (rng.normal(size=(n, N_KDE_COLUMNS)) for n in (N_KDE_ROWS, N_KDE))
    plain = gaussian_kde(known.T)
    expected = plain.logpdf(asked.T)
    found = gaussian_log_density(asked, known, plain.covariance)
    assert np.abs(found - expected).max() < 1e-9
    return Row(
        what=f"kernel density, {N_KDE} × {N_KDE_ROWS} points, equal to 1e-9",
        seconds=warm(lambda: gaussian_log_density(asked, known, plain.covariance)),
        peer="SciPy gaussian_kde",
        peer_seconds=once(lambda: plain.logpdf(asked.T)),
        least_ratio=5,
    )


def ml_inference(split):
    """Against one fit of XGBoost and its predictions on train and control, nothing else."""
    known = split.select([name for name in sorted(split.schema.names) if name != "income"])
    goal = split.synthetic.column("income")

    def plain():
        import xgboost  # noqa: PLC0415 - as slow to load here as there

        kinds = ["c" if isinstance(column, Categorical) else "q" for column in known.schema.columns]
        model = grow(known.synthetic, goal, {"objective": "binary:logistic"})
        for table in (known.train, known.control):
            model.booster.predict(
                xgboost.DMatrix(table.values, feature_types=kinds, enable_categorical=True, nthread=1)
            )

    metric = MLInference(secrets=("income",))
    return Row(
        what="`ml_inference` of income, thirds",
        seconds=warm(lambda: metric(split, rng=stream(0, "ml_inference"))),
        peer="XGBoost itself",
        peer_seconds=warm(plain),
    )


def forest(split):
    """Go through the trees of 14 labels by our own way, and by XGBoost's: to the same leaves."""
    known = split.select([name for name in sorted(split.schema.names) if name != "occupation"])
    labels, goal = np.unique(np.nan_to_num(split.synthetic.column("occupation")), return_inverse=True)
    model = grow(known.synthetic, goal, {"objective": "multi:softprob", "num_class": len(labels)})
    own = dataclasses.replace(model, forest=None)
    assert np.allclose(model.predict(known.train), own.predict(known.train), rtol=0, atol=1e-12)
    return Row(
        what="a prediction by the trees of 14 labels, thirds",
        seconds=warm(lambda: model.predict_after(known.train, 10, 100)),
        peer="XGBoost itself",
        peer_seconds=warm(lambda: own.predict_after(known.train, 10, 100)),
        least_ratio=3,
    )


def whole_audit():
    """Everything a default audit does, files to report, in a process of its own."""
    measured = in_own_process("thirds")
    note = f"whole default audit, thirds, peak {measured['peak']:.0f} MiB"
    return Row(what=note, seconds=measured["seconds"], limit=30)


def million():
    """State what a default audit of a million rows each costs."""
    measured = in_own_process("million")
    rows = [
        ["CPU s", f"{measured['seconds']:.0f}"],
        ["wall s", f"{measured['wall']:.0f}"],
        ["peak MiB", f"{measured['peak']:.0f}"],
        *([f"`{name}`, wall s", f"{seconds:.1f}"] for name, seconds in measured["each"].items()),
    ]
    return MILLION.format(machine=machine(), table=markdown(["what", "measured"], rows))


def in_own_process(what):
    done = subprocess.run([sys.executable, __file__, what], check=True, capture_output=True)
    return json.loads(done.stdout)


def audit_files(what):
    """Write the tables as files, warm up, audit them."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, frame in frames(what).items():
            frame.to_parquet(place / f"{name}.parquet", index=False)
        files = [place / f"{name}.parquet" for name in ("train", "synthetic", "control")]
        few = [pd.read_parquet(file).head(300) for file in files]
        tabveil.audit(*few)  # compiled code is loaded, as on any run but the first
        start, clock = cpu_seconds(), time.perf_counter()
        report = tabveil.audit(*files, missing=["?"])
        measured = {
            "seconds": cpu_seconds() - start,
            "wall": time.perf_counter() - clock,
            "peak": peak_mebibytes(),
            "each": {result.metric: result.seconds for result in report.results},
        }
    print(json.dumps(measured))


def frames(what):
    if what == "thirds":
        return dict(zip(("train", "control", "synthetic"), data.adult_thirds(), strict=True))
    table = data.adult()
    return {
        name: pd.DataFrame(data.grown(table, 1_000_000, seed).values, columns=table.schema.names).astype(
            {c.name: "category" for c in table.schema.columns if isinstance(c, Categorical)}
        )
        for seed, name in enumerate(("train", "control", "synthetic"))
    }


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["page"]:
            (Path(__file__).parent / "million.md").write_text(million())
        case [what]:
            audit_files(what)
