"""The lock of the tests' environment holds all that the project asks for, at the tested versions."""

import re
import tomllib

from commands import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PINNED = re.compile(r"([a-z0-9.-]+)==(\S+) --hash=sha256:([0-9a-f]{64})")


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def locked():
    lines = [line for line in LOCK.splitlines() if not line.startswith("#")]
    found = [PINNED.fullmatch(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return {match[1]: match[2] for match in found}


def test_every_line_is_a_version_with_a_digest_and_nothing_says_where_from():
    pins = locked()
    assert list(pins) == sorted(pins)
    assert "torch" not in pins  # which build it is depends on where pip looks
    assert "://" not in LOCK
    assert "--index" not in LOCK


def test_all_that_the_project_asks_for_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"]["optional-dependencies"].values():
        asked += extra
    names = {canonical(re.match(r"[\w.-]+", line)[0]) for line in asked} - {"tabveil", "torch"}
    assert names - set(locked()) == set()


def test_locked_versions_are_the_tested_ones():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    pins = locked()
    assert {name: pins.get(canonical(name)) for name in tested if name != "torch"} == {
        name: version for name, version in tested.items() if name != "torch"
    }
