"""What every encoder that can be undone promises: the same table back, from any table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from supplies.strategies import schemas, tables

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.tables.matrices.bins import Levels
from tabveil.tables.matrices.curves import OUTERMOST, CurveScheme
from tabveil.tables.matrices.modes import declared_labels, equal_modes, fitted_modes, seen_labels
from tabveil.tables.matrices.ordinal import CountedValues, OrderedValues, at_places, possible_values
from tabveil.tables.matrices.ranked_tables import ValueRanks
from tabveil.tables.matrices.tokens import TokenScheme

Back = Literal["exact", "close", "same code"]


def rng(seed=0):
    return np.random.default_rng(seed)


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """An encoder that learned a table: to integers below ``sizes`` (n, codes), and beside them to numbers."""

    encode: Callable[[Table], tuple[Any, Any]]
    decode: Callable[[Any, Any], np.ndarray]  # to cells (n, columns)
    sizes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Promise:
    """How to learn, and how numbers come back: those with decimals, and any others."""

    learn: Callable[[Table], Encoder]
    decimals: Back = "exact"
    others: Back = "exact"
    takes_any_label: bool = False  # also such as were not there to be learned
    drawn: bool = False  # a cell may get one code or another


def columns_of(table):
    return list(zip(table.schema.columns, table.values.T, strict=True))


def by_column(encoders, encode, decode, sizes):
    """Put the encoders of single columns side by side."""

    def encode_all(table):
        pairs = [encode(one, cells) for one, cells in zip(encoders, table.values.T, strict=True)]
        return np.column_stack([codes for codes, _ in pairs]), np.column_stack([rest for _, rest in pairs])

    def decode_all(codes, rest):
        return np.column_stack([decode(*one) for one in zip(encoders, codes.T, rest.T, strict=True)])

    return Encoder(encode=encode_all, decode=decode_all, sizes=tuple(map(sizes, encoders)))


def alone(codes):
    return codes, np.zeros(len(codes))


def counted_values(table):
    return by_column(
        [CountedValues.of(column, cells) for column, cells in columns_of(table)],
        lambda one, cells: alone(one.codes(cells)),
        lambda one, codes, _: one.cells(codes),
        lambda one: len(one.counts),
    )


def possible_places(table):
    return by_column(
        [
            OrderedValues(column=column, values=possible_values(column, cells))
            for column, cells in columns_of(table)
        ],
        lambda one, cells: alone(one.places(cells)),
        lambda one, places, _: at_places(one.values, places),
        lambda one: len(one) + 1,
    )


def ranked_table(table):
    ranks = ValueRanks.of(table)
    by_name = np.argsort(np.argsort(table.schema.names))
    return Encoder(
        encode=lambda asked: (ranks.encode(asked).codes.T, np.zeros((len(asked), 0))),
        decode=lambda codes, _: np.column_stack(
            [one.cells(cells) for one, cells in zip(ranks.columns, codes.T, strict=True)]
        )[:, by_name],
        sizes=tuple(len(one) + 2 for one in ranks.columns),
    )


def slots(make):
    return lambda table: by_column(
        [make(column, cells) for column, cells in columns_of(table)],
        lambda one, cells: one.encode(cells, rng=rng()),
        lambda one, chosen, scalars: one.decode(chosen, scalars),
        len,
    )


def seen_slots(column, cells):
    if isinstance(column, Categorical):
        return seen_labels(column, cells)
    return fitted_modes(column, cells, rng=rng())


def declared_slots(column, cells):
    if isinstance(column, Categorical):
        return declared_labels(column)
    return equal_modes(column, has_values=True, has_missing=True)


def levels(make):
    return lambda table: by_column(
        [make(column, cells) for column, cells in columns_of(table)],
        lambda one, cells: alone(one.encode(cells)),
        lambda one, codes, _: one.decode(codes, rng=rng()),
        len,
    )


def curves(table):
    encoding = CurveScheme.of(table)

    def encode(asked):
        rows = encoding.encode(asked)
        shares = rows.start + rows.width * rng().random(rows.start.shape)  # anywhere in its part of the curve
        return rows.choices, ndtri(np.clip(shares, OUTERMOST, 1 - OUTERMOST))

    return Encoder(
        encode=encode,
        decode=lambda choices, numbers: encoding.decode(numbers, choices).values,
        sizes=encoding.sizes,
    )


def token_scheme(table):
    scheme = TokenScheme.of(table)
    return Encoder(
        encode=lambda asked: (scheme.encode(asked), np.zeros((len(asked), 0))),
        decode=lambda tokens, _: scheme.decode(tokens, rng=rng()).values,
        sizes=scheme.sizes,
    )


PROMISES = {
    "counted values": Promise(learn=counted_values, takes_any_label=True),
    "possible places": Promise(learn=possible_places, takes_any_label=True),
    "ranked table": Promise(learn=ranked_table, takes_any_label=True),
    "slots, seen": Promise(learn=slots(seen_slots), others="close", drawn=True),
    "slots, declared": Promise(learn=slots(declared_slots), others="close", takes_any_label=True),
    "levels, seen": Promise(
        learn=levels(lambda column, cells: Levels.seen(column, cells, 20)),
        decimals="same code",
        others="same code",
        takes_any_label=True,
    ),
    "levels, declared": Promise(
        learn=levels(lambda column, _: Levels.of(column, 20, has_values=True, has_missing=True)),
        decimals="same code",
        others="same code",
        takes_any_label=True,
    ),
    "curves": Promise(learn=curves, others="close"),
    "tokens": Promise(learn=token_scheme, others="same code"),
}


def each(kept=lambda _: True):
    found = {name: promise for name, promise in PROMISES.items() if kept(promise)}
    return pytest.mark.parametrize("promise", found.values(), ids=found)


def long_tails(n=60):
    """Numbers that strategies do not draw: far out, huge, dates in seconds, mostly zero."""
    random = rng(1)
    tail = np.round(5000 * random.standard_cauchy(n), 2)
    moments = 1.7e9 + 86400 * random.integers(0, 40, n)
    mostly_zero = np.where(random.random(n) < 0.5, 0, np.round(random.exponential(9, n)))
    huge = np.round(random.random(n) * 1e17)
    gappy = np.where(random.random(n) < 0.3, np.nan, random.normal(size=n))
    columns = (
        Numeric(name="tail", low=tail.min(), high=tail.max(), decimals=2),
        Numeric(name="moment", low=1.7e9, high=1.8e9, decimals=0, arbitrary_zero=True),
        Numeric(name="mostly zero", low=0, high=mostly_zero.max(), decimals=0),
        Numeric(name="huge", low=0, high=1e17, decimals=None),
        Numeric(name="gappy", low=-9, high=9, decimals=None),
    )
    return Table(
        schema=Schema(columns), values=np.column_stack([tail, moments, mostly_zero, huge, gappy]) + 0.0
    )


def assert_comes_back(table, promise):
    encoder = promise.learn(table)
    codes, rest = encoder.encode(table)
    assert codes.shape == (len(table), len(encoder.sizes))
    assert (codes >= 0).all()
    assert (codes < np.array(encoder.sizes, dtype=np.int64)).all()
    assert np.isfinite(rest).all()
    cells = encoder.decode(codes, rest)
    assert cells.shape == table.values.shape
    np.testing.assert_array_equal(np.isnan(cells), np.isnan(table.values))
    for column, back, known in zip(table.schema.columns, cells.T, table.values.T, strict=True):
        if isinstance(column, Categorical):
            np.testing.assert_array_equal(back, known)
            continue
        how = promise.others if column.decimals is None else promise.decimals
        present = back[~np.isnan(back)]
        assert ((present >= column.low) & (present <= column.high)).all()
        if column.decimals is not None:
            np.testing.assert_array_equal(present, np.round(present, column.decimals))
        if how == "exact":
            np.testing.assert_array_equal(back, known)
        elif how == "close":
            np.testing.assert_allclose(back, known, rtol=1e-9, atol=1e-9 * max(column.width, 1.0))
    if "same code" in {promise.decimals, promise.others}:
        again, _ = encoder.encode(Table(schema=table.schema, values=cells))
        np.testing.assert_array_equal(again, codes)


@each()
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_table_comes_back(promise, data):
    assert_comes_back(data.draw(tables(data.draw(schemas()))), promise)


@each()
def test_long_tails_come_back(promise):
    assert_comes_back(long_tails(), promise)


@each(lambda promise: not promise.drawn)
def test_the_order_of_rows_does_not_matter(promise):
    table = long_tails()
    order = rng(2).permutation(len(table))
    encoded, turned = (promise.learn(rows).encode(rows)[0] for rows in (table, table.take(order)))
    np.testing.assert_array_equal(turned, encoded[order])


@each(lambda promise: promise.takes_any_label)
def test_a_label_that_was_not_learned_never_becomes_another_one(promise):
    column = Categorical(name="ward", labels=tuple("abcde"))
    learned, asked = (
        Table(schema=Schema((column,)), values=np.array(cells, dtype=float)[:, np.newaxis])
        for cells in ([3, 1, 3, np.nan], [0, 1, 2, 3, 4, np.nan])
    )
    encoder = promise.learn(learned)
    cells = encoder.decode(*encoder.encode(asked))[:, 0]
    np.testing.assert_array_equal(cells[[1, 3, 5]], [1, 3, np.nan])
    for code in (0, 2, 4):
        assert np.isnan(cells[code]) or cells[code] == code
