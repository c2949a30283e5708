"""The folders show the architecture: a module imports only what stands in a lower layer."""

import ast
from pathlib import Path

import pytest

import tabveil

ROOT = Path(tabveil.__file__).parent

LAYERS = (
    {"errors", "check", "naming", "plain", "registry", "rng", "workers", "writing", "version"},
    {"table", "estimate", "settings"},
    {
        "frame",
        "sampling",
        "encode",
        "neighbors",
        "networks",
        "result",
        "detection",
        "boosting",
        "protocols",
        "explain",
    },
    {
        "embedding",
        "indicators",
        "attacks",
        "properties",
        "utility",
        "generators",
        "anonymize",
        "pipeline",
        "risks",
        "attackers",
        "holdout",
        "datasets",
        "portrait",
        "verdict",
    },
    {"report"},
    {"auditing", "synthesizing", "benchmark"},
    {"render"},
    {"cli", "web"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
BESIDE = {
    "embedding": {"attacks"},
    "generators": {"pipeline", "risks"},
}  # who else in layer 3 may import them


def modules():
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported(tree):
    """The parts of tabveil that a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written out in full"
            whole = node.module == "tabveil"
            names = [f"tabveil.{alias.name}" for alias in node.names] if whole else [node.module]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("tabveil."))


def allowed(importer, target):
    if importer == target or LEVEL[target] < LEVEL[importer]:
        return True
    if LEVEL[target] == LEVEL[importer]:
        return LEVEL[target] < 3 or importer in BESIDE.get(target, ())
    return False


def part(path):
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_what_stands_above_it(path):
    for target in imported(ast.parse(path.read_text(encoding="utf-8"))):
        assert allowed(part(path), target), f"{part(path)} must not import {target}"


def test_every_module_has_a_layer():
    assert {part(path) for path in modules()} <= set(LEVEL)


@pytest.mark.parametrize(
    ("importer", "target", "answer"),
    [
        ("cli", "render", True),
        ("render", "cli", False),
        ("indicators", "attacks", False),
        ("attacks", "embedding", True),
        ("result", "table", True),
        ("table", "result", False),
        ("auditing", "benchmark", False),
        ("estimate", "table", True),
    ],
)
def test_the_rule_itself(importer, target, answer):
    assert allowed(importer, target) is answer


def test_imports_inside_functions_are_seen():
    source = "def f():\n    from tabveil import cli\n    import tabveil.web.app\n"
    assert sorted(imported(ast.parse(source))) == ["cli", "web"]
