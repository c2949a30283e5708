"""Were train and control divided by lot? A record of how they were, tried again on the rows themselves.

``tabveil split`` writes down how it chose: the share, the column of people, the seed. Which rows go where
follows from these and from what the rows hold, not from their order. So whoever has both parts can put them
together, divide them again, and see whether the same rows come out: then they were divided by lot, as the
record says. It proves nothing about a seed that somebody chose after looking at what came of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from tabveil.core.storage.files import Unreadable, read_json
from tabveil.core.storage.plain import FORBID_OTHERS, PlainData
from tabveil.errors import ParameterError, TabveilError
from tabveil.tables.holdout import split_rows
from tabveil.tables.reading import put_together, raw_rows
from tabveil.tables.reading.arrow import RawTable, hash_cells, hash_rows
from tabveil.version import __version__

FORM = 1
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class SplitRecord(PlainData):
    """How rows were divided into train and control."""

    __pydantic_config__ = FORBID_OTHERS

    form: int = FORM
    tabveil: str = __version__
    control: float
    by: str | None = None
    seed: int = 0
    train_rows: int
    control_rows: int

    @classmethod
    def read(cls, source: Any) -> Self:  # noqa: ANN401 - a path or plain data
        """Read a record from the file that ``tabveil split`` wrote, or from what it holds."""
        if isinstance(source, cls):
            return source
        where = Path(source).name if isinstance(source, (str, Path)) else "split"
        try:
            data = (
                read_json(Path(source), most=_MOST_BYTES) if isinstance(source, (str, Path)) else dict(source)
            )
            return cls._of(data)
        except FileNotFoundError:
            raise ParameterError(where, "there is no such file.") from None
        except OSError as error:
            raise ParameterError(where, f"cannot be read: {error.strerror}.") from None
        except (ValueError, TypeError, LookupError) as error:
            why = f" ({error})" if isinstance(error, Unreadable) else ""
            raise ParameterError(
                where, f"no record of a split{why}; 'tabveil split' writes one beside train and control."
            ) from None

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Self:
        found = cls.from_json(data)
        if found.form != FORM or not 0 < found.control < 1 or found.seed < 0:
            raise Unreadable("of another form")
        return found

    def doubt(self, train: Any, control: Any) -> str | None:  # noqa: ANN401 - paths or any kind of tables
        """Say why the tables were not divided as the record says, or nothing if they were."""
        try:
            parts = [raw_rows(train), raw_rows(control)]
            return self.doubt_of(*parts)
        except TabveilError:
            return "its rows cannot be divided again"

    def doubt_of(self, train: RawTable, control: RawTable) -> str | None:
        """Say the same of rows as they stand in files."""
        if (train.num_rows, control.num_rows) != (self.train_rows, self.control_rows):
            return (
                f"it is about {self.train_rows:,} and {self.control_rows:,} rows, and there are "
                f"{train.num_rows:,} and {control.num_rows:,}"
            )
        whole = put_together(train, control)
        if whole is None:
            return "train and control have other columns, or of other types"
        hashes = hash_rows(hash_cells("split", whole), whole.num_rows)
        held = np.sort(hashes[: train.num_rows])
        again, _ = split_rows(whole, control=self.control, by=self.by, seed=self.seed)
        if not np.array_equal(np.sort(hashes[again]), held):
            return "dividing the same rows again gives other parts"
        return None
