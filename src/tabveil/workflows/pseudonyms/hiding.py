"""Which pseudonym a value gets: its keyed hash, or an invented one of the form that its column has."""

import hashlib
import hmac
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tabveil.tables.reading.replaced_texts import ColumnTexts
from tabveil.workflows.synthesizing.fresh_identifiers import fresh_texts

Style = Literal["hash", "invented"]

N_DIGITS = 32
"""Hexadecimal digits of a pseudonym, 128 bits: two people never share one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hidden:
    """The pseudonyms of all values of a column, whichever tables have it."""

    pseudonyms: Mapping[str, str]
    whole: bool = False  # whether they are whole numbers, as the values are

    def of(self, column: ColumnTexts) -> ColumnTexts:
        """Return a column with pseudonyms."""
        return replace(column, texts=tuple(self.pseudonyms[text] for text in column.texts), whole=self.whole)


def hide(
    name: str, columns: Sequence[ColumnTexts], key: bytes, style: Style, *, neutral: bool = False
) -> Hidden:
    """Give every value of a column a pseudonym; an invented one that is ``neutral`` looks like no value."""
    texts = sorted({text for column in columns for text in column.texts})
    if style == "hash":
        return Hidden(pseudonyms=hashes(texts, key))
    whole = all(column.whole for column in columns)
    pseudonyms = invented(name, texts, key, whole=whole and not neutral, neutral=neutral)
    return Hidden(pseudonyms=pseudonyms, whole=whole and all(map(str.isdigit, pseudonyms.values())))


def hashes(texts: Sequence[str], key: bytes) -> dict[str, str]:
    """Return the keyed hash of each text."""
    return {text: _digest(key, text)[:N_DIGITS] for text in texts}


def invented(
    name: str, texts: Sequence[str], key: bytes, *, whole: bool = False, neutral: bool = False
) -> dict[str, str]:
    """Deal out identifiers of the same form, or neutral ones, in an order that only the key tells."""
    rng = np.random.default_rng(int(_digest(key, name), 16))
    drawn = fresh_texts(name, texts, whole=whole, neutral=neutral, rng=rng)
    in_order = sorted(texts, key=lambda text: _digest(key, text))
    return dict(zip(in_order, drawn.tolist(), strict=True))


def _digest(key: bytes, text: str) -> str:
    """Hash a text with a key; letters that look alike are written alike before (NFC)."""
    composed = unicodedata.normalize("NFC", text)
    return hmac.new(key, composed.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
