"""What does an audit say of a clean release, and how many control rows does it take to say it?

Real rows that nobody trained on stand in for a perfect generator: train, control and release are disjoint
draws from one table, so that nothing leaks. Every verdict "above threshold" is a false one. Repeated over
seeds, tables and sizes of the control; writes docs/verdicts.md. ``--data`` says where the tables are, each
audit is a JSON file in ``--cells``, and what is there is not measured again.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from unittest.mock import patch

import data
import measure
import numpy as np
from generators import MISSING, SOURCES
from measure import DOCS, ONE_THREAD

from tabveil import audit
from tabveil.verdict import RISKS
from tabveil.writing import write_text

CELLS = Path(__file__).resolve().parents[1] / ".bench" / "verdicts"
CONTROLS = (200, 400, 1000, 2000, 4000)
N_TRAIN = 3000
ATTACKS = (
    *("singling_out", "linkability", "inference", "ml_inference", "neighbor_vote", "gtcap"),
    *("membership_distance", "domias_kde"),
)
JUDGED = len(ATTACKS) + 2
LEVEL = 1 - 0.95 ** (1 / JUDGED)
STATES = ("within threshold", "inconclusive", "above threshold")

PAGE = """# How often is a verdict wrong, and how many control rows does it need?

`python benchmarks/verdicts.py` writes this page. Train ({n_train:,} rows), control and release ({n_train:,}
rows) are disjoint draws of real rows, so the release leaks nothing: what is called *above* is called so by
mistake. All attacks of a default audit run with the default policy (5 people of 100, 95 %). {audits:,}
audits.

## Verdicts on clean releases

{verdicts}

## How far the bounds reach

The upper bound of the gain that decides each risk, in people of 100: the median over the audits of a table,
and in brackets what nine tenths of them stay below. *Within* needs at most 5.

{bounds}

## How often one attack alone seems to see a leak

The p-value of an attack is the chance of what it shows where nothing leaks, over all it tried. Of the audits
above so many were at most 5 %, and at most {level:.2%}, which is what a verdict asks of each of {judged} (the
attacks and the two kinds of copies):

{alone}

## Would a joint test see more?

An attack tries many configurations on the same people, and its p-value is corrected as if they were
independent (Šidák). An exact test of all together, which draws train and control labels anew, need not be.
`python benchmarks/joint_test.py` plants copies of a few of 3,000 training rows of Adult and asks both tests
of inference (45 configurations), at the level that a verdict asks for:

| copies | seen, corrected | seen, jointly | median p, corrected | median p, jointly |
| --- | --- | --- | --- | --- |
| 12 of 3,000 | 1 of 12 | 0 of 12 | 0.0670 | 0.0299 |
| 15 of 3,000 | 3 of 12 | 3 of 12 | 0.0187 | 0.0166 |
| 18 of 3,000 | 7 of 12 | 6 of 12 | 0.0038 | 0.0050 |

It does not pay here, so tabveil has none: a joint test gains where nothing is clear, and nothing at the level
that counts. Nor would it change a verdict. So few people are far from 5 of 100, and 12 rows that equal a
training row, where none equals a control row, are seen as copies by themselves.

## How many control rows "within" needs

With {n_train:,} training rows, the smallest control tried at which most clean releases of a table were called
within 5 of 100:

{needed}

With fewer, a clean release is mostly *inconclusive*, and the verdict says about how many rows would settle
it.
"""


def one(table, n_control, seed, folder):
    """Audit one clean release; return the state, and each risk's bound and the attacks that saw a leak."""
    source = SOURCES[table]
    people = source.people(folder)
    order = np.random.default_rng([seed, 11]).permutation(len(people))
    ends = np.cumsum([0, N_TRAIN, n_control, N_TRAIN])
    train, control, release = (
        people.iloc[order[start:end]].reset_index(drop=True) for start, end in itertools.pairwise(ends)
    )
    found = audit(train, release, control, metrics=ATTACKS, missing=MISSING, seed=seed, threads=1)
    verdict = found.verdict
    return {
        "state": verdict.state,
        "copies": verdict.copies.state,
        "highs": {item.risk: item.high for item in verdict.risks},
        "seen": [judged.metric for item in verdict.risks for judged in item.metrics if judged.leak_seen],
        "p_values": {result.key: result.p_value for result in found.results},
    }


