"""The release is the training table itself, of labels alone: how well are people protected?"""

import numpy as np
import pandas as pd
from beside import ours, per_100, show


def tables(n_rows=1000):
    """Return train, its copy in another order, and control: five columns of four labels."""
    rng = np.random.default_rng(0)
    train, control = (
        pd.DataFrame(rng.choice(list("pqrs"), (n_rows, 5)), columns=list("abcde")) for _ in range(2)
    )
    return train, train.iloc[rng.permutation(n_rows)].reset_index(drop=True), control


def sdmetrics():
    """Ask for the score of protection from overfitting: 1 is best."""
    from sdmetrics.single_table import DCROverfittingProtection  # noqa: PLC0415

    train, synthetic, control = tables()
    columns = {"columns": {name: {"sdtype": "categorical"} for name in train}}
    score = DCROverfittingProtection.compute(
        train, synthetic, control, {"tables": {"people": columns}}, "people"
    )
    yield f"DCROverfittingProtection {score:.2f} (1 is best)"


def tabveil():
    """Ask for the counterpart, a count of copies, and an attack."""
    closest, equal, member = (
        ours(*tables(), metric)
        for metric in ("closest_share", "identical_match_share", "membership_distance")
    )
    yield f"closest_share {closest.risk.value:.2f} (0 is best), from {closest.risk.low:.2f}"
    yield f"equal to a training row {per_100(equal.attack)}, by chance {per_100(equal.control)}"
    yield f"membership_distance: gain {member.gain.value:.2f}, from {member.gain.low:.2f}"


if __name__ == "__main__":
    show(__doc__, ("sdmetrics", sdmetrics), ("tabveil", tabveil))
