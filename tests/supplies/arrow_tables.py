"""Hypothesis strategies for Arrow tables of every type, and for the values in them."""

import datetime as dt

import pyarrow as pa
from hypothesis import strategies as st

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)
REALS = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-200) | st.sampled_from(
    [0.1, 2.5, -3.0]
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6) | st.sampled_from("ab")
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001 - local times are data
DATES = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
DECIMALS = st.decimals(-99999, 99999, places=2, allow_nan=False, allow_infinity=False)


def cells(values, draw, n):
    return draw(st.lists(values | st.none(), min_size=n, max_size=n))


@st.composite
def arrow_tables(draw):
    n = draw(st.integers(0, 12))
    kinds = {
        "int": (INTEGERS, pa.int64()),
        "small": (st.integers(-128, 127), pa.int8()),
        "unsigned": (st.integers(0, 2**64 - 1), pa.uint64()),
        "real": (REALS, pa.float64()),
        "single": (st.floats(allow_nan=False, allow_infinity=False, width=32), pa.float32()),
        "money": (DECIMALS, pa.decimal128(10, 2)),
        "flag": (st.booleans(), pa.bool_()),
        "text": (TEXTS, pa.string()),
        "day": (DATES, pa.date32()),
        "moment": (MOMENTS, pa.timestamp("us")),
        "zoned": (MOMENTS, pa.timestamp("us", "Europe/Berlin")),
        "time": (st.times(), pa.time64("us")),
        "span": (st.timedeltas(dt.timedelta(-999), dt.timedelta(999)), pa.duration("us")),
        "nothing": (st.none(), pa.null()),
        "iso": (DATES.map(dt.date.isoformat), pa.string()),
    }
    names = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, unique=True))
    arrays = [pa.array(cells(kinds[name][0], draw, n), kinds[name][1]) for name in names]
    return pa.Table.from_arrays(arrays, names=names)
