"""Names of people replaced by pseudonyms before anything else is done with a table.

Only the holder of a key can find them again. A pseudonym is the keyed hash of what stood in a cell (HMAC, RFC
2104, with SHA-256): nobody without the key can tell whose it is by trying names. Or it is an invented
identifier of the form that the column has, which nobody in the table has; the key decides who gets which.
What texts say of people gets the same pseudonyms.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tabveil.core import check
from tabveil.core.storage.plain import PlainData
from tabveil.core.wording import escaped, joined, listed, plural
from tabveil.errors import ParameterError
from tabveil.metrics.properties.replay.numbers import WITHOUT_PLANS, numbering_plans
from tabveil.metrics.properties.replay.patterns import PLURALS, Kind, kind_called, name_part
from tabveil.tables.reading import Source, leave_out, load_table, raw_rows, sources
from tabveil.tables.reading.arrow import RawTable
from tabveil.tables.reading.rewriting import ColumnTexts, column_texts, replace_native, replace_source
from tabveil.workflows.pseudonyms import keys
from tabveil.workflows.pseudonyms.keys import ColumnPseudonyms, Style, read_key
from tabveil.workflows.pseudonyms.texts import NamingPlace, NamingValues, Value
from tabveil.workflows.synthesizing import codes

__all__ = ["Pseudonymized", "pseudonymize", "pseudonymize_together", "read_key"]

STILL_PERSONAL = (
    "Rows with pseudonyms are personal data: people can be found by the other columns, and by whoever has "
    "the key."
)
UNRECOGNIZED = (
    "Not recognized in texts: names that no column holds and no title precedes, nicknames, misspelled or "
    "inflected names, and the story itself, by which people can be found all the same."
)
_PLURALS: Mapping[Kind, str] = {**PLURALS, "identifier": "identifiers that a column holds"}
_LABELS: Mapping[Kind, str] = {
    "full name": "name",
    "part of a name": "name",
    "e-mail address": "email",
    "postal address": "address",
    "phone number": "phone",
    "account number": "account",
    "national identifier": "identifier",
    "identifier": "identifier",
}
"""What invented pseudonyms are called after that stand in no column."""


@dataclass(frozen=True, kw_only=True)
class TextCounts(PlainData):
    """In how many texts of a column something was replaced, and how often what; rows count, not values."""

    n_texts: int
    n_changed: int
    places: Mapping[Kind, int]

    @property
    def n_places(self) -> int:
        """How often anything was replaced."""
        return sum(self.places.values())

    def sentence(self, name: str) -> str:
        """Say what was replaced in a column."""
        if not self.places:
            return f"{listed([name])}: nothing replaced, in {plural(self.n_texts, 'text')}."
        told = [plural(count, kind, _PLURALS[kind]) for kind, count in self.places.items()]
        changed = plural(self.n_changed, "text")
        return f"{listed([name])}: {joined(told)} replaced, in {changed} of {self.n_texts:,}."


@dataclass(frozen=True, kw_only=True, eq=False)
class Pseudonymized:
    """A table with pseudonyms in some columns. Which were whose is not held here, and neither is the key.

    ``columns`` has the new texts of each column that names people, ``texts`` those of each column of free
    text, and ``counts`` how often what was replaced there; ``key_made`` tells whether the key was drawn just
    now.
    """

    source: Any  # what was given
    columns: Mapping[str, ColumnTexts]
    texts: Mapping[str, ColumnTexts] = field(default_factory=dict)
    counts: Mapping[str, TextCounts] = field(default_factory=dict)
    key_made: bool = False
    notes: tuple[str, ...] = ()

    @property
    def replaced(self) -> dict[str, ColumnTexts]:
        """All columns that have other texts now."""
        return {**self.columns, **self.texts}

    @cached_property
    def rows(self) -> Any:  # noqa: ANN401 - see below
        """The rows with pseudonyms, in the kind of table that came in; those of a file as an Arrow table."""
        return replace_native(self.source, self.replaced)

    @property
    def n_pseudonyms(self) -> int:
        """How many different values were replaced, column by column."""
        return sum(len(column.texts) for column in self.columns.values())

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many pseudonyms there are, and where; of texts, how many of which kind."""
        told = [counts.sentence(name) for name, counts in self.counts.items()]
        if self.columns:
            told.insert(0, f"{plural(self.n_pseudonyms, 'pseudonym')} in {listed(list(self.columns))}.")
        return tuple(told) or ("No column to be replaced.",)

    def as_read(self) -> Source:
        """Return the rows with pseudonyms as they would be read from where they stood."""
        return replace_source(sources.read(self.source, "data"), self.replaced)

    def __repr__(self) -> str:
        told = [f"{name}: {plural(len(found.texts), 'pseudonym')}" for name, found in self.columns.items()]
        told += [f"{name}: {plural(counts.n_places, 'place')}" for name, counts in self.counts.items()]
        return escaped("; ".join(told))


