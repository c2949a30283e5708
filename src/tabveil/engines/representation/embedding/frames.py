"""Dataframes in, vectors out, in the way of scikit-learn's transformers.

The door for dataframes is opened only where one comes: networks are trained on machines that have little more
than torch.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.table import Floats, Table
from tabveil.engines.representation.embedding.embedding import Embedding, EmbeddingModel
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from tabveil.tables.reading import LoadedTable

_WIDER = {"integer": "real", "ordered category": "category"}
"""What is the same to a network, and takes in more."""


class FrameEmbedder:
    """Place the rows of dataframes, as a step of a scikit-learn pipeline or by itself.

    Parameters
    ----------
    embedding
        An :class:`tabveil.engines.representation.embedding.Embedding`; None is one with its defaults.
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

        loaded = load_table(X)
        embedding = self.embedding or Embedding()
        check.known_names("FrameEmbedder", "column", self.masked, loaded.table.schema.names)
        self._types, self._clocks = _types(loaded), loaded.layout.clocks
        self.model_ = embedding.fit(loaded.table, rng=stream(self.seed, embedding.name))
        return self

    def transform(self, X: Any) -> Floats:  # noqa: ANN401, N803 - scikit-learn's name
        """Return a vector for each row, (n, dimensions)."""
        model = self._fitted()
        return model.embed(self._read(X), masked=self.masked)

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

    def _read(self, X: Any) -> Table:  # noqa: ANN401, N803 - scikit-learn's name
        """Read a dataframe by the types, and moments in the units, of the one that was learned from."""
        from tabveil.tables.reading import load_table  # noqa: PLC0415 - see above

        loaded = load_table(X, schema={"columns": self._types})
        cells = loaded.table.values.copy()
        for name, step in loaded.layout.clocks.items():
            cells[:, loaded.table.schema.position(name)] *= step / self._clocks[name]
        return Table(schema=loaded.table.schema, values=cells)

    def _fitted(self) -> EmbeddingModel:
        if self.model_ is None:
            raise ParameterError("FrameEmbedder: fit it first.")
        return self.model_


def _types(loaded: "LoadedTable") -> dict[str, str]:
    """Return what each column was taken for, as a schema file says it."""
    from tabveil.tables.reading.describe import type_name  # noqa: PLC0415 - see above

    found = {column.name: type_name(column, place) for column, place in loaded.layout.of(loaded.table)}
    return {name: _WIDER.get(kind, kind) for name, kind in found.items()}
