"""Which generator, with which settings: names and values, from the command line or from Python."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass

from tabveil.core.settings import values
from tabveil.core.settings.naming import SettingType, check_names, make, settings_of, values_of
from tabveil.errors import ParameterError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.models import require_synthesizer
from tabveil.synthesis.generators.privacy import PUBLIC


def choose(generator: str | Synthesizer, settings: Mapping[str, object] | None = None) -> Synthesizer:
    """Return a synthesizer with its settings checked."""
    given = dict(settings or {})
    if not isinstance(generator, str):
        if given:
            raise ParameterError("synthesize: settings belong to a generator's name; this one has its own.")
        return require_synthesizer(generator)
    kind = GENERATORS.find("synthesize", generator)
    known = settings_for_users(kind)
    if PUBLIC in given and PUBLIC not in known:
        raise ParameterError(f"{generator}: the schema says what is public; declare labels and bounds there.")
    check_names(generator, given, known)
    return require_synthesizer(make(kind, given, values.read))


def settings_for_users(kind: type) -> dict[str, SettingType]:
    """Return the settings that users may choose, each with its type and default."""
    return {name: setting for name, setting in settings_of(kind).items() if name != PUBLIC}


def summary(kind: type) -> str:
    """Return the first line of what was written about a generator, or nothing."""
    text = inspect.cleandoc(kind.__doc__ or "")
    by_itself = is_dataclass(kind) and text.startswith(f"{kind.__name__}(")  # a signature, not a sentence
    return "" if by_itself or not text else text.splitlines()[0]


def is_private(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers that promise privacy: they want to know what is public."""
    return PUBLIC in settings_of(type(synthesizer))


def pools_labels(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers whose labels are pooled: not those with a promise, nor who copies on purpose."""
    return not is_private(synthesizer) and not getattr(synthesizer, "copies_rows", False)


def keeps_dependencies(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers that keep columns which follow from others: what comes before must do so, too."""
    return bool(getattr(synthesizer, "keeps_dependencies", False))


def wants_secret_seed(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers whose promise, of whatever kind, holds only while nobody can guess the seed."""
    return is_private(synthesizer) or bool(getattr(synthesizer, "needs_secret_seed", False))


def named_labels(synthesizer: Synthesizer) -> frozenset[str]:
    """Return the columns whose labels all stand in the settings: nobody's rows had to be read for them."""
    return frozenset(getattr(synthesizer, "names_labels", ()))


def with_public(synthesizer: Synthesizer, names: Iterable[str]) -> Synthesizer:
    """Tell a private synthesizer which columns were declared, so that no row was asked about them.

    One that calls others public is refused: their labels and ranges have just been read from the rows.
    """
    if not is_private(synthesizer):
        return synthesizer
    known, public = values_of(synthesizer), tuple(names)
    for name in known[PUBLIC]:
        if name not in public:
            raise ParameterError(
                f"{synthesizer.name}: the schema says what is public, and does not declare all of {name!r}."
            )
    return make(type(synthesizer), {**known, PUBLIC: public}, lambda *given: given[2])
