"""Sequential trees: each column is drawn from real rows that are alike in the columns before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.storage.arrays import (
    MOST_ROWS,
    Arrays,
    Expected,
    expected_pieces,
    join_pieces,
    require,
    require_arrays,
    split_pieces,
)
from tabveil.core.storage.plain import require_plain
from tabveil.core.table import Floats, Schema, Table
from tabveil.engines.networks import Epoch
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.dependencies import find_dependencies
from tabveil.synthesis.generators.models import FittedModel, Maker, PlainState, memorized, require_rows
from tabveil.synthesis.generators.rare_values import drop_lone_numbers
from tabveil.synthesis.generators.trees.chain import (
    Agreement,
    Agreements,
    Chain,
    Mover,
    grow_chain,
    memorize,
    move_between_neighbors,
    move_by_kernel,
    visits_with,
)
from tabveil.synthesis.generators.trees.growth import GrownTree
from tabveil.tables.matrices.ordinal import Codes, CountedValues

HELD_OUT = 10
"""One row in so many is held out, to see how likely new rows are."""
WITHOUT_HELD_OUT = "Too few rows to hold any out: how likely new rows are was not measured."
MIN_LEAF = {"careful": 20, "published": 5}
"""The fewest rows in a leaf, unless something else is asked for."""

_OF_LEVELS = ("values", "counts")
_AGREED = tuple(item.name for item in fields(Agreements))
_OF_TREES = tuple(item.name for item in fields(GrownTree))
_PIECES = {
    "levels_values": Expected(dtype=np.float64, shape=(None,)),
    "levels_counts": Expected(dtype=np.int64, shape=(None,), low=0, high=MOST_ROWS),
    "trees_feature": Expected(dtype=np.int32, shape=(None,)),
    "trees_threshold": Expected(dtype=np.float64, shape=(None,)),
    "trees_left": Expected(dtype=np.int32, shape=(None,), low=-1),
    "trees_right": Expected(dtype=np.int32, shape=(None,), low=-1),
    "trees_first_place": Expected(dtype=np.int64, shape=(None,), low=-1, high=MOST_ROWS),
    "trees_places": Expected(dtype=np.int32, shape=(None,), low=0),
    "trees_first": Expected(dtype=np.int64, shape=(None,), low=0),
    "trees_members": Expected(dtype=np.int32, shape=(None,), low=0),
    "looked_up_wanted": Expected(dtype=np.int32, shape=(None,), low=-1),
    "drawn_wanted": Expected(dtype=np.int32, shape=(None,), low=-1),
}
"""What is stored of all columns, end to end."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TreesModel(FittedModel):
    """A tree for each column, in the order of the visits."""

    visits: tuple[int, ...]  # the columns' positions in the table
    chain: Chain
    held_out: Mapping[str, float]
    """The mean negative log-likelihood of each column over the rows held out; empty if there were none."""

    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw column after column."""
        values = np.empty((n_rows, len(self.visits)))
        values[:, self.visits] = self.chain.draw(
            n_rows, move=self.made_by.mover, forget=self.made_by.careful, rng=rng
        )
        return Table(schema=self.schema, values=values)

    def draw_given(self, known: Table, *, rng: Generator) -> Table:
        """Draw rows that begin with known cells: those of the columns that are visited first."""
        first = self.schema.select([self.schema.names[k] for k in self.visits[: len(known.schema)]])
        if first.names != known.schema.names:
            raise ParameterError(self.name, "known columns must be those visited first, in their order.")
        values = np.empty((len(known), len(self.visits)))
        values[:, self.visits] = self.chain.draw(
            len(known),
            move=self.made_by.mover,
            forget=self.made_by.careful,
            given=known.values,
            rng=rng,
        )
        return Table(schema=self.schema, values=values)

    def losses(self, table: Table) -> Floats:
        """Return the negative log-likelihood (n, columns) of each cell given the columns visited before.

        In nats; sum over a row for that of the row. Labels count singly, missing as one of them, numbers in
        up to 20 ranges with equally many rows. A leaf's shares are mixed with 1 % of those of all rows.
        """
        if table.schema != self.schema:
            raise ParameterError(self.name, "the table must have the columns that were learned.")
        losses = np.empty(table.values.shape)
        losses[:, self.visits] = self.chain.losses(_encode(table, self.visits, self.chain.levels))
        return losses

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the levels and the trees, each of their arrays end to end."""
        agreed = {name: getattr(self.chain.agreements, name) for name in _AGREED}
        pieces = {
            **{f"levels_{name}": [getattr(item, name) for item in self.chain.levels] for name in _OF_LEVELS},
            **{f"trees_{name}": [getattr(item, name) for item in self.chain.trees] for name in _OF_TREES},
            **{f"{name}_wanted": [item.wanted for item in items] for name, items in agreed.items()},
        }
        state = {
            "visits": list(self.visits),
            **{name: [item.visit for item in items] for name, items in agreed.items()},
            "held_out": dict(self.held_out),
        }
        return state, join_pieces(pieces)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model."""
        schema: Schema = shared["schema"]
        known = require_plain(_TreesState, state, "state")
        require(sorted(known.visits) == list(range(len(schema))), "visits must name every column once")
        agree = {name: getattr(known, name) for name in _AGREED}
        require(
            all(len(each) == len(schema) for each in agree.values()), "every column agrees with one or none"
        )
        require(set(known.held_out) <= set(schema.names), "held_out must name columns")
        require_arrays(arrays, expected_pieces(_PIECES, len(schema)))
        pieces = {name: split_pieces(arrays, name) for name in _PIECES}

        def of(k: int, what: str, names: tuple[str, ...]) -> dict[str, Any]:
            return {name: pieces[f"{what}_{name}"][k] for name in names}

        levels = tuple(
            CountedValues(column=schema.columns[position], **of(k, "levels", _OF_LEVELS))
            for k, position in enumerate(known.visits)
        )
        trees = tuple(GrownTree(**of(k, "trees", _OF_TREES)) for k in range(len(schema)))
        agreements = Agreements(
            **{
                name: tuple(
                    Agreement(visit=visit, wanted=wanted)
                    for visit, wanted in zip(visits, pieces[f"{name}_wanted"], strict=True)
                )
                for name, visits in agree.items()
            }
        )
        n_codes = [len(item.counts) for item in levels]
        for k, (each, tree) in enumerate(zip(levels, trees, strict=True)):
            require(each.fits, f"array 'levels_values' must hold values of the column {each.column.name!r}")
            require(
                tree.fits(n_codes[:k], n_codes=len(each) + 1),
                f"the tree of the column {each.column.name!r} must be one that ends, with rows in every leaf",
            )
            require(
                agreements.fits(k, n_codes),
                f"the column {each.column.name!r} must agree with one before it, in values that they have",
            )
        return cls(
            visits=known.visits,
            chain=Chain(levels=levels, trees=trees, agreements=agreements),
            held_out=known.held_out,
            **shared,
        )


@dataclass(frozen=True, kw_only=True)
class _TreesState(PlainState):
    visits: tuple[int, ...]
    looked_up: tuple[int, ...]
    drawn: tuple[int, ...]
    held_out: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Trees(Maker):
    """Draw column after column, each value from real rows that are alike in the columns before.

    Columns are visited one after another. For each, a decision tree parts the rows by the columns already
    visited until the rows in a leaf have similar values, or would be fewer than ``min_leaf``. A new row walks
    down each tree in turn and takes the value of a random real row in the leaf where it ends.

    Parameters
    ----------
    preset
        ``"careful"`` prunes the trees: each is grown from two thirds of the rows, and a split stays only if
        it also holds for the others, so that nobody is told apart by chance. What follows in a row goes with
        its numbers as they were moved. ``"published"`` grows trees as synthpop does, which reveals people
        far beyond the default policy.
    caution
        How many standard errors beyond chance a split must hold for the other rows. Less keeps more of the
        table, and tells more about people; as published it does not count. Chosen on four splits of each of
        five tables. On four others, of 5,000 rows each, the default policy calls 13 of 20 releases within
        threshold, six inconclusive and one above; of such as were learned from other people, 18 and two
        inconclusive.
    order
        The columns to visit first, in this order. The others follow, those with the fewest different values
        first.
    min_leaf
        The fewest rows in a leaf; None is 20, and 5 as published. Smaller leaves follow the table more
        closely, and repeat more of it.
    smoothing
        Move numbers that fewer than ten rows share; those that more share, such as zeros, stay. The careful
        way draws between the numbers next to it in the leaf, as round as it was and no rounder, and none
        beyond what ten rows reach; where fewer than ten rows have a number, all are missing. As published,
        a normal deviate is added, as wide as suits the density of such numbers in the leaf (Silverman's
        rule). Without, every number is one that a real row has.
    overfit
        Memorize on purpose: shrink the leaves until the held-out loss is this many times its minimum, without
        smoothing or pruning; 1.0 takes the leaf size of the minimum. ``min_leaf`` does not count then, and
        the columns with the most different values are visited first: a value that only one row has leads to
        the rest of that row. The ratio reached is in the model's notes, the loss for each leaf size in its
        history.

    Notes
    -----
    The loss is the negative log-likelihood of a row in nats (:meth:`TreesModel.losses` says how), on a tenth
    of the rows, from which the trees were not grown; the model's history has that of a row, its ``held_out``
    that of each column. Afterwards these rows are put into the leaves, too, except to overfit. Missing is a
    label of its own. Labels are put in order for each tree anew, by what the column to be drawn is like in
    their rows; those with fewer rows than a leaf stand together. Labels nobody has are never drawn.

    Where a column follows from another in every row, such as a description from its code, values that ten
    rows share are drawn in no pair that the table does not have (not as published). The loss counts what is
    looked up as certain; a code that is drawn among those which go with its description counts as drawn from
    the whole leaf.

    References
    ----------
    - Nowok, B., Raab, G. M. and Dibben, C. (2016). synthpop: Bespoke Creation of Synthetic Data in R. Journal
      of Statistical Software 74(11).
    - Quinlan, J. R. (1987). Simplifying Decision Trees. International Journal of Man-Machine Studies 27(3).
      (Pruning by rows that a tree was not grown from.)
    - Reiter, J. P. (2005). Using CART to Generate Partially Synthetic Public Use Microdata. Journal of
      Official Statistics 21(3).
    """

    preset: Literal["careful", "published"] = "careful"
    caution: float = 1.5
    order: tuple[str, ...] | None = None
    min_leaf: int | None = None
    smoothing: bool = True
    overfit: float | None = None

    name: ClassVar[str] = "trees"
    model: ClassVar[type[FittedModel]] = TreesModel

    def __post_init__(self) -> None:
        if self.min_leaf is not None:
            check.at_least(self.name, "min_leaf", self.min_leaf, 1)
        check.one_of(self.name, "preset", self.preset, tuple(MIN_LEAF))
        check.at_least(self.name, "caution", self.caution, 0)
        if self.overfit is not None:
            check.at_least(self.name, "overfit", self.overfit, 1)
        if self.order is not None and len(set(self.order)) < len(self.order):
            raise ParameterError(self.name, "order must name each column only once.")

    @property
    def careful(self) -> bool:
        """Whether trees are pruned and numbers drawn between their neighbors: never to overfit."""
        return self.preset == "careful" and self.overfit is None

    @property
    def keeps_dependencies(self) -> bool:  # type: ignore[override]  # as the settings say
        """Whether columns that follow from others are looked up, and must not be parted before."""
        return self.careful

    @property
    def mover(self) -> Mover | None:
        """How numbers that few rows share are moved: not at all to overfit."""
        if not self.smoothing or self.overfit is not None:
            return None
        return move_between_neighbors if self.careful else move_by_kernel

    def fit(self, table: Table, *, rng: Generator) -> TreesModel:
        """Learn a table."""
        require_rows(self.name, table, 1 if self.overfit is None else HELD_OUT)
        table, notes = drop_lone_numbers(table) if self.careful and self.smoothing else (table, ())
        visits = self._visits(table)
        levels = [CountedValues.of(table.schema.columns[k], table.values[:, k]) for k in visits]
        codes = _encode(table, visits, levels)
        # As published nothing must agree, and memorized rows keep their pairs as they are.
        found = find_dependencies(codes, levels) if self.keeps_dependencies else []
        order = visits_with(found, len(levels), fixed=len(self.order or ()))
        visits, levels = tuple(visits[k] for k in order), [levels[k] for k in order]
        agreements = Agreements.of(found, order, levels)
        rows = np.ascontiguousarray(rng.permutation(codes)[:, order])
        held_out = rows[: len(rows) // HELD_OUT]
        chain, losses, said = self._grow(levels, agreements, rows, rng=rng)
        each = chain.losses(held_out).mean(axis=0) if len(held_out) else []
        return TreesModel(
            made_by=self,
            schema=table.schema,
            visits=visits,
            chain=chain.filled(rows) if self.overfit is None else chain,
            held_out={item.column.name: float(loss) for item, loss in zip(levels, each, strict=False)},
            history=tuple(
                Epoch(epoch=i, train=train, validation=loss) for i, (train, loss) in enumerate(losses)
            ),
            notes=(*notes, *said),
        )

    def _grow(
        self, levels: Sequence[CountedValues], agreements: Agreements, rows: Codes, *, rng: Generator
    ) -> tuple[Chain, list[tuple[float, float]], tuple[str, ...]]:
        """Return the trees, their losses of the rows learned from and of those held out, and notes."""
        held_out, learned = np.split(rows, [len(rows) // HELD_OUT])
        if self.overfit is not None:
            chain, losses = memorize(levels, learned, held_out, ratio=self.overfit, rng=rng)
            ratio = chain.loss(held_out) / min(loss for _, loss in losses)
            said = memorized(ratio, self.overfit, "Not reached: a leaf has at least one row.")
            return chain, losses, said
        least = MIN_LEAF[self.preset] if self.min_leaf is None else self.min_leaf
        caution = self.caution if self.careful else None
        chain = grow_chain(levels, learned, min_leaf=least, caution=caution, agreements=agreements, rng=rng)
        if not len(held_out):
            return chain, [], (WITHOUT_HELD_OUT,)
        return chain, [(chain.loss(learned), chain.loss(held_out))], ()

    def _visits(self, table: Table) -> tuple[int, ...]:
        """Return the positions of the columns in the order of the visits."""
        first = self.order or ()
        check.known_names(self.name, "column", first, table.schema.names)
        others = [name for name in table.schema.names if name not in set(first)]
        sign = 1 if self.overfit is None else -1
        others.sort(key=lambda name: (sign * len(np.unique(table.column(name))), name))
        return tuple(table.schema.position(name) for name in (*first, *others))


def _encode(table: Table, visits: Sequence[int], levels: Sequence[CountedValues]) -> Codes:
    """Return the codes (n, columns) of the cells, in the order of the visits."""
    codes = [each.codes(table.values[:, position]) for position, each in zip(visits, levels, strict=True)]
    return np.ascontiguousarray(np.column_stack(codes))
