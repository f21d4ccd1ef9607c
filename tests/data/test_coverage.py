"""Where the training inputs lie, and what counts as far from them."""

import numpy as np

from genbayes.data.coverage import N_KEPT, InputCoverage


def test_training_inputs_are_hardly_ever_far() -> None:
    Z = np.random.default_rng(0).standard_normal((5_000, 3))
    cover = InputCoverage.learn(Z, np.random.default_rng(1))
    assert len(cover.inputs) == N_KEPT
    assert cover.is_far(Z).mean() < 0.02


def test_a_gap_in_the_middle_is_far() -> None:
    Z = np.r_[np.linspace(-1, -0.5, 100), np.linspace(0.5, 1, 100)][:, None]
    cover = InputCoverage.learn(Z, np.random.default_rng(0))
    np.testing.assert_array_equal(cover.is_far(np.array([[0.0], [0.75], [1.5]])), [True, False, True])


def test_a_single_input_is_near_only_to_itself() -> None:
    cover = InputCoverage.learn(np.zeros((5, 2)), np.random.default_rng(0))
    np.testing.assert_array_equal(cover.is_far(np.array([[0.0, 0.0], [0.1, 0.0]])), [False, True])
