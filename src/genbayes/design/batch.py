"""Several runs at once: each is chosen as if those before it, and those still out, were done.

Between two choices the model imagines the first ("fantasies"; the kriging believer of Ginsbourger, Le Riche & Carraro
2010): its uncertainty near a chosen point is gone, so the next one goes elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.design.acquisition import Acquisition
from genbayes.design.interface import DesignModel

Search = Callable[
    [Callable[[FloatArray], FloatArray]], FloatArray
]  # a score of points, (n, d) -> (n,), to its best (d,)


def choose_batch(
    model: DesignModel,
    acquisition: Acquisition,
    search: Search,
    n: int,
    encode: Callable[[FloatArray], FloatArray],
    running: FloatArray,
) -> FloatArray:
    """The next n points, each the best once those before it are taken for done.

    Args:
        model: A fitted model.
        acquisition: What a run at x is worth.
        search: Finds the best point of a score.
        n: How many.
        encode: Points of the cube, (n, d), to the model's inputs, (n, p).
        running: Points whose runs are still out, shape (q, d).

    Returns:
        Shape (n, d).

    Example:
        >>> from genbayes.design.acquisition import disagreement
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.array([[0.0], [0.1], [1.0]])
        >>> model = DesignGP().fit(X, np.array([0.0, 0.5, 1.0]), np.random.default_rng(0))
        >>> grid = np.linspace(0, 1, 101)[:, None]
        >>> best_of_grid = lambda score: grid[score(grid).argmax()]
        >>> U = choose_batch(model, disagreement, best_of_grid, 2, lambda U: U, np.empty((0, 1)))
        >>> bool(abs(U[0, 0] - U[1, 0]) > 0.1)  # not neighbours
        True
    """
    model = model.imagine(encode(running)) if len(running) else model
    chosen: list[FloatArray] = []
    for _ in range(n):
        if chosen:
            model = model.imagine(encode(chosen[-1][None]))
        chosen.append(search(lambda U: acquisition(model, encode(U))))  # noqa: B023 (search calls it at once)
    return np.stack(chosen)
