"""A release as a form: any generator that there is, with its settings, and the file that asks for it."""

from collections.abc import Mapping
from typing import Any

from tabveil.core.settings import values, yaml_files
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS
from tabveil.web.forms import Field, Form, choices_of, one, read_setting, setting_field
from tabveil.workflows import synthesizing
from tabveil.workflows.synthesizing import configuration

OWN = "setting."
"""Before the name of a generator's own settings."""

OUT = "rows.csv"


def fields(generator: str) -> tuple[Field, ...]:
    """Return the fields of a generator's settings, as they are if nothing is said."""
    found = []
    for name, setting in synthesizing.settings_for_users(GENERATORS[generator]).items():
        field = setting_field(name, setting)
        found.append(Field(**{**vars(field), "name": f"{OWN}{name}"}))
    return tuple(found)


def fields_around() -> tuple[Field, ...]:
    """Return the fields of what is asked around every generator."""
    usual = ("", "as usual")
    return (
        Field(name="rows", label="Rows", kind="number", help="How many rows to draw; as many as the data."),
        Field(
            name="seed",
            label="Seed",
            kind="number",
            help="Same seed, same rows; left out: 0, or a secret one.",
        ),
        Field(
            name="rare_labels",
            label="Rare labels",
            kind="choice",
            choices=(usual, *choices_of(("pool", "keep"))),
            help="Labels that fewer than ten rows share are learned as 'other' (pool), or as they are.",
        ),
        Field(
            name="identifiers",
            label="Identifiers",
            kind="choice",
            choices=(usual, *choices_of(("fresh", "drop", "learn"))),
            help="Columns that name people: fresh ones of the same form, left out, or learned as they are.",
        ),
    )


def asked(generator: str, form: Form, *, schema: str | None, missing: tuple[str, ...]) -> dict[str, Any]:
    """Return what a form asks for, as a file says it; what is left as it is does not stand there."""
    settings = _settings(generator, form)
    said: dict[str, Any] = {"generator": generator}
    if settings:
        said["settings"] = settings
    for name in ("rows", "seed"):
        if text := one(form, name):
            said[name] = values.read("release", name, text, int)
    for name in ("rare_labels", "identifiers"):
        if text := one(form, name):
            said[name] = text
    if schema is not None:
        said["schema"] = schema
    if missing:
        said["missing"] = list(missing)
    synthesizing.choose(generator, settings)
    configuration.read(said)
    return said


def _settings(generator: str, form: Form) -> dict[str, Any]:
    """Read those settings of a generator that are not as usual."""
    found: dict[str, Any] = {}
    known = synthesizing.settings_for_users(GENERATORS.find("generator", generator))
    for name, setting in known.items():
        given = read_setting(name, setting, one(form, f"{OWN}{name}"))
        if f"{OWN}{name}" not in form or (given == "" and setting.default != ""):
            continue
        value = values.read(generator, name, given, setting.hint)
        if value != setting.default:
            found[name] = value
    return found


def file(said: Mapping[str, Any]) -> str:
    """Return the file that asks for this release."""
    if not said.get("generator"):
        raise ParameterError("release", "name a generator.")
    return "# How this release is made: tabveil synthesize --config reads it.\n" + yaml_files.to_yaml(
        {key: _plain(value) for key, value in said.items()}
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - plain data, but for tuples
    match value:
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case tuple() | list():
            return [_plain(item) for item in value]
        case _:
            return value
