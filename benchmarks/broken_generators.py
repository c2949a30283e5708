"""Private generators that promise as much as ours and keep less: what an audit of ε must catch.

``noise_share`` is how much of the noise that the promise takes is really added. With ``reads_domain`` labels
are looked up in the rows, though they were declared.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from tabveil.core.table import Schema, Split, Table
from tabveil.synthesis.generators.aim import zcdp
from tabveil.synthesis.generators.aim.rounds import RoundBudget as AimBudget
from tabveil.synthesis.generators.aim.synthesizer import ROUNDS_PER_COLUMN, Aim
from tabveil.synthesis.generators.dpctgan.synthesizer import DpCtgan, NoiseBudget
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.workflows.epsilon.worlds import SETUPS

OFF = 0.01
"""Noise so small that it hides nothing."""


@dataclass(frozen=True, kw_only=True)
class _Broken:
    """What the broken have in common."""

    noise_share: float = 1.0
    reads_domain: bool = False

    def fit(self, table, *, rng):
        """Learn, perhaps with those labels alone that some row has."""
        if not self.reads_domain:
            return super().fit(table, rng=rng)
        seen = Split(train=table, control=table, synthetic=table).with_own_labels().train
        model = super().fit(seen, rng=rng)
        return _Relabeled(name=self.name, schema=table.schema, model=model)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Relabeled:
    """Rows of a model that knows fewer labels, under the labels that were declared."""

    name: str
    schema: Schema
    model: object

    def sample(self, n_rows, *, rng):
        """Draw rows, and find each label among those declared."""
        drawn = self.model.sample(n_rows, rng=rng)
        values = np.array(drawn.values)
        for place, (ours, declared) in enumerate(zip(drawn.schema.columns, self.schema.columns, strict=True)):
            codes = np.array([declared.labels.index(label) for label in ours.labels], dtype=float)
            known = ~np.isnan(values[:, place])
            values[known, place] = codes[values[known, place].astype(int)]
        return Table(schema=self.schema, values=values)

    def save(self, folder):
        """Refuse: nobody should keep it."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class BrokenAim(_Broken, Aim):
    """AIM with less noise in counts and choices."""

    name: ClassVar[str] = "broken_aim"

    def _budget(self, levels):
        rho = zcdp.rho_of(self.epsilon, self.delta) / self.noise_share**2
        return AimBudget.over(rho, self.rounds or ROUNDS_PER_COLUMN * len(levels))


@dataclass(frozen=True, kw_only=True)
class BrokenPateGan(_Broken, PateGan):
    """PATE-GAN with less noise on the votes."""

    name: ClassVar[str] = "broken_pategan"

    def plan(self):
        """Hold as many votes, with less noise."""
        plan = super().plan()
        return replace(plan, noise=plan.noise * self.noise_share)


@dataclass(frozen=True, kw_only=True)
class _LessNoise(NoiseBudget):
    share: float

    @cached_property
    def count_noise(self):
        return self.share * NoiseBudget(**self._honest).count_noise

    @cached_property
    def step_noise(self):
        return self.share * NoiseBudget(**self._honest).step_noise

    @property
    def _honest(self):
        return {name: value for name, value in vars(self).items() if name in NoiseBudget.__dataclass_fields__}


@dataclass(frozen=True, kw_only=True)
class BrokenDpCtgan(_Broken, DpCtgan):
    """DP-CTGAN with less noise on counts and gradients."""

    name: ClassVar[str] = "broken_dpctgan"

    @property
    def budget(self):
        """Spend more than is promised."""
        return _LessNoise(**vars(super().budget), share=self.noise_share)


BROKEN = {"aim": BrokenAim, "pategan": BrokenPateGan, "dpctgan": BrokenDpCtgan}


def broken(name, *, epsilon, delta, **how):
    """Return the broken one of this name, with the settings that the honest one is audited with."""
    return BROKEN[name](epsilon=epsilon, delta=delta, **SETUPS[name].settings, **how)
