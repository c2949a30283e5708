"""Train, release and control are drawn independently: does a smaller control make a leak out of nothing?"""

import numpy as np
import pandas as pd
from beside import ours, show

SIZES = (5000, 1500)


def tables(n_control):
    """Return 5,000 rows of train and of a release, and so many of control."""
    rng = np.random.default_rng(0)
    return tuple(
        pd.DataFrame(rng.normal(size=(n_rows, 5)), columns=list("abcde"))
        for n_rows in (5000, 5000, n_control)
    )


def anonymeter():
    """Ask for the risk of being singled out, with its interval."""
    from anonymeter.evaluators import SinglingOutEvaluator  # noqa: PLC0415

    for n_control in SIZES:
        train, synthetic, control = tables(n_control)
        attack = SinglingOutEvaluator(train, synthetic, 300, 3, control=control, seed=0)
        risk = attack.evaluate(mode="multivariate").risk()
        low, high = risk.ci
        yield f"control of {n_control}: risk {risk.value:.2f}, from {low:.2f} to {high:.2f}"


def tabveil():
    """Ask the same of tabveil."""
    for n_control in SIZES:
        gain = ours(*tables(n_control), "singling_out").gain
        yield f"control of {n_control}: gain {gain.value:.3f}, from {gain.low:.3f} to {gain.high:.3f}"


if __name__ == "__main__":
    show(__doc__, ("anonymeter", anonymeter), ("tabveil", tabveil))
