"""Synthesizers: ways to learn a table and to draw new rows from what was learned.

See docs/definitions.md, Generators.
"""

from tabveil.synthesis.generators.aim.synthesizer import Aim
from tabveil.synthesis.generators.baselines import Bootstrap, Marginals
from tabveil.synthesis.generators.ctgan import Ctgan
from tabveil.synthesis.generators.diffusion import Diffusion
from tabveil.synthesis.generators.dpctgan.synthesizer import DpCtgan
from tabveil.synthesis.generators.hybrid.synthesizer import Hybrid
from tabveil.synthesis.generators.models import (
    GENERATORS,
    Account,
    FittedModel,
    Maker,
    load_model,
    save_model,
)
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.synthesis.generators.privacy import Privacy
from tabveil.synthesis.generators.transformer import Transformer
from tabveil.synthesis.generators.trees.synthesizer import Trees

__all__ = ["GENERATORS", "Account", "FittedModel", "Maker", "Privacy", "load_model", "save_model"]

for _kind in (Trees, Transformer, Diffusion, Ctgan, Aim, DpCtgan, PateGan, Marginals, Bootstrap, Hybrid):
    GENERATORS.add(_kind)
