"""Every extension point on one page.

What has a default here is optional: a class that derives from its protocol inherits it, any other is given
it where it joins (:func:`tabveil.core.settings.registry.completed`). Whoever reads it need not ask.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from numpy.random import Generator

from tabveil.core.drawn import Asked
from tabveil.core.result import Cost, Labels, Result, Threat
from tabveil.core.table import Schema, Split, Table
from tabveil.core.wording import value_of
from tabveil.engines.neighbors import Space

if TYPE_CHECKING:
    from tabveil.engines.neighbors.shared import Search
    from tabveil.tables.reading import Layout


class _OwnName:
    """The title of what gives itself none: its name."""

    def __get__(self, thing: Any, kind: Any) -> str:  # noqa: ANN401 - of any class with a name
        return str((kind if thing is None else thing).name)


class View(Protocol):
    """Rows as an attacker sees them who knows only some columns of a person."""

    columnwise: ClassVar[bool] = False
    """Whether it shows the known columns by their names, and what it shows of one, and how much a difference
    in it counts, does not depend on which others are known. An attack on each column in turn then searches
    once for all of them, with the same answers."""

    @abstractmethod
    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return one row for each row of the table, made of the known columns alone."""
        ...

    @abstractmethod
    def space(self, known: Sequence[str]) -> Space:
        """Return the distance between such rows."""
        ...


class Representation(Protocol):
    """What an attack calls near. Fields are settings; looking at tables changes nothing here."""

    name: ClassVar[str]

    learns: ClassVar[bool] = False
    """Whether a view of every release takes a training, which takes long."""
    notes: Sequence[str] = ()
    """What whoever reads an answer should know."""

    @abstractmethod
    def view(self, split: Split, *, rng: Generator, reference: Table | None = None) -> View:
        """Get ready to look at rows of these tables, learning from what an attacker has if need be.

        That is the release, and ``reference``: further real rows that an attacker may own. Nobody among them
        may be attacked.
        """
        ...


