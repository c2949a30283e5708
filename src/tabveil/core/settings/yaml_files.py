"""Files that people write (schema, attackers, policy, a whole audit): YAML or JSON, read and written.

They are checked by a model, and a fault is told in a line. Nothing in a file may be said twice, because
nobody could tell which of the two counts; nor may it refer to itself, or grow when it is read.
"""

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from tabveil.core import check
from tabveil.core.storage.files import Unreadable, read_bytes
from tabveil.errors import ParameterError, SchemaError

SUFFIXES = (".yaml", ".yml", ".json")
_LONGEST = 200
_YAML_WIDTH = 66  # a list ends its line after the item that reaches it
_DEEPEST = 40  # levels of lists and mappings; the deepest of ours has nine
_LARGEST = 2**63  # what no whole number reaches
_MOST_BYTES = 1 << 24  # of a file; the largest of ours list the labels of columns
_REPEATED = 10  # times as much as is written may stand there once names for parts are followed
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class Strict(BaseModel):
    """A model that knows all its keys and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Strict)


def read(source: str | Path | Mapping[str, Any] | Model | None, model: type[Model], what: str) -> Model:
    """Read a file or a mapping into a model; None says nothing about anything."""
    if source is None:
        return model()
    if isinstance(source, model):
        return source
    where = place(source, what)
    data = load(Path(source), where) if isinstance(source, (str, Path)) else source
    if not isinstance(data, Mapping):
        keys = " or ".join(model.model_fields)
        raise SchemaError(where, f"the top level must hold the keys {keys}.")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise SchemaError(where, complaint(error)) from None


def place(source: object, what: str) -> str:
    """Say where settings stand, for a complaint: a file by its name."""
    return f'{what} "{check.shown(Path(source).name, 80)}"' if isinstance(source, (str, Path)) else what


def complaint(error: ValidationError) -> str:
    """Tell the first fault in a line that begins with its key."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(_short(part) for part in first["loc"] if part != "[key]") or "the file"
    unknown = first["type"] == "extra_forbidden"
    problem = "unknown key" if unknown else first.get("ctx", {}).get("error", first["msg"])
    return f"{key}: {_short(problem)}."


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def load(path: Path, where: str) -> Any:  # noqa: ANN401 - YAML
    """Return what a YAML or JSON file says."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(where, f"the name must end in {', '.join(SUFFIXES)}.")
    try:
        check.ordinary_file(where, path)
        written = read_bytes(path, most=_MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(where, "there is no such file.") from None
    except UnicodeDecodeError:
        raise ParameterError(where, "cannot be read: it is not UTF-8 text.") from None
    except (OSError, Unreadable) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ParameterError(where, f"cannot be read: {reason}.") from None
    return parse(written, where, as_json=path.suffix.lower() == ".json")


def parse(written: str, where: str, *, as_json: bool = False) -> Any:  # noqa: ANN401 - YAML
    r"""Return what a text of YAML, or of JSON, says; ``where`` is who complains.

    >>> parse("seed: 1\nseed: 2", "policy")
    Traceback (most recent call last):
    ...
    tabveil.errors.SchemaError: policy: line 2: key 'seed' stands there twice.
    """
    try:
        data = json.loads(written, object_pairs_hook=_mapping) if as_json else _from_yaml(written)
        _require_modest(data, _REPEATED * len(written) + 1000)
    except json.JSONDecodeError as error:
        raise SchemaError(where, f"line {error.lineno}: not valid JSON.") from None
    except _Refused as error:
        raise SchemaError(where, str(error)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark is not None else ""
        raise SchemaError(f"{where}:{line} not valid YAML.") from None
    except (ValueError, RecursionError, TypeError, AttributeError, LookupError, ArithmeticError):
        # Tags such as !!timestamp may stand before anything, and YAML's own readers do not expect it.
        raise SchemaError(where, "not valid YAML or JSON.") from None
    return data


class _Refused(Exception):  # noqa: N818 - caught where it is worded
    """What a file says can be parsed, but not be meant."""


def _mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"key {check.quoted(twice)} stands there twice.")
    return found


class _Loader(yaml.SafeLoader):
    """YAML as everybody reads it, but for keys that stand twice, of which the last would win."""

    def compose_mapping_node(self, anchor: Any) -> Any:  # noqa: ANN401 - YAML's own
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    line = key.start_mark.line + 1
                    raise _Refused(f"line {line}: key {check.quoted(key.value)} stands there twice.")
                seen.add((key.tag, key.value))
        return node


def _from_yaml(written: str) -> Any:  # noqa: ANN401 - YAML
    return yaml.load(written, _Loader)  # noqa: S506 - a safe one


def _require_modest(data: object, most: int) -> None:
    """Refuse what would overrun whoever reads it: too deep, endless, larger than it was written, no text."""
    waiting: list[tuple[object, int]] = [(data, 0)]
    n_parts = 0
    while waiting:
        item, depth = waiting.pop()
        n_parts += 1
        if depth > _DEEPEST or n_parts > most:
            raise _Refused("lists and mappings lie too deep in each other, or in themselves.")
        match item:
            case str() if not _is_text(item):
                raise _Refused(f"{check.quoted(item)} holds half a character.")
            case int() if abs(item) >= _LARGEST:
                raise _Refused("a whole number has more than 18 digits.")
            case Mapping():
                waiting += [(part, depth + 1) for pair in item.items() for part in pair]
            case list() | tuple() | set():
                waiting += [(part, depth + 1) for part in item]


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_yaml(data: Mapping[str, Any]) -> str:
    """Write plain data as YAML that :func:`load` reads as the same.

    Where the texts of a setting hold characters that have no picture or turn the text around them, all that
    is not ASCII in it is spelled by number, so that nothing in the file can pretend to be something else.

    >>> print(to_yaml({"secrets": ["naïve", "yes"], "seed": 3}), end="")
    secrets: [naïve, 'yes']
    seed: 3
    """
    return "".join(
        yaml.safe_dump(
            {key: value},
            allow_unicode=not any(
                unicodedata.category(char) in _UNSEEN for text in _texts({key: value}) for char in text
            ),
            sort_keys=False,
            default_flow_style=None if isinstance(value, (Mapping, list)) else False,  # short lists in a line
            width=_YAML_WIDTH,
        )
        for key, value in data.items()
    )


def _texts(data: object) -> Iterator[str]:
    match data:
        case str():
            yield data
        case Mapping():
            for key, value in data.items():
                yield from (*_texts(key), *_texts(value))
        case list() | tuple():
            for value in data:
                yield from _texts(value)
