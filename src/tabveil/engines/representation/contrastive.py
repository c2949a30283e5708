"""Rows as an embedding places them that was trained on what an attacker has."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import in_order
from tabveil.core.settings.registry import values_of
from tabveil.core.table import Floats, Numeric, Schema, Split, Table
from tabveil.core.workers import shared
from tabveil.engines.embedding import ContrastiveSettings, Embedding, EmbeddingModel
from tabveil.engines.neighbors import MeasuredColumn, Space
from tabveil.engines.networks import load_torch, require_device
from tabveil.errors import NotApplicable, ParameterError
from tabveil.protocols import Representation, View

Embed = Callable[[Table, Sequence[str]], Floats]
"""Map rows to vectors (n, m), as if the columns named were not known."""

FAR = 1e9  # a vector has no range of its own, and distances between vectors need none


@dataclass(frozen=True, kw_only=True)
class VectorView(View):
    """Rows as an embedding places them: what is not known is masked, and nearness is that of vectors."""

    embed: Embed
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

        def fit(rng: Generator) -> EmbeddingModel:
            return Embedding.of(self).fit(rows, rng=rng)

        model = shared((self.name, self._digest(rows)), fit, rng=rng)
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
