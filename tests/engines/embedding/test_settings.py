"""The settings of an embedding: presets, and what is refused."""

import pytest

from tabveil.engines.embedding import Embedding
from tabveil.engines.representation import Contrastive
from tabveil.errors import ParameterError


def test_the_papers_settings_have_a_name():
    paper = Embedding(preset="paper")
    assert (paper.width, paper.layers, paper.epochs, paper.window, paper.patience) == (1024, 3, 300, 20, 10)
    assert (paper.jitter, paper.switched, paper.dropout, paper.label_width) == (0, 0, 0.1, 10)
    assert (paper.batch_size, paper.learning_rate) == (1024, 1e-3)
    assert [paper.dimension_for(n) for n in (2, 15, 28, 37)] == [3, 11, 21, 28]
    assert paper.masked_for(15) == (1, 14)


def test_what_is_given_comes_before_the_preset():
    changed = Embedding(preset="paper", dimension=7, jitter=0.1)
    assert (changed.dimension_for(15), changed.jitter, changed.width) == (7, 0.1, 1024)


def test_one_column_is_always_left():
    default = Embedding()
    assert default.masked_for(15) == (0, 4)
    assert default.masked_for(3) == (0, 2)
    assert Embedding(least_masked=3, most_masked=3).masked_for(2) == (1, 1)


@pytest.mark.parametrize("kind", [Embedding, Contrastive])
@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"preset": "papers"}, "preset must be one of 'default', 'paper'"),
        ({"width": 0}, "width must be >= 1"),
        ({"layers": 0}, "layers must be >= 1"),
        ({"label_width": 0}, "label_width must be >= 1"),
        ({"epochs": 0}, "epochs must be >= 1"),
        ({"patience": 0}, "patience must be >= 1"),
        ({"window": 0}, "window must be >= 1"),
        ({"batch_size": 1}, "batch_size must be >= 2"),
        ({"dimension": 0}, "dimension must be >= 1"),
        ({"dimension": "many"}, "dimension must be a whole number or 'by_columns', got 'many'"),
        ({"least_masked": -1}, "least_masked must be >= 0"),
        ({"most_masked": "all"}, "most_masked must be a whole number or 'all_but_one', got 'all'"),
        ({"least_masked": 3, "most_masked": 2}, "most_masked must be >= 3, got 2"),
        ({"jitter": -0.1}, "jitter must be >= 0"),
        ({"switched": 1.0}, "switched must be at least 0 and below 1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
        ({"held_out": 1.0}, "held_out must be at least 0 and below 1"),
        ({"temperature": 0.0}, "temperature must be >= 0.001"),
        ({"learning_rate": 0.0}, "learning_rate must be >= 1e-09"),
        ({"device": "tpu"}, "device must be one of 'cpu', 'cuda'"),
    ],
)
def test_what_cannot_be_is_refused(kind, given, complaint):
    with pytest.raises(ParameterError, match=f"{kind.name}: {complaint}"):
        kind(**given)


def test_a_representation_and_an_embedding_share_their_settings():
    settings = {"preset": "paper", "epochs": 4, "switched": 0.2, "device": "cuda"}
    assert Embedding.of(Contrastive(**settings, train_on="union")) == Embedding(**settings)
