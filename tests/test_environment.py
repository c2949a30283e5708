"""The lock of the tests' environment holds all that the project asks for, at the tested versions."""

import json
import re
import subprocess
import sys
import tomllib

import yaml
from supplies.places import ROOT

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PINNED = re.compile(
    r"([a-z0-9.-]+)==(\S+)(?: ; python_version == \S+(?: or python_version == \S+)*)?"
    r"((?: --hash=sha256:[0-9a-f]{64})+)"
)
SECTIONS = ("core", "all", "torch")


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def section(name):
    """The lines of one section: packages, each with its version and digests."""
    return re.search(rf"^# {name}: .*\n((?:[^#].*\n)*)", LOCK, re.MULTILINE)[1].splitlines()


def locked(*names):
    lines = [line for name in names or SECTIONS for line in section(name)]
    found = [PINNED.fullmatch(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return {match[1]: match[2] for match in found}


def asked_for(*extras):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in extras or project["project"]["optional-dependencies"]:
        asked += project["project"]["optional-dependencies"].get(extra, [])
    return {canonical(re.match(r"[\w.-]+", line)[0]) for line in asked} - {"tabveil"}


def test_every_line_is_a_version_with_digests_and_nothing_says_where_from():
    for name in SECTIONS:
        assert list(locked(name)) == sorted(locked(name))
    assert len(locked()) == sum(len(locked(name)) for name in SECTIONS) == len(PINNED.findall(LOCK))
    assert "://" not in LOCK
    assert "--index" not in LOCK


def test_torch_is_locked_alone_with_the_digests_of_both_builds():
    """Which one pip finds depends on where it looks."""
    (line,) = section("torch")
    assert len(re.findall("--hash", line)) == 4  # of three Pythons, and of the build without GPUs for one


def test_of_torch_the_build_that_pip_finds_is_asked_for_by_its_own_digest(tmp_path):
    """Given all digests, pip would bring gigabytes for GPUs to a machine that holds a build without them."""
    digests = re.findall(r"[0-9a-f]{64}", section("torch")[0])
    report = tmp_path / "report.json"

    def asked(digest):
        found = {
            "metadata": {"version": "2.13.0"},
            "download_info": {"archive_info": {"hashes": {"sha256": digest}}},
        }
        report.write_text(json.dumps({"install": [found]}), encoding="utf-8")
        words = [sys.executable, ".ci/lock.py", "--torch", str(report)]
        return subprocess.run(words, check=False, cwd=ROOT, capture_output=True, text=True)

    for digest in digests:
        assert asked(digest).stdout == f"torch=={locked('torch')['torch']} --hash=sha256:{digest}\n"
    unknown = asked("0" * 64)
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "no digest of the torch" in unknown.stderr


def test_the_demo_installs_nothing_that_is_not_locked():
    assert asked_for("none") <= set(locked("core"))


def test_all_that_the_project_asks_for_is_locked():
    assert asked_for() - set(locked()) == set()


def test_locked_versions_are_the_tested_ones():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    pins = locked()
    assert {name: pins.get(canonical(name)) for name in tested} == tested


def test_public_integration_runs_what_everybody_runs_on_every_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == versions
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = {word for text in commands for word in re.findall(r"\bmake (\w+)", text)}
    assert made == {"test", "docs"}
    assert made <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_what_runs_before_a_commit_is_there_and_fetches_nothing():
    (here,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert here["repo"] == "local"
    for hook in here["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
        for place in re.findall(r"tests/\w+\.py", hook["entry"]):
            assert (ROOT / place).exists()
