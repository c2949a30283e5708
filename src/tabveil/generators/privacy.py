"""A promise of differential privacy, and in words what it rests on: the same for all private generators."""

from dataclasses import dataclass
from typing import Any, Self

from tabveil.frame.wording import listed
from tabveil.table import Schema

KEEP_THE_SEED = "The promise holds while the seed is secret: who knows it can take the noise away."
NUMBER_OF_ROWS = (
    "The promise covers the model. Releasing exactly as many rows as were learned from tells how many "
    "they were."
)
WARNING = "WARNING"
"""How a note begins that must not be overlooked."""
_NAMED = 5  # columns that a note lists


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """A promise of differential privacy, with everything it rests on.

    ``adjacency`` says which two tables count as neighbors; ``public`` names the columns whose labels and
    bounds the user declared, ``read_from_data`` those where they were read from the rows, which the promise
    does not cover.
    """

    mechanism: str
    epsilon: float
    delta: float
    accountant: str
    adjacency: str
    public: tuple[str, ...] = ()
    read_from_data: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "public": list(self.public), "read_from_data": list(self.read_from_data)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        parts = {name: tuple(data[name]) for name in ("public", "read_from_data")}
        return cls(**{**data, **parts})


def by_declaration(schema: Schema, public: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns whose domain the user declared, and those where it was read from the rows."""
    return (
        tuple(name for name in schema.names if name in public),
        tuple(name for name in schema.names if name not in public),
    )


def conditions(privacy: Privacy) -> tuple[str, ...]:
    """Say what the promise does not cover, loudly where that is the data themselves."""
    undeclared = privacy.read_from_data
    if not undeclared:
        return KEEP_THE_SEED, NUMBER_OF_ROWS
    more = f" and {len(undeclared) - _NAMED} more" if len(undeclared) > _NAMED else ""
    of = len(undeclared) + len(privacy.public)
    warning = (
        f"{WARNING}: the promise of ε = {privacy.epsilon:g} does not cover the labels and bounds of "
        f"{len(undeclared)} of {of} columns ({', '.join(undeclared[:_NAMED])}{more}), nor whether they have "
        "missing values: these were read from the data. Declare them in a schema file."
    )
    return warning, KEEP_THE_SEED, NUMBER_OF_ROWS


def state_promise(privacy: Privacy) -> str:
    """Say what a private generator promises."""
    return (
        f"Differential privacy: ε = {privacy.epsilon:g}, δ = {privacy.delta:g}. {privacy.mechanism}. "
        f"{privacy.adjacency.rstrip('.')}. Accountant: {privacy.accountant}."
    )


def state_uncovered(privacy: Privacy) -> str:
    """Say which columns the promise does not cover, and what to do about it."""
    return (
        f"{WARNING}: labels and ranges of {listed(privacy.read_from_data)} were read from the data, which "
        "the promise does not cover. Declare them with --schema: labels of a category, low and high of "
        "numbers and dates, decimals of a real number, unit of a datetime."
    )
