"""Properties of the two tables of an audit: the rows that were learned from, and the release."""

from collections.abc import Sequence
from dataclasses import dataclass

from tabveil.core.settings.plain import PlainData
from tabveil.core.table import Split
from tabveil.metrics.properties.measuring import Properties, measure


@dataclass(frozen=True, kw_only=True)
class SplitProperties(PlainData):
    """The same properties of both tables; what each class of either tells is compared with all of train."""

    train: Properties
    synthetic: Properties

    def __post_init__(self) -> None:
        """Refuse two tables that were not measured alike, as a changed file may say."""
        if self.train.columns() != self.synthetic.columns():
            raise ValueError("both tables must be measured by the same columns")


def measure_split(
    split: Split, *, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
) -> SplitProperties:
    """Measure train and release; the reference distribution of both is that of train.

    An attacker who looks at a release wants to learn about the people of train, so it is their distribution
    that he is taken to know. A class of the release may hold values that train lacks: its gain is infinite.
    """
    return SplitProperties(
        train=measure(split.train, quasi_identifiers=quasi_identifiers, sensitive=sensitive),
        synthetic=measure(
            split.synthetic,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            reference=split.train,
        ),
    )
