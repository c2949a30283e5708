"""Python files of users' own, with metrics, risk models, generators or datasets: imported before all else.

Other processes get the same files and import them by their names, so they are imported by these names here:
what is sent to them says only in which module a class is.
"""

import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

from tabveil.errors import ParameterError, TabveilError


def import_files(files: Iterable[str | Path]) -> None:
    """Import files of users' own in their order, each once, or say in one line what is wrong with one."""
    for file in map(Path, files):
        if file.suffix != ".py":
            raise ParameterError(file, "must be a Python file, with a name that ends in .py.")
        if not file.is_file():
            raise ParameterError(f"there is no file {file}.")
        name = file.stem
        if not name.isidentifier():
            raise ParameterError(file, "cannot be imported by its name; use letters, digits and _ only.")
        found = importlib.util.find_spec(name)
        if found is not None and (found.origin is None or Path(found.origin).resolve() != file.resolve()):
            raise ParameterError(file, f"there is a module called {name!r} already; choose another name.")
        if name not in sys.modules:
            _load(name, file)


def _load(name: str, file: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    assert spec is not None  # of a file that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while they are made
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, TabveilError):
            raise ParameterError(file, error) from None
        if isinstance(error, Exception):
            raise ParameterError(file, f"{_told(error, file)}.") from None
        raise


def _told(error: Exception, file: Path) -> str:
    """Say what a file raised, and in which line; what else it says may be somebody's value, and stays out."""
    frames = traceback.walk_tb(error.__traceback__)
    own = [line for frame, line in frames if Path(frame.f_code.co_filename) == file.resolve()]
    line = error.lineno if isinstance(error, SyntaxError) else own[-1] if own else None
    where = "" if line is None else f" in line {line}"
    why = f": {error}" if isinstance(error, (ImportError, NameError)) else ""
    return f"cannot be imported, {type(error).__name__}{where}{why}"
