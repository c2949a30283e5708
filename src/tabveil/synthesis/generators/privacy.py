"""A promise of differential privacy, and in words what it rests on: the same for all private generators."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from tabveil.core.storage.plain import PlainData, require_plain
from tabveil.core.table import Categorical, Schema, Table
from tabveil.errors import ParameterError
from tabveil.tables.matrices.bins import Levels

Fact = Literal[
    "labels", "range", "lowest value", "highest value", "decimals", "unit", "missing values", "form"
]
"""What may be read from the rows of a column: its labels, or its range (or one end of it) and how fine its
values are; whether any are missing; and its form, that is the type it has and the way values are written."""

PUBLIC = "public"
"""The setting that names the columns whose domain was declared. Whoever has it promises privacy."""
PARTLY = "partly"
"""The setting that says what was read of columns of which a part is declared: each name, then the facts."""

WARNING = "WARNING"
"""How a note begins that must not be overlooked."""
KEEP_THE_SEED = "The promise holds while the seed is secret: who knows it can take the noise away."
SEED_GIVEN = (
    f"{WARNING}: the seed was given. What is promised holds only if nobody can guess it: a small number is "
    "guessed at once. Leave it out, and a secret one is drawn."
)
SEED_IS_TOLD = (
    "No promise of ε holds of what was fitted here: its seeds follow from the one that is told. For a "
    "release, fit anew with a secret one."
)
NUMBER_OF_ROWS = (
    "The promise covers the model. Releasing exactly as many rows as were learned from tells how many "
    "they were."
)
_NAMED = 5  # columns that a note lists
_SAME = 1e-9  # relative difference of two machines that compute one number


@dataclass(frozen=True, kw_only=True)
class Privacy(PlainData):
    """A promise of differential privacy, with everything it rests on.

    ``adjacency`` says which two tables count as neighbors; ``public`` names the columns about which the user
    declared everything, ``read_from_data`` what was read from the rows of each of the others, which the
    promise does not cover.
    """

    mechanism: str
    epsilon: float
    delta: float
    accountant: str
    adjacency: str
    public: tuple[str, ...] = ()
    read_from_data: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)

    @classmethod
    def over(
        cls,
        schema: Schema,
        public: Collection[str],
        partly: Iterable[tuple[str, ...]] = (),
        **promised: Any,  # noqa: ANN401 - of the types of the fields
    ) -> Self:
        """Promise this for a table of which the user declared some columns; of the others all was read.

        Where a schema declares a part of a column, ``partly`` says what was read of it: the column's name,
        then the facts.
        """
        known = {name: facts for name, *facts in partly}
        read: dict[str, tuple[Fact, ...]] = {}
        for column in schema.columns:
            if column.name in known:
                read[column.name] = require_plain(tuple[Fact, ...], known[column.name], PARTLY)
            elif isinstance(column, Categorical):
                read[column.name] = "labels", "missing values", "form"
            else:
                digits: Fact = "unit" if column.arbitrary_zero else "decimals"
                read[column.name] = "range", digits, "missing values", "form"
        return cls(
            public=tuple(name for name in schema.names if name in public),
            read_from_data={name: facts for name, facts in read.items() if name not in public},
            **promised,
        )

    def says_the_same(self, other: "Privacy") -> bool:
        """Whether two promises are one, up to the last digits of its numbers."""
        pairs = ((self.epsilon, other.epsilon), (self.delta, other.delta))
        rest = [{**vars(each), "epsilon": 0, "delta": 0} for each in (self, other)]
        return all(math.isclose(*pair, rel_tol=_SAME) for pair in pairs) and rest[0] == rest[1]


def levels_to_count(table: Table, public: Collection[str], n_bins: int) -> tuple[Levels, ...]:
    """Lay out the levels of all columns; only columns whose domain was not declared are looked at."""
    return tuple(
        Levels.of(column, n_bins, has_values=True, has_missing=True)
        if column.name in public
        else Levels.seen(column, table.column(column.name), n_bins)
        for column in table.schema.columns
    )


def require_own(place: object, generator: str, stored: Privacy | None, own: Privacy | None) -> None:
    """Refuse a stored promise that its generator does not make with the settings stored beside it.

    A folder can be written by anybody. What it says about privacy is believed only as far as the generator
    says so itself.
    """
    if stored is not None and own is None:
        raise ParameterError(place, f"states a promise of privacy, but {generator} makes none.")
    if stored is None and own is not None:
        raise ParameterError(place, f"lacks the promise that {generator} makes; fit the model again.")
    if stored is not None and own is not None and not stored.says_the_same(own):
        raise ParameterError(
            place,
            f"the stored promise (ε = {stored.epsilon:g}, δ = {stored.delta:g}) is not the one that "
            f"{generator} makes with the stored settings (ε = {own.epsilon:g}, δ = {own.delta:g}, and what "
            "it rests on); fit the model again.",
        )


def conditions(privacy: Privacy) -> tuple[str, ...]:
    """Say what the promise does not cover, loudly where that is the data themselves."""
    loud = (state_uncovered(privacy),) if privacy.read_from_data else ()
    return *loud, KEEP_THE_SEED, NUMBER_OF_ROWS


def state_promise(privacy: Privacy) -> str:
    """Say what a private generator promises."""
    return (
        f"Differential privacy: ε = {privacy.epsilon:g}, δ = {privacy.delta:g}. {privacy.mechanism}. "
        f"{privacy.adjacency.rstrip('.')}. Accountant: {privacy.accountant}."
    )


def state_uncovered(privacy: Privacy) -> str:
    """Say which columns the promise does not cover, of which facts, and what to do about it."""
    read = privacy.read_from_data
    named = ", ".join(f"{name} ({', '.join(facts)})" for name, facts in list(read.items())[:_NAMED])
    more = f" and {len(read) - _NAMED} more" if len(read) > _NAMED else ""
    return (
        f"{WARNING}: the promise of ε = {privacy.epsilon:g} does not cover what was read from the data of "
        f"{len(read)} of {len(read) + len(privacy.public)} columns: {named}{more}. Declare them in a schema "
        "file: labels of a category, low and high of numbers and dates, decimals of a real number, unit of a "
        "datetime."
    )


def too_likely(delta: float, n_rows: int) -> str | None:
    """Warn of a δ that allows to give somebody away, or return None.

    With a chance of δ nothing is promised. A mechanism that publishes each row with the chance δ keeps every
    ε, and with one over the number of rows it publishes about one of them. The warning is for whoever fits:
    it depends on the number of rows, so it must not be stored with the model.
    """
    if delta * n_rows < 1:
        return None
    return (
        f"{WARNING}: δ = {delta:g} is not below one over the number of rows, so the promise would be kept by "
        "publishing somebody's row as it is. Choose a δ far below."
    )
