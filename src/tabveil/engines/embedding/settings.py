"""Every choice behind an embedding, by name, and the two sets of choices that have a name of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from tabveil.core import check
from tabveil.errors import ParameterError

Preset = Literal["default", "paper"]

BY_COLUMNS = "by_columns"
ALL_BUT_ONE = "all_but_one"
SHARE_OF_COLUMNS, FEWEST_DIMENSIONS = 0.75, 3

_AS_PRESET: Any = None
"""What stands in a field until the preset has said what it is."""

_CHOICES: Mapping[str, tuple[Any, Any]] = {
    "dimension": (64, BY_COLUMNS),
    "width": (512, 1024),
    "layers": (3, 3),
    "dropout": (0.0, 0.1),
    "least_masked": (0, 1),
    "most_masked": (4, ALL_BUT_ONE),
    "jitter": (0.05, 0.0),
    "switched": (0.05, 0.0),
    "epochs": (60, 300),
    "window": (1, 20),
}
PRESETS: Mapping[Preset, dict[str, Any]] = {
    "default": {name: default for name, (default, _) in _CHOICES.items()},
    "paper": {name: paper for name, (_, paper) in _CHOICES.items()},
}
"""What sees most by our own measurements, and what the papers used."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ContrastiveSettings:
    """The settings of an embedding. What is left out is what the preset says.

    Parameters
    ----------
    preset
        ``"default"`` masks few columns and shakes values a little; ``"paper"`` is the papers' choice: any
        number of masked columns, no noise, a network twice as wide, few dimensions.
    dimension
        The length of the vectors (64); ``"by_columns"`` is three quarters of the number of columns, at least
        3 (paper).
    width, layers
        The size of the network: neurons in each hidden layer (512; paper 1024), and hidden layers (3).
    label_width
        The numbers that stand for a category at the entrance of the network.
    dropout
        The share of the network that is switched off at random in training (0, as masks and noise do what it
        is for; paper 0.1).
    least_masked, most_masked
        How many columns of a row are masked in training, uniformly from the least to the most (0 to 4).
        ``"all_but_one"`` is as many as leave one column (paper: 1 to all but one). At least one column is
        always left.
    jitter
        Normal noise on every number in training, in standard deviations of its column (0.05; paper 0).
    switched
        The share of categories that are replaced by another in training (0.05; paper 0).
    temperature, learned_temperature
        What similarities are divided by before rows compete, and whether that is only where training begins.
    held_out
        The share of the rows held out, to see when learning turns into memorizing.
    epochs
        The most often each row is looked at (60; paper 300).
    batch_size
        The rows in one step, which are each other's contrast. Small tables take smaller steps.
    learning_rate
        The size of a step (Adam).
    patience, window
        Training ends after so many epochs without a smaller held-out loss, on average over a window of epochs
        (1; paper 20). The weights with the smallest held-out loss are kept.
    device
        ``"cuda"`` trains on a GPU, in 16-bit precision; vectors are always computed in 32 bits.
    """

    preset: Preset = "default"
    dimension: int | Literal["by_columns"] = _AS_PRESET
    width: int = _AS_PRESET
    layers: int = _AS_PRESET
    label_width: int = 10
    dropout: float = _AS_PRESET
    least_masked: int = _AS_PRESET
    most_masked: int | Literal["all_but_one"] = _AS_PRESET
    jitter: float = _AS_PRESET
    switched: float = _AS_PRESET
    temperature: float = 0.1
    learned_temperature: bool = True
    held_out: float = 0.1
    epochs: int = _AS_PRESET
    batch_size: int = 1024
    learning_rate: float = 1e-3
    patience: int = 10
    window: int = _AS_PRESET
    device: Literal["cpu", "cuda"] = "cpu"

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check.one_of(self.name, "preset", self.preset, tuple(PRESETS))
        for name, value in PRESETS[self.preset].items():
            if getattr(self, name) is _AS_PRESET:
                object.__setattr__(self, name, value)
        check.settings_at_least(self, 1, "width", "layers", "label_width", "epochs", "patience", "window")
        check.at_least(self.name, "batch_size", self.batch_size, 2)
        self._check_whole("dimension", 1, BY_COLUMNS)
        check.at_least(self.name, "least_masked", self.least_masked, 0)
        self._check_whole("most_masked", self.least_masked, ALL_BUT_ONE)
        check.at_least(self.name, "jitter", self.jitter, 0)
        check.settings_below_one(self, "dropout", "switched", "held_out")
        check.at_least(self.name, "temperature", self.temperature, 1e-3)
        check.at_least(self.name, "learning_rate", self.learning_rate, 1e-9)
        check.one_of(self.name, "device", self.device, ("cpu", "cuda"))

    def __repr__(self) -> str:
        """Write what is not as the preset says: all the rest would hide it."""
        usual = {**{item.name: item.default for item in fields(self)}, **PRESETS[self.preset]}
        own = [item.name for item in fields(self) if getattr(self, item.name) != usual[item.name]]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in own)})"

    def _check_whole(self, name: str, least: int, word: str) -> None:
        value = getattr(self, name)
        if value != word:
            if not isinstance(value, int):
                message = f"{name} must be a whole number or {word!r}, got {value!r}."
                raise ParameterError(self.name, message)
            check.at_least(self.name, name, value, least)

    def dimension_for(self, n_columns: int) -> int:
        """Return the length of the vectors of a table with so many columns."""
        if isinstance(self.dimension, int):
            return self.dimension
        return max(round(SHARE_OF_COLUMNS * n_columns), FEWEST_DIMENSIONS)

    def masked_for(self, n_columns: int) -> tuple[int, int]:
        """Return the least and the most columns to mask of so many; one is always left."""
        left = n_columns - 1
        most = min(self.most_masked, left) if isinstance(self.most_masked, int) else left
        return min(self.least_masked, most), most
