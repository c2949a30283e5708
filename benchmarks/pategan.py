"""Which teachers of PATE-GAN make better rows: simple ones by agreement, or the paper's networks?

``python benchmarks/pategan.py`` fits both on 5,000 rows of two tables, minutes in all, and renews its table
in benchmarks/generators.md. Settings are the defaults; those of the networks were chosen on Adult.
"""

import argparse
from pathlib import Path

import data
import measure
import numpy as np

from tabveil.core import workers
from tabveil.core.storage.files import write_text
from tabveil.core.table import Split
from tabveil.metrics.utility import measure as utility_of
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.tables.reading import load_table

N_TRAIN = 5000
PAGE = Path(__file__).with_name("generators.md")
BEGIN, END = "<!-- measured by pategan.py -->", "<!-- end of pategan.py -->"
HEADER = ["table", "ε", "teachers", "told apart", "TVD", "correlations", "fit, CPU s"]
UNUSED = ("encounter_id", "patient_nbr", "diag_1", "diag_2", "diag_3")
FIRST_DRUG, LAST_DRUG = "metformin", "metformin-pioglitazone"
"""Two dozen drugs that hardly anybody takes stand between these two."""


def split_of_adult():
    """Return rows to learn from and rows held out: 5,000 and 4,758."""
    table = load_table(data.read("adult_control.parquet"), missing=("?",)).table
    order = np.random.default_rng(0).permutation(len(table))
    return table.take(order[:N_TRAIN]), table.take(order[N_TRAIN:])


def split_of_diabetes():
    """Return rows to learn from and rows held out: hospital stays, one for each patient."""
    stays = data.read("diabetes130.parquet").drop_duplicates("patient_nbr")
    names = list(stays.columns)
    drugs = names[names.index(FIRST_DRUG) : names.index(LAST_DRUG) + 1]
    table = load_table(stays.drop(columns=[*UNUSED, *drugs]), missing=("?",)).table
    order = np.random.default_rng(0).permutation(len(table))
    return table.take(order[:N_TRAIN]), table.take(order[N_TRAIN : 2 * N_TRAIN])


TABLES = {"Adult": split_of_adult, "Diabetes": split_of_diabetes}


def one(title, epsilon, teachers, seed):
    """Fit, draw and measure; return a line."""
    train, held_out = TABLES[title]()
    synthesizer = PateGan(teachers=teachers, epsilon=epsilon)
    with workers.working(threads=1):
        synthesizer.fit(train.take(np.arange(20)), rng=np.random.default_rng(seed))  # load and compile
        start = measure.cpu_seconds()
        model = synthesizer.fit(train, rng=np.random.default_rng(seed))
        seconds = measure.cpu_seconds() - start
        drawn = model.sample(N_TRAIN, rng=np.random.default_rng(seed + 1))
    split = Split(train=train, control=held_out, synthetic=drawn)
    figures = utility_of(split, rng=np.random.default_rng(0)).figures
    found = [figures[name].value.value for name in ("discriminator", "total_variation", "correlation")]
    name = f"{title}, {len(train.schema)} columns"
    return [name, f"{epsilon:g}", teachers, *(f"{value:.3f}" for value in found), f"{seconds:.1f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    rows = []
    for title in TABLES:
        for epsilon in (1.0, 10.0):
            for teachers in ("agreement", "networks"):
                rows.append(one(title, epsilon, teachers, seed))
                print(*rows[-1], sep=" | ", flush=True)
    text = PAGE.read_text(encoding="utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    table = f"\n\n{measure.machine()}.\n\n{measure.markdown(HEADER, rows)}\n\n"
    write_text(PAGE, text[:start] + table + text[end:])


if __name__ == "__main__":
    main()
