"""Generators that make a release: chosen by name, checked before anything is learned, fitted, drawn from."""

from collections.abc import Mapping

from numpy.random import Generator

from tabveil.core.settings import values
from tabveil.core.settings.registry import make, settings_of, values_of
from tabveil.core.table import Schema, Table
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, SchemaError
from tabveil.protocols import Release, Synthesizer
from tabveil.synthesis.generators import GENERATORS, Account
from tabveil.synthesis.generators.models import require_model, require_synthesizer
from tabveil.synthesis.generators.privacy import PUBLIC


def choose(
    owner: str,
    generator: str,
    settings: Mapping[str, object],
    *,
    by_level: Mapping[str, object] | None = None,
    otherwise: Mapping[str, object] | None = None,
) -> Synthesizer:
    """Return a synthesizer with its settings checked.

    ``by_level`` are settings that the level says, so that nobody may give them besides; ``otherwise`` are
    used where the generator has such a setting and nobody gave it.
    """
    kind = GENERATORS.find(owner, generator)
    if not isinstance(settings, Mapping):
        raise ParameterError(f"{owner}: settings must be names and values, got {settings!r}.")
    for name in by_level or {}:
        if name in settings:
            raise ParameterError(f"{owner}: settings must not have {name!r}: the level says it.")
    if PUBLIC in settings:
        raise ParameterError(f"{owner}: settings must not have {PUBLIC!r}: all columns are.")
    known = settings_of(kind)
    defaults = {name: value for name, value in (otherwise or {}).items() if name in known}
    return require_synthesizer(make(kind, {**defaults, **settings, **(by_level or {})}, values.read))


def require_setting(owner: str, generator: str, setting: str, what: str) -> None:
    """Require a generator that has a setting; ``what`` says in words what it then can do."""
    if setting not in settings_of(GENERATORS.find(owner, generator)):
        able = ", ".join(name for name, kind in GENERATORS.items() if setting in settings_of(kind))
        raise ParameterError(f"{owner}: generator must be one that {what} ({able}), got {generator!r}.")


def fit_and_draw(
    owner: str, synthesizer: Synthesizer, train: Table, release: Table, *, rng: Generator
) -> tuple[Release, Account]:
    """Learn from train and draw as many rows as ``release`` has; also return what the model tells of itself.

    The facts of the release are the ``epochs`` that the model was trained for, and ``epsilon`` and ``delta``
    as they were accounted for; what a model does not tell is left out.
    """
    if train.schema != release.schema:
        raise SchemaError(f"{owner}: train and release must have the same schema.")
    synthesizer = _with_everything_public(synthesizer, train.schema)
    model = require_model(synthesizer.name, synthesizer.fit(train, rng=rng))
    told = Account.of(model)
    if INTERRUPTED in told.notes:  # a model that was not trained to its end has another risk than the level's
        raise KeyboardInterrupt
    rows = model.sample(len(release), rng=rng)
    if rows.schema != release.schema:
        raise SchemaError(f"{owner}: {model.name} must draw rows of the schema that it learned.")
    facts = {"epochs": float(len(told.history))} if told.history else {}
    if told.privacy is not None:
        facts |= {"epsilon": told.privacy.epsilon, "delta": told.privacy.delta}
    return Release(rows=rows, facts=facts), told


def _with_everything_public(synthesizer: Synthesizer, schema: Schema) -> Synthesizer:
    """Declare all columns to whoever promises privacy.

    In a benchmark one schema describes train and rows that nobody learns from alike, so it tells as little
    about who is in train as a declaration would. What protects people is then the noise alone.
    """
    known = values_of(synthesizer)
    if PUBLIC not in known:
        return synthesizer
    return make(type(synthesizer), {**known, PUBLIC: schema.names}, lambda *setting: setting[2])
