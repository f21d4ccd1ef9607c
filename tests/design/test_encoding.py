import numpy as np

from genbayes.data.box import Box, Choice, Integer, Log, encode

SPACE = Box({"x": (0.0, 9.0), "gas": Choice("He", "O2", "N"), "rate": Log(0.01, 1.0), "n": Integer(1, 2)})


def test_a_category_becomes_a_column_for_each_value_so_that_all_are_equally_far_apart() -> None:
    A = encode(SPACE, np.array([[0.3, u, 0.5, 0.2] for u in (0.1, 0.5, 0.99)]))
    assert np.allclose(A[:, 1:4], np.eye(3))
    assert np.allclose(A[:, [0, 4, 5]], A[0, [0, 4, 5]])


def test_points_that_mean_the_same_inputs_are_encoded_alike_and_real_inputs_stay_as_they_are() -> None:
    a, b = encode(SPACE, np.array([[0.3, 0.4, 0.5, 0.1], [0.3, 0.6, 0.5, 0.4]]))
    assert np.allclose(a, b)
    U = np.random.default_rng(0).uniform(size=(5, 3))
    assert encode(Box.unit(3), U) is U
