"""The release is a copy: is anybody singled out whose name has an apostrophe, or who has a date?"""

import numpy as np
import pandas as pd
from beside import ours, per_100, show


def tables(n_rows=100):
    """Return tables, by what is special in them."""
    number = np.arange(float(n_rows))
    return {
        "OBrien": pd.DataFrame({"name": [f"OBrien {row}" for row in range(n_rows)], "x": number}),
        "O'Brien": pd.DataFrame({"name": [f"O'Brien {row}" for row in range(n_rows)], "x": number}),
        "dates": pd.DataFrame({"day": pd.date_range("2024-01-01", periods=n_rows), "x": number}),
    }


def anonymeter():
    """Ask for 50 descriptions of two columns that single somebody out in the release."""
    from anonymeter.evaluators import SinglingOutEvaluator  # noqa: PLC0415

    for what, table in tables().items():
        attack = SinglingOutEvaluator(table, table, 50, 2, max_attempts=5000, seed=0)
        try:
            found = len(attack.evaluate(mode="multivariate").queries())
        except Exception as error:  # noqa: BLE001 - whatever ends it is what is shown
            yield f"{what}: {type(error).__name__}: {str(error).splitlines()[0]}"
        else:
            yield f"{what}: {found} descriptions"


def tabveil():
    """Ask how many people of train are singled out, and how many of others."""
    for what, table in tables().items():
        half = len(table) // 2
        train, control = table[:half], table[half:].reset_index(drop=True)
        result = ours(train, train, control, "singling_out")
        yield f"{what}: {per_100(result.attack)} of train, {per_100(result.control)} of control"


if __name__ == "__main__":
    show(__doc__, ("anonymeter", anonymeter), ("tabveil", tabveil))
