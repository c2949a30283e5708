"""The tables of one database: a folder with a file for each, or a mapping of names to files or dataframes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabveil.core import check
from tabveil.core.check import listed, nearest, quoted
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.reading import sources
from tabveil.tables.reading.files import ARROW, SHEETS, TEXT, Source
from tabveil.tables.reading.folder import PARQUET

_ENDINGS = (*TEXT, *PARQUET, *ARROW, *SHEETS, *(f"{ending}.gz" for ending in TEXT))


def tables_of(given: Any, tables: Sequence[str], role: str) -> dict[str, Source]:  # noqa: ANN401 - see above
    """Read these tables of a database; what else lies there is left alone."""
    places = places_in(given, role)
    found = {}
    for table in tables:
        if table not in places:
            close = nearest(table, [str(name) for name in places])
            hint = f"Did you mean {quoted(table)} by {quoted(close)}?" if close else ""
            where = "the mapping" if isinstance(given, Mapping) else f"the folder {quoted(Path(given).name)}"
            raise SchemaError(role, f"{where} has no table {quoted(table)}.", hint=hint)
        try:
            found[table] = sources.read(places[table], role, lazily=True)
        except (SchemaError, ParameterError) as error:
            raise type(error)(table, error) from None
    return found


def others_in(given: Any, tables: Sequence[str], role: str) -> tuple[str, ...]:  # noqa: ANN401 - see above
    """Return the tables that lie in a database and that nobody named."""
    return tuple(sorted(str(name) for name in places_in(given, role) if name not in tables))


def places_in(given: Any, role: str) -> Mapping[str, Any]:  # noqa: ANN401 - see above
    """Return where each table of a database is: a path, or the table itself."""
    return given if isinstance(given, Mapping) else _files(given, role)


def _files(folder: Any, role: str) -> dict[str, Path]:  # noqa: ANN401 - whatever was given for a folder
    """Return the files of a folder, or folders of Parquet files, by the names of their tables."""
    if not isinstance(folder, (str, Path)):
        raise ParameterError(role, f"expected a folder, or a mapping of tables, got {type(folder).__name__}.")
    place = Path(folder)
    if not place.is_dir():
        what = "is not a folder" if place.exists() else "does not exist"
        raise ParameterError(role, f"{check.shown(place, 160)} {what}; name a folder with one file a table.")
    found: dict[str, list[Path]] = {}
    for path in sorted(place.iterdir()):
        name = _table_name(path)
        if name is not None:
            found.setdefault(name, []).append(path)
    for name, paths in found.items():
        if len(paths) > 1:
            several = listed([path.name for path in paths])
            raise SchemaError(role, f"table {quoted(name)} has {len(paths)} files ({several}); keep one.")
    return {name: paths[0] for name, paths in found.items()}


def _table_name(path: Path) -> str | None:
    if path.name.startswith((".", "_")):
        return None
    if path.is_dir():
        return path.name
    ending = next((ending for ending in _ENDINGS if path.name.lower().endswith(ending)), None)
    return None if ending is None else path.name[: -len(ending)]
