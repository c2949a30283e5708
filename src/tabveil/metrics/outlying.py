"""Which people stand apart from all others, and are therefore the first that a release may betray?"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from tabveil.core import check
from tabveil.core.check import listed
from tabveil.core.rng import stream
from tabveil.core.sampling import count_share
from tabveil.core.table import Categorical, Floats, Indices, Split, Table
from tabveil.core.wording import escaped, percent
from tabveil.core.workers import Listener, working
from tabveil.engines.neighbors import N_OTHERS, to_others
from tabveil.engines.representation import Mixed, isolation, outlier_factors, require_representation
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.registry import read_setting
from tabveil.protocols import Representation
from tabveil.tables.reading import dataframes, load_table

FEW_ROWS = 8
"""So many positions stand in a line; all are asked for by name."""


def _asked(
    owner: str,
    table: Any,  # noqa: ANN401 - a path or a table of any dataframe library, or one of ours
    representation: Representation | str | Mapping[str, Any],
    share: float,
    n_neighbors: int,
    *,
    drop_identifiers: bool,
    **reading: Any,  # noqa: ANN401 - how to read the table
) -> tuple[Representation, Table, tuple[str, ...]]:
    """Check what both functions are given; return what is near, the rows, and how they were read."""
    check.share(owner, "share", share)
    check.at_least(owner, "n_neighbors", n_neighbors, 1)
    near: Representation = read_setting(owner, "representation", representation, Representation)
    require_representation(owner, near)
    if isinstance(table, Table):
        rows, notes = table, tuple[str, ...]()
    else:
        loaded = load_table(table, **reading)
        rows, notes, columns = loaded.table, loaded.notes, listed(loaded.identifiers)
        if loaded.identifiers and drop_identifiers:
            names = [name for name in rows.schema.names if name not in loaded.identifiers]
            if not names:
                raise ParameterError(owner, f"no columns are left once identifiers are dropped ({columns}).")
            rows, notes = rows.select(names), (*notes, f"Left out as identifiers: {columns}.")
        elif loaded.identifiers:
            advice = "if they name people, leave them out with drop_identifiers=True."
            notes = (*notes, f"Nearly every row has its own value in {columns}: {advice}")
    if not len(rows):
        raise ParameterError(owner, "the table has no rows.")
    return near, rows, notes


@contextmanager
def _other_ways(threads: int | None, progress: Listener | None) -> Iterator[None]:
    """Work on the rows; where the representation is of no use for them, name another one."""
    with working(threads=threads, listener=progress):
        try:
            yield
        except NotApplicable as reason:
            hint = f"Or give another representation, such as {Mixed.name!r}."
            raise ParameterError(reason, hint=hint) from None


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedRows:
    """The rows of a table, those first that stand out most. Positions count from 0 and point at people."""

    order: Indices  # (n,)
    rows: Indices  # (k,)
    representation: Representation
    n_neighbors: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def told(self, what: str, how: str) -> str:
        """Say how many rows these are, how they were found, and where the first of them are."""
        if not len(self):
            return f"{what}."
        more = ", …" if len(self) > FEW_ROWS else ""
        first = ", ".join(map(str, self.rows[:FEW_ROWS].tolist())) + more
        share = percent(len(self) / len(self.order))
        return escaped(f"{what} ({share}), by {how}, {self.representation.name}: rows {first}")


Detector = Literal["local_outlier_factor", "isolation_forest"]
"""How rows that stand apart are found."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outliers(RankedRows):
    """The rows of a table by how far they stand apart. Positions count from 0; no value is held here.

    ``scores`` are local outlier factors: near 1 is a row among its like, 2 stands twice as far from its
    neighbors as these from theirs. Those of an isolation forest lie from 0 to 1: about 0.5 for most rows,
    near 1 for one that few cuts set apart. ``order`` has the positions of all rows, the most outlying first,
    and ``rows`` the first of them: those that were called outliers. Positions point at people: guard them.
    """

    scores: Floats  # (n,)
    detector: Detector = "local_outlier_factor"

    def __repr__(self) -> str:
        """Say how many rows stand apart, and where the first of them are."""
        how = "an isolation forest"
        if self.detector == "local_outlier_factor":
            how = f"the local outlier factor among {self.n_neighbors} neighbors"
        return self.told(f"{len(self)} of {len(self.scores)} rows stand apart", how)

    def to_frame(self) -> dataframes.DataFrame:
        """Return one line an outlier, the most outlying first: its position and its score."""
        return dataframes.from_columns({"row": self.rows, "score": self.scores[self.rows]})


