"""Which leaks does a verdict miss? Releases are built to leak for certain, and judged.

Each construction of ``releases`` makes a release whose exposure is known, because it was made so, and a
default audit judges it, over several draws. Beside them stand clean releases, of which none may be called
above. Writes docs/red_team.md. ``--data`` is where ``data.py`` looks; each audit is a JSON file in
``--cells``, and what is there is not measured again. ``--only NAME`` runs some constructions and writes the
page of all that was measured.
"""

import argparse
import json
import multiprocessing
import os
import sys
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from unittest.mock import patch

import measure
import numpy as np
from measure import DOCS, ONE_THREAD
from releases import CONSTRUCTIONS, MISSING, draw

from tabveil import audit
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN
from tabveil.core.storage.files import write_text
from tabveil.errors import TabveilError

CELLS = Path(__file__).resolve().parents[1] / ".bench" / "red_team"
DRAWS = 3
FAILED = "failed"
REFUSED = "control refused"
CONTROL_REFUSED = "the check of the control"
SHORT = {ABOVE: "above", WITHIN: "within", INCONCLUSIVE: "inconclusive", REFUSED: REFUSED, FAILED: FAILED}

PAGE = """# Which leaks escape?

`python benchmarks/red_team.py` writes this page. {n_leaky} constructions make releases that leak for certain,
{n_clean} others make releases that do not leak. Train, control and release have about 3,000 rows each where
nothing else is said, of real tables (Adult, census income, hospital encounters, loans, a health survey) and
of made ones, where real ones lack what is to be leaked. A default audit judges each by the default policy;
draws of each: at most {draws}. {n_audits:,} audits, {minutes:,.0f} CPU minutes.

*Exposed* says of how many of 100 training people the release holds data, because it was made so. A leak is
caught where the verdict is *above*. Where the control was trained on, or shares people with train, nothing
can be measured against it: there it is caught, too, where the audit says so and refuses the control.

{counts}

## Leaks

*Seen by* is what gave the verdict: of all that was above, that which chance explains least.

{leaks}

## What still escapes

{escapes}

## Clean releases

None of these may be called *above*. *Inconclusive* is no error here; how many rows a clean release needs to
be called *within* is counted in [verdicts](verdicts.md).

{clean}
"""


def judged(construction, table, seed):
    """Make one release, audit it, and return what the verdict rests on."""
    people = draw(table, construction.sizes, seed)
    release = construction.make(people, np.random.default_rng([seed, zlib.crc32(construction.name.encode())]))
    start = measure.cpu_seconds()
    try:
        report = audit(
            people.train if release.train is None else release.train,
            release.synthetic,
            people.control if release.control is None else release.control,
            missing=MISSING,
            advice=False,
            seed=seed,
            threads=1,
            **release.options,
        )
    except TabveilError as error:
        return {"state": FAILED, "exposure": release.exposure, "why": str(error), "seen": [], "seconds": 0.0}
    verdict = report.verdict
    return {
        "state": REFUSED if verdict.state == INCONCLUSIVE and verdict.control else verdict.state,
        "exposure": release.exposure,
        "seen": seen_by(report),
        "reasons": sorted(_reasons_of(verdict)),
        "control": list(verdict.control),
        "sentence": verdict.sentence,
        "seconds": measure.cpu_seconds() - start,
    }


def _reasons_of(verdict):
    """Return why parts of a verdict are open."""
    parts = [*verdict.risks, *verdict.traces, *([] if verdict.copies is None else [verdict.copies])]
    return {item.reason for item in parts if item.state == INCONCLUSIVE and item.reason}


def seen_by(report):
    """Return what is above, that which chance explains least first: what it is, its p-value, its share."""
    verdict = report.verdict
    found = [
        (judged.title or judged.metric, _p_value(report[judged.metric].p_value), judged.gain.value)
        for risk in verdict.risks
        for judged in risk.metrics
        if judged.state == ABOVE and judged.gain is not None
    ]
    if verdict.copies is not None and verdict.copies.state == ABOVE:
        exact = verdict.copies.found
        kinds = [("copies", exact), *([] if exact.near is None else [("near copies", exact.near)])]
        title, kind = min(kinds, key=lambda pair: _p_value(pair[1].p_value))
        found.append((title, _p_value(kind.p_value), 0.0 if kind.share is None else kind.share.value))
    found += [
        (item.found.title or item.found.name, _p_value(item.found.p_value), item.found.share)
        for item in verdict.traces
        if item.state == ABOVE
    ]
    return sorted(found, key=lambda item: (item[1], -item[2]))


def _p_value(value):
    return 1.0 if value is None else float(value)


def caught(construction, cell):
    """Tell whether the verdict is what it should be of a release that leaks."""
    return cell["state"] == ABOVE or (construction.expected == "refused" and cell["state"] == REFUSED)


def _write(name, table, seed, path):
    construction = next(item for item in CONSTRUCTIONS if item.name == name)
    write_text(path, json.dumps(judged(construction, table, seed)) + "\n")


def asked(arguments):
    """Return the draws of each construction and table, and the file of each."""
    return {
        (item.name, table, seed): arguments.cells / f"{item.name}-{table.replace(', ', '_')}-{seed}.json"
        for item in CONSTRUCTIONS
        for table in item.tables
        for seed in range(min(arguments.draws, item.draws or arguments.draws))
    }


