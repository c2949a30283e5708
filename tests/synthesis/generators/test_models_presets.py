"""The thesis' settings of generators (section 5.2.3)."""

import pytest

from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.risks import RISKS

THESIS = {
    # "300 epochs, utilizing a learning rate of 1e-4 consistently applied to both"
    "ctgan": {"epochs": 300, "learning_rate": 1e-4, "critic_learning_rate": 1e-4, "smoothing": False},
    # "1000 iterations", 1e-4, "three hidden layers, each containing 256 neurons", a dropout of 0.1
    "diffusion": {
        "steps": 1000,
        "learning_rate": 1e-4,
        "layers": 3,
        "width": 256,
        "dropout": 0.1,
        "smoothing": False,
    },
    # REaLTabFormer's default network; "trained for 50 epochs"
    "transformer": {"width": 768, "layers": 6, "heads": 12, "epochs": 50, "dropout": 0.1, "smoothing": False},
}


@pytest.mark.parametrize("name", THESIS)
def test_generators_have_the_settings_of_the_thesis(name):
    made = GENERATORS[name](preset="thesis")
    assert {key: getattr(made, key) for key in THESIS[name]} == THESIS[name]


def test_no_generator_takes_presets_by_half():
    for kind in GENERATORS.values():
        for preset in getattr(kind, "presets", {}):
            assert type(kind(preset=preset)) is kind


def test_a_risk_model_takes_presets_of_its_generator():
    settings = {"preset": "thesis", "width": 48, "heads": 2}
    made = RISKS["overfit"](generator="transformer", settings=settings)._synthesizer(1.5)
    assert (made.width, made.layers, made.epochs, made.overfit) == (48, 6, 300, 1.5)
