"""Attacker profiles: who may attack, what they know, what they want (a YAML of the user's threat model).

>>> known = read({"attackers": [{"name": "colleague", "knows": ["age", "sex"], "wants": ["income"]}]})
>>> known[0].name, known[0].wants
('colleague', ('income',))
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from tabveil.core.settings import yaml_files
from tabveil.core.settings.yaml_files import Strict

Columns = Annotated[tuple[str, ...], Field(min_length=1)]


class Attacker(Strict):
    """One attacker: columns they know of a person, columns they want to learn, sources they want to join."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    knows: Columns | None = None
    wants: Columns | None = None
    links: tuple[Columns, Columns] | None = None

    @model_validator(mode="after")
    def _complete(self) -> "Attacker":
        if self.links is None and self.wants is None:
            raise ValueError("must say what the attacker wants, or which two sets of columns they link")
        if self.knows is not None and self.wants is None:
            raise ValueError("says what the attacker knows but not what they want")
        if self.wants is not None and set(self.wants) & set(self.knows or ()):
            raise ValueError("knows and wants must not share a column")
        if self.links is not None and set(self.links[0]) & set(self.links[1]):
            raise ValueError("the two sets of links must not share a column")
        return self

    def columns(self) -> tuple[str, ...]:
        """Return every column the profile names."""
        linked = () if self.links is None else (*self.links[0], *self.links[1])
        return (*(self.knows or ()), *(self.wants or ()), *linked)


class AttackerFile(Strict):
    """The whole file."""

    attackers: tuple[Attacker, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> "AttackerFile":
        names = [attacker.name for attacker in self.attackers]
        if len(set(names)) < len(names):
            raise ValueError("attackers must have different names")
        return self


def read(source: str | Path | Mapping[str, Any] | Sequence[Any] | None) -> tuple[Attacker, ...]:
    """Read profiles from a file, a mapping or a list; None means that nobody in particular is expected."""
    if isinstance(source, Sequence) and not isinstance(source, str):
        source = {"attackers": source}
    return yaml_files.read(source, AttackerFile, "attackers").attackers
