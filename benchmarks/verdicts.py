"""What does an audit say of clean and of leaky releases, and how many control rows does it take to say it?

Real rows that nobody trained on stand in for a perfect generator: train, control and release are disjoint
draws from one table, so that nothing leaks, and every verdict "above threshold" is a false one. In a leaky
release one row in ten is replaced by a training person, twice what the default policy accepts, verbatim or
behind noise; there every verdict "within threshold" is a false one. Repeated over seeds, tables and sizes of
the control; writes docs/verdicts.md. ``--data`` says where the tables are, each audit is a JSON file in
``--cells``, and what is there is not measured again.
"""

import argparse
import json
import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from unittest.mock import patch

import data
import measure
import numpy as np
from generators import MISSING, SOURCES
from measure import DOCS, ONE_THREAD
from releases.clean import fresh
from releases.rows import copied, noisy
from releases.tables import parts

from tabveil import audit
from tabveil.auditing.policy import RISKS, risk_of
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN
from tabveil.core.storage.files import write_text
from tabveil.metrics.registry import METRICS, defaults

CELLS = Path(__file__).resolve().parents[1] / ".bench" / "verdicts"
CONTROLS = (200, 400, 1000, 2000, 4000)
N_TRAIN = 3000
ATTACKS = tuple(name for name in defaults() if risk_of(METRICS[name].labels) is not None)
JUDGED = len(ATTACKS) + 3
LEVEL = 1 - 0.95 ** (1 / JUDGED)
LEAK = 0.1
CLEAN = "clean"
RELEASES = {CLEAN: fresh, "copies": copied(LEAK), "noisy": noisy(0.05, 0.05, LEAK)}
LEAKY = {"copies": "verbatim", "noisy": "numbers moved by 0.05 of their spread, 5 of 100 labels switched"}
UNCLEAR = "leak seen, size unclear"
OPEN = "inconclusive otherwise"
STATES = (WITHIN, UNCLEAR, OPEN, ABOVE)
BAD_CONTROL = "the control is refused"

PAGE = """# How often is a verdict wrong, and how many control rows does it need?

`python benchmarks/verdicts.py` writes this page. Train ({n_train:,} rows), control and release ({n_train:,}
rows) are disjoint draws of real rows. A clean release leaks nothing: what is called *above* is called so by
mistake. In a leaky one {people} of 100 training people stand, twice as many as are accepted: what is called
*within* is called so by mistake. A default audit, with the default policy (5 people of 100, 95 %), judges
clean releases, a quick one, which asks fewer attacks, leaky ones. {audits:,} audits,
{minutes:,.0f} CPU minutes. Releases that leak in other ways are tried by the [red team](red_team.md).

Clean releases called *above*: {false_above}. Leaky releases called *within*: {false_within}.

## Verdicts on clean releases

{verdicts}

## Verdicts on leaky releases

{leaky}

{missed}

## Why a verdict is open

What inconclusive verdicts gave as a reason, in so many audits; one may give several.

{reasons}

## How far the bounds reach

The largest upper bound of the gain over all attacks on a risk, on clean releases, in people of 100: the
median over the audits of a table, and in brackets the quantile at nine tenths, which of few audits is nearly
the largest. *Within* needs at most 5.

{bounds}

## Which attack decides the bound

On clean releases: how often an attack's upper bound was the largest of its risk, and the largest of all
risks.

{deciding}

## How often one attack alone seems to see a leak

The p-value of an attack is the chance of what it shows where nothing leaks, over all it tried. Of the audits
of clean releases so many were at most 5 %, and at most {level:.2%}, which is what a verdict asks of each of
{judged} (attacks, copies and traces):

{alone}

## Would a joint test see more?

An attack tries many configurations on the same people, and its p-value is corrected as if they were
independent (Šidák). An exact test of all together, which draws train and control labels anew, need not be.
`python benchmarks/joint_test.py` plants copies of a few of 3,000 training rows of Adult and asks both tests
of inference (45 configurations), at the level that a verdict asked for when it ran (0.51 %):

| copies | seen, corrected | seen, jointly | median p, corrected | median p, jointly |
| --- | --- | --- | --- | --- |
| 12 of 3,000 | 1 of 12 | 0 of 12 | 0.0670 | 0.0299 |
| 15 of 3,000 | 3 of 12 | 3 of 12 | 0.0187 | 0.0166 |
| 18 of 3,000 | 7 of 12 | 6 of 12 | 0.0038 | 0.0050 |

At the level that counts it sees no more, so default audits have none. (The option `calibrated` of
`linkability` and `inference` deals labels anew.)

## How many control rows "within" needs

With {n_train:,} training rows, the smallest control tried at which most clean releases of a table were called
within 5 of 100:

{needed}

With fewer, half or more of the clean releases of each table were *inconclusive*, and the verdict says about
how many rows would settle it.
"""


