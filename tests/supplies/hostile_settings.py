"""Hypothesis strategies for files of settings: what commands read, with something wrong somewhere."""

import copy
import json
import os
from pathlib import Path

import yaml
from hypothesis import strategies as st

BASES = {
    "audit": {
        "train": "people.csv",
        "control": "control.csv",
        "synthetic": "people.csv",
        "title": "A release",
        "metrics": ["identical_match_share", {"name": "closest_share"}],
        "secrets": ["ward"],
        "known": ["age", "sex"],
        "auxiliary": [[["age"], ["sex"]]],
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["ward"],
        "schema": "schema.yaml",
        "missing": ["?"],
        "target": ["ward"],
        "policy": {"thresholds": {"inference": 0.1}, "copies": 0.01, "confidence": 0.9},
        "attackers": [{"name": "colleague", "knows": ["age"], "wants": ["ward"]}],
        "seed": 1,
        "threads": 1,
        "power": False,
        "utility": False,
    },
    "policy": {
        "recipient": "A group",
        "context": "under contract",
        "thresholds": {"inference": 0.1, "singling_out": 0.1, "linkability": 0.1},
        "copies": 0.01,
        "confidence": 0.9,
        "required": ["inference"],
    },
    "attackers": {
        "attackers": [{"name": "x", "links": [["age"], ["sex"]]}, {"name": "y", "wants": ["ward"]}]
    },
    "schema": {
        "missing": ["?"],
        "columns": {
            "age": {"type": "integer", "low": 0, "high": 120},
            "sex": {"type": "category", "labels": ["f", "m"]},
            "ward": {"type": "ordered category", "labels": ["a", "b", "c"]},
            "day": {"type": "date", "low": "2020-01-01", "high": "2021-01-01", "form": "YYYY-MM-DD"},
            "height": {"type": "real", "low": 1, "high": 3, "decimals": 2},
        },
        "csv": {"delimiter": ",", "encoding": "utf-8", "decimal": "."},
        "person": "name",
    },
    "synthesize": {
        "generator": "hybrid",
        "settings": {
            "hierarchies": {"age": {"intervals": [5, 10]}, "sex": "auto"},
            "models": [{"k": 2}, {"l": 2, "column": "ward"}],
            "transition": {"name": "uniform"},
            "placement": "post",
            "sampling": {"beta": 0.5},
            "generator": {"name": "marginals"},
        },
        "rows": 5,
        "seed": 1,
        "schema": "schema.yaml",
        "rare_labels": "pool",
        "identifiers": "fresh",
        "deduplicate": {"person": "name", "most": 2},
        "pseudonymize": {"columns": ["name"], "key": "secret.key"},
        "filter": {"near": 0.02},
    },
    "anonymize": {
        "hierarchies": {
            "age": {"intervals": [5, 10]},
            "sex": "auto",
            "ward": {"tree": {"x": ["a", "b"], "y": ["c"]}},
            "name": {"mask": "right", "steps": [2, 7]},
        },
        "models": [{"k": 2}, {"l": 2, "column": "day"}],
        "loss": "discernibility",
        "suppression": 1.0,
        "local": False,
        "budget": 100_000,
        "drop": [],
        "keep": ["name"],
        "missing": ["?"],
        "schema": "schema.yaml",
    },
    "benchmark": {
        "title": "A study",
        "repeats": 1,
        "seed": 1,
        "rows": {"train": 20, "control": 10, "release": 10},
        "datasets": [{"file": "people.csv", "missing": ["?"]}, {"name": "hospital", "rows": 40}],
        "risks": [
            {"name": "leaky", "levels": [0, 0.5], "modifier": {"name": "oversample"}},
            {"name": "noisy", "levels": [0.5], "sigma": 0.1},
        ],
        "metrics": ["identical_match_share", {"name": "closest_share", "label": "mine"}],
        "utility": False,
    },
    "tune": {
        "title": "A search",
        "data": {"file": "people.csv"},
        "generator": "copy",
        "settings": {"noise": 0.1},
        "search": {"noise": [0.0, 0.9]},
        "objectives": {"privacy": "membership_distance", "utility": "total_variation"},
        "repeats": 1,
        "held_out": 0.5,
        "control": 0.3,
        "rows": 15,
        "seed": 1,
        "trials": 2,
    },
}
BASES["split"] = BASES["policy"]
BASES["pipeline"] = {**BASES["synthesize"], "rare_labels": "keep"}
BASES["attack"] = {
    "generator": "copy",
    "settings": {"noise": 0.1},
    "rows": 5,
    "schema": "schema.yaml",
    "missing": ["?"],
    "rare_labels": "keep",
    "identifiers": "fresh",
}
BASES["hierarchy"] = b"a;x;*\nb;x;*\nc;y;*\n"
BASES["key"] = bytes(range(32)).hex().encode() + b"\n"
"""Settings that are in order, of every kind of file; bytes are what is no YAML."""

