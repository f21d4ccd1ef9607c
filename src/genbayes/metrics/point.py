"""Errors of point predictions, as the paper reports them (section 5.1)."""

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_array, check_column, describe_rows


def rmse(prediction: ArrayLike, y: ArrayLike) -> float:
    """Root mean squared error, sqrt(mean_i (prediction_i - y_i)^2); paper section 5.1.

    Args:
        prediction: Predicted values, shape (n,).
        y: Observations, shape (n,).

    Returns:
        A number in the unit of y, smaller is better.

    Example:
        >>> rmse([1.0, 2.0], [1.0, 4.0]).__round__(4)
        1.4142
    """
    prediction, y = check_pairs(prediction, y)
    return float(np.sqrt(np.mean((prediction - y) ** 2)))


def rmspe(prediction: ArrayLike, y: ArrayLike) -> float:
    """Root mean squared percentage error, 100 sqrt(mean_i ((prediction_i - y_i) / y_i)^2); paper section 5.1.

    Args:
        prediction: Predicted values, shape (n,).
        y: Observations, none of them zero, shape (n,).

    Returns:
        Percent, smaller is better.

    Example:
        >>> rmspe([1.1, 2.2], [1.0, 2.0]).__round__(6)
        10.0
    """
    prediction, y = check_pairs(prediction, y)
    if (y == 0).any():
        raise InvalidInput(f"y must not be zero for a percentage error, got {describe_rows(y == 0)}; use rmse")
    return float(100 * np.sqrt(np.mean(((prediction - y) / y) ** 2)))


def check_pairs(prediction: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Predictions and observations, each (n,), at least one of them."""
    prediction = check_array(prediction, "prediction", "(n,)")
    if len(prediction) == 0:
        raise InvalidInput("prediction must hold at least one value, got none")
    return prediction, check_column(y, "y", len(prediction))
