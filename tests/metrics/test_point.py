import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import root_mean_squared_error

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.metrics import rmse, rmspe

NUMBERS = arrays(np.float64, 5, elements=st.floats(-1e6, 1e6))


@settings(max_examples=40, deadline=None)
@given(NUMBERS, NUMBERS)
def test_rmse_is_that_of_scikit_learn(prediction: FloatArray, y: FloatArray) -> None:
    assert rmse(prediction, y) == pytest.approx(root_mean_squared_error(y, prediction))


def test_rmspe_is_in_percent_of_the_observations() -> None:
    assert rmspe([1.1, -1.8], [1.0, -2.0]) == pytest.approx(10.0)


def test_rmspe_does_not_depend_on_the_unit() -> None:
    prediction, y = np.array([1.0, 2.5, 3.0]), np.array([1.1, 2.0, 3.3])
    assert rmspe(1000 * prediction, 1000 * y) == pytest.approx(rmspe(prediction, y))


def test_rmspe_refuses_an_observation_of_zero() -> None:
    with pytest.raises(InvalidInput, match=r"y must not be zero for a percentage error, got 1 of 2 rows \(row 1\)"):
        rmspe([1.0, 2.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("prediction", "y", "message"),
    [
        ([np.nan], [1.0], "prediction must be finite"),
        ([1.0], [np.inf], "y must be finite"),
        ([1.0, 2.0], [1.0], r"y must have shape \(2,\)"),
        ([[1.0]], [1.0], r"prediction must have shape \(n,\)"),
        ([], [], "prediction must hold at least one value, got none"),
    ],
)
def test_bad_predictions_are_refused(prediction: object, y: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        rmse(prediction, y)
