"""What an attack calls near: ways to look at rows, so that one neighbor engine can compare them.

See docs/definitions.md, Distances.
"""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import in_order
from tabveil.core.settings.registry import Registry, completed, values_of
from tabveil.core.table import Floats, Numeric, Schema, Split, Table
from tabveil.core.workers import shared
from tabveil.engines.embedding import ContrastiveSettings, Embedding
from tabveil.engines.isolation import isolation_scores
from tabveil.engines.neighbors import MeasuredColumn, Space, local_outlier_factors
from tabveil.engines.networks import load_torch, require_device
from tabveil.errors import NotApplicable, ParameterError
from tabveil.protocols import Representation, View


@dataclass(frozen=True, kw_only=True)
class KnownColumns(View):
    """The known columns as they are, by a distance over them."""

    distance: Callable[[Sequence[str]], Space]
    columnwise: bool = True  # type: ignore[misc]  # as the distance is

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the known columns."""
        return table.select(known)

    def space(self, known: Sequence[str]) -> Space:
        """Return the distance over the known columns."""
        return self.distance(known)


class UnlearnedRepresentation(Representation):
    """A distance over the columns as they are."""

    def view(
        self,
        split: Split,
        *,
        rng: Generator,  # noqa: ARG002 - nothing is drawn
        reference: Table | None = None,  # noqa: ARG002 - nothing is learned
    ) -> KnownColumns:
        """Look at rows of these tables; what is the scale, is so whatever its order."""
        return self._columns_of(split)

    @abstractmethod
    def _columns_of(self, split: Split) -> KnownColumns: ...


@dataclass(frozen=True, kw_only=True)
class Mixed(UnlearnedRepresentation):
    """Compare rows by Gower's distance: numbers by their range, categories by equality."""

    name: ClassVar[str] = "mixed"

    def _columns_of(self, split: Split) -> KnownColumns:
        schema = split.schema
        return KnownColumns(distance=lambda known: Space.gower(schema.select(known)))


@dataclass(frozen=True, kw_only=True)
class Euclidean(UnlearnedRepresentation):
    """Compare rows by the Euclidean distance over standardized numbers and coded categories.

    Parameters
    ----------
    encoding
        ``"onehot"`` sets two different categories 1 apart; ``"ordinal"`` uses the codes themselves, whose
        order is arbitrary, as the papers do.
    """

    encoding: Literal["onehot", "ordinal"] = "onehot"

    name: ClassVar[str] = "euclidean"

    def __post_init__(self) -> None:
        check.one_of("Euclidean", "encoding", self.encoding, ("onehot", "ordinal"))

    def _columns_of(self, split: Split) -> KnownColumns:
        train = in_order(split.train).table  # numbers are standardized on it alone
        return KnownColumns(distance=lambda known: Space.euclidean(train.select(known), self.encoding))


@dataclass(frozen=True, kw_only=True)
class Tolerant(UnlearnedRepresentation):
    """Compare rows by the share of columns that differ, numbers by a part where they are near.

    A copy behind noise agrees nearly everywhere, and where it does not it may be anywhere. So a number costs
    the square of its difference up to the tolerance, and beyond it no more than a category that differs.

    Parameters
    ----------
    tolerance
        From how many standard deviations of the column in the release on a number counts as different.
    """

    tolerance: float = 0.4

    name: ClassVar[str] = "tolerant"

    def __post_init__(self) -> None:
        check.between("Tolerant", "tolerance", self.tolerance, 0, 1000)

    def _columns_of(self, split: Split) -> KnownColumns:
        release = in_order(split.synthetic).table  # alone the scale

        def distance(known: Sequence[str]) -> Space:
            return Space.tolerant(release.select(known), self.tolerance)

        return KnownColumns(distance=distance, columnwise=False)


FAR = 1e9  # a vector has no range of its own, and distances between vectors need none


@dataclass(frozen=True, kw_only=True)
class VectorView(View):
    """Rows as an embedding places them: what is not known is masked, and nearness is that of vectors."""

    embed: Callable[[Table, Sequence[str]], Floats]  # with the columns named masked, (n, n_dimensions)
    schema: Schema  # of the rows
    n_dimensions: int  # of the vectors

    def see(self, table: Table, known: Sequence[str]) -> Table:
        """Return the vectors as a table of numbers, all other columns masked."""
        masked = tuple(name for name in self.schema.names if name not in known)
        vectors = np.asarray(self.embed(table, masked), dtype=np.float64)
        expected = (len(table), self.n_dimensions)
        if vectors.shape != expected or not np.isfinite(vectors).all():
            raise ParameterError(
                "embedding", f"must return finite vectors of shape {expected}, got {vectors.shape}."
            )
        return Table(schema=self._axes, values=vectors, people=table.people)

    def space(self, known: Sequence[str]) -> Space:  # noqa: ARG002 - what is not known is masked already
        """Return the distance between vectors."""
        axes = tuple(MeasuredColumn(name=name, weight=1.0, decimals=None) for name in self._axes.names)
        return Space(matched=(), measured=axes, power=2)

    @cached_property
    def _axes(self) -> Schema:
        places = range(self.n_dimensions)
        return Schema(tuple(Numeric(name=f"axis {place:05}", low=-FAR, high=FAR) for place in places))