def _cell(table, n_control, seed, folder, path):
    write_text(path, json.dumps(one(table, n_control, seed, folder)) + "\n")


def measured(arguments):
    """Run what is missing, several audits at once."""
    wanted = [(t, n, s) for s in range(arguments.seeds) for t in arguments.tables for n in CONTROLS]
    cells = {key: arguments.cells / "{}-{}-{}.json".format(*key) for key in wanted}
    fresh = multiprocessing.get_context("spawn")
    with (
        patch.dict(os.environ, ONE_THREAD),
        ProcessPoolExecutor(arguments.jobs, mp_context=fresh) as pool,
    ):
        waiting = {
            pool.submit(_cell, *key, arguments.data, path): key
            for key, path in cells.items()
            if not path.exists()
        }
        for done, future in enumerate(as_completed(waiting), start=1):
            future.result()
            print(f"{done} of {len(waiting)}: {waiting[future]}", file=sys.stderr, flush=True)
    return {key: json.loads(path.read_text(encoding="utf-8")) for key, path in cells.items() if path.exists()}


def page(cells):
    """Write what the audits said."""
    tables = list(dict.fromkeys(table for table, _, _ in cells))
    counted = {
        (table, n): [cell for (t, m, _), cell in cells.items() if n == m and table in {t, "all"}]
        for table in (*tables, "all")
        for n in CONTROLS
    }
    verdicts = [
        [table, f"{n:,}", str(len(found)), *(_share(found, state) for state in STATES), _seers(found)]
        for (table, n), found in counted.items()
        if found
    ]
    bounds = [
        [table, f"{n:,}", *(_bound([cell["highs"][risk] for cell in found]) for risk in RISKS)]
        for (table, n), found in counted.items()
        if found and table != "all"
    ]
    needed = [[table, _rows([n for n in CONTROLS if _mostly_within(counted[table, n])])] for table in tables]
    return PAGE.format(
        n_train=N_TRAIN,
        audits=len(cells),
        verdicts=measure.markdown(["table", "control rows", "audits", *STATES, "leak seen by"], verdicts),
        bounds=measure.markdown(["table", "control rows", *RISKS], bounds),
        needed=measure.markdown(["table", "control rows"], needed),
        alone=measure.markdown(["attack", "at most 5 %", f"at most {LEVEL:.2%}"], _alone(cells.values())),
        level=LEVEL,
        judged=JUDGED,
    )


def _alone(cells):
    """Count how often each attack's p-value is small."""
    rows = []
    for attack in ATTACKS:
        found = [value for cell in cells if (value := cell["p_values"].get(attack)) is not None]
        shares = (sum(value <= level for value in found) / len(found) for level in (0.05, LEVEL))
        rows.append([f"`{attack}`", *(f"{share:.1%}" for share in shares)])
    return rows


def _share(found, state):
    return f"{sum(cell['state'] == state for cell in found) / len(found):.0%}"


def _seers(found):
    seen = [metric for cell in found for metric in cell["seen"]]
    return ", ".join(f"`{metric}` {seen.count(metric)}" for metric in sorted(set(seen))) or "none"


def _bound(highs):
    known = [100 * high for high in highs if high is not None]
    return f"{np.median(known):.1f} ({np.quantile(known, 0.9):.1f})" if known else "no answer"


def _rows(enough):
    return f"{enough[0]:,}" if enough else f"more than {CONTROLS[-1]:,}"


def _mostly_within(found):
    return sum(cell["state"] == "within threshold" for cell in found) * 2 > len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=data.FOLDER, help="the folder of the tables")
    parser.add_argument("--cells", type=Path, default=CELLS, help="a JSON file for each audit")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tables", nargs="*", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="audits at once")
    parser.add_argument("--out", type=Path, default=DOCS / "verdicts.md")
    arguments = parser.parse_args()
    arguments.cells.mkdir(parents=True, exist_ok=True)
    write_text(arguments.out, page(measured(arguments)))


if __name__ == "__main__":
    main()
