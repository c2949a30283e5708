"""The release is the training table itself, once row by row and once shuffled: is anybody identifiable?"""

import numpy as np
import pandas as pd
from beside import ours, per_100, show


def tables(n_rows=600):
    """Return train, its copy in the same order and in another, and control."""
    rng = np.random.default_rng(0)

    def people():
        return pd.DataFrame(
            {
                "age": rng.normal(50, 10, n_rows),
                "weight": rng.normal(70, 10, n_rows),
                "town": rng.choice(list("abc"), n_rows),
                "ill": rng.choice(["no", "yes"], n_rows),
            }
        )

    train, control = people(), people()
    shuffled = train.iloc[rng.permutation(n_rows)].reset_index(drop=True)
    return train, {"same order": train.copy(), "shuffled": shuffled}, control


def syntheval():
    """Ask for the share of people who are identifiable (0 is best), and the median distance (0 is a copy)."""
    import contextlib  # noqa: PLC0415
    import io  # noqa: PLC0415
    import tempfile  # noqa: PLC0415

    from syntheval import SynthEval  # noqa: PLC0415

    train, releases, control = tables()
    for order, release in releases.items():
        quiet = contextlib.redirect_stdout(io.StringIO())
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), quiet:  # it writes a file
            evaluator = SynthEval(train, holdout_dataframe=control, cat_cols=["town", "ill"], verbose=False)
            found = evaluator.evaluate(release, "ill", eps_risk={}, dcr={}).set_index("metric")["val"]
        identifiable, distance = found["eps_identif_risk"], found["median_DCR"]
        yield f"{order}: eps_identif_risk {identifiable:.2f}, median_DCR {distance:.2f}"


def tabveil():
    """Ask for copies, and for an attack, in either order."""
    train, releases, control = tables()
    for order, release in releases.items():
        equal, member = (
            ours(train, release, control, metric)
            for metric in ("identical_match_share", "membership_distance")
        )
        told = f"membership_distance: gain {member.gain.value:.2f}, from {member.gain.low:.2f}"
        yield f"{order}: {per_100(equal.attack)} rows equal a training row; {told}"


if __name__ == "__main__":
    show(__doc__, ("syntheval", syntheval), ("tabveil", tabveil))
