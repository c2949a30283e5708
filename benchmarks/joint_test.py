"""Would an exact joint test over all configurations of an attack see smaller leaks than Šidák's correction?

Inference tries many configurations on the same rows, so that their chances go together, which Šidák's
correction does not count on. A permutation test does: train and control labels are drawn anew over the pooled
rows, and the smallest p-value of all configurations is compared with those of the draws (max-T; Westfall and
Young 1993). Copies of a few training rows are planted, and counted is how often each test sees them at the
level that a verdict asks for. Takes minutes and prints a table; docs/verdicts.md says what it came to.
"""

import argparse
import sys
from unittest.mock import patch

import numpy as np
import samples
from measure import markdown
from scipy.stats import hypergeom
from verdicts import LEVEL, N_TRAIN

from tabveil.core.rng import stream
from tabveil.core.table import Split
from tabveil.core.workers import working
from tabveil.metrics.attacks import Inference
from tabveil.metrics.attacks.guessing import rank_together, usable_levels
from tabveil.synthesis.risks import Leaky

DRAWS = 300
COPIES = (12, 15, 18)


def inferred(split, *, rng):
    """Attack, and return what was found with every guess that was made about train and control rows."""
    kept, guess = [], vars(Inference)["_judge"]

    def keep(*asked):
        kept.append(guess(*asked))
        return kept[-1]

    with patch.object(Inference, "_judge", keep):
        return Inference()(split, rng=rng), kept


def joint_p_value(kept, *, rng):
    """Return how often the smallest p-value of all configurations is as small where labels are drawn anew."""
    n_train, n_control = (len(side.correct) for side in kept[0])
    n_rows = n_train + n_control
    control = np.zeros((DRAWS + 1, n_rows), dtype=bool)  # the first are the labels as they are
    control[0, n_train:] = True
    for labels in control[1:]:
        labels[rng.permutation(n_rows)[:n_control]] = True
    smallest = np.ones(DRAWS + 1)
    for train, other in kept:
        correct = np.concatenate([side.correct & ~side.missing for side in (train, other)])
        rarity = None if train.rarity is None else (train.rarity, other.rarity)
        rank = np.concatenate(rank_together((train.confidence, other.confidence), rarity)).astype(np.int32)
        ordered = np.sort(np.broadcast_to(rank, control.shape)[control].reshape(-1, n_control), axis=1)
        for level in usable_levels(n_control):
            bar = ordered[:, [n_control - int(np.ceil(level * n_control))]]  # (draws, 1); at level 1 no bar
            right = correct & ((rank >= bar) | (level == 1))  # (draws, rows)
            all_right, of_control = right.sum(axis=1), (right & control).sum(axis=1)
            p_values = hypergeom.sf(all_right - of_control - 1, n_rows, all_right, n_train)
            smallest = np.minimum(smallest, p_values)
    return np.mean(smallest <= smallest[0] * (1 + 1e-9))


def trial(table, n_copies, seed):
    """Return the p-values of one audit: corrected for the number of configurations, and joint."""
    order = stream(seed, "joint").permutation(len(table))[: 3 * N_TRAIN]
    train, control, release = (table.take(part) for part in np.split(order, 3))
    release = Leaky()(train, release, n_copies / N_TRAIN, rng=stream(seed, "leak"))
    found, kept = inferred(
        Split(train=train, control=control, synthetic=release).with_own_ranges(),
        rng=stream(seed, Inference.name),
    )
    return found.p_value, joint_p_value(kept, rng=stream(seed, "labels"))


def main(argv=None):
    parser = argparse.ArgumentParser(description="Compare a joint test with a corrected one.")
    parser.add_argument("--table", choices=samples.TABLES, default="adult")
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args(argv)
    table = samples.TABLES[options.table]()
    lines = []
    with working(threads=1):
        for n_copies in COPIES:
            found = np.array([trial(table, n_copies, seed) for seed in range(options.seeds)])
            seen, middle = (found <= LEVEL).sum(axis=0), np.median(found, axis=0)
            counts = [f"{n} of {options.seeds}" for n in seen]
            lines.append([f"{n_copies} of {N_TRAIN:,}", *counts, *(f"{p_value:.4f}" for p_value in middle)])
            print(*lines[-1], file=sys.stderr, flush=True)
    head = ["copies", "seen, corrected", "seen, jointly", "median p, corrected", "median p, jointly"]
    print(markdown(head, lines))


if __name__ == "__main__":
    main()