def pseudonymize(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    columns: str | Sequence[str] = (),
    *,
    key: str | Path,
    style: Style = "hash",
    texts: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
) -> Pseudonymized:
    """Replace identifiers by pseudonyms, as ``tabveil pseudonymize`` does.

    People can still be found by the other columns, by the story that a text tells, and by whoever has the
    key: what is left is personal data.

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
    texts
        Columns of free text; None takes those that look like it, and an empty list none. In them is replaced
        what :class:`~tabveil.metrics.properties.PiiReplay` recognizes: e-mail and postal addresses, phone and
        account numbers and national identifiers by their form, what the columns hold that name people, and
        names after a title. A value of a column has the pseudonym that it has there. Names that no column
        holds and no title precedes, nicknames, misspelled or inflected names, and the story itself stay.

    drop
        Columns that the rows are not to have.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> people = pd.DataFrame({"name": ["Ann", "Bob", "Ann"], "age": [31, 45, 32]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = pseudonymize(people, "name", key=f"{folder}/key").rows
    >>> rows["name"].nunique(), bool(rows["name"][0] == rows["name"][2]), rows["age"].tolist()
    (2, True, [31, 45, 32])
    >>> people["note"] = ["Ann fell.", "Bob called Ann, see bob@x.org.", "All is well."]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hidden = pseudonymize(people, "name", texts="note", key=f"{folder}/key")
    >>> hidden.sentences[1]
    'note: 3 first names or surnames and 1 e-mail address replaced, in 2 texts of 3.'
    >>> rows = hidden.rows
    >>> bool(rows["note"][0] == f"{rows['name'][0]} fell.")
    True
    """
    rows = leave_out(data, drop)
    (found,) = pseudonymize_together([rows], columns, key=key, style=style, texts=texts)
    return found


def pseudonymize_together(
    tables: Sequence[Any],
    columns: str | Sequence[str] = (),
    *,
    key: str | Path,
    style: Style = "hash",
    texts: str | Sequence[str] | None = None,
) -> tuple[Pseudonymized, ...]:
    """Replace identifiers of several tables: in either style the same value has one pseudonym in all of them.

    The first table must have the columns. Others may lack some, and then there is nothing to replace.
    """
    check.one_of("pseudonymize", "style", style, get_args(Style))
    raw = [raw_rows(data) for data in tables]
    there = list(dict.fromkeys(raw[0].column_names))
    names = _distinct(columns)
    check.known_names("pseudonymize", "column", names, there)
    named = [_read(table, names) for table in raw]
    loaded = load_table(tables[0])
    written_in = _written_in(texts, names, there, like_texts=loaded.texts)
    written = [_read(table, written_in, as_written=True) for table in raw]
    # Other columns that are called after what names people: it may stand in texts, too.
    others = [name for name in there if name not in (*names, *written_in)]
    alike = [name for name in others if name_part(name) or kind_called(name)]
    beside = [_read(table, alike) if any(written) else {} for table in raw]
    key_made = not Path(key).exists()
    secret = keys.make_key(key) if key_made else read_key(key)
    hidden = {
        name: keys.hide(name, [own[name] for own in group if name in own], secret, style, neutral=neutral)
        # What stays in its column must not have a double in a text.
        for group, neutral in ((named, False), (beside, True))
        for name in group[0]
    }
    in_texts, about_texts = _hide_in_texts(written, hidden, names, secret, style)
    left_alone = [name for name in loaded.identifiers if name in others]
    advice = (
        f"Nearly every row has its own value in {listed(left_alone)}, too: if these name people, name these "
        "columns as well."
    )
    return tuple(
        Pseudonymized(
            source=data,
            columns={name: hidden[name].of(column) for name, column in own.items()},
            texts={name: column for name, (column, _) in in_text.items()},
            counts={name: counts for name, (_, counts) in in_text.items()},
            key_made=key_made,
            notes=(*((advice,) if left_alone else ()), *about_texts),
        )
        for data, own, in_text in zip(tables, named, in_texts, strict=True)
    )


