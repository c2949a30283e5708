"""What it means that only a part of the people was asked: how many of how many, and what that cost.

A sample changes no leak on average, only how sure one can be. What it cost is therefore told as the smallest
gain that this many people can tell from nothing, beside that of all of them.
"""

from dataclasses import dataclass, replace

from tabveil.core.drawn import Asked, Drawn
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.estimate.risk import smallest_gain
from tabveil.core.result import Result
from tabveil.core.storage.plain import Number, PlainData
from tabveil.core.wording import level
from tabveil.errors import ParameterError

FEWEST = 100
"""With fewer people hardly any leak could be told from chance."""


@dataclass(frozen=True, kw_only=True)
class Sampled(PlainData):
    """How many people of how many were asked, released rows likewise, and the smallest gains to be told."""

    counted: str  # "rows", or "people" who may have several
    train: int
    of_train: int
    control: int
    of_control: int
    released: int
    of_released: int
    confidence: Number = CONFIDENCE
    smallest_gain: Number | None = None  # None where there is no control
    smallest_gain_of_all: Number | None = None

    @classmethod
    def of(cls, drawn: Drawn, confidence: float) -> "Sampled":
        """Count them."""
        asked, whole = drawn.split("people"), drawn.whole
        sizes = (asked.train.n_people, asked.control.n_people)
        all_sizes = (whole.train.n_people, whole.control.n_people)
        gains = [smallest_gain(*each, confidence) if all(each) else None for each in (sizes, all_sizes)]
        return cls(
            counted="rows" if whole.train.people is None else "people",
            train=sizes[0],
            of_train=all_sizes[0],
            control=sizes[1],
            of_control=all_sizes[1],
            released=len(drawn.synthetic),
            of_released=len(whole.synthetic),
            confidence=confidence,
            smallest_gain=gains[0],
            smallest_gain_of_all=gains[1],
        )

    @property
    def sentence(self) -> str:
        """Tell what was done, and what power that cost."""
        told = (
            f"Only a sample was asked, drawn at random: {self.train:,} of {self.of_train:,} training "
            f"{self.counted}"
        )
        if self.of_control:
            told += f" and {self.control:,} of {self.of_control:,} control {self.counted}"
        told += (
            f" were attacked, with all {self.of_released:,} released rows to find them in; where released "
            f"rows are asked, {self.released:,} were, about all real ones. A leak is neither larger nor "
            "smaller for that on average, but intervals are wider. Equal rows were counted among all rows; "
            "near copies, which are not equal, were not counted."
        )
        if self.smallest_gain is None or self.smallest_gain_of_all is None:
            return told
        return (
            f"{told} One attack that is right about half of the people it never met can tell a gain of "
            f"{self.smallest_gain:.2g} from chance ({level(self.confidence)} interval above zero); asking "
            f"everybody, it could tell {self.smallest_gain_of_all:.2g}. A larger --sample narrows it."
        )


def required(owner: str, n_people: int) -> int:
    """Refuse a sample that could tell nothing."""
    if n_people < FEWEST:
        raise ParameterError(
            owner,
            f"sample must be at least {FEWEST} people, or no leak could be told from chance, got {n_people}.",
        )
    return n_people


def stamped(result: Result, drawn: Drawn, asked: Asked) -> Result:
    """Return a result of a sample as one: where its rows stand, and a note of how many were asked."""
    if asked == "everything":
        return result
    shown, whole = drawn.split(asked), drawn.whole
    parts = [
        f"{len(getattr(shown, role)):,} of {len(getattr(whole, role)):,} {called} rows"
        for role, called in (("train", "training"), ("control", "control"), ("synthetic", "released"))
        if len(getattr(shown, role)) < len(getattr(whole, role))
    ]
    note = f"From a sample: {' and '.join(parts)} were asked."
    if asked == "people, by claims":
        note += (
            " Rates of claims are smaller than among everybody and no risk is made of them; gains are not."
        )
        result = replace(result, risk=None)
    return replace(drawn.placed(result, asked), notes=(*result.notes, note))