class Metric(Protocol):
    """A question about a release. Fields are parameters, checked when made; calling it changes nothing.

    It describes itself: a title, where it belongs, what it costs, and what its result says in words.
    """

    name: ClassVar[str]
    labels: ClassVar[Labels]

    title: ClassVar[str] = _OwnName()  # type: ignore[assignment]  # which is a text to whoever reads it
    cost: ClassVar[Cost] = "quick"
    extra: ClassVar[str | None] = None
    """The extra that it needs."""
    on_request: ClassVar[bool] = False
    """Whether it runs only where it is named."""
    weaker_when_larger: ClassVar[bool] = False
    """Whether larger tables make it weaker."""
    beside: ClassVar[tuple[str, ...]] = ()
    """The metrics that ask the same in another space, beside which its answer should be read."""
    by_equality: ClassVar[bool] = False
    """Whether it sees values which are equal: it is also shown the release as it was given, where numbers
    were brought to the scale of the real rows."""
    reads_words: ClassVar[bool] = False
    """Whether it is given the words of the tables in the place of their rows: columns of labels, among them
    texts and identifiers (:attr:`tabveil.core.table.Categorical.holds`), also those that rows are compared
    without."""
    without: ClassVar[str] = ""
    """What tables may lack to be asked."""
    representation: Representation | None = None
    """What it calls near, if that can be chosen."""
    cell_bytes: ClassVar[float] = 4.0
    """About how much memory it takes for each cell of the largest table, beside what is cut to fit."""

    @abstractmethod
    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Answer for these tables, or raise :class:`tabveil.errors.NotApplicable` with the reason."""
        ...

    def sentence(self, result: Result) -> str:
        """Put one of its results into a sentence: what was counted, against what."""
        if result.attack is None:
            return "No score was measured."
        told = f"The metric scores {value_of(result.attack)} with the training rows"
        if result.control is not None:
            told += f" and {value_of(result.control)} with rows the generator never saw"
        if result.baseline is not None:
            told += f"; without the release {value_of(result.baseline)}"
        return f"{told}."

    def threat(self, result: Result) -> Threat | None:
        """Say what the attacker behind a result knows and wants; None where nobody attacks."""
        if result.labels.pillar != "attack":
            return None
        return Threat(
            knows="further data about people" if result.labels.auxiliary else "nothing beyond the release",
            wants="membership" if result.labels.wp29 == "propensity" else result.labels.wp29,
        )

    def asked(self) -> Asked:
        """Say whom it asks, where an audit draws a part of them: people, unless it says something else."""
        return "people"

    def judged_part(self) -> Self:
        """Return what is judged of it, if it also answers for comparison: enough to ask it again."""
        return self

    def searches(self, split: Split) -> Iterable["Search"]:  # noqa: ARG002 - most search for themselves
        """Name the searches among whole tables that others may ask for, too: each is then made once."""
        return ()


class Model(Protocol):
    """A fitted generator: rows can be drawn from it, and it can be stored."""

    schema: Schema
    """The columns of its rows: those that were learned from."""

    notes: Sequence[str] | str = ()
    """Texts for whoever fitted it."""
    privacy: Any = None
    """What it promises: a :class:`tabveil.synthesis.generators.Privacy`, or nothing."""
    history: Iterable[Any] = ()
    """A :class:`tabveil.engines.networks.Epoch` for each round of training."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the synthesizer that made it, by which a stored model is opened again."""
        ...

    @abstractmethod
    def sample(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows, with values from the domains of the columns learned from."""
        ...

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the model into a folder that is not there yet: everything that ``load`` needs."""
        ...


class Synthesizer(Protocol):
    """A way to learn a table. Fitting returns a model and changes nothing here.

    What the constructor takes by name are its settings, each of which it keeps under its name. Whoever has a
    setting ``public`` promises privacy: it is told there which columns were declared as a whole, and is
    fitted with a secret seed unless one is given. Its rows leave in the form that the schema declares.
    """

    name: ClassVar[str]

    copies_rows: ClassVar[bool] = False
    """Whether it copies rows on purpose: there is nothing to be gained by pooling rare labels."""
    keeps_dependencies: bool = False
    """Whether it keeps columns which follow from others: what comes before must do so, too."""
    needs_secret_seed: bool = False
    """Whether a promise that is not one of ``public`` holds only while nobody can guess the seed."""
    names_labels: Collection[str] = ()
    """The columns whose labels all stand in the settings: nobody's rows had to be read for them."""
    hierarchies: Collection[str] = ()
    """The columns that its settings have hierarchies for."""
    device: str | None = None
    """Where its network trains, if it has one."""

    @abstractmethod
    def fit(self, table: Table, *, rng: Generator) -> Model:
        """Learn from these rows. How far it is can be told with :func:`tabveil.core.workers.tell`."""
        ...

    def fit_written(
        self,
        table: Table,
        layout: "Layout | None",  # noqa: ARG002 - most need not know
        *,
        declared: Iterable[str] | None,  # noqa: ARG002 - likewise
        rng: Generator,
    ) -> Model:
        """Fit where it is known how the columns are written and which of them a schema declares."""
        return self.fit(table, rng=rng)

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Model:
        """Open again what a model of this synthesizer saved, without running anything that stands there."""
        ...


class Dataset(Protocol):
    """Real rows, or such as are made up, to try risk models on. Fields are parameters."""

    name: ClassVar[str]

    @abstractmethod
    def load(self) -> Any:  # noqa: ANN401 - a path, or a table of ours or of any dataframe library
        """Return all rows; the same each time."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Release:
    """Rows of a known risk, and numbers that came out as they were made, such as a ratio that was reached."""

    rows: Table
    facts: Mapping[str, float] = field(default_factory=dict)


class RiskModel(Protocol):
    """A way to make releases of a known risk. Fields are parameters; calling it changes nothing.

    ``levels`` are those to try, from the least risk on.
    """

    name: ClassVar[str]
    levels: ClassVar[tuple[float, ...]]

    costly: ClassVar[bool] = False
    """Whether a release takes so long to make that a benchmark had better keep it."""

    @staticmethod
    def check_level(level: float) -> None:
        """Refuse a level before anything is made."""

    @abstractmethod
    def __call__(self, train: Table, release: Table, level: float, *, rng: Generator) -> Table | Release:
        """Return as many rows as ``release``, of its schema, that betray as much of train as the level says.

        ``release`` are real rows that nobody learned from. What a level means is the model's to say: for
        leaks it is the share of the release rows that come from train.
        """
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """Disjoint real rows: to learn from, to compare with, and to release where nothing is learned."""

    train: Table
    control: Table
    release: Table


class Modifier(Protocol):
    """A change of the circumstances under which a risk model is tried. Fields are parameters.

    ``levels`` are how strongly, one after the other.
    """

    name: ClassVar[str]
    levels: ClassVar[tuple[float, ...]]

    @staticmethod
    def check_level(level: float) -> None:
        """Refuse a level before anything is made."""

    @abstractmethod
    def __call__(
        self, people: People, level: float, make: Callable[[Table, Table], Table], *, rng: Generator
    ) -> Split:
        """Return the tables that metrics are asked about.

        ``make(train, release)`` is the risk model at the level to be tried: it returns synthetic rows.
        """
        ...
