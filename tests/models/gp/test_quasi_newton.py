import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from genbayes.arrays import FloatArray
from genbayes.models.gp.quasi_newton import minimise_within

FAR = np.full(2, -5.0), np.full(2, 5.0)


def rosenbrock(x: FloatArray) -> tuple[float, FloatArray]:
    return float(rosen(x)), np.asarray(rosen_der(x))


def test_finds_the_bottom_of_a_curved_valley() -> None:
    found = minimise_within(rosenbrock, np.array([-1.2, 1.0]), FAR, np.eye(2), tolerance=1e-12)
    np.testing.assert_allclose(found.point, [1.0, 1.0], atol=1e-4)


def test_stays_within_its_bounds_and_finds_the_minimum_on_them() -> None:
    box = np.array([-2.0, -2.0]), np.array([0.5, 2.0])
    found = minimise_within(rosenbrock, np.array([-1.2, 1.0]), box, np.eye(2), tolerance=1e-12)
    np.testing.assert_allclose(found.point, [0.5, 0.25], atol=1e-4)  # along x2 = x1^2 as far as the bound allows


def test_a_start_outside_is_moved_inside() -> None:
    found = minimise_within(rosenbrock, np.array([9.0, 9.0]), FAR, np.eye(2), tolerance=1e-12, n_steps=0)
    np.testing.assert_array_equal(found.point, [5.0, 5.0])


def test_the_true_curvature_makes_it_one_step() -> None:
    H = np.array([[3.0, 1.0], [1.0, 2.0]])
    calls = []

    def bowl(x: FloatArray) -> tuple[float, FloatArray]:
        calls.append(x)
        return float(0.5 * x @ H @ x), H @ x

    found = minimise_within(bowl, np.array([1.0, 1.0]), FAR, H, tolerance=1e-12)
    np.testing.assert_allclose(found.point, [0.0, 0.0], atol=1e-12)
    assert len(calls) == 2


def test_curvature_that_was_learnt_is_positive_definite() -> None:
    found = minimise_within(rosenbrock, np.array([-1.2, 1.0]), FAR, np.eye(2), tolerance=1e-12)
    assert (np.linalg.eigvalsh(found.curvature) > 0).all()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_stops_when_little_is_left_to_gain(tolerance: float) -> None:
    found = minimise_within(rosenbrock, np.array([-1.2, 1.0]), FAR, np.eye(2), tolerance=tolerance)
    assert found.value < 100 * tolerance


def test_a_loss_that_is_not_a_number_turns_the_search_back() -> None:
    def cliff(x: FloatArray) -> tuple[float, FloatArray]:
        return (float(x @ x), 2 * x) if x[0] > -0.5 else (float("nan"), np.full(2, np.nan))

    found = minimise_within(cliff, np.array([1.0, 1.0]), FAR, 0.5 * np.eye(2), tolerance=1e-10)
    np.testing.assert_allclose(found.point, 0.0, atol=1e-4)
