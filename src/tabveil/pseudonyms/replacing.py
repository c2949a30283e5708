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
from tabveil.frame import load_table, raw_rows
from tabveil.frame.replaced_texts import ColumnTexts, column_texts, replace_native
from tabveil.pseudonyms.key_file import make_key, read_key
from tabveil.synthesizing.fresh_identifiers import fresh_texts
from tabveil.wording import escaped, listed, plural

Style = Literal["hash", "invented"]

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
    check.one_of("pseudonymize", "style", style, get_args(Style))
    names = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
    if not names:
        raise ParameterError("pseudonymize: name at least one column.")
    table = raw_rows(data)
    found = {name: column_texts("pseudonymize", table, name) for name in names}
    others = [name for name in load_table(data).identifiers if name not in names]
    key_made = not Path(key).exists()
    secret = make_key(key) if key_made else read_key(key)
    hidden = _hashed if style == "hash" else _invented
    return Pseudonymized(
        source=data,
        columns={name: hidden(name, column, secret) for name, column in found.items()},
        key_made=key_made,
        notes=(_left_alone(others),) if others else (),
    )


def _hashed(name: str, column: ColumnTexts, key: bytes) -> ColumnTexts:  # noqa: ARG001 - as the other style
    return replace(column, texts=tuple(_digest(key, text)[:N_DIGITS] for text in column.texts), whole=False)


def _invented(name: str, column: ColumnTexts, key: bytes) -> ColumnTexts:
    """Deal out identifiers of the same form, in an order that only the key tells."""
    seed = int(_digest(key, name), 16)
    drawn = fresh_texts(name, sorted(column.texts), whole=column.whole, rng=np.random.default_rng(seed))
    in_order = sorted(column.texts, key=lambda text: _digest(key, text))
    given = dict(zip(in_order, drawn.tolist(), strict=True))
    whole = column.whole and all(text.isdigit() for text in given.values())
    return replace(column, texts=tuple(given[text] for text in column.texts), whole=whole)


def _digest(key: bytes, text: str) -> str:
    """Hash a text with a key; letters that look alike are written alike before (NFC)."""
    return hmac.new(key, unicodedata.normalize("NFC", text).encode(), hashlib.sha256).hexdigest()


def _left_alone(names: Sequence[str]) -> str:
    return (
        f"Nearly every row has its own value in {listed(names)}, too: if these name people, give them with "
        "--column."
    )
