"""How is the source laid out? Counts for any checkout, so that before and after can be set side by side.

``python benchmarks/house.py`` counts this checkout, ``python benchmarks/house.py FOLDER …`` others.
"""

import argparse
import ast
from collections import Counter
from pathlib import Path
from statistics import median


def counts(checkout):
    """Return what is counted, by its name."""
    root = checkout / "src" / "tabveil"
    paths = sorted(root.rglob("*.py"))
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    bodies = [node for path in paths for node in ast.walk(parsed(path)) if isinstance(node, FUNCTIONS)]
    classes = Counter(
        node.name for path in paths for node in parsed(path).body if isinstance(node, ast.ClassDef)
    )
    named = [path for path in paths if path.name != "__init__.py"]
    names = Counter(path.name for path in named)
    rooms = Counter((path.relative_to(root).parts[0], path.stem) for path in named)
    tests = sorted((checkout / "tests").rglob("test_*.py"))
    twins = {twin(path, checkout) for path in tests} - {None}
    return {
        "entries at the top of the source": len(entries(root)),
        "of them folders": sum(path.is_dir() for path in entries(root)),
        "modules": len(paths),
        "lines": sum(lines.values()),
        "median lines of a module": median(lines.values()),
        "modules under 60 lines": sum(n < 60 for n in lines.values()),
        "modules above 450 lines": sum(n > 450 for n in lines.values()),
        "longest module": max(lines.values()),
        "functions": len(bodies),
        "functions above 40 lines": sum(length(node) > 40 for node in bodies),
        "modules that share their name": sum(n for n in names.values() if n > 1),
        "names shared within a room": sum(n > 1 for (_, name), n in rooms.items() if name not in PROTOCOLS),
        "class names used twice or more": sum(n > 1 for n in classes.values()),
        "files of tests": len(tests),
        "modules with tests in the same place": f"{len(twins)} of {len(paths)}",
    }


PROTOCOLS = {"synthesizer", "network", "page", "terminal", "view"}
"""Names of the same part of several generators, or kinds of reports."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def entries(root):
    """Return what stands at the top of the source, caches left out."""
    return [path for path in root.iterdir() if path.name != "__pycache__"]


def length(function):
    """Return how many lines a function has below its head and its docstring."""
    first, *rest = function.body
    spoken = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    body = rest if spoken else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def twin(test, checkout):
    """Return the module or package that a file of tests is about, by place and name."""
    place = checkout / "src" / "tabveil" / test.relative_to(checkout / "tests").parent
    words = test.stem.split("_")[1:]
    for n_words in range(len(words), 0, -1):
        name = "_".join(words[:n_words])
        for module in (place / f"{name}.py", place / name / "__init__.py"):
            if module.exists():
                return module
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    here = Path(__file__).parents[1]
    parser.add_argument("checkouts", nargs="*", type=Path, default=[here], metavar="FOLDER")
    found = [counts(folder.resolve()) for folder in parser.parse_args().checkouts]
    for name in found[0]:
        print(f"{name:<45}", *(f"{item[name]!s:>12}" for item in found))


if __name__ == "__main__":
    main()
