"""Every generator with settings that make it quick."""

import pytest

from tabveil.synthesis.generators import GENERATORS

SMALL = {
    "ctgan": {"epochs": 2, "batch_size": 20, "embedding": 8, "layers": (16,), "modes": 4},
    "dpctgan": {
        "epochs": 2,
        "sampled": 0.5,
        "batch_size": 20,
        "embedding": 8,
        "layers": (16,),
        "critic_layers": (8,),
    },
    "diffusion": {"steps": 10, "batch_size": 32, "timesteps": 8, "width": 16, "layers": 1},
    "aim": {"iterations": 20},
    "pategan": {"iterations": 5, "batch_size": 16, "width": 16, "latent": 4},
    "pategan by networks": {
        "teachers": "networks",
        "n_teachers": 10,
        "iterations": 5,
        "batch_size": 16,
        "width": 16,
        "latent": 4,
    },
    "transformer": {"width": 16, "layers": 1, "heads": 2, "epochs": 3},
}
"""Settings that make each generator quick; what is not named runs with its defaults."""
PIPELINES = {
    "hybrid pre uniform": {"transition": "uniform", "sampling": 0.7},
    "hybrid post uniform": {"transition": "uniform", "placement": "post"},
    "hybrid post conditional": {"transition": {"name": "conditional", "smoothed": True}, "placement": "post"},
    "hybrid pre joint": {"transition": {"name": "conditional", "joint": True}, "generator": "marginals"},
    "hybrid post smoothed": {"transition": "smoothed_conditional", "placement": "post"},
    "hybrid post noisy": {"transition": "noisy_conditional", "placement": "post"},
    "hybrid post single": {
        "transition": "single",
        "placement": "post",
        "sampling": {"beta": 0.9, "by": "class"},
    },
    "hybrid without generator": {"placement": "post", "generator": "none"},
}
"""Pipelines that anonymize some columns of whatever table they are shown."""
CASES = sorted({*GENERATORS, *SMALL, *PIPELINES})
"""Every generator, and kinds of it that have little in common."""


def make(case, table=None):
    generator = GENERATORS[case.split()[0]]
    if hasattr(generator, "device"):
        pytest.importorskip("torch")
    if case in PIPELINES:
        hierarchies = dict.fromkeys(table.schema.names[:4], "auto")
        return generator(hierarchies=hierarchies, models=[{"k": 2}], **PIPELINES[case])
    return generator(**SMALL.get(case, {}))
