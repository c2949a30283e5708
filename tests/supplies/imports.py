"""Who imports whom in a package, read from its source wherever in a module the import stands."""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Import:
    """One module's need of another; ``target`` is a module of the package, or a name that comes from it."""

    module: str
    target: str
    at_run_time: bool  # not only for those who check types

    @property
    def library(self):
        return self.target.split(".")[0]


def modules(root: Path) -> dict[str, Path]:
    """The modules of a package by their full names."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(root: Path) -> list[Import]:
    """Every import in a package, in functions and by :func:`importlib.import_module` too."""
    known = modules(root)
    return [
        Import(module=module, target=target, at_run_time=at_run_time)
        for module, path in known.items()
        for node, at_run_time in _statements(ast.parse(path.read_text(encoding="utf-8")))
        for target in _targets(node, known)
    ]


def third_parties(found: Iterable[Import], root: Path) -> list[Import]:
    """Those of the imports that neither the package nor Python itself provides."""
    own = {root.name, *sys.stdlib_module_names}
    return [item for item in found if item.library not in own]


def cycle(found: Iterable[Import], known: Collection[str]) -> list[str]:
    """Modules of which each needs the next at run time, the last of them the first; none where all is well.

    Needing a module means needing the packages around it, but for those around both: they load already.
    """
    needs: dict[str, set[str]] = {name: set() for name in known}
    for item in found:
        if item.at_run_time and item.module != item.target:
            around = {name for name in _packages(item.target) if not f"{item.module}.".startswith(f"{name}.")}
            needs[item.module] |= ({item.target} | around) & needs.keys()
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))  # graphlib names whoever is needed first
    return []


def _packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))


def _statements(node: ast.AST, *, at_run_time: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    yield node, at_run_time
    for name, field in ast.iter_fields(node):
        only_for_types = isinstance(node, ast.If) and name == "body" and _asks_for_types(node.test)
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield from _statements(child, at_run_time=at_run_time and not only_for_types)


def _asks_for_types(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _targets(node: ast.AST, known: Collection[str]) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=None) | ast.ImportFrom(level=1 | 2 | 3):
            raise AssertionError("imports are written out in full")
        case ast.ImportFrom(module=str(source), names=names):
            each = [f"{source}.{alias.name}" for alias in names]
            return [name if name in known else source for name in each]
        case ast.Call(
            func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name))],
        ):
            return [name]
    return []
