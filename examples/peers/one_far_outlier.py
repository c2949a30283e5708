"""Three of ten people are copied; one other person is far from all: does membership still show?"""

import numpy as np
import pandas as pd
from beside import ours, show


def tables(outlier):
    """Return train, a release with 300 of its 1,000 rows, and control, with or without the outlier."""
    rng = np.random.default_rng(0)
    train, synthetic, control = (
        pd.DataFrame(rng.normal(size=(1000, 3)), columns=list("abc")) for _ in range(3)
    )
    if outlier:
        control.loc[0, "a"] = 1000.0
    return train, pd.concat([train[:300], synthetic[300:]], ignore_index=True), control


def nearest(real, synthetic):
    """Return each real row's distance to the nearest released one."""
    differences = real.to_numpy()[:, None, :] - synthetic.to_numpy()[None, :, :]  # (real, synthetic, columns)
    return np.sqrt((differences**2).sum(axis=2)).min(axis=1)


def formula():
    """Return twice the area above the diagonal, from 100 evenly spaced distances, as the thesis does."""
    for outlier in (False, True):
        train, synthetic, control = tables(outlier)
        members, others = nearest(train, synthetic), nearest(control, synthetic)
        steps = np.linspace(0, max(members.max(), others.max()), 100)
        named = np.array([[(near < step).mean() for near in (others, members)] for step in steps]).T
        false, true = np.hstack([named, [[1.0], [1.0]]])
        area = np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2)
        yield f"{'with' if outlier else 'without'} the outlier: {2 * area - 1:.2f}"


def tabveil():
    """Ask for the gain of membership by distance, which tries every distance that occurs."""
    for outlier in (False, True):
        gain = ours(*tables(outlier), "membership_distance").gain
        told = f"gain {gain.value:.2f}, from {gain.low:.2f} to {gain.high:.2f}"
        yield f"{'with' if outlier else 'without'} the outlier: {told}"


if __name__ == "__main__":
    show(__doc__, ("numpy", formula), ("tabveil", tabveil))