def measured(arguments):
    """Run what is missing, several audits at once; return all that is there."""
    cells = asked(arguments)
    fresh = multiprocessing.get_context("spawn")
    with (
        patch.dict(os.environ, ONE_THREAD),
        ProcessPoolExecutor(arguments.jobs, mp_context=fresh) as pool,
    ):
        waiting = {
            pool.submit(_write, *key, path): key
            for key, path in cells.items()
            if not path.exists() and (not arguments.only or key[0] in arguments.only)
        }
        for done, future in enumerate(as_completed(waiting), start=1):
            future.result()
            print(f"{done} of {len(waiting)}: {waiting[future]}", file=sys.stderr, flush=True)
    return {key: json.loads(path.read_text(encoding="utf-8")) for key, path in cells.items() if path.exists()}


def page(cells):
    """Write what the audits said."""
    lines = {
        (item, table): found
        for item in CONSTRUCTIONS
        for table in item.tables
        if (
            found := [cell for (name, where, _), cell in cells.items() if (name, where) == (item.name, table)]
        )
    }
    leaky = {key: found for key, found in lines.items() if key[0].leaks}
    clean = {key: found for key, found in lines.items() if not key[0].leaks}
    return PAGE.format(
        n_leaky=len({item.name for item, _ in leaky}),
        n_clean=len({item.name for item, _ in clean}),
        draws=max(map(len, lines.values()), default=0),
        n_audits=len(cells),
        minutes=sum(cell["seconds"] for cell in cells.values()) / 60,
        counts=_counts(leaky, clean),
        leaks=_families(leaky),
        escapes=_escapes(leaky),
        clean=measure.markdown(
            ["release", "table", "verdict", "seen by"], [_clean(*pair) for pair in clean.items()]
        ),
    )


def _counts(leaky, clean):
    n_caught = sum(all(caught(key[0], cell) for cell in found) for key, found in leaky.items())
    n_draws = sum(caught(key[0], cell) for key, found in leaky.items() for cell in found)
    all_draws = sum(map(len, leaky.values()))
    within = sum(cell["state"] == WITHIN for found in leaky.values() for cell in found)
    false = sum(cell["state"] == ABOVE for found in clean.values() for cell in found)
    return (
        f"Caught in every draw: {n_caught} of {len(leaky)} (a construction on a table each); {n_draws:,} of "
        f"{all_draws:,} draws. Called *within* although they leak: {within:,} of {all_draws:,} draws. Clean "
        f"releases called *above*: {false:,} of {sum(map(len, clean.values())):,} draws."
    )


def _families(leaky):
    parts = []
    for family in dict.fromkeys(item.family for item, _ in leaky):
        rows = [_leaky(key, found) for key, found in leaky.items() if key[0].family == family]
        head = ["release", "table", "exposed", "verdict", "seen by"]
        parts.append(f"### {family}\n\n{measure.markdown(head, rows)}")
    return "\n\n".join(parts)


def _leaky(key, found):
    item, table = key
    told = _verdicts(found)
    kept = all(caught(item, cell) for cell in found)
    return [item.what, table, _exposed(found), told if kept else f"**{told}**", _seers(found)]


def _clean(key, found):
    item, table = key
    told = _verdicts(found)
    return [
        item.what,
        table,
        f"**{told}**" if any(cell["state"] == ABOVE for cell in found) else told,
        _seers(found),
    ]


def _escapes(leaky):
    """List what was not caught in every draw."""
    rows = [
        [item.what, table, _exposed(found), _verdicts(found), _reasons(found)]
        for (item, table), found in leaky.items()
        if not all(caught(item, cell) for cell in found)
    ]
    if not rows:
        return "Nothing of what is listed here, in any draw. What nobody thought of is not listed."
    head = ["release", "table", "exposed", "verdict", "reason"]
    told = measure.markdown(head, rows)
    return f"Not caught in every draw:\n\n{told}\n\nWhat nobody thought of is not listed."


def _exposed(found):
    values = [100 * cell["exposure"] for cell in found if cell["exposure"] is not None]
    return f"{np.mean(values):.3g}" if values else "not known"


def _verdicts(found):
    counted = Counter(SHORT[cell["state"]] for cell in found)
    return ", ".join(f"{state} {n} of {len(found)}" for state, n in counted.most_common())


def _seers(found):
    """Name what saw it first in each draw, the most frequent first."""
    first = [
        CONTROL_REFUSED if cell["state"] == REFUSED else cell["seen"][0][0] for cell in found if _saw(cell)
    ]
    return ", ".join(name for name, _ in Counter(first).most_common())


def _saw(cell):
    return cell["state"] == REFUSED or bool(cell["seen"])


def _reasons(found):
    told = [reason for cell in found if cell["state"] == INCONCLUSIVE for reason in cell["reasons"]]
    told += [cell["why"] for cell in found if cell["state"] == FAILED]
    return "; ".join(reason for reason, _ in Counter(told).most_common())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=Path, default=CELLS, help="a JSON file for each audit")
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each construction and table")
    parser.add_argument("--only", nargs="*", choices=[item.name for item in CONSTRUCTIONS], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="audits at once")
    parser.add_argument("--out", type=Path, default=DOCS / "red_team.md")
    arguments = parser.parse_args()
    arguments.cells.mkdir(parents=True, exist_ok=True)
    write_text(arguments.out, page(measured(arguments)))


if __name__ == "__main__":
    main()
