"""Train, release and holdout are drawn independently: does a smaller holdout make a leak out of nothing?"""

import numpy as np
import pandas as pd
from beside import ours, show

SIZES = (2000, 500)


def tables(n_control):
    """Return 2,000 rows of train, 1,000 of a release, and so many of control."""
    rng = np.random.default_rng(0)
    return tuple(
        pd.DataFrame(rng.normal(size=(n_rows, 5)), columns=list("abcde"))
        for n_rows in (2000, 1000, n_control)
    )


def sdmetrics():
    """Ask for the score of protection from overfitting: 1 is best."""
    from sdmetrics.single_table import DCROverfittingProtection  # noqa: PLC0415

    for n_control in SIZES:
        train, synthetic, control = tables(n_control)
        columns = {"columns": {name: {"sdtype": "numerical"} for name in train}}
        score = DCROverfittingProtection.compute(
            train, synthetic, control, {"tables": {"people": columns}}, "people"
        )
        yield f"holdout of {n_control}: DCROverfittingProtection {score:.2f} (1 is best)"


def tabveil():
    """Ask for the counterpart, which takes as many rows of train as there are of control."""
    for n_control in SIZES:
        risk = ours(*tables(n_control), "closest_share").risk
        yield f"holdout of {n_control}: {risk.value:.2f}, from {risk.low:.2f} to {risk.high:.2f} (0 is best)"


if __name__ == "__main__":
    show(__doc__, ("sdmetrics", sdmetrics), ("tabveil", tabveil))
