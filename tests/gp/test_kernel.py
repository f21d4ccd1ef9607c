import numpy as np
import pytest
import torch
from sklearn.gaussian_process.kernels import Matern

from genbayes.gp.kernel import matern52, matern52_slope, scaled_distances
from genbayes.gp.matern import matern52_with_slope

S = torch.tensor([0.0, 1e-12, 0.3, 2.0, 50.0], dtype=torch.float64)


def test_correlation_equals_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    A, B, length = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), np.array([0.5, 1.0, 7.0])
    ours = matern52(scaled_distances(*(torch.from_numpy(part) for part in (A, B, length))))
    np.testing.assert_allclose(ours.numpy(), Matern(length, nu=2.5)(A, B), rtol=1e-12)


def test_numpy_and_torch_agree() -> None:
    correlation, slope = matern52_with_slope(S.numpy())
    np.testing.assert_allclose(correlation, matern52(S).numpy(), rtol=1e-14)
    np.testing.assert_allclose(slope, matern52_slope(S).numpy(), rtol=1e-14)


def test_numpy_version_leaves_its_argument_alone() -> None:
    s = np.array([0.0, 1.0])
    matern52_with_slope(s)
    np.testing.assert_array_equal(s, [0.0, 1.0])


def test_slope_is_the_derivative_of_the_correlation() -> None:
    step = 1e-6
    difference = (matern52(S[2:] + step) - matern52(S[2:] - step)) / (2 * step)
    np.testing.assert_allclose(matern52_slope(S[2:]), difference, rtol=1e-6)


def test_automatic_derivative_is_finite_where_rows_coincide() -> None:
    s = S.clone().requires_grad_()
    matern52(s).sum().backward()
    assert s.grad is not None
    np.testing.assert_array_equal(s.grad.numpy(), matern52_slope(S).numpy())


@pytest.mark.parametrize("shape", [(), (3,)])
def test_distances_work_on_batches(shape: tuple[int, ...]) -> None:
    A = torch.from_numpy(np.random.default_rng(1).normal(size=(*shape, 4, 2)))
    length = torch.tensor([1.0, 2.0], dtype=torch.float64)
    expected = torch.cdist(A / length, A / length) ** 2
    np.testing.assert_allclose(scaled_distances(A, A, length).numpy(), expected.numpy(), atol=1e-12)
