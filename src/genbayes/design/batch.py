"""Several runs at once: each is chosen as if those before it, and those still out, were done.

Between two choices the model imagines the first ("fantasies"; the kriging believer of Ginsbourger, Le Riche & Carraro
2010): its uncertainty near a chosen point is gone, so the next one goes elsewhere. Models that cannot imagine have
their scores damped near chosen points instead (local penalisation, after Gonzalez et al. 2016).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.design.acquisition import Acquisition

__all__ = ["LocalPenalty", "Search", "choose_batch", "imagine_runs"]

Search = Callable[
    [Callable[[FloatArray], FloatArray]], FloatArray
]  # a score of points, (n, d) -> (n,), to its best (d,)


class LocalPenalty:
    """A model whose scores are damped near some inputs: a(x) prod_j (1 - exp(-|x - x_j|^2 / (2 r^2))).

    Args:
        model: The model, which is asked as it is.
        X: Inputs to keep away from, shape (q, p).
        radius: Distance r; (number of runs and inputs to keep away from)^(-1/p) is that of neighbours in a unit cube.

    Example:
        >>> penalty = LocalPenalty(None, np.array([[0.5]]), radius=0.1)
        >>> penalty.damp(np.ones(2), np.array([[0.5], [0.9]])).round(3)
        array([0., 1.])
    """

    def __init__(self, model: Any, X: FloatArray, radius: float) -> None:
        self.model, self.X, self.radius = model, X, radius

    def damp(self, score: FloatArray, X: FloatArray) -> FloatArray:
        """Scores times the distance from what is chosen; negative scores are made larger, so that they lose."""
        s = ((X[:, None] - self.X[None]) ** 2).sum(axis=2)
        left = np.prod(1 - np.exp(-s / (2 * self.radius**2)), axis=1)
        return np.asarray(np.where(score > 0, score * left, score * (2 - left)))


def imagine_runs(model: Any, X: FloatArray, n_done: int = 0) -> Any:
    """A model that takes runs at X, shape (q, p), for done, by its own imagination or by local penalties."""
    if not len(X):
        return model
    if hasattr(model, "imagine"):
        return model.imagine(X)
    if isinstance(model, LocalPenalty):
        model, X = model.model, np.vstack([model.X, X])
    return LocalPenalty(model, X, float((n_done + len(X)) ** (-1 / X.shape[1])))


def choose_batch(
    model: Any,
    acquisition: Acquisition,
    search: Search,
    n: int,
    encode: Callable[[FloatArray], FloatArray],
    running: FloatArray,
    n_done: int = 0,
) -> FloatArray:
    """The next n points, each the best once those before it are taken for done.

    Args:
        model: A fitted model.
        acquisition: What a run at x is worth.
        search: Finds the best point of a score.
        n: How many.
        encode: Points of the cube, (n, d), to the model's inputs, (n, p).
        running: Points whose runs are still out, shape (q, d).
        n_done: Runs that the model knows.

    Returns:
        Shape (n, d).

    Example:
        >>> from genbayes.design.acquisition import disagreement
        >>> from genbayes.design.process import DesignGP
        >>> X = np.array([[0.0], [0.1], [1.0]])
        >>> model = DesignGP().fit(X, np.array([0.0, 0.5, 1.0]), np.random.default_rng(0))
        >>> grid = np.linspace(0, 1, 101)[:, None]
        >>> best_of_grid = lambda score: grid[score(grid).argmax()]
        >>> U = choose_batch(model, disagreement, best_of_grid, 2, lambda U: U, np.empty((0, 1)))
        >>> bool(abs(U[0, 0] - U[1, 0]) > 0.1)  # not neighbours
        True
    """
    model = imagine_runs(model, encode(running), n_done) if len(running) else model
    chosen: list[FloatArray] = []
    for i in range(n):
        chosen.append(search(_score_of(model, acquisition, encode)))
        if i + 1 < n:
            model = imagine_runs(model, encode(chosen[-1][None]), n_done)
    return np.stack(chosen)


def _score_of(
    model: Any, acquisition: Acquisition, encode: Callable[[FloatArray], FloatArray]
) -> Callable[[FloatArray], FloatArray]:
    if isinstance(model, LocalPenalty):
        return lambda U: model.damp(acquisition(model.model, encode(U)), encode(U))
    return lambda U: acquisition(model, encode(U))
