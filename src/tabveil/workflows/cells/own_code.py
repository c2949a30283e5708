"""Python files of users' own: metrics, risk models and datasets that join before a study is read.

Workers get the same file from Dask and import it by its name, so it is imported by that name here: what is
sent to them says only in which module a class is.
"""

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

from tabveil.errors import ParameterError, TabveilError


def import_files(files: Iterable[str | Path]) -> None:
    """Import files in their order, each once, or say in one line what is wrong with one of them."""
    for file in files:
        _import(Path(file))


def _import(file: Path) -> None:
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
    line = error.lineno if isinstance(error, SyntaxError) else _last_line(error, file)
    where = "" if line is None else f" in line {line}"
    why = f": {error}" if isinstance(error, (ImportError, NameError)) else ""
    return f"cannot be imported, {type(error).__name__}{where}{why}"


def _last_line(error: Exception, file: Path) -> int | None:
    line, frame = None, error.__traceback__
    while frame is not None:
        if Path(frame.tb_frame.f_code.co_filename) == file.resolve():
            line = frame.tb_lineno
        frame = frame.tb_next
    return line
