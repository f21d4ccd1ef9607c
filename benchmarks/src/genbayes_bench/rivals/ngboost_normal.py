"""The normal law in the form NGBoost boosts, with its natural gradient written out and a floor under sigma.

NGBoost's own builds a SciPy distribution at every step of every line search, almost half of a fit's time, and divides
by zero once sigma vanishes, as it does for a simulator without noise. Same parameters (mu, log sigma), same score.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray

__all__ = ["SMALLEST_SD", "normal_of_engine"]

SMALLEST_SD = 1e-3  # in standard deviations of y; boosted trees do not come nearer to any smooth function


def normal_of_engine(engine: Any) -> type[Any]:
    """A class of normal laws that `NGBRegressor(Dist=...)` takes.

    Log score log sigma + 1/2 log(2 pi) + z^2 / 2 with z = (y - mu) / sigma. Its gradient in (mu, log sigma) is
    (-z / sigma, 1 - z^2); the Fisher information is diag(1 / sigma^2, 2), so the natural gradient is
    (mu - y, (1 - z^2) / 2) (Duan et al. 2020, section 3).

    Args:
        engine: The module ngboost.

    Returns:
        The class; an object of it holds n laws, from parameters of shape (2, n).

    Example:
        >>> import ngboost
        >>> law = ngboost.manifold.manifold(ngboost.scores.LogScore, normal_of_engine(ngboost))(np.zeros((2, 1)))
        >>> law.grad(np.array([3.0]))
        array([[-3., -4.]])
    """
    log_score = engine.scores.LogScore

    class NormalScore(log_score):  # type: ignore[misc, valid-type]
        def score(self, y: FloatArray) -> FloatArray:
            z = (y - self.loc) / self.scale
            return np.asarray(np.log(self.scale) + 0.5 * math.log(2 * math.pi) + 0.5 * z * z)

        def grad(self, y: FloatArray, natural: bool = True) -> FloatArray:
            assert natural
            z = (y - self.loc) / self.scale
            return np.column_stack([self.loc - y, 0.5 * (1 - z * z)])

    class BoostedNormal(engine.distns.RegressionDistn):
        n_params = 2
        scores = (NormalScore,)

        def __init__(self, params: FloatArray) -> None:
            super().__init__(params)
            self.loc, self.scale = params[0], np.exp(np.maximum(params[1], math.log(SMALLEST_SD)))

        @staticmethod
        def fit(y: FloatArray) -> FloatArray:
            return np.array([y.mean(), np.log(max(y.std(), SMALLEST_SD))])

    return BoostedNormal
