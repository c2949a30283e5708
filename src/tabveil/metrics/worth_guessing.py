"""Which column would a person try to guess, or want a model to predict?

An outcome comes first: labels that are called one, such as ``outcome``, ``readmitted`` or ``y``; else the
last column of the file, where it has few labels. Then come the others, by what whoever asks makes of them.
Columns that are known of everybody, such as a sex or a day of the week, come after their like, and last of
all come those that are told by another column, or nearly always alike.

Nothing here looks at who was trained on. What the last column is was settled when the file was read.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tabveil.core.table import Categorical, Column
from tabveil.tables.reading.identifiers import name_words

LEAST_ROOM = 0.02
"""Who is right in more than 98 of 100 cases by one other column alone leaves no room for a risk."""
FEW_LABELS = 20
"""With more, the last column is no outcome by its place alone."""

CALLED = frozenset(
    {"target", "label", "outcome", "class", "y", "response", "result", "income", "salary", "default", "churn"}
    | {"loan status", "vital status", "attrition", "exited", "approved", "survival", "survived", "hiv"}
)
"""Whole names of outcomes."""
TELLING = frozenset(
    {"target", "outcome", "readmitted", "readmission", "diagnosis", "diagnoses", "diag", "defaulted"}
    | {"churned", "fraud", "fraudulent", "mortality", "died", "death", "deceased", "disease", "diabetes"}
    | {"cancer"}
)
"""Words that make a name that of an outcome wherever they stand, but for counts of something."""
LEADING = frozenset({"income", "salary", "earnings", "class"})
"""Words that do where a comparison follows: ``income_gt_50k``."""
COMPARED = frozenset(
    {"gt", "ge", "lt", "le", "above", "over", "below", "under", "level", "class", "bracket", "k"}
)
COUNTED = frozenset({"number", "num", "n", "count", "age", "date", "year", "time", "days"})

CALENDAR = frozenset(
    {"day", "days", "weekday", "dow", "week", "month", "quarter", "year", "yr", "date", "time", "hour"}
    | {"minute", "timestamp", "season", "period", "born", "birth", "birthday", "birthdate", "dob"}
)
PLAIN = frozenset(
    {"sex", "gender", "age", "race", "ethnicity", "ethnic", "zip", "zipcode", "postcode", "plz", "id"}
    | {"index"}
)


def called_outcome(name: str) -> bool:
    """Whether a column is called as somebody calls what is to be predicted.

    >>> [called_outcome(name) for name in ("y", "Outcome", "income_gt_50k", "loan_status", "diag_1")]
    [True, True, True, True, True]
    >>> [called_outcome(name) for name in ("day_of_week", "class_of_worker", "poutcome", "number_diagnoses")]
    [False, False, False, False]
    """
    words = name_words(name)
    if not words or words[0] in COUNTED or words[-1] in COUNTED:
        return False
    compared = len(words) > 1 and words[0] in LEADING and words[1] in COMPARED
    return " ".join(words) in CALLED or compared or not TELLING.isdisjoint(words)


def known_anyway(name: str) -> bool:
    """Whether a column's name says that it is no secret: a day, a month, a sex, an index.

    >>> [known_anyway(name) for name in ("day_of_week", "issue_month", "SurveyYr", "sex", "triage")]
    [True, True, True, True, False]
    """
    words = name_words(name)
    return (
        bool(words) and (words[-1] in CALENDAR | PLAIN or words[:2] == ["day", "of"]) and "per" not in words
    )


@dataclass(frozen=True, kw_only=True)
class GuessableColumn:
    """A column that may be guessed or predicted."""

    column: Column
    n_values: int  # different ones among real people
    room: float  # how often it is guessed wrong without knowing more
    worth: float  # by which columns that are no outcome are ranked, the largest first

    @property
    def is_label(self) -> bool:
        """Whether a guess can be just right."""
        return isinstance(self.column, Categorical)

    @property
    def outcome(self) -> tuple[bool, bool] | None:
        """How much of an outcome it looks like, the largest first; None where it does not.

        Numbers do only where both their name and their place say so.
        """
        named, last = called_outcome(self.column.name), self.column.stood_last
        if self.room < LEAST_ROOM or known_anyway(self.column.name):
            return None
        if not self.is_label:
            return (True, True) if named and last else None
        last = last and self.n_values <= FEW_LABELS
        return (named, last) if named or last else None


def in_order(candidates: Iterable[GuessableColumn], *, labels_first: bool) -> list[str]:
    """Return the columns in the order in which a person would try them."""
    every = sorted(candidates, key=lambda item: item.column.name)
    outcomes = [item for item in every if item.outcome is not None]
    first = max(outcomes, key=lambda item: (item.outcome, round(item.worth, 9)), default=None)

    def rank(item: GuessableColumn) -> tuple[bool, bool, bool, bool, float, str]:
        """Rank a column; what floating point adds to its worth does not decide."""
        name, late = item.column.name, labels_first and not item.is_label
        return (
            item is not first,
            item.room < LEAST_ROOM,
            late,
            known_anyway(name),
            -round(item.worth, 9),
            name,
        )

    return [item.column.name for item in sorted(every, key=rank)]
