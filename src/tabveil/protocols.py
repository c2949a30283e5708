"""Every extension point on one page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from numpy.random import Generator

from tabveil.core.result import Cost, Labels, Result, Threat
from tabveil.core.table import Schema, Split, Table
from tabveil.engines.neighbors import Space


class Metric(Protocol):
    """A question about a release. Fields are parameters, checked when made; calling it changes nothing.

    It describes itself: a title, where it belongs, what it costs, and what its result says in words. It may
    also say which extra it needs (``extra``), that it runs only where it is named (``on_request``), and that
    larger tables make it weaker (``weaker_when_larger``), and beside which metrics its answer should be read,
    that ask the same in another space (``beside``). One that sees values which are equal (``by_equality``) is
    also shown the release as it was given, where numbers were brought to the scale of the real rows.

    A metric that ``reads_words`` is given the words of the tables in the place of their rows: columns of
    labels, among them texts and identifiers (:attr:`tabveil.core.table.Categorical.holds`), also those that
    rows are compared without. It says what tables may lack to be asked (``without``).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    labels: ClassVar[Labels]
    cost: ClassVar[Cost]

    def __call__(self, split: Split, *, rng: Generator) -> Result:
        """Answer for these tables, or raise :class:`tabveil.errors.NotApplicable` with the reason."""
        ...

    def sentence(self, result: Result) -> str:
        """Put one of its results into a sentence: what was counted, against what."""
        ...

    def threat(self, result: Result) -> Threat | None:
        """Say what the attacker behind a result knows and wants; None where nobody attacks."""
        ...


class View(Protocol):
    """Rows as an attacker sees them who knows only some columns of a person.

    It may also say that it is ``columnwise``: it shows the known columns by their names, and what it shows of
    one, and how much a difference in it counts, does not depend on which others are known. An attack on each
    column in turn then searches once for all of them, with the same answers.
    """

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return one row for each row of the table, made of the known columns alone."""
        ...

    def space(self, known: Sequence[str]) -> Space:
        """Return the distance between such rows."""
        ...


class Representation(Protocol):
    """What an attack calls near. Fields are settings; looking at tables changes nothing here.

    It may also say that it ``learns``: that a view of every release takes a training, which takes long; and
    it may have ``notes``, which whoever reads an answer should know.
    """

    name: ClassVar[str]

    def view(self, split: Split, *, rng: Generator, reference: Table | None = None) -> View:
        """Get ready to look at rows of these tables, learning from what an attacker has if need be.

        That is the release, and ``reference``: further real rows that an attacker may own. Nobody among them
        may be attacked.
        """
        ...


class Model(Protocol):
    """A fitted generator: rows can be drawn from it, and it can be stored.

    It may also tell ``notes`` (texts for whoever fitted it), ``privacy`` (a
    :class:`tabveil.synthesis.generators.Privacy`) and ``history`` (a :class:`tabveil.engines.networks.Epoch`
    for each round of training). Nothing of that is required; :class:`tabveil.synthesis.generators.Account`
    reads it, and says what stands where it is absent.
    """

    @property
    def name(self) -> str:
        """The name of the synthesizer that made it, by which a stored model is opened again."""
        ...

    @property
    def schema(self) -> Schema:
        """The columns of its rows: those that were learned from."""
        ...

    def sample(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows, with values from the domains of the columns learned from."""
        ...

    def save(self, folder: Path) -> None:
        """Write the model into a folder that is not there yet: everything that ``load`` needs."""
        ...


class Synthesizer(Protocol):
    """A way to learn a table. Fitting returns a model and changes nothing here.

    What the constructor takes by name are its settings, each of which it keeps under its name. Whoever has a
    setting ``public`` promises privacy: it is told there which columns were declared as a whole, and is
    fitted with a secret seed unless one is given. Its rows leave in the form that the schema declares.

    It may also have ``fit_written(table, layout, *, declared, rng)``, which is called in place of ``fit``
    where it is known how the columns are written and which of them a schema declares.
    """

    name: ClassVar[str]

    def fit(self, table: Table, *, rng: Generator) -> Model:
        """Learn from these rows. How far it is can be told with :func:`tabveil.core.workers.tell`."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Model:
        """Open again what a model of this synthesizer saved, without running anything that stands there."""
        ...


class Dataset(Protocol):
    """Real rows, or such as are made up, to try risk models on. Fields are parameters."""

    name: ClassVar[str]

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

    ``levels`` are those to try, from the least risk on. It may also say that it is ``costly``: that a release
    takes so long to make that a benchmark had better keep it; and it may have ``check_level(level)``, which
    refuses a level before anything is made.
    """

    name: ClassVar[str]
    levels: ClassVar[tuple[float, ...]]

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

    ``levels`` are how strongly, one after the other; ``check_level`` as in :class:`RiskModel`.
    """

    name: ClassVar[str]
    levels: ClassVar[tuple[float, ...]]

    def __call__(
        self, people: People, level: float, make: Callable[[Table, Table], Table], *, rng: Generator
    ) -> Split:
        """Return the tables that metrics are asked about.

        ``make(train, release)`` is the risk model at the level to be tried: it returns synthetic rows.
        """
        ...
