"""The secret is a fair coin: how often is somebody right who guesses without looking at the person?"""

import numpy as np
import pandas as pd
from beside import ours, per_100, show


def tables(n_rows=10_000):
    """Return train, release and control, drawn alike and independently."""
    rng = np.random.default_rng(0)
    return tuple(
        pd.DataFrame({"x": rng.normal(size=n_rows), "coin": rng.choice(["heads", "tails"], n_rows)})
        for _ in range(3)
    )


def anonymeter():
    """Ask for the rate of the naive guesser, which an attack must beat to be believed."""
    from anonymeter.evaluators import InferenceEvaluator  # noqa: PLC0415

    train, synthetic, control = tables()
    np.random.seed(0)  # noqa: NPY002 - draws from NumPy's global generator
    attack = InferenceEvaluator(train, synthetic, ["x"], "coin", control=control, n_attacks=1000)
    yield f"naive guesser {per_100(attack.evaluate(n_jobs=1).results().baseline_rate)}"


def tabveil():
    """Ask the same of tabveil, whose naive guess is the value of any released row."""
    result = ours(*tables(), "inference", secrets=["coin"], known=["x"], careful=False)
    yield f"naive guesser {per_100(result.baseline)}"


if __name__ == "__main__":
    show(__doc__, ("anonymeter", anonymeter), ("tabveil", tabveil))
