"""Which columns name people, or hold texts about them, instead of telling something that rows share.

Labels that nearly all differ are names. Of whole numbers that nearly all differ many are measures, such as a
salary, which must not be taken for a number of somebody: two people earn the same about as often as they earn
one more or less. Numbers of people never meet, however near they come.

A free text is neither a category, for hardly two rows share one, nor an identifier, for it tells something
about people. Rows are compared by how many words it has. What its words repeat is another question, for
metrics that read them (:func:`as_words`).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tabveil.core.check import listed
from tabveil.core.table import Categorical, Holds, Numeric
from tabveil.tables.reading.arrow import Floats
from tabveil.tables.reading.encode import EncodedColumn
from tabveil.tables.reading.infer import Declaration, found
from tabveil.tables.reading.layout import ColumnLayout
from tabveil.tables.reading.raw_column import EXACT, Kind, Texts
from tabveil.tables.words import Words

FEWEST_ROWS = 20
"""With fewer rows nothing can be told."""
NEARLY_ALL = 0.95
"""The share of different values from which on a column may be one of identifiers, whatever its name is."""
MANY = 0.5
"""The same where the name says it: a person may have several rows."""
LONG = 7
"""Whole numbers that all have the same number of digits, at least so many, are no measures."""
FOUR_DIGITS = 1000
"""Smaller numbers are counted, whatever the name says: the third visit is nobody's number."""
EXPECTED = 8.0
"""So many equal pairs must be expected of a measure before their absence says anything."""
FEW = 0.1
"""Equal pairs, as a share of those expected, that identifiers may still have."""
NEAR = (1, 2, 5, 10, 100)
"""How far apart numbers are that tell how often equal ones are to be expected."""

NUMBERS = frozenset(
    {"id", "ids", "identifier", "nr", "nbr", "no", "num", "number", "nummer", "key", "uid", "uuid", "guid"}
    | {"mrn", "ssn", "iban", "account", "acct"}
)
_NAMES = frozenset(
    {"name", "names", "surname", "forename", "firstname", "lastname", "fullname", "vorname", "nachname"}
    | {"email", "mail", "phone", "telephone", "tel", "mobile", "fax", "address"}
)
_PEOPLE = frozenset(
    {"case", "patient", "person", "participant", "subject", "respondent", "customer", "client", "member"}
    | {"user", "employee", "student", "household", "encounter", "record"}
)

_REACHED = frozenset({"email", "mail", "phone", "telephone", "tel", "mobile"})
_OF_PEOPLE = frozenset({"mrn", "ssn", "iban", "account", "acct"})


def identifies(encoded: EncodedColumn, declared: Declaration | None = None) -> bool:
    """Tell a column that names people, as its declaration, its name and its values in the first table say.

    Texts, which tell of people as names do, are to be told from identifiers before (``free_text``).
    """
    if declared is not None and (declared.type in ("identifier", "text") or declared.whole_domain):
        return declared.type in ("identifier", "text")
    if isinstance(encoded.column, Categorical) and encoded.column.ordered:
        return False
    if encoded.place.kind not in (Kind.NUMBER, Kind.LABELS):
        return False
    role, cells = next(iter(encoded.cells.items()))
    held = cells[~np.isnan(cells)]
    share = encoded.distinct_share(role) if len(held) >= FEWEST_ROWS else 0.0
    match encoded.column:
        case Categorical(name=name):
            return share >= (MANY if names_people(name) else NEARLY_ALL)
        case Numeric(name=name, integer=True) if len(held) and float(np.abs(held).max()) < EXACT:
            if is_named_so(name, NUMBERS):
                return share >= NEARLY_ALL or (share >= MANY and float(np.median(held)) >= FOUR_DIGITS)
            return share >= NEARLY_ALL and (_kept_apart(held) or _as_long_as_each_other(held))
    return False


def names_people(name: str) -> bool:
    """Whether a column's name says that it holds names, addresses or numbers of people."""
    return is_named_so(name, NUMBERS | _NAMES)


def numbers_people(name: str) -> bool:
    """Whether a column's name says whom it numbers, or where they are reached: patient_nbr, account, email.

    >>> [numbers_people(name) for name in ("patient_nbr", "CustomerID", "account", "store_id", "client")]
    [True, True, True, False, True]
    """
    tokens = name_words(name)
    if not is_named_so(name, NUMBERS | _REACHED):
        return False
    about = _PEOPLE | _REACHED | _OF_PEOPLE
    return any(token in about or any(token.startswith(person) for person in _PEOPLE) for token in tokens)


def is_named_so(name: str, words: frozenset[str]) -> bool:
    """Whether a column's name ends in one of some words, or says nothing but whom it is about.

    >>> [is_named_so(name, NUMBERS) for name in ("patient_nbr", "PatientID", "caseid", "Case", "id_count")]
    [True, True, True, True, False]
    """
    tokens = name_words(name)
    if not tokens:
        return False
    last = tokens[-1]
    joined = any(last == person + word for person in _PEOPLE if last.startswith(person) for word in words)
    return last in words or joined or (len(tokens) == 1 and last in _PEOPLE)


