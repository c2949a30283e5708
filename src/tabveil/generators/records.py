"""What a fitted model can tell about itself: how training went, and what is promised about privacy."""

from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """A promise of differential privacy, with everything it rests on.

    ``adjacency`` says which two tables count as neighbors; ``public`` names the columns whose labels and
    bounds the user declared, ``read_from_data`` those where they were read from the rows, which the promise
    does not cover.
    """

    mechanism: str
    epsilon: float
    delta: float
    accountant: str
    adjacency: str
    public: tuple[str, ...] = ()
    read_from_data: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "public": list(self.public), "read_from_data": list(self.read_from_data)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        parts = {name: tuple(data[name]) for name in ("public", "read_from_data")}
        return cls(**{**data, **parts})
