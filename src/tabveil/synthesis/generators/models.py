"""Any model, ours or a user's: what it must be, what it may tell, and how it is stored and opened again.

Everything here knows generators and models by their protocols only. A stored model's folder says by name who
made it, and that synthesizer opens it: ours write the name into their own ``model.json``, beside the files of
any other model it is put into ``generator.json``.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tabveil.core.settings.registry import Registry
from tabveil.core.storage.files import Unreadable, new_folder, opening, read_json, require_format
from tabveil.core.table import Schema
from tabveil.engines.networks import Epoch
from tabveil.errors import ParameterError
from tabveil.protocols import Model, Synthesizer
from tabveil.synthesis.generators.privacy import Privacy
from tabveil.version import __version__

GENERATORS: Registry[Synthesizer] = Registry("generator", ())
"""Every registered synthesizer by its name; one of your own joins with ``GENERATORS.add(Mine)``."""

FORMAT, FORMAT_KEY = 1, "tabveil_model"
MODEL, MAKER = "model.json", "generator.json"


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a model tells about itself. Nothing of it is required; here stands what its absence means."""

    notes: tuple[str, ...] = ()
    privacy: Privacy | None = None
    history: tuple[Epoch, ...] = ()

    @classmethod
    def of(cls, model: Model) -> Self:
        """Ask a model."""
        notes = getattr(model, "notes", ())
        privacy = getattr(model, "privacy", None)
        if not (privacy is None or isinstance(privacy, Privacy)):
            raise ParameterError(f"{model.name}: privacy must be a Privacy, got {type(privacy).__name__}.")
        return cls(
            notes=(notes,) if isinstance(notes, str) else tuple(notes),
            privacy=privacy,
            history=tuple(getattr(model, "history", ())),
        )


def require_synthesizer(thing: Any) -> Synthesizer:  # noqa: ANN401 - it is what is found out
    """Return it if it is a synthesizer, or say what it lacks."""
    if isinstance(thing, type):
        raise ParameterError(f"generator: expected an object, got the class {thing.__name__}.")
    owner = f"generator {type(thing).__name__}"
    if not isinstance(getattr(thing, "name", None), str):
        raise ParameterError(f"{owner}: must have a name, such as name = 'my_own'.")
    _require_methods(owner, thing, ("fit", "load"))
    if GENERATORS.get(thing.name, type(thing)) is not type(thing):
        raise ParameterError(f"{owner}: there is a generator called {thing.name!r} already; rename it.")
    found: Synthesizer = thing
    return found


def require_model(name: str, thing: Any) -> Model:  # noqa: ANN401 - it is what is found out
    """Return it if it is a model that the synthesizer of this name made, or say what it lacks."""
    owner = f"{name}: the model {type(thing).__name__}"
    _require_methods(owner, thing, ("sample", "save"))
    if not isinstance(getattr(thing, "schema", None), Schema):
        raise ParameterError(f"{owner}: must have the schema of the table it learned from.")
    if getattr(thing, "name", None) != name:
        raise ParameterError(f"{owner}: must have the name of its generator, {name!r}.")
    found: Model = thing
    return found


def _require_methods(owner: str, thing: object, names: tuple[str, ...]) -> None:
    for name in names:
        if not callable(getattr(thing, name, None)):
            raise ParameterError(f"{owner}: must have a method {name}; see tabveil.protocols.")


def save_model(model: Model, folder: Path) -> None:
    """Store a model in a new folder, whole or not at all, such that :func:`load_model` opens it."""
    with new_folder(folder) as place:
        model.save(place)
        if not place.is_dir():
            raise ParameterError(f"{model.name}: save must make the folder it is given.")
        if (place / MAKER).exists():
            raise ParameterError(f"{model.name}: save must not write {MAKER}, which says who made it.")
        if not _names_its_maker(place, model.name):
            about = {FORMAT_KEY: FORMAT, "version": __version__, "generator": model.name}
            (place / MAKER).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def load_model(folder: str | Path) -> Model:
    """Read a model that was saved, to draw more rows from it."""
    place = Path(folder)
    with opening(place):
        name = _maker(place)
        if name not in GENERATORS:
            raise ParameterError(
                f"the model is by {name!r}, which is no generator here; one of your own joins with "
                "tabveil.synthesis.generators.GENERATORS.add."
            )
    return require_model(name, GENERATORS[name].load(place))


def _maker(place: Path) -> str:
    """Return the name of the generator that a folder says it is from."""
    file = MAKER if os.path.lexists(place / MAKER) else MODEL
    about = read_json(place / file)
    require_format(about, FORMAT_KEY, FORMAT)
    name = about.get("generator")
    if not isinstance(name, str):
        raise Unreadable(f"{file} does not say who made the model")
    return name


def _names_its_maker(place: Path, name: str) -> bool:
    try:
        return _maker(place) == name
    except (OSError, ValueError):  # a user's own files, of whatever form
        return False
