"""Correlations and their factors against their definitions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from genbayes.models.gp.deep.layers import KERNELS, CorrelationMatrix, Kernel, correlate, latent_jitter, pairs_of
from genbayes.models.gp.kernels import matern52_with_slope


def test_matern_is_that_of_the_other_gaussian_processes() -> None:
    s = np.linspace(0, 9, 40)
    np.testing.assert_allclose(correlate(s, 0.7, "matern52"), matern52_with_slope(s / 0.7)[0], rtol=1e-14)


def test_squared_exponential_has_no_factor_two() -> None:
    np.testing.assert_allclose(correlate(np.array([3.0]), 1.5, "squared-exponential"), [np.exp(-2.0)])


@pytest.mark.parametrize("kernel", KERNELS)
def test_writing_into_a_given_array_changes_nothing_else(kernel: Kernel) -> None:
    s = np.linspace(0, 4, 9)
    fresh, given, before = correlate(s, 0.5, kernel), np.empty(9), s.copy()
    assert correlate(s, 0.5, kernel, out=given) is given
    np.testing.assert_array_equal(given, fresh)
    np.testing.assert_array_equal(s, before)
    np.testing.assert_array_equal(correlate(s, 0.5, kernel, out=s), fresh)  # in place


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_factor_multiplies_back_to_the_matrix(kernel: Kernel) -> None:
    X = np.random.default_rng(0).random((7, 2))
    s, (i, j) = cdist(X, X, "sqeuclidean"), pairs_of(7)
    matrix = CorrelationMatrix(7, kernel)
    matrix.factor(10 * s[i, j], 0.1, 0.5)  # the buffer is used again; nothing of this may remain
    factor = np.tril(matrix.factor(s[i, j], 0.3, 0.01))
    np.testing.assert_allclose(factor @ factor.T, correlate(s, 0.3, kernel) + 0.01 * np.eye(7), atol=1e-14)


def test_an_indefinite_matrix_has_no_factor() -> None:
    assert CorrelationMatrix(3, "squared-exponential").factor(np.zeros(3), 1.0, -0.5) is None


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [50, 600])
def test_the_latent_jitter_suffices_for_all_but_equal_rows(kernel: Kernel, n: int) -> None:
    column = np.linspace(0, 1e-3, n)  # every correlation is 1 to six digits
    i, j = pairs_of(n)
    assert CorrelationMatrix(n, kernel).factor((column[i] - column[j]) ** 2, 1.0, latent_jitter(n)) is not None
