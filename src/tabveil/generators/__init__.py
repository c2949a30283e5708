"""Synthesizers: ways to learn a table and to draw new rows from what was learned (SPEC 6)."""

from tabveil.generators.aim.synthesizer import Aim
from tabveil.generators.bootstrap import Bootstrap
from tabveil.generators.ctgan.synthesizer import Ctgan
from tabveil.generators.diffusion.synthesizer import Diffusion
from tabveil.generators.dpctgan.synthesizer import DpCtgan
from tabveil.generators.fitted import FittedModel, Maker
from tabveil.generators.hybrid.synthesizer import Hybrid
from tabveil.generators.marginals import Marginals
from tabveil.generators.models import GENERATORS, Account, load_model, save_model
from tabveil.generators.pategan.synthesizer import PateGan
from tabveil.generators.privacy import Privacy
from tabveil.generators.transformer.synthesizer import Transformer
from tabveil.generators.trees.synthesizer import Trees

__all__ = ["GENERATORS", "Account", "FittedModel", "Maker", "Privacy", "load_model", "save_model"]

for _kind in (Trees, Transformer, Diffusion, Ctgan, Aim, DpCtgan, PateGan, Marginals, Bootstrap, Hybrid):
    GENERATORS.add(_kind)
