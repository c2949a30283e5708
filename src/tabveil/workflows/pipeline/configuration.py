"""What a pipeline is asked for: the file that ``tabveil synthesize --config`` takes, with generator hybrid.

>>> half = {"generator": "marginals", "sampling": 0.5}
>>> asked = read({"generator": "hybrid", "settings": half, "rows": 100})
>>> asked.generator, asked.hybrid.sampling, asked.file.rows
('marginals', 0.5, 100)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabveil.core.result import plain
from tabveil.core.settings import files as settings
from tabveil.core.settings.naming import settings_of, values_of
from tabveil.errors import ParameterError, TabveilError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators.hybrid.synthesizer import NOTHING, Hybrid
from tabveil.synthesis.hybrid.entries import read_named
from tabveil.workflows.steps.filtering import NEAR
from tabveil.workflows.synthesizing import choose, configuration
from tabveil.workflows.synthesizing.configuration import Configuration


@dataclass(frozen=True, kw_only=True)
class PipelineSettings:
    """A pipeline, and what else its file says: how the table is read, how many rows are made."""

    hybrid: Hybrid
    file: Configuration = field(default_factory=Configuration)

    @property
    def generator(self) -> str:
        """The name of the generator, or that there is none."""
        return read_named("generator", self.hybrid.generator)[0]

    @property
    def chosen_by_train(self) -> bool:
        """Whether training rows decide which rows of the release are dropped."""
        return self.file.filter is not None and self.file.filter.get("near", NEAR) > 0

    def alone(self) -> Synthesizer | None:
        """Return the generator, as one that learns the real rows; None if nothing is generated."""
        name, given = read_named("generator", self.hybrid.generator)
        return None if name == NOTHING else choose(name, given)

    def told(self) -> dict[str, Any]:
        """Return what a reader is told about the settings; the labels in hierarchies do not belong there."""
        defaults = settings_of(Hybrid)
        given = {
            name: value for name, value in values_of(self.hybrid).items() if value != defaults[name].default
        }
        if "hierarchies" in given:
            given["hierarchies"] = {name: _kind(entry) for name, entry in given["hierarchies"].items()}
        if "models" in given:
            given["models"] = [
                {key: _kind(value) if key == "hierarchy" else value for key, value in model.items()}
                for model in given["models"]
            ]
        told: dict[str, Any] = plain({"generator": self.hybrid.generator, **given, **self._steps()})
        return told

    def _steps(self) -> dict[str, Any]:
        """Return what is asked of the steps around the generator; where the key lies is nobody's business."""
        said = {step: getattr(self.file, step) for step in configuration.STEPS}
        return {
            step: {key: value for key, value in asked.items() if key != "key"}
            for step, asked in said.items()
            if asked is not None
        }


def read(source: str | Path | Mapping[str, Any] | Hybrid) -> PipelineSettings:
    """Read a file (YAML, JSON) or a mapping; paths in a file start at its folder."""
    if isinstance(source, Hybrid):
        return PipelineSettings(hybrid=source)
    said = configuration.read(source)
    where = settings.place(source, "configuration")
    if said.generator != Hybrid.name:
        raise ParameterError(f"{where}: a pipeline needs generator: {Hybrid.name}, and its settings.")
    try:
        hybrid = choose(Hybrid.name, said.settings)
    except TabveilError as error:
        raise ParameterError(f"{where}: {str(error).removeprefix(f'{Hybrid.name}: ')}") from None
    assert isinstance(hybrid, Hybrid), "it was chosen by its name"
    return PipelineSettings(hybrid=hybrid, file=said)


def _kind(entry: object) -> Any:  # noqa: ANN401 - JSON types
    """Say what kind of hierarchy it is: its name, or the keys that it is given by."""
    return list(entry) if isinstance(entry, Mapping) else entry