def _written_in(
    texts: str | Sequence[str] | None,
    names: Sequence[str],
    there: Sequence[str],
    *,
    like_texts: Sequence[str],
) -> tuple[str, ...]:
    """Return the columns of free text in which something is to be replaced."""
    chosen = _distinct([name for name in like_texts if name not in names] if texts is None else texts)
    check.known_names("pseudonymize", "column", chosen, there)
    if not names and not chosen:
        raise ParameterError("pseudonymize", "name at least one column.")
    if both := [name for name in chosen if name in names]:
        fault = f"{listed(both)} cannot be both, a column that names people and free text."
        raise ParameterError("pseudonymize", fault)
    return chosen


def _distinct(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def _read(table: RawTable, names: Sequence[str], *, as_written: bool = False) -> dict[str, ColumnTexts]:
    return {
        name: column_texts("pseudonymize", table, name, as_written=as_written)
        for name in names
        if name in table.column_names
    }


def _hide_in_texts(
    tables: Sequence[Mapping[str, ColumnTexts]],
    hidden: Mapping[str, ColumnPseudonyms],
    named: Sequence[str],
    key: bytes,
    style: Style,
) -> tuple[list[dict[str, tuple[ColumnTexts, TextCounts]]], list[str]]:
    """Replace in the texts of some tables what names people, and say what there is to know about it.

    ``hidden`` has the pseudonyms of columns that name people, of which a user ``named`` some.
    """
    if not any(tables):
        return [{} for _ in tables], []
    texts = [text for table in tables for column in table.values() for text in column.texts]
    known = _known(hidden, named, texts)
    found = [{name: list(map(known.places, own.texts)) for name, own in table.items()} for table in tables]
    everywhere = (place.value for table in found for own in table.values() for each in own for place in each)
    pseudonyms = _pseudonyms(set(everywhere), hidden, key, style)
    replaced = [
        {name: _replaced(column, places[name], pseudonyms) for name, column in table.items()}
        for table, places in zip(tables, found, strict=True)
    ]
    notes = [
        f"{plural(n, 'value')} of {listed([name])} {'is' if n == 1 else 'are'} too short or too long to be "
        "looked for in texts."
        for name, n in known.n_unfit.items()
    ]
    return replaced, [*notes, *([WITHOUT_PLANS] if numbering_plans() is None else []), UNRECOGNIZED]


def _known(
    hidden: Mapping[str, ColumnPseudonyms], named: Sequence[str], texts: Sequence[str]
) -> NamingValues:
    """Collect what is looked for; what columns hold comes before names after titles, and parts come last."""
    known = NamingValues()
    in_order = sorted(hidden, key=lambda name: name not in named)
    for name in in_order:
        known.add_column(name, sorted(hidden[name].pseudonyms), named=name in named)
    known.add_titled(texts)
    for name in in_order:
        if name in named or name_part(name) is not None:
            known.add_parts_of_names(sorted(hidden[name].pseudonyms))
    return known


def _pseudonyms(
    values: set[Value], hidden: Mapping[str, ColumnPseudonyms], key: bytes, style: Style
) -> dict[Value, str]:
    """Give every value the pseudonym that it has in its column; the others, their own."""
    found = {
        value: hidden[value.column].pseudonyms[value.text] for value in values if value.column is not None
    }
    others = sorted(values - found.keys(), key=lambda value: (value.kind, value.text))
    if style == "hash":
        own = keys.hashes([value.text for value in others], key)
        return found | {value: own[value.text] for value in others}
    taken = {codes.token(name) for name in hidden}
    for label in sorted({_LABELS[value.kind] for value in others}):
        these = [value for value in others if _LABELS[value.kind] == label]
        name = label
        while codes.token(name) in taken:  # neutral pseudonyms must not be those of a column
            name = f"other_{name}"
        own = keys.invented(name, sorted({value.text for value in these}), key, neutral=True)
        found |= {value: own[value.text] for value in these}
    return found


def _replaced(
    column: ColumnTexts, places: Sequence[Sequence[NamingPlace]], pseudonyms: Mapping[Value, str]
) -> tuple[ColumnTexts, TextCounts]:
    rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts)).tolist()
    texts = []
    found: Counter[Kind] = Counter()
    for n, text, own in zip(rows, column.texts, places, strict=True):
        pieces, end = [], 0
        for place in own:
            pieces += [text[end : place.start], pseudonyms[place.value]]
            end = place.end
            found[place.value.kind] += n
        texts.append("".join([*pieces, text[end:]]))
    counts = TextCounts(
        n_texts=sum(rows),
        n_changed=sum(n for n, own in zip(rows, places, strict=True) if own),
        places=dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))),
    )
    return replace(column, texts=tuple(texts), whole=False), counts
