"""Dataframes in, vectors out: a step that scikit-learn's pipelines take."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tabveil.datasets import hospital
from tabveil.engines.embedding import Embedding, FrameEmbedder
from tabveil.errors import ParameterError, TabveilError

pytest.importorskip("torch")

SMALL = Embedding(width=16, layers=1, dimension=4, epochs=2)


def test_it_fits_and_places_frames():
    frame = hospital(80, seed=1)
    step = FrameEmbedder(SMALL, seed=3).fit(frame)
    vectors = step.transform(frame)
    assert vectors.shape == (80, 4)
    np.testing.assert_array_equal(FrameEmbedder(SMALL, seed=3).fit_transform(frame), vectors)
    assert not np.allclose(FrameEmbedder(SMALL, seed=4).fit_transform(frame), vectors)
    np.testing.assert_array_equal(step.transform(frame[::-1])[::-1], vectors)
    assert list(step.get_feature_names_out()) == ["axis 0", "axis 1", "axis 2", "axis 3"]


def test_masked_columns_have_no_part():
    frame = hospital(80, seed=1)
    step = FrameEmbedder(SMALL, masked=("age",)).fit(frame)
    np.testing.assert_array_equal(step.transform(frame.assign(age=50)), step.transform(frame))
    with pytest.raises(ParameterError, match="FrameEmbedder: no column 'agee'"):
        FrameEmbedder(SMALL, masked=("agee",)).fit(frame)


def test_types_are_those_of_the_frame_that_was_learned_from():
    frame = pd.DataFrame(
        {
            "code": ["1", "2", "x", "1"] * 10,  # labels, though some look like numbers
            "when": pd.to_datetime(["2020-01-01", "2020-03-01", "2020-02-01", "2020-05-01"] * 10),
            "size": [1, 2, 3, 4] * 10,
        }
    )
    step = FrameEmbedder(SMALL).fit(frame)
    some = frame[:2].assign(size=[1.0, 2.5])  # all codes look like numbers, and a number has decimals
    np.testing.assert_array_equal(step.transform(some)[0], step.transform(frame)[0])
    finer = frame[:2].assign(when=[frame["when"][0], pd.Timestamp("2020-03-01 12:30:15")])
    np.testing.assert_array_equal(
        step.transform(finer)[0], step.transform(frame)[0]
    )  # seconds, no longer days


def test_it_must_be_fitted_first():
    with pytest.raises(ParameterError, match="fit it first"):
        FrameEmbedder(SMALL).transform(hospital(5, seed=1))


def test_other_columns_are_refused():
    step = FrameEmbedder(SMALL).fit(hospital(40, seed=1))
    with pytest.raises(TabveilError):
        step.transform(hospital(40, seed=1).drop(columns="age"))


def test_parameters_are_got_and_set():
    step = FrameEmbedder(SMALL, masked=("age",), seed=5)
    assert step.get_params() == {"embedding": SMALL, "masked": ("age",), "seed": 5}
    assert step.set_params(seed=6) is step
    assert step.seed == 6
    with pytest.raises(ParameterError, match="no parameter 'sed'"):
        step.set_params(sed=1)


def test_scikit_learn_takes_it():
    frame = hospital(80, seed=1)
    names = list(frame.columns)
    step = FrameEmbedder(SMALL, seed=3).fit(frame[names[1:]])
    copied = clone(step)
    assert copied.get_params() == step.get_params()
    assert copied.model_ is None
    pipeline = make_pipeline(FrameEmbedder(SMALL, seed=3), KNeighborsClassifier(1))
    frame = frame.drop_duplicates(names[1:])
    target = (frame[names[0]].rank() > 40).to_numpy()
    assert pipeline.fit(frame[names[1:]], target).score(frame[names[1:]], target) > 0.9
