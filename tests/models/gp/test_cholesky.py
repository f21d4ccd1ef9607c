import numpy as np
import pytest
from scipy.linalg import lapack

from genbayes.models.gp.cholesky import _routine, factorise, invert_factored, solve_factored


def test_a_singular_matrix_is_factorised_with_a_jitter() -> None:
    factor = factorise(np.ones((4, 4)), np.ones(4))
    np.testing.assert_allclose(factor @ factor.T, np.ones((4, 4)), atol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(FloatingPointError, match="covariances must be finite"):
        factorise(np.zeros((2, 2)), np.array([1.0, value]))


def test_no_more_jitter_is_added_than_needed() -> None:
    K = np.full((2, 2), 1 + 5e-9)  # indefinite until the diagonal has as much
    factor = factorise(K, np.ones(2))
    assert factor[0, 0] ** 2 == pytest.approx(1 + 1e-8, abs=1e-12)


def test_solution_and_inverse_are_those_of_the_matrix() -> None:
    root = np.random.default_rng(0).normal(size=(20, 20))
    K, right = root @ root.T + np.eye(20), np.arange(20.0)[:, None]
    factor = factorise(K.copy(), K.diagonal().copy())
    np.testing.assert_allclose(K @ solve_factored(factor, right), right, atol=1e-8)
    np.testing.assert_allclose(np.tril(invert_factored(factor)), np.tril(np.linalg.inv(K)), atol=1e-10)


def test_the_numbers_are_those_of_scipy_s_wrappers_to_the_bit() -> None:
    root = np.random.default_rng(1).normal(size=(60, 70))
    K, right = root @ root.T, np.random.default_rng(2).normal(size=(60, 3))
    factor = factorise(K.copy(), K.diagonal().copy())
    upper, _ = lapack.dpotrf(K, lower=0, clean=1)
    np.testing.assert_array_equal(factor, upper.T)
    np.testing.assert_array_equal(solve_factored(factor, right), lapack.dpotrs(upper, right, lower=0)[0])
    np.testing.assert_array_equal(np.triu(invert_factored(factor).T), np.triu(lapack.dpotri(upper, lower=0)[0]))


def test_a_routine_with_other_arguments_than_known_is_not_called() -> None:
    with pytest.raises(
        ImportError, match=r"dsyev of SciPy .* takes other arguments than known; install another version"
    ):
        _routine("dsyev")
