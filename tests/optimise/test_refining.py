import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.optimise import by_differences, climb_uphill, search_downhill_simplex

FREE = np.ones(2, dtype=bool)


def hill(U: FloatArray) -> FloatArray:
    return 1e-9 * np.exp(-20 * ((U - [0.37, 0.81]) ** 2).sum(axis=1))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_climbing_does_not_depend_on_the_units_of_the_score(scale: float) -> None:
    found, _ = climb_uphill(by_differences(lambda U: scale * hill(U), FREE), np.array([0.2, 0.6]), FREE)
    assert np.allclose(found, [0.37, 0.81], atol=0.01)


def test_a_maximum_outside_the_cube_is_found_on_its_wall() -> None:
    found, value = climb_uphill(by_differences(lambda U: U[:, 0] - (U[:, 1] - 0.5) ** 2, FREE), np.full(2, 0.2), FREE)
    assert np.allclose(found, [1.0, 0.5], atol=1e-3)
    assert value == pytest.approx(1.0, abs=1e-5)


def test_a_start_whose_score_is_not_finite_is_given_back() -> None:
    start = np.full(2, 0.2)
    found, value = climb_uphill(by_differences(lambda U: np.full(len(U), -np.inf), FREE), start, FREE)
    assert np.array_equal(found, start)
    assert value == -np.inf


def test_the_simplex_climbs_a_ridge_with_kinks() -> None:
    found, _ = search_downhill_simplex(lambda U: -np.abs(U - [0.3, 0.9]).sum(axis=1), np.array([0.9, 0.1]), FREE)
    assert np.allclose(found, [0.3, 0.9], atol=0.02)


def test_coordinates_that_are_not_free_stay() -> None:
    free = np.array([True, False])
    found, _ = search_downhill_simplex(hill, np.array([0.9, 0.1]), free)
    assert found[1] == 0.1
    assert found[0] == pytest.approx(0.37, abs=0.02)


def test_climbing_does_not_end_in_what_is_ruled_out() -> None:
    def score(U: FloatArray) -> FloatArray:
        return np.where(U[:, 0] > 0.6, -np.inf, U[:, 0] + 0 * U[:, 1])

    found, value = climb_uphill(by_differences(score, FREE), np.array([0.2, 0.5]), FREE)
    assert 0.2 <= found[0] <= 0.6
    assert value == pytest.approx(found[0])
