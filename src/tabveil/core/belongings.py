"""What may belong to the people of a table beside their rows: rows of linked tables, say."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class Belongings(Protocol):
    """What follows the rows of a table, each of which is a person."""

    @property
    def origins(self) -> Mapping[str, str]:
        """Return the columns of the table that sum up what belongs to people, with where each is from."""
        ...

    def __len__(self) -> int:
        """Count the people."""
        ...

    def take(self, people: Any) -> Self:  # noqa: ANN401 - places, flags or a slice of them
        """Keep these people, in this order."""
        ...

    def joined(self, other: Any) -> Self:  # noqa: ANN401 - of the same kind
        """Return the people of both, these first."""
        ...

    def set_hashes(self) -> Iterable[NDArray[np.uint64]]:
        """Hash what each person has, (n_people,) for each place that it is from."""
        ...
