"""Fields of forms, and what came back from them: texts, as a command line has them.

What a field is called, may hold and means is read from the declarations that the command line reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin

from tabveil.core.settings import values, yaml_files
from tabveil.core.settings.registry import SettingType
from tabveil.core.wording import begin

Form = Mapping[str, Sequence[str]]
"""What a form sent: the values of each field."""

Kind = Literal["text", "number", "lines", "flag", "choice", "many"]
Choice = tuple[str, str]
"""A value, and what it is called."""

USUAL = ""
"""The value of a choice that nobody made."""

_LINE = 60


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field: its name in the form, what stands beside it, and what stands in it."""

    name: str
    label: str
    kind: Kind = "text"
    help: str = ""
    value: str = ""
    chosen: tuple[str, ...] = ()  # of many
    choices: tuple[Choice, ...] = ()
    needed: bool = False

    def filled(self, form: Form) -> Self:
        """Return the same with what somebody wrote in it, if the form was sent."""
        if self.kind == "many":
            return replace(self, chosen=tuple(form.get(self.name, ())))
        return replace(self, value=verbatim(form, self.name)) if self.name in form else self


def one(form: Form, name: str) -> str:
    """Return the one value of a field; empty where it was not sent."""
    return form.get(name, [""])[0].strip()


def verbatim(form: Form, name: str) -> str:
    """Return the one value of a field as it is: a name may begin with a space."""
    return form.get(name, [""])[0]


def lines(form: Form, name: str) -> tuple[str, ...]:
    """Return the lines of a field that say something."""
    return tuple(line.strip() for line in one(form, name).split("\n") if line.strip())


def label_of(name: str) -> str:
    """Write the name of a setting as a label.

    >>> label_of("quasi_identifiers")
    'Quasi identifiers'
    """
    return begin(name.replace("_", " "))


def setting_field(name: str, setting: SettingType, value: object = MISSING) -> Field:
    """Return the field of a setting of a generator, by its type."""
    usual = setting.default
    shown = usual if value is MISSING else value
    said = "" if isinstance(shown, type(MISSING)) else written(shown)
    help_text = f"{begin(values.expected(setting.hint))}; {written(usual) or 'nothing'} if left as it is."
    options = _options(setting.hint)
    if options:
        return Field(
            name=name, label=label_of(name), kind="choice", value=said, choices=options, help=help_text
        )
    long = _holds_mappings(setting.hint)
    return Field(
        name=name,
        label=label_of(name),
        kind="lines" if long or len(said) > _LINE else "text",
        value=said,
        help=f"{help_text} Written as YAML." if long else help_text,
    )


def read_setting(name: str, setting: SettingType, text: str) -> Any:  # noqa: ANN401 - plain data, of any type
    """Read what stands in such a field: plain data, as they may stand in a file."""
    if not _holds_mappings(setting.hint):
        return text
    found = yaml_files.parse(text, name) if text else None
    return [] if found is None and get_origin(setting.hint) is tuple else {} if found is None else found


def written(value: object) -> str:
    """Write a value so that it is read as the same: lists with their separators, mappings as YAML."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case Mapping():
            return yaml_files.to_yaml(value).strip() if value else ""
        case tuple() | list():
            return _listed(value)
        case _:
            return str(value)


def _listed(value: Sequence[Any]) -> str:
    if any(isinstance(item, Mapping) for item in value):
        return "\n".join(f"- {_in_line(item)}" for item in value)
    if any(isinstance(item, (tuple, list)) for item in value):
        deeper = any(isinstance(part, (tuple, list)) for item in value for part in item)
        return (";" if deeper else "|").join(map(_listed, value))
    return ",".join(map(str, value))


def _in_line(item: object) -> str:
    """Write a mapping as JSON, which is YAML, in one line."""
    import json  # noqa: PLC0415 - seldom

    return json.dumps(item, ensure_ascii=False)


def _options(hint: Any) -> tuple[Choice, ...]:  # noqa: ANN401 - whatever type a setting has
    if hint is bool:
        return (("true", "yes"), ("false", "no"))
    if get_origin(hint) is Literal:
        return tuple((str(item), str(item)) for item in get_args(hint))
    return ()


def _holds_mappings(hint: Any) -> bool:  # noqa: ANN401 - whatever type a setting has
    if get_origin(hint) in {Union, UnionType}:
        return any(_holds_mappings(part) for part in get_args(hint) if part is not NoneType)
    inner = get_args(hint)
    return get_origin(hint) is Mapping or (
        get_origin(hint) is tuple and bool(inner) and _holds_mappings(inner[0])
    )


def choices_of(names: Iterable[str]) -> tuple[Choice, ...]:
    """Let names stand for themselves."""
    return tuple((name, name) for name in names)