PLANTED = ("x" * 5000, "ö" * 200, "plant " * 900, "p/" * 2500, "it's " * 900, '"q" ' * 900)
"""Values that are too long to be said back."""
LISTS = (["leak"] * 200, list(range(9000, 9200)), {f"leak{i}": i for i in range(100)})

WRONG = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 2, 3.7, 1e308, -1e-308, float("inf"), float("nan")),
        *(2**62, 2**63, 10**30, "0", "-1", "1e999", "nan", "auto", "none", "null", "2020-02-30"),
        *("", " ", "x", "*", "?", "~", "/", ".", "..", *PLANTED, "\x00", "a\x00b", "\x1b[2J"),
        *("\u202e", "\ud800", "/dev/null", "/dev/full", "nowhere.csv", "people.csv", "people.csv/x"),
        *("schema.yaml", "age", "sex", "ward", "day", "name", "{{1}}", "<b>", "%s"),
        *([], {}, [[]], [None], [{}], {"": None}, {None: None}, {1: 2}, {"name": None}, {"name": "x"}),
        *([1, "a", None], [[["age"]]], ["age", "age"], {"age": "age"}, {"a": {}}, [0.5, 0.5], [-1, 0]),
        *({"name": "hospital", "rows": 0}, [1e308, -1e308], [2**53, 2**53 + 1], ["\x00"], {"\x00": 1}),
        *([float("nan")], *LISTS, 10**400, -(10**400), {"file": "/dev/zero"}, {"file": "pipe"}, "pipe"),
        *({"a": {"b": {"c": {"d": {}}}}}, [[[[[[]]]]]], "\x7f", "\u2028", "2020-01-01T25:00", "=", "<<"),
    ]
)

RAW = st.sampled_from(
    [
        *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\t", b"\r", b"\x1b[2J", b"\xe2\x80\xa8"),
        *(b"x: &a [*a]\n", b"x: &a {a: *a}\n", b"&top ", b"*top", b"<<: *a\n", b"<<: {age: 1}\n", b"? "),
        *(b"[" * 3000, b"{" * 3000, b"[" * 60 + b"]" * 60, b'{"a":' * 900, b"- " * 2000, b"? " * 2000),
        *(b"9" * 400, b"-" + b"9" * 5000, b"0x" + b"f" * 400, b"1e400", b".inf", b".nan", b"NaN", b"0o9"),
        *(b"!!python/object/apply:os.system [ls]", b"!!binary x", b"!!set {a}", b"!!pairs [a: b]", b"- "),
        *(b"!!timestamp x", b"2020-99-99", b"2001-01-01 00:00:00 +99:99", b"12:30:45", b"!!int x", b"<<"),
        *(b"%YAML 9.9\n", b"%TAG ! x\n", b"---\n", b"...\n", b'"\\ud800"', b'"\\x00"', b"'", b'"', b"|"),
        *(b"/*", b"//", b"#", b",", b":", b"seed: 1\n", b'"seed": 1,', b"a: &a [1,2]\nb: &b [*a,*a,*a]\n"),
    ]
)
"""Written into a file as it is: what no library writes."""


def places(data, found=()):
    """Every place in nested data, as the keys that lead to it."""
    yield found
    match data:
        case dict():
            for key, value in data.items():
                yield from places(value, (*found, key))
        case list():
            for index, value in enumerate(data):
                yield from places(value, (*found, index))


STRANGE = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "a link to itself": lambda path: Path(path).symlink_to(path),
    "a link to nowhere": lambda path: Path(path).symlink_to("nowhere"),
    "a device": lambda path: Path(path).symlink_to("/dev/zero"),
    "a large file": lambda path: (Path(path).touch(), os.truncate(path, 1 << 34)),
}
"""What may stand where a file should, by what it is."""