def one(table, n_control, kind, seed, folder):
    """Audit one release; return the verdict with what it rests on."""
    rng = np.random.default_rng([seed, 11])
    rows = SOURCES[table].people(folder)
    people = parts(rows.iloc[rng.permutation(len(rows))], (N_TRAIN, n_control, N_TRAIN))
    release = RELEASES[kind](people, rng).synthetic
    start = measure.cpu_seconds()
    asked = {"missing": MISSING, "quick": kind != CLEAN, "advice": False, "seed": seed, "threads": 1}
    found = audit(people.train, release, people.control, **asked)
    verdict = found.verdict
    p_values = {key: found[key].p_value for key in ATTACKS if key in {item.key for item in found.results}}
    return {
        "state": verdict.state,
        "control": list(verdict.control),
        "risks": {item.risk: _risk(item) for item in verdict.risks},
        "seen": [judged.metric for item in verdict.risks for judged in item.metrics if judged.leak_seen],
        "copies": [verdict.copies.state, verdict.copies.leak_seen, verdict.copies.reason],
        "traces": {item.found.name: [item.state, item.leak_seen, item.reason] for item in verdict.traces},
        "p_values": p_values,
        "judged": sum(value is not None for value in p_values.values()) + 3 + len(verdict.traces),
        "seconds": measure.cpu_seconds() - start,
    }


def _risk(item):
    """Return the largest value and the largest upper bound over all attacks on a risk, and whose it is."""
    gains = {judged.metric: judged.gain for judged in item.metrics if judged.gain is not None}
    bounding = max(gains, key=lambda metric: gains[metric].high, default=None)
    return {
        "state": item.state,
        "reason": item.reason,
        "value": max((gain.value for gain in gains.values()), default=None),
        "high": None if bounding is None else gains[bounding].high,
        "bounding": bounding,
    }


def _cell(key, folder, path):
    write_text(path, json.dumps(one(*key, folder)) + "\n")


def measured(arguments):
    """Run what is missing, several audits at once."""
    seeds = {kind: arguments.seeds if kind == CLEAN else arguments.leaky_seeds for kind in RELEASES}
    wanted = [
        (table, n_control, kind, seed)
        for kind in RELEASES
        for seed in range(seeds[kind])
        for table in arguments.tables
        for n_control in CONTROLS
    ]
    cells = {key: arguments.cells / "{}-{}-{}-{}.json".format(*key) for key in wanted}
    apart = multiprocessing.get_context("spawn")
    with (
        patch.dict(os.environ, ONE_THREAD),
        ProcessPoolExecutor(arguments.jobs, mp_context=apart) as pool,
    ):
        waiting = {
            pool.submit(_cell, key, arguments.data, path): key
            for key, path in cells.items()
            if not path.exists()
        }
        for done, future in enumerate(as_completed(waiting), start=1):
            future.result()
            print(f"{done} of {len(waiting)}: {waiting[future]}", file=sys.stderr, flush=True)
    return {key: json.loads(path.read_text(encoding="utf-8")) for key, path in cells.items() if path.exists()}


def page(cells):
    """Write what the audits said."""
    clean = {key: cell for key, cell in cells.items() if key[2] == CLEAN}
    leaky = {key: cell for key, cell in cells.items() if key[2] != CLEAN}
    tables = list(dict.fromkeys(key[0] for key in clean))
    counted = {
        (table, n): [cell for (t, m, _, _), cell in clean.items() if n == m and table in {t, "all"}]
        for table in (*tables, "all")
        for n in CONTROLS
    }
    verdicts = [
        [table, f"{n:,}", str(len(found)), *(_share(found, state) for state in STATES), _seers(found)]
        for (table, n), found in counted.items()
        if found
    ]
    bounds = [
        [table, f"{n:,}", *(_bound([cell["risks"][risk]["high"] for cell in found]) for risk in RISKS)]
        for (table, n), found in counted.items()
        if found and table != "all"
    ]
    needed = [[table, _rows([n for n in CONTROLS if _mostly_within(counted[table, n])])] for table in tables]
    judged = Counter(cell["judged"] for cell in clean.values()).most_common(1)[0][0] if clean else JUDGED
    level = 1 - 0.95 ** (1 / judged)
    head = ["control rows", "audits", *STATES, "leak seen by"]
    return PAGE.format(
        n_train=N_TRAIN,
        people=f"{100 * LEAK:g}",
        audits=len(cells),
        minutes=sum(cell["seconds"] for cell in cells.values()) / 60,
        false_above=_of(clean.values(), ABOVE),
        false_within=_of(leaky.values(), WITHIN),
        verdicts=measure.markdown(["table", *head], verdicts),
        leaky=measure.markdown(["leak", *head], _leaky(leaky)),
        missed=_missed(leaky),
        reasons=measure.markdown(["reason", "clean", "leaky"], _reasons(clean.values(), leaky.values())),
        bounds=measure.markdown(["table", "control rows", *RISKS], bounds),
        deciding=measure.markdown(["attack", "of its risk", "of all risks"], _deciding(clean.values())),
        needed=measure.markdown(["table", "control rows"], needed),
        alone=measure.markdown(
            ["attack", "at most 5 %", f"at most {level:.2%}"], _alone(clean.values(), level)
        ),
        level=level,
        judged=judged,
    )


