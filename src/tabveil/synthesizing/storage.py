"""A learned generator's folder: the model, and the form its rows are written in."""

import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from tabveil.errors import ParameterError
from tabveil.frame import Layout, layout_json
from tabveil.frame.raw_column import Kind
from tabveil.generators import FittedModel, load_model
from tabveil.table import Categorical, Schema
from tabveil.writing import write_text

LAYOUT = "layout.json"


class StoredFolder(NamedTuple):
    """What stood in a folder."""

    model: FittedModel
    layout: Layout
    declared: frozenset[str]


def refuse_existing(folder: Path) -> None:
    """Never write into a folder that is there: a model may be the only trace of what was released."""
    if folder.exists():
        raise ParameterError(f"{folder} is already there; choose another folder for the model.")


def save(folder: Path, model: FittedModel, layout: Layout, declared: frozenset[str]) -> None:
    """Write model and layout into a new folder, whole or not at all."""
    refuse_existing(folder)
    temporary = folder.with_name(f".{os.getpid()}-{folder.name}")
    try:
        model.save(temporary)
        about = {**layout_json.to_json(layout), "declared": sorted(declared)}
        write_text(temporary / LAYOUT, json.dumps(about, indent=1) + "\n")
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def open_folder(folder: Path) -> StoredFolder:
    """Read what :func:`save` wrote."""
    model = load_model(folder)
    try:
        about = json.loads((folder / LAYOUT).read_text(encoding="utf-8"))
        layout = layout_json.from_json(about)
        declared = frozenset(map(str, about["declared"]))
    except FileNotFoundError:
        raise ParameterError(
            f"{folder}: the model was stored without the form of its data; use tabveil.load_model in Python."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, ParameterError):
            raise ParameterError(f"{folder}: {error}") from None
        raise ParameterError(f"{folder}: {LAYOUT} cannot be read; fit the model again.") from None
    if not _belong_together(model.schema, layout):
        raise ParameterError(f"{folder}: {LAYOUT} belongs to another model; fit the model again.")
    return StoredFolder(model, layout, declared)


def _belong_together(schema: Schema, layout: Layout) -> bool:
    labels = {name: place.kind in (Kind.LABELS, Kind.BOOLEAN) for name, place in layout.columns.items()}
    return labels == {column.name: isinstance(column, Categorical) for column in schema.columns}
