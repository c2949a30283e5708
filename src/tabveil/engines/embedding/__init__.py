"""Rows as vectors, learned by contrast: what is left of a row must be told from all other rows.

Learned from one table, an embedding places rows of any table, or dataframe, with the same columns. See
docs/definitions.md, Contrastive space.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.sampling import in_order
from tabveil.core.settings.registry import Registry, values_of
from tabveil.core.storage.arrays import require
from tabveil.core.storage.files import new_folder, opening, read_arrays, read_json, require_format
from tabveil.core.storage.plain import FORBID_OTHERS, rebuild, require_plain
from tabveil.core.table import Floats, Table
from tabveil.engines import networks
from tabveil.engines.embedding.inputs import Inputs, Places
from tabveil.engines.embedding.settings import ContrastiveSettings
from tabveil.errors import ParameterError
from tabveil.version import __version__

if TYPE_CHECKING:
    from tabveil.engines.embedding.network import EmbeddingNetwork

__all__ = ["ContrastiveSettings", "Embedding", "EmbeddingModel", "FrameEmbedder"]

ABOUT, ARRAYS = "embedding.json", "arrays.npz"
FORMAT, FORMAT_KEY = 1, "tabveil_embedding"
WITHOUT_HELD_OUT = "No rows were held out: training ran all its epochs, unchecked for memorizing."


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbeddingModel:
    """A trained embedding.

    ``history`` has the losses of every epoch, ``best`` is the one whose weights were kept.
    """

    made_by: "Embedding"
    inputs: Inputs
    network: "EmbeddingNetwork"
    history: tuple[networks.Epoch, ...]
    best: int
    notes: tuple[str, ...] = ()
    places: Places = field(default_factory=Places, repr=False)

    @property
    def n_dimensions(self) -> int:
        """The length of the vectors."""
        return self.made_by.dimension_for(len(self.inputs.names))

    def embed(self, table: Table, masked: Sequence[str] = ()) -> Floats:
        """Return a vector of length 1 for each row, (n, dimensions), as if the columns named were not known.

        The table must have the columns that were learned from, in any order. Labels that were not seen and
        missing values are places of their own. Equal rows have equal vectors, to the last bit. Each is placed
        once and kept for whoever asks next, as far as memory allows.
        """
        torch = networks.load_torch(self.made_by.name)
        encoded, mask = self.inputs.encode(table), self.inputs.mask(masked)
        with networks.limited_threads(torch, width=self.made_by.width):
            return self.places.find(encoded, mask, lambda rows: self.network.place(rows, mask))

    def save(self, folder: str | Path) -> None:
        """Write the embedding into a folder that is not there yet. It holds what was learned: guard it."""
        about = {
            FORMAT_KEY: FORMAT,
            "version": __version__,
            "settings": values_of(self.made_by),
            "inputs": self.inputs.to_json(),
            "history": [epoch.to_json() for epoch in self.history],
            "best": self.best,
            "notes": list(self.notes),
        }
        with new_folder(Path(folder)) as place:
            place.mkdir()
            (place / ABOUT).write_text(json.dumps(about, indent=1, allow_nan=False), encoding="utf-8")
            np.savez(place / ARRAYS, allow_pickle=False, **networks.weights_of(self.network))


@dataclass(frozen=True, kw_only=True, repr=False)
class Embedding(ContrastiveSettings):
    """Place rows such that those are near which are alike in whatever is known of them.

    A network looks at every row twice, each time with some columns masked and its values shaken a little, and
    learns to tell the two views of one row from those of all others. What it learns is which combinations of
    values are telling. Any columns can be masked afterwards: one training serves all of them.

    The settings are those of :class:`tabveil.engines.embedding.ContrastiveSettings`.

    Notes
    -----
    On a CPU the same seed gives the same vectors, whatever the order of rows and columns; a network up to 512
    wide also for any number of cores. Numbers are standardized on the rows learned from. The loss in the
    history is InfoNCE, in nats: that of a network that knows nothing is the logarithm of the batch's size.

    References
    ----------
    - Plasencia Palacios, M. N. et al. (2025). Contrastive Learning-Based Privacy Metrics in Tabular Synthetic
      Datasets. arXiv:2502.13833.
    - van den Oord, A., Li, Y. and Vinyals, O. (2018). Representation Learning with Contrastive Predictive
      Coding. arXiv:1807.03748.

    Examples
    --------
    >>> from tabveil.tables.reading import load_table
    >>> from tabveil.datasets import hospital
    >>> rows = load_table(hospital(60, seed=1)).table
    >>> model = Embedding(width=16, layers=1, dimension=4, epochs=2).fit(rows, rng=np.random.default_rng(0))
    >>> model.embed(rows, masked=["age"]).shape
    (60, 4)
    """

    name: ClassVar[str] = "embedding"

    def fit(self, table: Table, *, rng: Generator) -> EmbeddingModel:
        """Learn a table. How far it is can be heard with :func:`tabveil.core.workers.working`."""
        if not len(table) or not len(table.schema):
            raise ParameterError(self.name, "needs at least one row and one column to learn from.")
        inputs = Inputs.of(table)
        encoded = inputs.encode(in_order(table).table)
        networks.keep_freed_memory()
        with networks.seeded(rng, owner=self.name, device=self.device, width=self.width):
            from tabveil.engines.embedding.network import ContrastLearner, NetworkRows  # noqa: PLC0415 - needs torch

            order = rng.permutation(len(table))
            rows = NetworkRows.of(encoded.take(order), self.device)
            n_held_out = int(self.held_out * len(rows))
            network = self.build(inputs).to(self.device)
            learner = ContrastLearner(
                network,
                rows.take(slice(n_held_out, None)),
                rows.take(slice(n_held_out)),
                [labels.n_tokens for labels in inputs.labels],
                self,
            )
            trained = networks.train(
                network,
                learner.epoch,
                epochs=self.epochs,
                patience=self.patience,
                window=self.window,
                interruptible=False,
            )
        return EmbeddingModel(
            made_by=self,
            inputs=inputs,
            network=network.eval(),
            history=trained.history,
            best=trained.best,
            notes=() if n_held_out else (WITHOUT_HELD_OUT,),
        )

    def build(self, inputs: Inputs) -> "EmbeddingNetwork":
        """Return an untrained network for these columns."""
        from tabveil.engines.embedding.network import EmbeddingNetwork  # noqa: PLC0415 - needs torch

        return EmbeddingNetwork(self, inputs)

    @classmethod
    def of(cls, settings: ContrastiveSettings) -> Self:
        """Take over settings from whoever else has them."""
        return cls(**{item.name: getattr(settings, item.name) for item in fields(ContrastiveSettings)})

    @classmethod
    def load(cls, folder: str | Path) -> EmbeddingModel:
        """Open what a model saved, on the CPU if there is no GPU here; everything is checked before use."""
        place = Path(folder)
        with opening(place):
            stored = read_json(place / ABOUT)
            require_format(stored, FORMAT_KEY, FORMAT)
            about = require_plain(_StoredEmbedding, stored, ABOUT)
            made_by = rebuild(cls, about.settings, Registry[Embedding]("embedding", ()))
            inputs = Inputs.from_json(about.inputs)
            require(0 <= about.best < len(about.history), f"{ABOUT}: best must be one of the epochs")
            arrays = read_arrays(place / ARRAYS)
            require(made_by.layers <= len(arrays), "every layer must have its weights")
            network = networks.rebuild(
                lambda: made_by.build(inputs), arrays, owner=made_by.name, device=made_by.device
            )
        return EmbeddingModel(
            made_by=made_by,
            inputs=inputs,
            network=network,
            history=about.history,
            best=about.best,
            notes=about.notes,
        )


@dataclass(frozen=True, kw_only=True)
class _StoredEmbedding:
    """What stands in ``embedding.json``."""

    __pydantic_config__ = FORBID_OTHERS

    tabveil_embedding: int
    version: str
    settings: dict[str, Any]
    inputs: Mapping[str, Any]
    history: tuple[networks.Epoch, ...]
    best: int
    notes: tuple[str, ...]


_WIDER = {"integer": "real", "ordered category": "category"}
"""What is the same to a network, and takes in more."""


class FrameEmbedder:
    """Place the rows of dataframes, as a step of a scikit-learn pipeline or by itself.

    Parameters
    ----------
    embedding
        An :class:`tabveil.engines.embedding.Embedding`; None is one with its defaults.
    masked
        Columns to place rows without.
    seed
        The same seed gives the same vectors.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> small = Embedding(width=16, layers=1, dimension=4, epochs=2)
    >>> FrameEmbedder(small, masked=("age",)).fit_transform(hospital(60, seed=1)).shape
    (60, 4)
    """

    def __init__(
        self, embedding: Embedding | None = None, *, masked: Sequence[str] = (), seed: int = 0
    ) -> None:
        self.embedding, self.masked, self.seed = embedding, masked, seed
        self.model_: EmbeddingModel | None = None

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ANN401, N803, ARG002 - scikit-learn's names
        """Learn a dataframe; types are found as in an audit, and hold for whatever comes later."""
        from tabveil.tables.reading import load_table  # noqa: PLC0415 - see above
        from tabveil.tables.reading.describe import type_name  # noqa: PLC0415 - see above

        loaded = load_table(X)
        embedding = self.embedding or Embedding()
        check.known_names("FrameEmbedder", "column", self.masked, loaded.table.schema.names)
        found = {column.name: type_name(column, place) for column, place in loaded.layout.of(loaded.table)}
        self._types = {name: _WIDER.get(kind, kind) for name, kind in found.items()}
        self._clocks = loaded.layout.clocks
        self.model_ = embedding.fit(loaded.table, rng=stream(self.seed, embedding.name))
        return self

    def transform(self, X: Any) -> Floats:  # noqa: ANN401, N803 - scikit-learn's name
        """Return a vector for each row, (n, dimensions)."""
        from tabveil.tables.reading import load_table  # noqa: PLC0415 - see above

        model = self._fitted()
        # By the types, and moments in the units, of the dataframe that was learned from.
        loaded = load_table(X, schema={"columns": self._types})
        cells = loaded.table.values.copy()
        for name, step in loaded.layout.clocks.items():
            cells[:, loaded.table.schema.position(name)] *= step / self._clocks[name]
        return model.embed(Table(schema=loaded.table.schema, values=cells), masked=self.masked)

    def fit_transform(self, X: Any, y: object = None) -> Floats:  # noqa: ANN401, N803 - scikit-learn's names
        """Learn a dataframe and place its rows."""
        return self.fit(X, y).transform(X)

    def get_feature_names_out(self, input_features: object = None) -> Any:  # noqa: ANN401, ARG002 - as above
        """Name the axes of the vectors."""
        places = range(self._fitted().n_dimensions)
        return np.array([f"axis {place}" for place in places], dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002, ARG002 - as above
        """Return the parameters by name."""
        return {"embedding": self.embedding, "masked": self.masked, "seed": self.seed}

    def set_params(self, **given: Any) -> Self:  # noqa: ANN401 - as above
        """Set parameters by name."""
        check.known_names("FrameEmbedder", "parameter", given, self.get_params())
        for name, value in given.items():
            setattr(self, name, value)
        return self

    def _fitted(self) -> EmbeddingModel:
        if self.model_ is None:
            raise ParameterError("FrameEmbedder", "fit it first.")
        return self.model_
