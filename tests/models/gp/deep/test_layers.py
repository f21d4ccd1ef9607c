"""One draw's layers at new inputs."""

import numpy as np

from genbayes.models.gp.deep import DeepGPSettings, sample_deep_gp
from genbayes.models.gp.deep.prediction import DrawnLayers, rows_per_chunk

X = np.random.default_rng(0).random((15, 2))
SETTINGS = DeepGPSettings(n_samples=2, n_burn_in=20, thinning=1)
DRAWS = sample_deep_gp(X, np.sin(X @ [3.0, 1.0]), SETTINGS, np.random.default_rng(0))


def test_the_hidden_layer_is_known_at_the_training_inputs() -> None:
    for t in range(2):
        for hidden in ("mean", "drawn"):
            np.testing.assert_allclose(DrawnLayers(DRAWS, t).hidden(X, hidden), DRAWS.w[t], atol=1e-3)


def test_the_drawn_hidden_layer_is_far_away_the_draw_s_own_numbers() -> None:
    far = np.array([[1e5, 0.0]])
    np.testing.assert_allclose(DrawnLayers(DRAWS, 1).hidden(far, "drawn")[0], DRAWS.xi[1], atol=1e-6)
    np.testing.assert_allclose(DrawnLayers(DRAWS, 1).hidden(far, "mean")[0], 0.0, atol=1e-6)


def test_a_chunk_has_at_least_one_row() -> None:
    assert rows_per_chunk(2**30) == 1