def name_words(name: str) -> list[str]:
    """Return the words of a column's name, in small letters.

    >>> name_words("loan_status"), name_words("SurveyYr"), name_words("Race1")
    (['loan', 'status'], ['survey', 'yr'], ['race'])
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [token.lower() for token in re.split(r"[\W_\d]+", parted) if token]


def _kept_apart(held: Floats) -> bool:
    """Whether numbers come near each other, but are not equal as often as numbers of a measure would be."""
    gaps = np.diff(np.sort(held))
    equal = np.count_nonzero(gaps == 0)
    expected = max(float(np.count_nonzero((gaps > 0) & (gaps <= near))) / near for near in NEAR)
    return bool(expected >= EXPECTED and equal <= FEW * expected)


def _as_long_as_each_other(held: Floats) -> bool:
    """Whether all numbers are different and have the same number of digits, as those of accounts have."""
    low, high = float(held.min()), float(held.max())
    same = low > 0 and len(f"{low:.0f}") == len(f"{high:.0f}") >= LONG
    return same and len(np.unique(held)) == len(held)


SEVERAL = 6
"""Words that half of the different texts must have: names have fewer, and so have most labels."""


def is_free_text(encoded: EncodedColumn, declared: Declaration | None = None) -> bool:
    """Tell a column of free text: declared so; or mostly different strings of several words in train.

    Not a column whose name says that it names people or where they live, nor one whose author listed its
    labels, as that of a categorical type.
    """
    if declared is not None:
        return declared.type == "text"
    texts = next(iter(encoded.unbound.values()))
    if not isinstance(texts, Texts) or texts.levels or encoded.place.kind is not Kind.LABELS:
        return False
    if texts.counts.sum() < FEWEST_ROWS or names_people(encoded.column.name):
        return False
    different = texts.counts > 0
    if different.sum() < MANY * texts.counts.sum():
        return False
    held = texts.texts.filter(pa.array(different)).to_pylist()
    return float(np.median(Words.of(held).counts)) >= SEVERAL


def as_word_counts(encoded: EncodedColumn) -> EncodedColumn:
    """Return a column of texts as the number of words of each; what is digested of it stays the text."""
    assert isinstance(encoded.column, Categorical), "texts are labels"
    words = np.append(Words.of(encoded.column.labels).counts.astype(np.float64), np.nan)  # (n_labels + 1,)
    cells = {
        role: words[np.where(np.isnan(codes), -1, codes).astype(np.int64)]
        for role, codes in encoded.cells.items()
    }
    low, high = found([*cells.values()])
    whole = pa.int64()
    return replace(
        encoded,
        column=Numeric(name=encoded.column.name, low=low, high=high, decimals=0),
        cells=cells,
        place=ColumnLayout(label=encoded.place.label, kind=Kind.NUMBER, type=whole, plain=whole),
        notes=(),
        markers=(),
    )


def as_words(
    read: Mapping[str, EncodedColumn], *, texts: Collection[str], identifiers: Collection[str]
) -> list[EncodedColumn]:
    """Return the columns of words, for those who look for values and passages that reappear.

    Every column of labels or texts, and of whole numbers that name people their digits; also those that only
    some of the tables have, as a name is that a release rightly lacks but may hold in a text. ``texts`` are
    columns of free text, ``identifiers`` those that the user says name people.
    """
    words = []
    for name, encoded in read.items():
        column, cells = encoded.column, encoded.cells
        if isinstance(column, Numeric):
            exact = column.integer and max(abs(column.low), abs(column.high)) < EXACT
            naming = name in identifiers or names_people(name)
            if not (exact and naming and encoded.place.kind is Kind.NUMBER):
                continue
            known = np.unique(np.concatenate([each[~np.isnan(each)] for each in cells.values()]))
            column = Categorical(name=name, labels=tuple(f"{number:.0f}" for number in known))
            cells = {
                role: np.where(np.isnan(each), np.nan, np.searchsorted(known, each).astype(np.float64))
                for role, each in cells.items()
            }
        elif encoded.place.kind is not Kind.LABELS and not (encoded.place.code and names_people(name)):
            continue
        holds: Holds = "text" if name in texts else "identifiers" if name in identifiers else "labels"
        words.append(replace(encoded, column=replace(column, holds=holds), cells=cells))
    return words


def notes_on(texts: list[str], identifiers: list[str]) -> tuple[str, ...]:
    """Say how texts are looked at, and which columns that look like identifiers are compared all the same."""
    notes = []
    if texts:
        how = "rows are compared by how many words it has, and its passages are read by text_replay"
        notes.append(f"Free text in {listed(texts)}: {how}.")
    if identifiers:
        advice = "if these are identifiers, leave them out with --drop-identifiers"
        notes.append(f"Nearly every row has its own value in {listed(identifiers)}: {advice}.")
    return tuple(notes)
