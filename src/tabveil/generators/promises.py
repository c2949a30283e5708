"""What a promise of differential privacy rests on, in words: the same for all private generators."""

from tabveil.generators.records import Privacy
from tabveil.table import Schema

KEEP_THE_SEED = "The promise holds while the seed is secret: who knows it can take the noise away."
NUMBER_OF_ROWS = (
    "The promise covers the model. Releasing exactly as many rows as were learned from tells how many "
    "they were."
)
_NAMED = 5  # columns that a note lists


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
        f"WARNING: the promise of ε = {privacy.epsilon:g} does not cover the labels and bounds of "
        f"{len(undeclared)} of {of} columns ({', '.join(undeclared[:_NAMED])}{more}), nor whether they have "
        "missing values: these were read from the data. Declare them in a schema file."
    )
    return warning, KEEP_THE_SEED, NUMBER_OF_ROWS
