import numpy as np
import pytest
import scoringrules as sr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.metrics import pinball

NUMBERS = st.floats(-1e6, 1e6)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, 4, elements=NUMBERS), arrays(np.float64, 4, elements=NUMBERS), st.floats(0.001, 0.999))
def test_it_is_that_of_scoringrules(q: FloatArray, y: FloatArray, tau: float) -> None:
    np.testing.assert_allclose(pinball(q, y, tau), sr.quantile_score(y, q, tau), rtol=1e-9, atol=1e-9)


def test_each_column_has_its_own_level() -> None:
    q, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1.0, 1.0])
    columns = [pinball(q[:, j], y, tau) for j, tau in enumerate((0.1, 0.8))]
    np.testing.assert_array_equal(pinball(q, y, [0.1, 0.8]), np.stack(columns, axis=1))


def test_its_mean_is_smallest_at_the_quantile() -> None:
    y = np.random.default_rng(0).normal(size=501)
    candidates = np.linspace(-2, 2, 81)
    losses = [pinball(np.full(501, c), y, 0.8).mean() for c in candidates]
    assert abs(candidates[np.argmin(losses)] - np.quantile(y, 0.8)) <= 0.05


@pytest.mark.parametrize(
    ("q", "y", "tau", "message"),
    [
        ([1.0], [1.0], 1.0, "tau must lie strictly between 0 and 1, got 1.0"),
        ([[1.0, 2.0]], [1.0], [0.5], r"q must have one column per level, 1, got shape \(1, 2\)"),
        ([[1.0, 2.0]], [1.0], 0.5, r"q must have shape \(n,\), got \(1, 2\)"),
        ([1.0], [1.0], [0.5], r"q must have shape \(n, m\), got \(1,\)"),
        ([np.nan], [1.0], 0.5, "q must be finite"),
        ([1.0], [np.nan], 0.5, "y must be finite"),
        ([1.0], [1.0, 2.0], 0.5, r"y must have shape \(1,\)"),
    ],
)
def test_bad_quantiles_are_refused(q: object, y: object, tau: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pinball(q, y, tau)
