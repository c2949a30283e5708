"""Traces: data of training people that stand in a release, seen without an attack.

A copied row is one; a letter, a case number, a name, a row but for one of its values, or the order of the
rows are others. Each is told from chance by people the generator never saw: what the release holds of control
people, it holds by chance.
"""

from dataclasses import dataclass

from tabveil.core.estimate import Estimate
from tabveil.core.storage.plain import Number, PlainData


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One kind of trace, how many people and released rows it concerns, and how often chance gives as much.

    ``people`` of ``n_people`` training people are concerned, ``people_control`` of ``n_control`` others;
    ``gain`` is the difference of the two shares. ``rows`` of the ``n_rows`` released rows hold what one
    training person alone has, where rows can be counted; ``rows_expected`` would by chance. ``p_value`` is
    one-sided, and corrected for all that was tried to find it. ``proven`` says that it stands without the
    control: no bad control protects it. ``columns`` are those that carry it, most first. ``sentence`` says
    it in words, and shows nobody's value.
    """

    name: str
    title: str
    sentence: str
    p_value: Number
    people: int
    n_people: int
    people_control: int = 0
    n_control: int = 0
    gain: Estimate
    rows: int | None = None
    rows_expected: Number | None = None
    n_rows: int = 0
    columns: tuple[str, ...] = ()
    proven: bool = False

    @property
    def share(self) -> float:
        """The share that is judged: of people, or of released rows beyond chance, whichever is larger."""
        if self.rows is None or self.n_rows == 0:
            return self.gain.value
        return max(self.gain.value, (self.rows - (self.rows_expected or 0.0)) / self.n_rows)

    def seen(self, level: float) -> bool:
        """Tell whether it is more than chance explains, at this level."""
        return self.p_value <= level


@dataclass(frozen=True, kw_only=True)
class Traces(PlainData):
    """All kinds of traces that were looked for and could be."""

    found: tuple[Trace, ...] = ()
