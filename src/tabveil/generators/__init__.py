"""Synthesizers: ways to learn a table and to draw new rows from what was learned (SPEC 6)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabveil import check
from tabveil.generators.aim.synthesizer import Aim
from tabveil.generators.bootstrap import Bootstrap
from tabveil.generators.ctgan.synthesizer import Ctgan
from tabveil.generators.diffusion.synthesizer import Diffusion
from tabveil.generators.dpctgan.synthesizer import DpCtgan
from tabveil.generators.fitted import FittedModel, read_folder
from tabveil.generators.marginals import Marginals
from tabveil.generators.pategan.synthesizer import PateGan
from tabveil.generators.privacy import Privacy
from tabveil.generators.transformer.synthesizer import Transformer
from tabveil.generators.trees.synthesizer import Trees

__all__ = ["GENERATORS", "FittedModel", "Privacy", "load_model"]

_REGISTERED = (Trees, Transformer, Diffusion, Ctgan, Aim, DpCtgan, PateGan, Marginals, Bootstrap)
GENERATORS: Mapping[str, Any] = {generator.name: generator for generator in _REGISTERED}
"""Every registered synthesizer by its name."""


def load_model(folder: str | Path) -> FittedModel:
    """Read a model that was saved, to draw more rows from it."""
    stored = read_folder(folder)
    check.known_names("load_model", "generator", [stored.generator], GENERATORS)
    synthesizer = GENERATORS[stored.generator]
    params = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.params.items()}
    return synthesizer.model.from_state(  # type: ignore[no-any-return]
        stored.state, stored.arrays, made_by=synthesizer(**params), **stored.shared
    )
