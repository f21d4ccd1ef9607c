"""Probability integral transform: where in its predictive law each observation fell."""

from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.validation import check_array, check_targets

__all__ = ["pit"]


def pit(q: ArrayLike, y: ArrayLike) -> FloatArray:
    """Probability integral transform of observations under draws or equally spaced quantiles.

    (#{j: q_j < y} + #{j: q_j <= y}) / (2 m): the middle of the jump where y meets a draw, so the transform stays
    deterministic and has mean 1/2 under the true law (the non-randomized PIT; Dawid 1984, Czado, Gneiting and
    Held 2009). A flat histogram of the values means calibrated predictions.

    Args:
        q: Draws, or quantiles at equally spaced levels, in any order, shape (n, m).
        y: Observations, shape (n,).

    Returns:
        One value in [0, 1] per observation, shape (n,).

    Example:
        >>> pit([[1.0, 2.0, 3.0, 4.0]] * 2, [2.5, 4.0])
        array([0.5  , 0.875])
    """
    q = check_array(q, "q", "(n, m)")
    y = check_targets(y, len(q))[:, None]
    middle: FloatArray = 0.5 * ((q < y).mean(axis=1) + (q <= y).mean(axis=1))
    return middle
