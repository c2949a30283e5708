"""Balances from -5,000 to 5,000 that nothing tells: how many guesses about them are right within 5 %?"""

import numpy as np
import pandas as pd
from beside import ours, per_100, show

KNOWN, SECRET = ["age", "city"], "balance"


def tables(n_rows=1000):
    """Return train, release and control: independent people, whose balances go with nothing."""
    rng = np.random.default_rng(0)
    return tuple(
        pd.DataFrame(
            {
                "age": rng.integers(18, 90, n_rows),
                "city": rng.choice(list("abcdef"), n_rows),
                SECRET: rng.uniform(-5000, 5000, n_rows),
            }
        )
        for _ in range(3)
    )


def anonymeter():
    """Ask which share of the guesses counts as right, and which risk follows."""
    from anonymeter.evaluators import InferenceEvaluator  # noqa: PLC0415

    train, synthetic, control = tables()
    attack = InferenceEvaluator(
        train, synthetic, KNOWN, SECRET, regression=True, n_attacks=500, control=control
    )
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
