"""Rows as points, and the axes along which they differ most."""

import numpy as np
from supplies.populations import population

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.tables.matrices.points import MOST_LABELS, Coordinates, principal_axes

NAN = np.nan
AGE = Numeric(name="age", low=0, high=100, decimals=0)
SEX = Categorical(name="sex", labels=("f", "m"))
SCHEMA = Schema((SEX, AGE))


def test_coordinates_by_hand():
    release = Table(schema=SCHEMA, values=np.array([[0, 20], [1, 20], [1, 40], [NAN, 60.0]]))
    asked = Table(schema=SCHEMA, values=np.array([[1, 20], [0, 50], [NAN, 0], [1, 80], [1, NAN]]))
    points = Coordinates.of(release, asked).points(asked)
    # Ranks: 20 is at 1/4, 40 at 5/8, 60 at 7/8; straight in between, 0 and 100 at the ends.
    ranks, positions = np.array([0.25, 0.75, 0, 0.9375, NAN]), np.array([0.2, 0.5, 0, 0.8, NAN])
    np.testing.assert_allclose(points.places[:, 0], (ranks + positions) / 2)
    assert points.codes.tolist() == [[1, 0], [0, 0], [-1, 0], [1, 0], [1, 1]]


def test_axes_have_unit_variance_and_no_sign():
    tables = population("mixed", (400, 10, 400), seed=2)
    axes = principal_axes(Coordinates.of(tables.synthetic, tables.train), 5, tables.synthetic, tables.train)
    projected = np.concatenate([axes.project(table) for table in (tables.synthetic, tables.train)])
    np.testing.assert_allclose(np.cov(projected, rowvar=False), np.eye(5), atol=1e-9)
    names = list(tables.schema.names)[::-1]
    turned = [table.select(names) for table in (tables.synthetic, tables.train)]
    other = principal_axes(Coordinates.of(*turned), 5, *turned)
    np.testing.assert_allclose(other.project(turned[1]), axes.project(tables.train), atol=1e-9)


def test_only_frequent_labels_have_a_dimension():
    town = Categorical(name="town", labels=tuple(map(str, range(80))))
    cells = np.concatenate([np.arange(80.0), np.arange(60.0), np.full(5, NAN)])
    rows = Table(schema=Schema((town,)), values=cells[:, np.newaxis])
    axes = principal_axes(Coordinates.of(rows), 3, rows)
    assert [len(labels) for labels in axes.labels] == [MOST_LABELS]
    assert axes.labels[0].tolist() == [-1, *range(MOST_LABELS - 1)]  # missing before all labels
