"""One table, asked three times: are the answers the same?"""

import numpy as np
import pandas as pd
from beside import ours, show


def tables(n_rows=1000):
    """Return train, a release of which a third is copied from train, and control."""
    rng = np.random.default_rng(0)
    train, synthetic, control = (
        pd.DataFrame({"x": rng.normal(size=n_rows), "town": rng.choice(list("abcdefghij"), n_rows)})
        for _ in range(3)
    )
    synthetic = pd.concat([train[: n_rows // 3], synthetic[n_rows // 3 :]], ignore_index=True)
    return train, synthetic, control


def anonymeter():
    """Ask for the risk of inference, three times; the evaluator takes no seed."""
    from anonymeter.evaluators import InferenceEvaluator  # noqa: PLC0415

    train, synthetic, control = tables()
    for _ in range(3):
        attack = InferenceEvaluator(train, synthetic, ["x"], "town", control=control, n_attacks=200)
        yield f"risk {attack.evaluate(n_jobs=1).risk().value:.4f}"


def tabveil():
    """Ask the same of tabveil, with one seed."""
    for _ in range(3):
        result = ours(*tables(), "inference", secrets=["town"], known=["x"], careful=False)
        yield f"risk {result.risk.value:.4f}"


if __name__ == "__main__":
    show(__doc__, ("anonymeter", anonymeter), ("tabveil", tabveil))
