"""A fitted pipeline: a generator that learned anonymized rows, and the way back to concrete values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays
from tabveil.core.storage.plain import FORBID_OTHERS, require_plain, to_plain
from tabveil.core.table import Floats, Schema, Table, holds
from tabveil.synthesis.generators.hybrid.promises import Promises
from tabveil.synthesis.generators.hybrid.transitions import Stored, WayBack
from tabveil.synthesis.generators.models import FittedModel

GENERATOR, ROWS = "generator", "rows"


@dataclass(frozen=True, kw_only=True, eq=False)
class HybridModel(FittedModel):
    """What draws rows: a generator, or rows themselves where nothing is generated; and the way back, if any.

    Where the transition comes after the generator, what is drawn is generalized, and the way back a part of
    the model.
    """

    drawn: Schema  # of what the generator draws
    promises: Promises
    rows: Floats | None = None  # (n, d) under the drawn schema, where there is no generator
    way_back: WayBack | None = None
    quasi_identifiers: tuple[str, ...] = ()

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows, and let the generalized values among them be concrete again."""
        if self.rows is None:
            table = self.parts[GENERATOR].sample(n_rows, rng=rng)
        else:
            table = Table(schema=self.drawn, values=self.rows[_each_in_turn(len(self.rows), n_rows, rng=rng)])
        return table if self.way_back is None else self.way_back.concrete(table, self.schema, rng=rng)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the schema of what is drawn, the way back, and rows, where there is no generator."""
        back = self.way_back
        state = {
            "drawn": self.drawn.to_json(),
            "quasi_identifiers": list(self.quasi_identifiers),
            "changed": [domain.name for domain in back.domains] if back is not None else [],
            "promises": to_plain(self.promises),
        }
        arrays = {f"back_{name}": array for name, array in back.arrays().items()} if back is not None else {}
        return state, arrays | ({} if self.rows is None else {ROWS: self.rows})

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model."""
        known = require_plain(_HybridState, state, "state")
        schema, drawn, made_by = shared["schema"], Schema.from_json(known.drawn), shared["made_by"]
        require(drawn.names == schema.names, "what is drawn must have the columns of the schema")
        others = {name for name in schema.names if name not in known.changed}
        require(
            set(known.changed) <= set(known.quasi_identifiers) <= set(schema.names)
            and all(drawn[name] == schema[name] for name in others),
            "only quasi-identifiers can be generalized",
        )
        rows = _rows(arrays, drawn) if ROWS in arrays else None
        parts: Mapping[str, Any] = shared["parts"]
        require(
            set(parts) == (set() if rows is not None else {GENERATOR}), "a generator or rows must be there"
        )
        require(rows is not None or parts[GENERATOR].schema == drawn, "the generator must draw these columns")
        said = known.promises.sampled
        require(
            said is None or said.says_the_same(made_by.sampled_privacy(schema)),
            "the stored promise of differential privacy is not one that follows from the settings",
        )
        stored = Stored(
            schema=schema,
            generalized=drawn,
            quasi_identifiers=known.quasi_identifiers,
            changed=known.changed,
            arrays={name.removeprefix("back_"): array for name, array in arrays.items() if name != ROWS},
        )
        require(bool(known.changed) or not stored.arrays, "without generalized columns there is no way back")
        return cls(
            drawn=drawn,
            promises=known.promises,
            rows=rows,
            way_back=made_by.way().open(stored) if known.changed else None,
            quasi_identifiers=known.quasi_identifiers,
            **shared,
        )


@dataclass(frozen=True, kw_only=True)
class _HybridState:
    """What is stored beside arrays."""

    __pydantic_config__ = FORBID_OTHERS

    drawn: list[Any]
    quasi_identifiers: tuple[str, ...]
    changed: tuple[str, ...]
    promises: Promises


def _rows(arrays: Arrays, schema: Schema) -> Floats:
    expected = Expected(dtype=np.float64, shape=(None, len(schema)), missing=True)
    require_arrays({ROWS: arrays[ROWS]}, {ROWS: expected})
    rows: Floats = arrays[ROWS]
    require(len(rows) > 0, "array 'rows' must have rows")
    for column, cells in zip(schema.columns, rows.T, strict=True):
        require(holds(column, cells), f"array 'rows' must hold values of the column {column.name!r}")
    return rows


def _each_in_turn(n: int, wanted: int, *, rng: Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Choose rows in random order, none again before all were chosen."""
    turns = [rng.permutation(n) for _ in range(-(-wanted // n))]
    return np.concatenate(turns)[:wanted]
