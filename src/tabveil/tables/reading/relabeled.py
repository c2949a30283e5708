"""A layout for columns that came as anything and leave as labels, such as ages that leave as intervals."""

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from tabveil.tables.reading.layout import ColumnLayout, Layout
from tabveil.tables.reading.raw_column import Kind
from tabveil.tables.reading.text_format import TextFormat


def as_labels(layout: Layout, names: Collection[str]) -> Layout:
    """Return the layout in which these columns are text; all others leave as they came."""
    columns = {name: _text(place) if name in names else place for name, place in layout.columns.items()}
    return replace(layout, columns=columns)


def _text(place: ColumnLayout) -> ColumnLayout:
    text = pa.large_string()
    form = TextFormat(missing=place.form.missing)
    return ColumnLayout(label=place.label, kind=Kind.LABELS, type=text, plain=text, form=form)
