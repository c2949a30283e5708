"""How does singling out grow with the rows of a table, plain and in the contrastive space?

Appendix B of paper 001. ``python benchmarks/scaling.py --device cuda`` draws 25,000 to 100,000 people of the
census as train and as many as control, releases the trained ones behind noise, and times the attack by itself
and after the training of the embedding that the space needs. The papers ran on releases of a transformer;
what an attack costs depends on the rows and columns it looks at, hardly on who made them. On a CPU training
takes many minutes; ``--rows`` tries fewer.
"""

import argparse
import sys
import time
from pathlib import Path

import measure
import numpy as np

from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import sharing, working
from tabveil.engines.representation import Contrastive
from tabveil.metrics.attacks import SinglingOut
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOutContrastive
from tabveil.synthesis.risks import Noisy

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
import people

ROWS = (25_000, 50_000, 75_000, 100_000)
NOISE = Noisy(sigma_moves="every")
HEADER = ["rows", "what", "seconds", "CPU s"]


def split_of(census, n_rows):
    """Return train, control, and a release of the trained rows behind noise."""
    order = stream(0, "scaling").permutation(len(census))[: 2 * n_rows]
    train, control = (census.take(rows) for rows in np.split(order, 2))
    release = NOISE(train, train, 1.0, rng=stream(0, "noise"))
    return Split(train=train, control=control, synthetic=release).with_own_ranges()


def timed(work):
    start, cpu = time.perf_counter(), measure.cpu_seconds()
    work()
    return time.perf_counter() - start, measure.cpu_seconds() - cpu


def lines(split, device):
    """Yield what the attack takes by itself, the training, and the attack after it."""
    space = Contrastive(device=device)
    learned = SinglingOutContrastive(representation=space)
    yield "singling out", *timed(lambda: SinglingOut()(split, rng=stream(0, "attack")))
    with sharing(0):
        yield "training", *timed(lambda: space.view(split, rng=stream(0, "attack")))
        yield "singling out, contrastive", *timed(lambda: learned(split, rng=stream(0, "attack")))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    census = people.Census(rows=2 * max(arguments.rows)).load()
    found = []
    with working(threads=arguments.threads):
        for _ in lines(split_of(census, 2000), arguments.device):
            pass  # compiled and warm from here on
        for n_rows in arguments.rows:
            for what, seconds, cpu in lines(split_of(census, n_rows), arguments.device):
                found.append([f"{n_rows:,}", what, f"{seconds:.1f}", f"{cpu:.1f}"])
                print(*found[-1], sep=" | ", file=sys.stderr, flush=True)
    print(f"{measure.machine()}.\n\n{measure.markdown(HEADER, found)}")


if __name__ == "__main__":
    main()
