"""Free text in which people are named by their pseudonyms: the same as in the columns that name them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabveil.core.settings.plain import PlainData
from tabveil.core.wording import joined, listed, plural
from tabveil.metrics.properties.replay.kinds import PLURALS, Kind, name_part
from tabveil.metrics.properties.replay.phones import WITHOUT_PLANS, numbering_plans
from tabveil.tables.reading.replaced_texts import ColumnTexts
from tabveil.workflows.pseudonyms.hiding import Hidden, Style, hashes, invented
from tabveil.workflows.pseudonyms.naming_values import NamingValues, Place, Value
from tabveil.workflows.synthesizing import codes

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
        of = f"{plural(self.n_changed, 'text')} of {self.n_texts:,}"
        if not self.places:
            return f"{listed([name])}: nothing replaced, in {plural(self.n_texts, 'text')}."
        told = [plural(count, kind, _PLURALS[kind]) for kind, count in self.places.items()]
        return f"{listed([name])}: {joined(told)} replaced, in {of}."


@dataclass(frozen=True, kw_only=True, eq=False)
class HiddenTexts:
    """The texts of a table with pseudonyms, by column, and what was replaced in each."""

    columns: Mapping[str, ColumnTexts]
    counts: Mapping[str, TextCounts]


def hide_in_texts(
    tables: Sequence[Mapping[str, ColumnTexts]],
    hidden: Mapping[str, Hidden],
    named: Sequence[str],
    key: bytes,
    style: Style,
) -> tuple[list[HiddenTexts], list[str]]:
    """Replace in the texts of some tables what names people, and say what there is to know about it.

    ``hidden`` has the pseudonyms of columns that name people, of which a user ``named`` some.
    """
    if not any(tables):
        return [HiddenTexts(columns={}, counts={}) for _ in tables], []
    texts = [text for table in tables for column in table.values() for text in column.texts]
    known = _known(hidden, named, texts)
    found = [{name: list(map(known.places, own.texts)) for name, own in table.items()} for table in tables]
    everywhere = (place.value for table in found for own in table.values() for each in own for place in each)
    pseudonyms = _pseudonyms(set(everywhere), hidden, key, style)
    replaced = [
        HiddenTexts(
            columns={name: _replaced(column, places[name], pseudonyms) for name, column in table.items()},
            counts={name: _counts(column, places[name]) for name, column in table.items()},
        )
        for table, places in zip(tables, found, strict=True)
    ]
    return replaced, _notes(known)


def _known(hidden: Mapping[str, Hidden], named: Sequence[str], texts: Sequence[str]) -> NamingValues:
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
    values: set[Value], hidden: Mapping[str, Hidden], key: bytes, style: Style
) -> dict[Value, str]:
    """Give every value the pseudonym that it has in its column; the others, their own."""
    found = {
        value: hidden[value.column].pseudonyms[value.text] for value in values if value.column is not None
    }
    others = sorted(values - found.keys(), key=lambda value: (value.kind, value.text))
    if style == "hash":
        own = hashes([value.text for value in others], key)
        return {**found, **{value: own[value.text] for value in others}}
    for label in sorted({_LABELS[value.kind] for value in others}):
        these = [value for value in others if _LABELS[value.kind] == label]
        own = invented(_unlike(label, hidden), sorted({value.text for value in these}), key, neutral=True)
        found |= {value: own[value.text] for value in these}
    return found


def _unlike(label: str, columns: Mapping[str, Hidden]) -> str:
    """Return what neutral pseudonyms are called so that they are not those of a column."""
    taken = {codes.token(name) for name in columns}
    while codes.token(label) in taken:
        label = f"other_{label}"
    return label


def _replaced(
    column: ColumnTexts, places: Sequence[Sequence[Place]], pseudonyms: Mapping[Value, str]
) -> ColumnTexts:
    texts = tuple(_text(text, own, pseudonyms) for text, own in zip(column.texts, places, strict=True))
    return replace(column, texts=texts, whole=False)


def _text(text: str, places: Sequence[Place], pseudonyms: Mapping[Value, str]) -> str:
    if not places:
        return text
    pieces, end = [], 0
    for place in places:
        pieces += [text[end : place.start], pseudonyms[place.value]]
        end = place.end
    return "".join([*pieces, text[end:]])


def _counts(column: ColumnTexts, places: Sequence[Sequence[Place]]) -> TextCounts:
    rows = np.bincount(column.codes[column.codes >= 0], minlength=len(column.texts)).tolist()
    found: Counter[Kind] = Counter()
    for n, own in zip(rows, places, strict=True):
        for place in own:
            found[place.value.kind] += n
    return TextCounts(
        n_texts=sum(rows),
        n_changed=sum(n for n, own in zip(rows, places, strict=True) if own),
        places=dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))),
    )


def _notes(known: NamingValues) -> list[str]:
    notes = [
        f"{plural(n, 'value')} of {listed([name])} {'is' if n == 1 else 'are'} too short or too long to be "
        "looked for in texts."
        for name, n in known.n_unfit.items()
    ]
    if numbering_plans() is None:
        notes.append(WITHOUT_PLANS)
    return [*notes, UNRECOGNIZED]
