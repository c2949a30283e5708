"""Rows as an embedding places them that was trained on what an attacker has."""

import hashlib
import json
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.sampling import in_order
from tabveil.core.settings.naming import values_of
from tabveil.core.sharing import shared
from tabveil.core.table import Split, Table
from tabveil.engines.networks import load_torch, require_device
from tabveil.engines.representation.embedding import ContrastiveSettings, Embedding, EmbeddingModel
from tabveil.engines.representation.vectors import VectorView
from tabveil.errors import NotApplicable

TrainedOn = Literal["release", "release_and_reference", "union"]

UNION = (
    "The embedding was trained on the release and on the very people under attack, train and control (as the "
    "papers do): no attacker has those."
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Contrastive(ContrastiveSettings):
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
    All other settings are those of :class:`tabveil.engines.representation.embedding.ContrastiveSettings`.
    """

    train_on: TrainedOn = "release"

    name: ClassVar[str] = "contrastive"
    learns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check.one_of(self.name, "train_on", self.train_on, ("release", "release_and_reference", "union"))

    @property
    def notes(self) -> tuple[str, ...]:
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
                    f"{self.name}: train_on=release_and_reference needs an attack that holds real rows back "
                    "as a reference; this one does not."
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
