"""The release copies everybody's height and town, and leaves their weight empty: is the town found out?"""

import numpy as np
import pandas as pd
from beside import ours, per_100, show

KNOWN, SECRET = ["height", "weight"], "town"


def tables(n_rows=1000):
    """Return train, its copy without weights in another order, and control."""
    rng = np.random.default_rng(0)

    def people():
        heights, weights = rng.normal(170, 10, n_rows), rng.normal(75, 12, n_rows)
        return pd.DataFrame(
            {"height": heights, "weight": weights, SECRET: rng.choice(list("abcdefghij"), n_rows)}
        )

    train, control = people(), people()
    synthetic = train.iloc[rng.permutation(n_rows)].reset_index(drop=True)
    return train, synthetic.assign(weight=np.nan), control


def anonymeter():
    """Ask which share of the guesses is right."""
    from anonymeter.evaluators import InferenceEvaluator  # noqa: PLC0415

    train, synthetic, control = tables()
    attack = InferenceEvaluator(train, synthetic, KNOWN, SECRET, n_attacks=500, control=control)
    results = attack.evaluate(n_jobs=1).results()
    low, high = attack.risk().ci
    yield f"right about train   {per_100(results.attack_rate)}"
    yield f"right about control {per_100(results.control_rate)}"
    yield f"risk {attack.risk().value:.2f}, from {low:.2f} to {high:.2f}"


def tabveil():
    """Ask the same of tabveil."""
    result = ours(*tables(), "inference", secrets=[SECRET], known=KNOWN, careful=False)
    yield f"right about train   {per_100(result.attack)}"
    yield f"right about control {per_100(result.control)}"
    yield f"gain {result.gain.value:.3f}, from {result.gain.low:.3f} to {result.gain.high:.3f}"


if __name__ == "__main__":
    show(__doc__, ("anonymeter", anonymeter), ("tabveil", tabveil))
