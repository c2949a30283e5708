"""A seeded audit gives what it gave when it was stored: a report may gain fields, but none is lost or moved.

Where numbers are meant to move, write it anew: ``python tests/auditing/test_report.py``.
"""

import json
import math
from pathlib import Path

import pandas as pd

import tabveil
from tabveil.datasets import hospital

STORED = Path(__file__).parent / "stored" / "report.json"
COLUMNS = ["age", "sex", "insurance", "smoker", "ward", "days", "cost", "outcome"]
NEIGHBOR = {"name": "neighbor", "knows": ["age", "sex"], "wants": ["ward"]}
TOLERANCE = 1e-9  # another processor adds up in another order


def audited():
    people = hospital(500, seed=3)[COLUMNS]
    train, control, fresh = people[:200], people[200:350], people[350:]
    leaky = pd.concat([fresh[:120], train[:30]])
    tables = [part.reset_index(drop=True) for part in (train, leaky, control)]
    return tabveil.audit(*tables, attackers={"attackers": [NEIGHBOR]}, utility=True, seed=5)


def lost(before, after, where=""):
    """Say where something is gone or is not what it was."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key == "seconds":
                continue
            if key not in after:
                yield f"{where}/{key} is gone"
            else:
                yield from lost(value, after[key], f"{where}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from lost(old, new, f"{where}[{place}]")
    elif isinstance(before, float) and isinstance(after, float):
        if not math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where} was {before}, is {after}"
    elif before != after:
        yield f"{where} was {before!r}, is {after!r}"


def test_a_seeded_audit_gives_what_it_gave():
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert list(lost(stored, json.loads(audited().to_json()))) == []


def test_what_is_gone_or_moved_is_noticed():
    before = {"risk": {"value": 0.1, "n": 5}, "notes": ["a"], "seconds": 1.0}
    assert list(lost(before, {**before, "gain": 1, "seconds": 2.0})) == []
    assert list(lost(before, {"notes": ["a"]})) == ["/risk is gone"]
    assert list(lost(before, {**before, "risk": {"value": 0.2, "n": 5}})) == ["/risk/value was 0.1, is 0.2"]
    assert list(lost(before, {**before, "notes": ["b"]})) == ["/notes[0] was 'a', is 'b'"]


if __name__ == "__main__":
    text = json.dumps(json.loads(audited().to_json()), separators=(",", ":"), ensure_ascii=False)
    STORED.write_text(text + "\n", encoding="utf-8")
