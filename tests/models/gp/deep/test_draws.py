"""Draws can be thinned."""

import numpy as np

from genbayes.models.gp.deep import DeepGPSettings, predict_each_draw, sample_deep_gp


def test_a_slice_keeps_the_data_and_some_draws() -> None:
    X = np.linspace(0, 1, 6)[:, None]
    settings = DeepGPSettings(n_samples=5, n_burn_in=0, thinning=1)
    draws = sample_deep_gp(X, np.sin(X[:, 0]), settings, np.random.default_rng(0))
    some = draws[1::2]
    assert len(some) == 2
    for whole, part in zip(predict_each_draw(draws, X), predict_each_draw(some, X), strict=True):
        np.testing.assert_array_equal(whole[1::2], part)