TrainedOn = Literal["release", "release_and_reference", "union"]

UNION = (
    "The embedding was trained on the release and on the very people under attack, train and control (as the "
    "papers do): no attacker has those."
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Contrastive(ContrastiveSettings, Representation):
    """Compare rows by the Euclidean distance between their vectors in a contrastive embedding.

    The embedding is trained on what an attacker has, once for all of an attack's maskings; in an audit, once
    for all attacks that look at the same release with the same settings. Columns that the attacker does not
    know are masked. Needs the extra ``deep``.

    Parameters
    ----------
    train_on
        ``"release"``, the synthetic rows; ``"release_and_reference"``, also real rows that the attacker owns,
        where an attack holds some back; ``"union"``, all three tables as the papers do, which no attacker
        can: it is for comparison with them.

    Notes
    -----
    All other settings are those of :class:`tabveil.engines.embedding.ContrastiveSettings`.
    """

    train_on: TrainedOn = "release"

    name: ClassVar[str] = "contrastive"
    learns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check.one_of(self.name, "train_on", self.train_on, ("release", "release_and_reference", "union"))

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # as the settings say
        """What whoever reads an answer should know."""
        return (UNION,) if self.train_on == "union" else ()

    def view(self, split: Split, *, rng: Generator, reference: Table | None = None) -> VectorView:
        """Train an embedding, or take one that was trained on the same rows."""
        load_torch(self.name, error=NotApplicable)
        require_device(self.name, self.device, error=NotApplicable)
        rows = self._rows(split, reference)
        key = self.name, self._digest(rows)
        model = shared(key, lambda rng: Embedding.of(self).fit(rows, rng=rng), rng=rng)
        return VectorView(embed=model.embed, schema=split.schema, n_dimensions=model.n_dimensions)

    def _rows(self, split: Split, reference: Table | None) -> Table:
        """Return the rows to train on, in an order that does not depend on that of rows or columns."""
        tables = [split.synthetic]
        if self.train_on == "union":
            tables += [split.train, split.control]
        elif self.train_on == "release_and_reference":
            if reference is None:
                raise NotApplicable(
                    self.name,
                    "train_on=release_and_reference needs an attack that holds real rows back "
                    "as a reference; this one does not.",
                )
            tables.append(reference)
        together = Table(schema=split.schema, values=np.concatenate([table.values for table in tables]))
        return in_order(together.select(sorted(split.schema.names))).table

    def _digest(self, rows: Table) -> str:
        """Return what the embedding depends on beside the seed: settings, columns and rows."""
        settings = {name: value for name, value in values_of(self).items() if name != "train_on"}
        digest = hashlib.sha256(json.dumps([settings, rows.schema.to_json()], sort_keys=True).encode())
        digest.update(np.where(np.isnan(rows.values), np.nan, rows.values + 0.0).tobytes())
        return digest.hexdigest()


REPRESENTATIONS: Registry[Representation] = Registry(
    "representation", (Mixed, Euclidean, Tolerant, Contrastive), Representation
)
"""Every representation by its name."""


def outlier_factors(
    table: Table, representation: Representation, *, n_neighbors: int, rng: Generator
) -> Floats:
    """Return the local outlier factor of every row among all rows of the table, (n,).

    A representation that learns learns from these very rows: nobody is treated in a way of their own.
    """
    split = Split(train=table, control=table, synthetic=table)
    view, names = representation.view(split, rng=rng), table.schema.names
    return local_outlier_factors(view.space(names), view.see(table, names), n_neighbors=n_neighbors)


def isolation(table: Table, representation: Representation, *, rng: Generator) -> Floats:
    """Return how easily every row is set apart from all others by random cuts, (n,).

    What is cut is what a representation shows of rows: their columns, or their vectors where it learns.
    """
    split = Split(train=table, control=table, synthetic=table)
    view = representation.view(split, rng=rng)
    return isolation_scores(view.see(table, table.schema.names), rng=rng)


def require_representation(owner: str, given: object) -> None:
    """Refuse what is no representation, such as the class of one."""
    if isinstance(given, type) or not callable(getattr(given, "view", None)):
        raise ParameterError(
            owner,
            f"representation must be one, such as tabveil.engines.representation.Mixed(), got {given!r}.",
        )
    completed(given, Representation)
