"""How each private generator is audited: between which worlds, and what its promise rests on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators.pategan import PateGan
from tabveil.workflows.epsilon.bounds import Accounting
from tabveil.workflows.epsilon.worlds import Worlds, equal_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """How a generator is audited: between which worlds, and with which settings unless others are asked for.

    Settings make a fit quick and let the release show as much as possible of what was learned: an audit
    tests the mechanism and its accounting, which must hold with all settings.
    """

    worlds: Worlds
    settings: Mapping[str, object] = field(default_factory=dict)
    accounting: Accounting = "any"


SETUPS: Mapping[str, Setup] = {
    "aim": Setup(worlds=equal_rows(10), accounting="concentrated"),
    # A teacher says which half of a batch looks more like its rows. Among several equal rows one more does
    # not turn that; beside a single one it does.
    "pategan": Setup(
        worlds=equal_rows(1),
        settings={
            "n_teachers": 1,
            "iterations": 2,
            "batch_size": 64,
            "student_steps": 6,
            "student_learning_rate": 0.1,
            "generator_steps": 4,
            "learning_rate": 0.02,
            "averaging": 0.0,
            "width": 32,
            "latent": 2,
        },
        accounting="gaussian",
    ),
    "dpctgan": Setup(
        worlds=equal_rows(10),
        settings={
            "epochs": 1,
            "sampled": 0.5,
            "counting": 0.9,
            "layers": (16,),
            "critic_layers": (8,),
            "embedding": 4,
            "batch_size": 20,
        },
    ),
}
"""By the generator's name."""

DEFAULT = Setup(worlds=equal_rows(10))
"""For every other: ten rows, and one that is unlike them in all columns."""


def setup_of(synthesizer: Synthesizer) -> Setup:
    """Return how this one is audited."""
    setup = SETUPS.get(synthesizer.name, DEFAULT)
    if isinstance(synthesizer, PateGan) and synthesizer.teachers == "networks":
        return replace(setup, accounting="any")  # the noise on their votes is Laplace's
    return setup
