"""Which of two candidates may go out under our policy? A gate for pipelines, with its exit code.

A clean candidate and one with a planted leak are audited under the same policy and set side by side. The
exit code is that of the one to be judged, as ``tabveil audit --policy`` would give it: 0 within threshold, 1
above, 3 inconclusive::

    python examples/release_gate.py --judge clean
    python examples/release_gate.py --judge leaky
"""

import argparse
import sys

import numpy as np
import pandas as pd

import tabveil
from tabveil.synthesis.risks import Leaky
from tabveil.tables.reading import load_table, to_native

POLICY = {
    "recipient": "partners under contract",
    "context": "no onward transfer",
    "thresholds": {"singling_out": 0.05, "linkability": 0.05, "inference": 0.1, "membership": 0.1},
}
SECRETS = ["diagnosis", "outcome"]  # what somebody might want to learn about a patient
EXIT_CODES = {"within threshold": 0, "above threshold": 1, "inconclusive": 3}


def candidates(n_rows):
    """Return train, control, and two releases: fresh people, and the same with a quarter from train."""
    people = load_table(tabveil.datasets.hospital(3 * n_rows, seed=1))
    train, control, fresh = (people.table.take(rows) for rows in np.arange(3 * n_rows).reshape(3, n_rows))
    leaky = Leaky()(train, fresh, 0.25, rng=np.random.default_rng(0))
    train, control, fresh, leaky = (
        to_native(table, people.layout) for table in (train, control, fresh, leaky)
    )
    return train, control, {"clean": fresh, "leaky": leaky}


def side_by_side(reports):
    """Return a table: a row for each risk, the measured upper bound and the state of each candidate."""
    rows = {}
    for name, report in reports.items():
        for item in report.verdict.risks:
            high = float("nan") if item.high is None else item.high
            rows.setdefault(item.risk, {})[name] = f"{high:.3f} {item.state}"
    return pd.DataFrame(rows).T.rename_axis("at most")


def main(argv=None):
    """Audit both, show them side by side, return the exit code of the one to be judged."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000, help="of train, of control and of each candidate")
    parser.add_argument("--judge", choices=["clean", "leaky"], default="clean")
    options = parser.parse_args(argv)

    train, control, releases = candidates(options.rows)
    reports = {
        name: tabveil.audit(train, release, control, policy=POLICY, secrets=SECRETS, quick=True, seed=0)
        for name, release in releases.items()
    }
    print(side_by_side(reports).to_string())
    verdict = reports[options.judge].verdict
    print(f"\n{options.judge}: {verdict.sentence}")
    return EXIT_CODES[verdict.state]


if __name__ == "__main__":
    sys.exit(main())
