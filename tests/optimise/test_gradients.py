import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from genbayes.optimise import by_differences


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3))
def test_differences_are_the_slope_of_a_quadratic_away_from_and_at_the_walls(u: list[float]) -> None:
    point, A = np.array(u), np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 3.0]])
    value, slope = by_differences(lambda U: np.einsum("ni,ij,nj->n", U, A, U), np.ones(3, dtype=bool))(point)
    assert np.isclose(value, point @ A @ point)
    assert np.allclose(slope, 2 * A @ point, atol=4e-4)  # one-sided at a wall: wrong by half the step times 2 A_ii


def test_the_score_is_asked_once_for_all_axes() -> None:
    calls = []

    def score(U: np.ndarray) -> np.ndarray:
        calls.append(len(U))
        return U.sum(axis=1)

    by_differences(score, np.array([True, False, True]))(np.full(3, 0.5))
    assert calls == [5]


def test_axes_that_are_not_free_have_no_slope() -> None:
    slope = by_differences(lambda U: U.sum(axis=1), np.array([True, False]))(np.full(2, 0.5))[1]
    assert np.allclose(slope, [1.0, 0.0])