def _shown(cell):
    """Return the state of a cell; an inconclusive one is told apart by whether a leak is seen."""
    if cell["state"] != INCONCLUSIVE:
        return cell["state"]
    others = [cell["copies"], *cell["traces"].values()]
    return UNCLEAR if cell["seen"] or any(seen for _, seen, _ in others) else OPEN


def _leaky(leaky):
    rows = []
    for kind, what in LEAKY.items():
        for n in CONTROLS:
            found = [cell for (_, m, of_kind, _), cell in leaky.items() if (m, of_kind) == (n, kind)]
            if found:
                shares = (_share(found, state) for state in STATES)
                rows.append([what, f"{n:,}", str(len(found)), *shares, _seers(found)])
    return rows


def _missed(leaky):
    """Name every leaky release that was called within."""
    missed = [key for key, cell in leaky.items() if cell["state"] == WITHIN]
    if not missed:
        return "None was called within."
    rows = [[table, f"{n:,}", LEAKY[kind], str(seed)] for table, n, kind, seed in missed]
    return "Called within:\n\n" + measure.markdown(["table", "control rows", "leak", "seed"], rows)


def _reasons(*groups):
    """Count the reasons of inconclusive verdicts in each group of audits."""
    counted = [Counter(reason for cell in cells for reason in _open(cell)) for cells in groups]
    found = sorted(set().union(*counted), key=lambda reason: -sum(each[reason] for each in counted))
    return [[reason, *(str(each[reason]) for each in counted)] for reason in found]


def _open(cell):
    """Return why a verdict is inconclusive: the control, else the reasons of risks, copies and traces."""
    if cell["state"] != INCONCLUSIVE:
        return set()
    if cell["control"]:
        return {BAD_CONTROL}
    others = [
        reason for state, _, reason in (cell["copies"], *cell["traces"].values()) if state == INCONCLUSIVE
    ]
    told = [item["reason"] for item in cell["risks"].values() if item["state"] == INCONCLUSIVE]
    return {reason for reason in (*told, *others) if reason}


def _deciding(cells):
    """Count whose bound was the largest, of each risk and of all."""
    known = [[item for item in cell["risks"].values() if item["bounding"]] for cell in cells]
    of_risk = Counter(item["bounding"] for items in known for item in items)
    of_all = Counter(max(items, key=lambda item: item["high"])["bounding"] for items in known if items)
    return [[f"`{attack}`", str(n), str(of_all[attack])] for attack, n in of_risk.most_common()]


def _alone(cells, level):
    """Count how often each attack's p-value is small."""
    rows = []
    for attack in ATTACKS:
        found = [value for cell in cells if (value := cell["p_values"].get(attack)) is not None]
        if found:
            shares = (sum(value <= limit for value in found) / len(found) for limit in (0.05, level))
            rows.append([f"`{attack}`", *(f"{share:.1%}" for share in shares)])
    return rows


def _of(cells, state):
    return f"{sum(cell['state'] == state for cell in cells):,} of {len(cells):,}"


def _share(found, state):
    return f"{sum(_shown(cell) == state for cell in found) / len(found):.0%}"


def _seers(found):
    seen = [metric for cell in found for metric in cell["seen"]]
    return ", ".join(f"`{metric}` {seen.count(metric)}" for metric in sorted(set(seen))) or "none"


def _bound(highs):
    known = [100 * high for high in highs if high is not None]
    return f"{np.median(known):.1f} ({np.quantile(known, 0.9):.1f})" if known else "no answer"


def _rows(enough):
    return f"{enough[0]:,}" if enough else f"more than {CONTROLS[-1]:,}"


def _mostly_within(found):
    return sum(cell["state"] == WITHIN for cell in found) * 2 > len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=data.FOLDER, help="the folder of the tables")
    parser.add_argument("--cells", type=Path, default=CELLS, help="a JSON file for each audit")
    parser.add_argument("--seeds", type=int, default=6, help="clean releases of each table and size")
    parser.add_argument("--leaky-seeds", type=int, default=8, help="leaky ones of each kind")
    parser.add_argument("--tables", nargs="*", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="audits at once")
    parser.add_argument("--out", type=Path, default=DOCS / "verdicts.md")
    arguments = parser.parse_args()
    arguments.cells.mkdir(parents=True, exist_ok=True)
    write_text(arguments.out, page(measured(arguments)))


if __name__ == "__main__":
    main()
