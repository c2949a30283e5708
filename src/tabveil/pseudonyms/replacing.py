"""Identifiers replaced by pseudonyms that only the holder of a key can find again.

A pseudonym is the keyed hash of what stood in a cell (HMAC, RFC 2104, with SHA-256): nobody without the key
can tell whose it is by trying names. Or it is an invented identifier of the form that the column has, which
nobody in the table has; the key decides who gets which.
"""

import hashlib
import hmac
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from tabveil import check
from tabveil.errors import ParameterError
from tabveil.frame import Source, load_table, raw_rows, sources
from tabveil.frame.replaced_texts import ColumnTexts, column_texts, replace_native, replace_source
from tabveil.pseudonyms.key_file import make_key, read_key
from tabveil.synthesizing.fresh_identifiers import fresh_texts
from tabveil.wording import escaped, listed, plural

Style = Literal["hash", "invented"]

STILL_PERSONAL = (
    "Rows with pseudonyms are personal data: people can be found by the other columns, and by whoever has "
    "the key."
)

N_DIGITS = 32
"""Hexadecimal digits of a pseudonym, 128 bits: two people never share one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pseudonymized:
    """A table with pseudonyms in some columns. Which were whose is not held here, and neither is the key.

    ``columns`` has the new texts of each column; ``key_made`` tells whether the key was drawn just now.
    """

    source: Any  # what was given
    columns: Mapping[str, ColumnTexts]
    key_made: bool
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> Any:  # noqa: ANN401 - see below
        """The rows with pseudonyms, in the kind of table that came in; those of a file as an Arrow table."""
        return replace_native(self.source, self.columns)

    @property
    def n_pseudonyms(self) -> int:
        """How many different values were replaced, column by column."""
        return sum(len(column.texts) for column in self.columns.values())

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many pseudonyms there are, and where."""
        if not self.columns:
            return ("No column to be replaced.",)
        return (f"{plural(self.n_pseudonyms, 'pseudonym')} in {listed(list(self.columns))}.",)

    def as_read(self) -> Source:
        """Return the rows with pseudonyms as they would be read from where they stood."""
        return replace_source(sources.read(self.source, "data"), self.columns)

    def __repr__(self) -> str:
        """Say how many names each column had."""
        told = (f"{name}: {plural(len(found.texts), 'pseudonym')}" for name, found in self.columns.items())
        return escaped("; ".join(told))


def pseudonymize(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    columns: str | Sequence[str],
    *,
    key: str | Path,
    style: Style = "hash",
) -> Pseudonymized:
    """Replace identifiers by pseudonyms, as ``tabveil pseudonymize`` does.

    People can still be found by the other columns, and by whoever has the key: what is left is personal data.

    Parameters
    ----------
    data
        The rows: a path, or a table of pandas, polars or Arrow, which stays as it is.
    columns
        The columns that name people. Missing cells stay missing.
    key
        The file of the key; made if there is none, for its owner alone. Keep it away from the table, and keep
        it: without it nobody can give the same people the same pseudonyms again.
    style
        ``"hash"`` is the same pseudonym for the same value under one key, in every column and every table.
        ``"invented"`` looks like the identifiers that it replaces. The same value has the same one in its
        column; in another table, it may have another.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> people = pd.DataFrame({"name": ["Ann", "Bob", "Ann"], "age": [31, 45, 32]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = pseudonymize(people, "name", key=f"{folder}/key").rows
    >>> rows["name"].nunique(), bool(rows["name"][0] == rows["name"][2]), rows["age"].tolist()
    (2, True, [31, 45, 32])
    """
    (found,) = pseudonymize_together([data], columns, key=key, style=style)
    return found


def pseudonymize_together(
    tables: Sequence[Any], columns: str | Sequence[str], *, key: str | Path, style: Style = "hash"
) -> tuple[Pseudonymized, ...]:
    """Replace identifiers of several tables: in either style the same value has one pseudonym in all of them.

    The first table must have the columns. Others may lack some, and then there is nothing to replace.
    """
    check.one_of("pseudonymize", "style", style, get_args(Style))
    names = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
    if not names:
        raise ParameterError("pseudonymize: name at least one column.")
    raw = [raw_rows(data) for data in tables]
    check.known_names("pseudonymize", "column", names, raw[0].column_names)
    found = [
        {name: column_texts("pseudonymize", table, name) for name in names if name in table.column_names}
        for table in raw
    ]
    others = [name for name in load_table(tables[0]).identifiers if name not in names]
    key_made = not Path(key).exists()
    secret = make_key(key) if key_made else read_key(key)
    hidden = {
        name: _hidden(name, [each[name] for each in found if name in each], secret, style) for name in names
    }
    return tuple(
        Pseudonymized(
            source=data,
            columns={name: hidden[name].of(column) for name, column in own.items()},
            key_made=key_made,
            notes=(_left_alone(others),) if others else (),
        )
        for data, own in zip(tables, found, strict=True)
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Hidden:
    """The pseudonyms of a column, whichever tables have it."""

    pseudonyms: Mapping[str, str]
    whole: bool

    def of(self, column: ColumnTexts) -> ColumnTexts:
        return replace(column, texts=tuple(self.pseudonyms[text] for text in column.texts), whole=self.whole)


def _hidden(name: str, columns: Sequence[ColumnTexts], key: bytes, style: Style) -> _Hidden:
    """Give every value of a column a pseudonym."""
    texts = sorted({text for column in columns for text in column.texts})
    if style == "hash":
        return _Hidden(pseudonyms={text: _digest(key, text)[:N_DIGITS] for text in texts}, whole=False)
    whole = all(column.whole for column in columns)
    pseudonyms = _invented(name, texts, key, whole=whole)
    return _Hidden(pseudonyms=pseudonyms, whole=whole and all(map(str.isdigit, pseudonyms.values())))


def _invented(name: str, texts: Sequence[str], key: bytes, *, whole: bool) -> dict[str, str]:
    """Deal out identifiers of the same form, in an order that only the key tells."""
    rng = np.random.default_rng(int(_digest(key, name), 16))
    drawn = fresh_texts(name, texts, whole=whole, rng=rng)
    in_order = sorted(texts, key=lambda text: _digest(key, text))
    return dict(zip(in_order, drawn.tolist(), strict=True))


def _digest(key: bytes, text: str) -> str:
    """Hash a text with a key; letters that look alike are written alike before (NFC)."""
    return hmac.new(key, unicodedata.normalize("NFC", text).encode(), hashlib.sha256).hexdigest()


def _left_alone(names: Sequence[str]) -> str:
    return (
        f"Nearly every row has its own value in {listed(names)}, too: if these name people, name these "
        "columns as well."
    )
