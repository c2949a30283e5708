"""Do inference and linkability see more where their confidence is calibrated?

``python benchmarks/calibrated_guesses.py adult --seeds 1000 1020`` plants leaks in tables of 3,000 rows and
counts how often each attack sees them, with the distance as confidence and with a calibrated one. It takes
minutes; docs/contrastive_study.md says what it came to. Settings were chosen on Adult with seeds below 1000.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from measure import markdown

from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import working
from tabveil.metrics.attacks import Inference, Linkability
from tabveil.synthesis.risks import Leaky, Noisy

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
import people

N_ROWS = 3000
TABLES = {
    "adult": people.Adult(distinct=True),
    "census": people.Census(),
    "diabetes": people.Diabetes(),
}
NOISE = Noisy(sigma_moves="every")
LEAKS = {
    "no leak": (Leaky(), 0.0),
    "1 % exact": (Leaky(), 0.01),
    "1 % behind noise": (NOISE, 0.01),
    "5 % behind noise": (NOISE, 0.05),
}
ATTACKS = {
    "`inference`": Inference(),
    "`inference`, calibrated": Inference(calibrated=True),
    "`linkability`": Linkability(),
    "`linkability`, calibrated": Linkability(calibrated=True),
}


def tables(table, leak, seed):
    """Draw train, control and a release of other people, and plant a leak in the release."""
    order = stream(seed, "confidence").permutation(len(table))[: 3 * N_ROWS]
    train, control, others = (table.take(rows) for rows in np.split(order, 3))
    risk, level = LEAKS[leak]
    release = risk(train, others, level, rng=stream(seed, "leak"))
    return Split(train=train, control=control, synthetic=release).with_own_ranges()


def main(argv=None):
    parser = argparse.ArgumentParser(description="Compare plain with calibrated confidence.")
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--seeds", type=int, nargs=2, default=(1000, 1020), metavar=("FIRST", "END"))
    parser.add_argument("--leaks", nargs="+", choices=LEAKS, default=list(LEAKS))
    options = parser.parse_args(argv)
    table, seeds = TABLES[options.table].load(), range(*options.seeds)
    seen = {attack: dict.fromkeys(options.leaks, 0) for attack in ATTACKS}
    seconds = dict.fromkeys(ATTACKS, 0.0)
    with working(threads=1):
        for seed in seeds:
            for leak in options.leaks:
                split = tables(table, leak, seed)
                for name, attack in ATTACKS.items():
                    start = time.process_time()
                    seen[name][leak] += attack(split, rng=stream(seed, attack.name)).gain.low > 0
                    seconds[name] += time.process_time() - start
            print(f"seed {seed}", file=sys.stderr, flush=True)
    n = len(seeds)
    lines = [
        [name, *(f"{count} of {n}" for count in counts.values()), f"{seconds[name] / n / len(counts):.2f}"]
        for name, counts in seen.items()
    ]
    print(markdown(["attack", *options.leaks, "CPU s"], lines))


if __name__ == "__main__":
    main()