def outliers(
    table: Any,  # noqa: ANN401 - a path or a table of any dataframe library, or one of ours
    *,
    detector: Detector = "local_outlier_factor",
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
    detector
        How they are found. ``"local_outlier_factor"`` asks who is farther from the rows around than these are
        from theirs, ``"isolation_forest"`` whom few random cuts set apart from everybody: a small crowd far
        from all others, which the first takes for ordinary, or a value that hardly anybody has.
    representation
        What is called near: by default the distance in a contrastive embedding that is trained on the table
        (it needs the extra ``deep``, and takes a minute or more). ``"mixed"`` is Gower's distance,
        ``"euclidean"`` the Euclidean one. An isolation forest cuts the axes of an embedding, and otherwise
        the columns as they are: whichever distance is named, its scores are the same. By its name, with
        settings (``{"name": "contrastive", "epochs": 20}``), or an object.
    share
        The share of the rows to call outliers; never more are. Of equal factors those come first whose
        content decides so, whatever the order of the rows.
    n_neighbors
        How many distinct rows around a row it is compared with, for the local outlier factor.
    seed
        The same seed gives the same scores.
    schema, missing, drop_identifiers, threads, progress
        As in :func:`tabveil.audit`. A column that names people sets everybody apart: leave such out.

    Notes
    -----
    Local outlier factors are those by which :class:`tabveil.synthesis.risks.OutlierRemoval` removes people.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> patients = hospital(200, seed=1)
    >>> patients.loc[7, ["age", "days", "cost"]] = 3, 300, 900_000
    >>> int(outliers(patients, representation="mixed", share=0.02).rows[0])
    7
    """
    check.one_of("outliers", "detector", detector, get_args(Detector))
    reading = {"schema": schema, "missing": missing, "drop_identifiers": drop_identifiers}
    near, rows, notes = _asked("outliers", table, representation, share, n_neighbors, **reading)
    rng = stream(seed, "outliers")
    with _other_ways(threads, progress):
        if detector == "isolation_forest":
            scores = isolation(rows, near, rng=rng)
        else:
            scores = outlier_factors(rows, near, n_neighbors=n_neighbors, rng=rng)
    order = np.lexsort((rows.row_hash(), -scores))
    return Outliers(
        scores=scores,
        order=order,
        rows=order[: count_share(share, len(rows))],
        representation=near,
        n_neighbors=n_neighbors,
        detector=detector,
        notes=notes,
    )


WINDOW = 1 / 20
"""Numbers are as common as those that lie within such a share of the column's range around them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Vulnerable(RankedRows):
    """The rows of a table by how vulnerable they are. Positions count from 0; no value is held here.

    ``distance`` is the mean distance of each row to its nearest others, ``rarity`` how unlikely its values
    are, each by itself: minus the sum of the logarithms of their shares. ``order`` has the positions of all
    rows, the most vulnerable first, and ``rows`` the first of them. Positions point at people: guard them.
    """

    distance: Floats  # (n,)
    rarity: Floats  # (n,)

    def __repr__(self) -> str:
        """Say how many rows were asked for, and where the first of them are."""
        how = f"the mean distance to the {self.n_neighbors} nearest others"
        return self.told(f"the {len(self)} most vulnerable of {len(self.distance)} rows", how)

    def to_frame(self) -> dataframes.DataFrame:
        """Return one line a vulnerable row, the most vulnerable first: its rank, position and two scores."""
        return dataframes.from_columns(
            {
                "rank": np.arange(1, len(self) + 1),
                "row": self.rows,
                "distance": self.distance[self.rows],
                "rarity": self.rarity[self.rows],
            }
        )


def vulnerable(
    table: Any,  # noqa: ANN401 - a path or a table of any dataframe library, or one of ours
    *,
    representation: Representation | str | Mapping[str, Any] = "mixed",
    share: float = 0.05,
    n_neighbors: int = N_OTHERS,
    seed: int = 0,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    threads: int | None = None,
    progress: Listener | None = None,
) -> Vulnerable:
    """Which records of a table would an attacker try first, because nobody else is like them?

    Parameters
    ----------
    table
        A path (CSV, Parquet, Feather, Excel), a pandas, polars or Arrow table, or a
        :class:`tabveil.core.table.Table`. It has two rows or more.
    representation
        What is called near: by default Gower's distance, ``"mixed"``; as in :func:`tabveil.outliers`.
    share
        The share of the rows to call vulnerable; never more are. Of equal distances those with the rarer
        values come first, and of these those whose content decides so, whatever the order of the rows.
    n_neighbors
        How many nearest other rows count; all others where there are fewer. An equal row is another person,
        at no distance: who has a twin is less vulnerable.
    seed
        The same seed gives the same scores, where a representation learns.
    schema, missing, drop_identifiers, threads, progress
        As in :func:`tabveil.audit`. A column that names people sets everybody apart: leave such out.

    Notes
    -----
    :func:`tabveil.outliers` asks who is unusual *for the place where they stand*: one hundred people far out
    are no outliers there. Here distance alone counts, because that is what lets an attack tell a release
    learned with a person from one without. The share of a number is that of all rows whose numbers lie
    within a fortieth of the column's range around it; missing values are as common as they are.

    References
    ----------
    - Meeus, M., Guépin, F., Creţu, A.-M. and de Montjoye, Y.-A. (2023). Achilles' Heels: Vulnerable Record
      Identification in Synthetic Data Publishing. ESORICS.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> patients = hospital(200, seed=1)
    >>> patients.loc[7, ["age", "days", "cost"]] = 3, 300, 900_000
    >>> int(vulnerable(patients, share=0.02).rows[0])
    7
    """
    reading = {"schema": schema, "missing": missing, "drop_identifiers": drop_identifiers}
    near, rows, notes = _asked("vulnerable", table, representation, share, n_neighbors, **reading)
    if len(rows) == 1:
        raise ParameterError("vulnerable", "the table has one row, and nobody to compare it with.")
    with _other_ways(threads, progress):
        view = near.view(Split(train=rows, control=rows, synthetic=rows), rng=stream(seed, "vulnerable"))
        names = rows.schema.names
        distance = to_others(view.space(names), view.see(rows, names), n_neighbors)[:, 1]
    rarity = rarity_of(rows)
    order = np.lexsort((rows.row_hash(), -rarity, -distance))
    return Vulnerable(
        distance=distance,
        rarity=rarity,
        order=order,
        rows=order[: count_share(share, len(rows))],
        representation=near,
        n_neighbors=n_neighbors,
        notes=notes,
    )


def rarity_of(table: Table) -> Floats:
    """Return minus the sum of the logarithms of the shares of a row's values, (n,): 0 where all are equal."""
    rarity = np.zeros(len(table))
    # By name: the order of the columns in a file must not move the last bit of a sum.
    for column in sorted(table.schema.columns, key=lambda column: column.name):
        cells = table.column(column.name)
        missing = np.isnan(cells)
        counts = np.full(len(cells), float(missing.sum()))
        present = cells[~missing]
        reach = 0.0 if isinstance(column, Categorical) else column.width * WINDOW / 2
        ordered = np.sort(present)
        upto = np.searchsorted(ordered, present + reach, side="right")
        counts[~missing] = upto - np.searchsorted(ordered, present - reach, side="left")
        rarity -= np.log(counts / len(cells))
    return rarity + 0.0  # -0.0 and 0.0 are one
