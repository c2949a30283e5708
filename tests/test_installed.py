"""What is built holds all that is needed, and works where nothing else is; the slow part asks an index."""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STORED = ROOT / "tests" / "auditing" / "stored" / "report.json"
EXTRAS = {  # and what is imported of each, with the module of tabveil that needs it
    "deep": "torch, opacus, dp_accounting, tabveil.synthesis.generators.transformer_network",
    "xlsx": "python_calamine, tabveil.tables.reading.sheet",
    "pii": "phonenumbers, tabveil.metrics.properties.replay.numbers",
    "cluster": "distributed, tabveil.core.cluster",
    "tune": "optuna, tabveil.workflows.tuning.search",
    "web": "starlette, uvicorn, tabveil.web.server",
}
USED = """
import tabveil, tabveil.testing
from pathlib import Path
people = [tabveil.datasets.hospital(120, seed=seed) for seed in (1, 1, 3)]
report = tabveil.audit(*people, metrics="membership_distance", advice=False)
report.to_html("report.html")
home = Path(tabveil.__file__).parent
print(report.verdict.state, (home / "py.typed").is_file(), home)
"""
READ = """
import sys, tabveil, tabveil.testing
from pathlib import Path
tabveil.Report.read(sys.argv[1]).to_html("report.html")  # an audit would compile its loops anew
home = Path(tabveil.__file__).parent
print((home / "py.typed").is_file(), home)
"""


def ran(*command, **settings):
    found = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **settings)
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source distribution, built without an index."""
    place = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "hatchling", "build", "-d", place, cwd=ROOT)
    (wheel,), (source,) = place.glob("*.whl"), place.glob("*.tar.gz")
    return wheel, source


def test_the_wheel_holds_the_source_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "tabveil").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == source
    assert {"tabveil/py.typed", "tabveil/render/templates/page.css"} <= held


def test_the_source_distribution_can_be_built_from_and_says_its_license(built):
    with tarfile.open(built[1]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "src/tabveil/py.typed"} <= held
    assert not [name for name in held if name.startswith((".venv", ".bench", "site/"))]


def test_the_wheel_works_without_the_source(built, tmp_path):
    """Unpacked into a folder of its own; what it depends on is that of the tests."""
    home = tmp_path / "home"
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", home)
    ran(*pip, built[0])
    environment = {**os.environ, "PYTHONPATH": str(home)}
    told = ran(sys.executable, "-c", READ, STORED, cwd=tmp_path, env=environment)
    assert told.split() == ["True", str(home / "tabveil")]
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """An environment without anything."""
    place = tmp_path_factory.mktemp("empty")
    venv.create(place, with_pip=True, symlinks=True)
    return place / "bin" / "python"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [0, 1], ids=["wheel", "sdist"])
def test_it_installs_into_an_empty_environment(built, empty, tmp_path, kind):
    pip = (empty, "-m", "pip", "install", "-q", "--force-reinstall", "-c", ROOT / "constraints.txt")
    ran(*pip, built[kind], env=without_path())
    told = ran(empty, "-c", USED, cwd=tmp_path, env=without_path())
    assert told.startswith("above threshold True")
    assert re.match(r"tabveil \d", ran(empty, "-m", "tabveil", "--version", env=without_path()))


@pytest.fixture(scope="module")
def core(built, tmp_path_factory):
    """An environment with the core alone."""
    place = tmp_path_factory.mktemp("core")
    venv.create(place, with_pip=True, symlinks=True)
    pip = (place / "bin" / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt")
    ran(*pip, built[0], env=without_path())
    return place


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_works_by_itself(built, core, tmp_path, extra):
    """Beside the core, in an environment that has no other; of torch the build that is there is taken."""
    venv.create(tmp_path / "one", with_pip=True, symlinks=True)
    python = tmp_path / "one" / "bin" / "python"
    (packages,) = (tmp_path / "one" / "lib").glob("python*/site-packages")
    (of_core,) = (core / "lib").glob("python*/site-packages")
    (packages / "core.pth").write_text(f"{of_core}\n", encoding="utf-8")
    pip = (python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt")
    if extra == "deep":
        ran(*pip, "torch==2.13.0", env=without_path())
    ran(*pip, f"tabveil[{extra}] @ {built[0].as_uri()}", env=without_path())
    ran(python, "-c", f"import {EXTRAS[extra]}", cwd=tmp_path, env=without_path())
    others = ran(python, "-m", "pip", "list", "--format=json", "--local", env=without_path())
    brought = {item["name"].lower() for item in json.loads(others)}
    others = {name.split(",")[0].replace("_", "-") for key, name in EXTRAS.items() if key != extra}
    assert not brought & others


@pytest.mark.slow
def test_the_commands_of_the_image_install_what_runs_without_a_network(tmp_path):
    """What the Dockerfile copies is enough for what it runs; its result audits with no network at all."""
    build = (ROOT / "Dockerfile").read_text(encoding="utf-8").split("FROM ")[1].replace("\\\n", " ")
    source, place = tmp_path / "source", tmp_path / "tabveil"
    source.mkdir()
    for copied in re.findall(r"^COPY (.+)$", build, re.MULTILINE):
        *given, _ = copied.split()
        for name in given:
            ran("cp", "-r", ROOT / name, source)
    (command,) = re.findall(r"^RUN (.+)$", build, re.MULTILINE)
    ran("bash", "-euc", command.replace("/opt/tabveil", str(place)), cwd=source, env=without_path())
    alone = ("unshare", "--map-root-user", "--net", place / "bin" / "python", "-c", USED)
    told = ran(*alone, cwd=tmp_path, env={**without_path(), "NUMBA_CACHE_DIR": str(tmp_path / "numba")})
    assert told.startswith("above threshold True")


def without_path():
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