@st.composite
def hostile(draw, kind):
    """A file of this kind, as its suffix and its bytes, or the name of something strange."""
    base = BASES[kind]
    how = draw(st.sampled_from(["changed"] * 6 + ["mangled"] * 3 + ["strange"]))
    suffix, whole = (".yaml", base) if isinstance(base, bytes) else written(base, as_json=draw(st.booleans()))
    if how == "strange":
        return suffix, draw(st.sampled_from(sorted(STRANGE)))
    if how == "changed" and not isinstance(base, bytes):
        return draw(changed(kind))
    for _ in range(draw(st.integers(1, 3))):
        whole = draw(mangled(whole))
    return suffix, whole


@st.composite
def mangled(draw, whole):
    """Bytes with some of them changed, lost, said twice or put between the others."""
    place, length = (int(draw(st.floats(0, 1, exclude_max=True)) * len(whole)) for _ in range(2))
    lines = whole.splitlines(keepends=True)
    match draw(st.sampled_from(["flip", "flip", "cut", "raw", "raw", "twice", "line twice"])):
        case "flip" if whole:
            return whole[:place] + bytes([whole[place] ^ draw(st.integers(1, 255))]) + whole[place + 1 :]
        case "cut":
            return whole[:place] if draw(st.booleans()) else whole[:place] + whole[place + length :]
        case "raw":
            start = draw(st.sampled_from([place, 0, len(whole), whole.find(b"\n", place) + 1]))
            return whole[:start] + draw(RAW) + whole[start:]
        case "twice":
            return whole[: place + length] + whole[place:]
        case _ if lines:
            line = draw(st.sampled_from(lines))
            return b"".join([*lines, line])
    return whole


@st.composite
def changed(draw, kind):
    """A file that can be parsed, with something else in some places."""
    data = copy.deepcopy(BASES[kind])
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in places(data) if place] or [(None,)]))
        if last is None:
            break
        inside = data
        for key in way:
            inside = inside[key]
        damage = draw(st.sampled_from([replaced] * 5 + [dropped, wrapped, joined, moved]))
        damage(draw, inside, last)
    return written(data, as_json=draw(st.booleans()))


def replaced(draw, inside, last):
    inside[last] = copy.deepcopy(draw(WRONG))


def dropped(_, inside, last):
    del inside[last]


def wrapped(draw, inside, last):
    item = inside[last]
    inside[last] = draw(st.sampled_from([[item], {"name": item}, {"x": item}]))


def joined(draw, inside, _):
    if isinstance(inside, dict):
        inside[draw(st.sampled_from(["x", "", "name", "\x00", "seed", 1, None]))] = copy.deepcopy(draw(WRONG))
    else:
        inside.append(copy.deepcopy(draw(WRONG)))


def moved(draw, inside, last):
    if isinstance(inside, dict):
        inside[draw(st.sampled_from(["x", "Age", "name "]))] = inside.pop(last)
    else:
        inside.reverse()


def written(data, *, as_json):
    if as_json:
        try:
            return ".json", json.dumps(data).encode()
        except TypeError:
            pass
    return ".yaml", yaml.safe_dump(data, allow_unicode=False).encode("utf-8", "replace")
