"""What do attacks in the contrastive space take after training, beside their plain versions?

``PYTHONPATH=src python benchmarks/contrastive_attacks.py --data FILE.parquet`` cuts rows of a Parquet file in
three tables of equal size, trains an embedding with the default settings on one of them, and prints what each
attack takes: alone, that is with an embedding that has placed no row yet, and after all the attacks above it,
as in an audit. CPU seconds of one thread, the least of the repeats; code is compiled before. Without
``--data``, rows are those of the simulated hospital. No matter how long it took, nothing is compared with a
file: run it on two versions, in turn, to compare them.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import measure
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from tabveil import datasets
from tabveil.core import workers
from tabveil.core.rng import stream
from tabveil.engines.embedding import Embedding
from tabveil.engines.representation import VectorView
from tabveil.metrics.attacks import Inference, Linkability, MembershipCalibrated, SinglingOut
from tabveil.metrics.attacks.calibrated import MembershipContrastive
from tabveil.metrics.attacks.inference import InferenceContrastive
from tabveil.metrics.attacks.linkability import LinkabilityContrastive
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOutContrastive
from tabveil.metrics.indicators import DistanceToClosest
from tabveil.metrics.indicators.closest import DistanceToClosestContrastive
from tabveil.tables.reading import load_split

N_ROWS, N_FEW, N_SECRETS = 14_000, 300, 3
HEADER = ["attack", "plain", "in the space, alone", "times", "after those above", "times"]


@dataclass(frozen=True, kw_only=True)
class Ready:
    """An embedding that was trained already."""

    name: ClassVar[str] = "ready"
    model: ClassVar[object] = None

    def view(self, split, *, rng, reference=None):  # noqa: ARG002 - nothing is left to learn
        return VectorView(embed=Ready.model.embed, schema=split.schema, n_dimensions=Ready.model.n_dimensions)


def pairs(secrets):
    """Return each attack by the mixed distance, and in the space."""
    given = {"representation": Ready()}
    return [
        (Linkability(), LinkabilityContrastive(**given)),
        (Inference(secrets=secrets), InferenceContrastive(secrets=secrets, **given)),
        (DistanceToClosest(), DistanceToClosestContrastive(**given)),
        (SinglingOut(), SinglingOutContrastive(**given)),
        (MembershipCalibrated(), MembershipContrastive(**given)),
    ]


def least(attack, split, repeats, prepare=lambda: None):
    found = []
    for _ in range(repeats):
        prepare()
        found.append(measure.once(lambda: attack(split, rng=stream(0, attack.name))))
    return min(found)


def rows_of(split, folder, secrets, repeats):
    """Yield the lines of the table."""

    def forget():
        Ready.model = Embedding.load(folder)

    few = split_of_few(split)
    forget()
    for both in pairs(secrets):
        for attack in both:
            attack(few, rng=stream(0, attack.name))
    alone = [least(attack, split, repeats, forget) for _, attack in pairs(secrets)]
    shared = [np.inf] * len(alone)
    for _ in range(repeats):
        forget()
        taken = [least(attack, split, 1) for _, attack in pairs(secrets)]
        shared = [min(one, other) for one, other in zip(shared, taken, strict=True)]
    for (plain, near), by_itself, later in zip(pairs(secrets), alone, shared, strict=True):
        usual = least(plain, split, repeats)
        yield [
            f"`{near.name}`",
            f"{usual:.2f}",
            f"{by_itself:.2f}",
            f"{by_itself / usual:.1f}",
            f"{later:.2f}",
            f"{later / usual:.1f}",
        ]


def split_of_few(split):
    few = np.arange(min(N_FEW, len(split.train)))
    return type(split)(
        train=split.train.take(few), control=split.control.take(few), synthetic=split.synthetic.take(few)
    )


def read(arguments):
    n = arguments.rows
    frame = pd.read_parquet(arguments.data) if arguments.data else datasets.hospital(3 * n, seed=1)
    order = np.random.default_rng(0).permutation(len(frame))
    train, control, release = (frame.iloc[order[i * n : (i + 1) * n]] for i in range(3))
    return load_split(train, release, control, missing=["?"]).split


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a Parquet file; the simulated hospital if left out")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="of each table")
    parser.add_argument("--secrets", nargs="+", help="the columns to infer; the last three if left out")
    parser.add_argument("--epochs", type=int, default=Embedding().epochs)
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    split = read(arguments)
    secrets = tuple(arguments.secrets or split.schema.names[-N_SECRETS:])
    with workers.working(threads=1), threadpool_limits(1), tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "embedding"
        start = measure.cpu_seconds()
        model = Embedding(epochs=arguments.epochs).fit(split.synthetic, rng=stream(0, "embedding"))
        trained = measure.cpu_seconds() - start
        model.save(folder)
        rows = []
        for row in rows_of(split, folder, secrets, arguments.repeats):
            print(*row, sep=" | ", file=sys.stderr, flush=True)
            rows.append(row)
    print(f"{measure.machine()}, {arguments.rows:,} rows a table; training {trained:.1f} CPU s.\n")
    print(measure.markdown(HEADER, rows))


if __name__ == "__main__":
    main()
