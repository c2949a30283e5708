"""What can go wrong, by whose doing."""

import re
from typing import Any, Self

LONGEST_VALUE = 80
"""So many characters at most of what somebody wrote are said back."""

_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_LONG = re.compile(rf"(?<![^\W_])(?:{_QUOTED})(?![^\W_])|\S{{{LONGEST_VALUE + 1},}}", re.DOTALL)
_LISTED = re.compile(r"(?<=got )[\[({].*[\])}]", re.DOTALL)


def shortened(message: str) -> str:
    """Return a message in which no value is longer than a line: one in quotes, a list, a word without end.

    Their two ends stay, as the end of a path says which file it is.

    >>> shortened(f"no column {'x' * 100!r}.")
    "no column 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'."
    """
    return _LONG.sub(_cut, _LISTED.sub(_cut, message)) if len(message) > LONGEST_VALUE else message


def cut(value: str) -> str:
    """Return a value that is no longer than a line, or both its ends."""
    half = LONGEST_VALUE // 2
    return value if len(value) <= LONGEST_VALUE else f"{value[:half]}…{value[1 - half :]}"


def told(value: object) -> str:
    """Return a value as Python writes it, no longer than a line.

    >>> told("0.1"), told(None)
    ("'0.1'", 'None')
    """
    return cut(repr(value))


def _cut(found: re.Match[str]) -> str:
    text = found.group()
    return f"{text[0]}{cut(text[1:-1])}{text[0]}" if text[0] in "'\"" else cut(text)


class TabveilError(ValueError):
    """Anything tabveil refuses, with a message meant for the person at the keyboard.

    It is told whom it concerns (an option, a column, a file), from the outside in, then what is wrong, or an
    error that says so; at last, as ``hint``, what to do about it. They become one line where it is printed.

    >>> error = ParameterError("attack", "no metric 'mdm'.", hint="Did you mean 'mmd'?")
    >>> print(ParameterError("audit.yaml", error))
    audit.yaml: attack: no metric 'mdm'. Did you mean 'mmd'?
    """

    hint: str

    def __init__(self, *said: object, hint: str = "") -> None:
        *owners, problem = said
        if isinstance(problem, TabveilError):
            owners += problem.owners
            hint, problem = f"{problem.hint} {hint}".strip(), problem.problem
        super().__init__(*map(str, owners), str(problem))
        self.hint = hint

    @property
    def owners(self) -> tuple[str, ...]:
        """Whom it concerns, from the outside in."""
        return self.args[:-1]

    @property
    def problem(self) -> str:
        """What is wrong."""
        return str(self.args[-1])

    def without(self, owner: str) -> Self:
        """Return what is said of this owner, for somebody who names another in its place."""
        said = self.args[1:] if self.owners[:1] == (owner,) else self.args
        found: Self = _again(type(self), said, self.__dict__)
        return found

    def __str__(self) -> str:
        line = shortened(": ".join((*map(cut, self.owners), self.problem)))
        return f"{line} {self.hint}" if self.hint else line  # a hint stays whole: it may name a file

    def __reduce__(self) -> tuple[Any, ...]:
        """Come whole from another process, whatever a kind of error is made of."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[TabveilError], said: tuple[str, ...], fields: dict[str, Any]) -> Any:  # noqa: ANN401 - of that kind
    error = kind.__new__(kind, *said)
    error.__dict__.update(fields)
    return error


class SchemaError(TabveilError):
    """The tables themselves are at fault: columns, types or values do not fit."""


class ParameterError(TabveilError):
    """A parameter is out of range or names something that does not exist."""


class NotApplicable(TabveilError):  # noqa: N818 - an answer ("cannot be asked here"), not a fault
    """A metric has no answer for these tables; an audit records it as skipped."""


class NothingToAsk(NotApplicable):
    """A metric asks about something that these tables do not have; an audit of everything passes over it."""
