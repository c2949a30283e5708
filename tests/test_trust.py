"""What stands beside the source says what is so: security, citation, container, release."""

import re
import subprocess
from pathlib import Path

import yaml

from tabveil.version import __version__

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_what_is_promised_is_tried_by_tests_that_are_there():
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_citation_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__
    assert {"cff-version", "message", "title", "authors", "license"} <= cited.keys()


def test_the_container_copies_what_is_there_and_runs_as_an_ordinary_user():
    copied = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if re.match(r"COPY (?!--)", line)]
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    names = {name for line in copied for name in line}
    assert names == kept
    assert all((ROOT / name).exists() for name in names)
    last = DOCKERFILE.rsplit("FROM ", 1)[1]
    assert re.search(r"^USER tabveil$", last, flags=re.MULTILINE)
    assert "--network none" in DOCKERFILE


def test_the_container_installs_locked_packages_alone():
    (part,) = re.findall(r"sed '([^']+)' requirements\.lock", DOCKERFILE)
    core = subprocess.run(
        ["sed", part, str(ROOT / "requirements.lock")], capture_output=True, text=True, check=True
    ).stdout
    packages = re.findall(r"^([\w.-]+)==\S+", core, flags=re.MULTILINE)
    assert {"numpy", "numba", "pyarrow", "hatchling"} <= set(packages)
    assert not {"torch", "pytest"} & set(packages)
    assert core.count("--hash=sha256:") >= len(packages)
    assert DOCKERFILE.count("pip install") == 2
    assert "--require-hashes" in DOCKERFILE


def test_a_release_is_built_tried_and_attested_before_it_is_published():
    flow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    build, publish = flow["jobs"]["build"], flow["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert "tests/test_installed.py" in str(build["steps"])
    used = [step.get("uses", "").split("@")[0] for step in publish["steps"]]
    assert used.index("actions/attest-build-provenance") < used.index("pypa/gh-action-pypi-publish")
    assert flow["permissions"] == {"contents": "read"}
    assert "secrets." not in str(flow)
