"""Which people stand apart from those around them, and are therefore easy to single out?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.sampling import count_share
from tabveil.core.table import Floats, Indices
from tabveil.core.wording import escaped, percent
from tabveil.core.workers import Listener, working
from tabveil.engines.representation import Mixed, outlier_factors, require_representation
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.outlying.rows import first_positions, read_rows
from tabveil.metrics.registry import read_setting
from tabveil.protocols import Representation
from tabveil.tables.reading import dataframes


@dataclass(frozen=True, kw_only=True, eq=False)
class Outliers:
    """The rows of a table by how far they stand apart. Positions count from 0; no value is held here.

    ``scores`` are local outlier factors: near 1 is a row among its like, 2 stands twice as far from its
    neighbors as these from theirs. ``order`` has the positions of all rows, the most outlying first, and
    ``rows`` the first of them: those that were called outliers. Positions point at people: guard them.
    """

    scores: Floats  # (n,)
    order: Indices  # (n,)
    rows: Indices  # (k,)
    representation: Representation
    n_neighbors: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        """Say how many rows stand apart, and where the first of them are."""
        told = f"{len(self)} of {len(self.scores)} rows stand apart"
        if not len(self):
            return f"{told}."
        return escaped(
            f"{told} ({percent(len(self) / len(self.scores))}), by the local outlier factor among "
            f"{self.n_neighbors} neighbors, {self.representation.name}: rows {first_positions(self.rows)}"
        )

    def to_frame(self) -> dataframes.DataFrame:
        """Return one line an outlier, the most outlying first: its position and its factor."""
        return dataframes.from_columns({"row": self.rows, "score": self.scores[self.rows]})


def outliers(
    table: Any,  # noqa: ANN401 - a path or a table of any dataframe library, or one of ours
    *,
    representation: Representation | str | Mapping[str, Any] = "contrastive",
    share: float = 0.05,
    n_neighbors: int = 20,
    seed: int = 0,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    threads: int | None = None,
    progress: Listener | None = None,
) -> Outliers:
    """Which records of a table are unusual, and so the first that a release may betray?

    Parameters
    ----------
    table
        A path (CSV, Parquet, Feather, Excel), a pandas, polars or Arrow table, or a
        :class:`tabveil.core.table.Table`.
    representation
        What is called near: by default the distance in a contrastive embedding that is trained on the table
        (it needs the extra ``deep``, and takes a minute or more). ``"mixed"`` is Gower's distance,
        ``"euclidean"`` the Euclidean one. By its name, with settings (``{"name": "contrastive", "epochs":
        20}``), or an object.
    share
        The share of the rows to call outliers; never more are. Of equal factors those come first whose
        content decides so, whatever the order of the rows.
    n_neighbors
        How many distinct rows around a row it is compared with.
    seed
        The same seed gives the same scores.
    schema, missing, drop_identifiers, threads, progress
        As in :func:`tabveil.audit`. A column that names people sets everybody apart: leave such out.

    Notes
    -----
    The scores are those by which :class:`tabveil.synthesis.risks.OutlierRemoval` removes people.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> patients = hospital(200, seed=1)
    >>> patients.loc[7, ["age", "days", "cost"]] = 3, 300, 900_000
    >>> int(outliers(patients, representation="mixed", share=0.02).rows[0])
    7
    """
    check.share("outliers", "share", share)
    check.at_least("outliers", "n_neighbors", n_neighbors, 1)
    near = read_setting("outliers", "representation", representation, Representation)
    require_representation("outliers", near)
    rows, notes = read_rows(
        "outliers", table, schema=schema, missing=missing, drop_identifiers=drop_identifiers
    )
    with working(threads=threads, listener=progress):
        try:
            scores = outlier_factors(rows, near, n_neighbors=n_neighbors, rng=stream(seed, "outliers"))
        except NotApplicable as reason:
            raise ParameterError(
                f"{reason} Or give another representation, such as {Mixed.name!r}."
            ) from None
    order = np.lexsort((rows.row_hash(), -scores))
    return Outliers(
        scores=scores,
        order=order,
        rows=order[: count_share(share, len(rows))],
        representation=near,
        n_neighbors=n_neighbors,
        notes=notes,
    )
