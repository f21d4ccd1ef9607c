"""Who proposes the next inputs of a campaign: the interface, random points, and a model that is told of every run.

Everything happens in the unit cube of the space, one axis an input, where distances mean something. `ModelProposer`
(paper section 4.3) keeps its model from one call to the next and goes on from there as long as the runs it knows are
among those it is told; otherwise it begins again. While runs are too few to learn from, points are spread far from
those known.

Of several runs at once each is chosen as if those before it, and those still out, were done. Between two choices the
model imagines the first ("fantasies"; the kriging believer of Ginsbourger, Le Riche & Carraro 2010): its uncertainty
near a chosen point is gone, so the next one goes elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from threadpoolctl import threadpool_limits  # comes with scikit-learn

from genbayes.arrays import FloatArray
from genbayes.data import Box
from genbayes.data.box import encode
from genbayes.design.acquisition import (
    Acquisition,
    AvoidFailures,
    VarianceReduction,
    disagreement,
    interval_width,
    predictive_variance,
)
from genbayes.design.automatic import AutoModel
from genbayes.design.gp import DesignGP
from genbayes.design.interface import DesignModel
from genbayes.errors import InvalidInput
from genbayes.optimise import maximise
from genbayes.validation import check_choice, check_count

if TYPE_CHECKING:
    from genbayes.models.regimes.failure import Failures

N_CANDIDATES = 500
N_REFERENCE = 400  # inputs over which the variance is to be lowered
FEWEST_RUNS = 4  # a model of fewer says nothing
MODELS = ("auto", "gp", "ensemble")
ACQUISITIONS: dict[str, Acquisition] = {
    "disagreement": disagreement,
    "variance": predictive_variance,
    "width": interval_width,
}
DEFAULT = "variance-reduction"

Score = Callable[[FloatArray], FloatArray]  # of points, (n, d) -> (n,)
Search = Callable[[Score], FloatArray]  # a score to its best point, (d,)


class Proposer(Protocol):
    """What a campaign asks for its next inputs; it may remember things from one call to the next.

    The contract stands here, once: implementations say only how they choose. To inherit from it is not needed.
    """

    def propose(
        self,
        space: Box,
        X_done: FloatArray,
        y_done: FloatArray,
        X_running: FloatArray,
        n: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """The inputs of the next n trials.

        Args:
            space: The inputs.
            X_done: Where runs have ended, in the unit cube, in the order of their ends, shape (n_done, d).
            y_done: Their responses, NaN for a run that failed, shape (n_done,).
            X_running: Where runs are out or waiting, in the unit cube, shape (n_running, d).
            n: How many to propose.
            rng: The source of all randomness.

        Returns:
            Points of the unit cube, shape (n, d); the campaign snaps them to whole numbers and categories.
        """
        ...


class RandomProposer(Proposer):
    """Independent uniform points: the yardstick for those that look.

    Example:
        >>> nothing = np.empty((0, 2))
        >>> rng = np.random.default_rng(0)
        >>> RandomProposer().propose(Box.unit(2), nothing, np.empty(0), nothing, 3, rng).shape
        (3, 2)
    """

    ignores_runs = True  # a campaign need not show them

    def propose(
        self,
        space: Box,
        X_done: FloatArray,
        y_done: FloatArray,
        X_running: FloatArray,
        n: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Points drawn uniformly, shape (n, d)."""
        return space.uniform(n, rng)


class ModelProposer(Proposer):
    """Proposes the runs that a model expects to learn most from.

    Args:
        model: "auto", "gp", "ensemble" (GBC-AL: three networks with randomized priors), or a design model of your own.
        acquisition: "variance-reduction" over the whole space, "disagreement" (the paper's), "variance", "width", or a
            function `(model, X) -> (n,)` of the model's inputs; see `genbayes.design.acquisition`.
        candidates: Points of the unit cube to choose among, shape (c, d), each at most once; None for all of it.
        n_candidates: Points that are scored before going uphill from the best.

    Attributes:
        model_: The fitted model; absent before enough runs are known.

    Example:
        >>> space, rng = Box({"x": (0.0, 5.0)}), np.random.default_rng(0)
        >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0]])
        >>> proposer = ModelProposer("gp")
        >>> U = proposer.propose(space, X, np.sin(9 * X[:, 0]), np.empty((0, 1)), 1, rng)
        >>> bool(0.4 < U[0, 0] < 0.9)  # the gap
        True
    """

    model_: DesignModel

    def __init__(
        self,
        model: str | DesignModel = "auto",
        acquisition: str | Acquisition = DEFAULT,
        candidates: FloatArray | None = None,
        n_candidates: int = N_CANDIDATES,
    ) -> None:
        self.model = model
        self.acquisition = acquisition
        self.candidates = candidates
        self.n_candidates = n_candidates
        self._known: tuple[FloatArray, FloatArray] | None = None
        self._failures: Failures | None = None

    def propose(
        self,
        space: Box,
        X_done: FloatArray,
        y_done: FloatArray,
        X_running: FloatArray,
        n: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Points where the acquisition is highest, shape (n, d)."""
        check_count(n, "n")
        taken = np.vstack([X_done, X_running])
        search = self._search(space, taken, rng)
        ran = np.isfinite(y_done)
        X, y = X_done[ran], y_done[ran]
        with threadpool_limits(limits=1, user_api="blas"):  # hundreds of runs: a second thread costs more than it gives
            if len(np.unique(y)) < FEWEST_RUNS:
                return _spread(search, taken, n)
            model = self.learn(space, X, y, rng)
            acquisition = self._acquisition(space, rng)
            if not ran.all():
                from genbayes.models.regimes.failure import learn_where_runs_fail  # torch, only where runs fail

                self._failures = learn_where_runs_fail(encode(space, X_done), ~ran, rng, self._failures)
                acquisition = AvoidFailures(acquisition, probability=self._failures.model.probability)
            return choose_batch(model, acquisition, search, n, lambda U: encode(space, U), X_running)

    def learn(self, space: Box, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> DesignModel:
        """Tell the model of all runs so far, (n, d) in the unit cube and (n,); it goes on from those it knows."""
        Z = encode(space, X)
        Z_known, y_known = (Z, np.empty(0)) if self._known is None else self._known
        n = len(y_known)
        begins_with_known = n <= len(y) and np.array_equal(Z[:n], Z_known[:n]) and np.array_equal(y[:n], y_known)
        if n == 0 or not begins_with_known:
            self.model_ = self._make().fit(Z, y, rng)
        elif len(y) > n:
            self.model_.update(Z, y, rng)
        self._known = (Z, y)
        return self.model_

    def _make(self) -> DesignModel:
        if isinstance(self.model, DesignModel):
            return self.model
        name = check_choice(self.model, "model", MODELS)
        if name == "ensemble":
            from genbayes.design.ensemble import RandomizedPriors  # torch loads only when it is wanted

            return RandomizedPriors()
        return DesignGP() if name == "gp" else AutoModel()

    def _acquisition(self, space: Box, rng: np.random.Generator) -> Acquisition:
        if callable(self.acquisition):
            return self.acquisition
        name = check_choice(self.acquisition, "acquisition", [DEFAULT, *ACQUISITIONS])
        if name != DEFAULT:
            return ACQUISITIONS[name]
        return VarianceReduction(encode(space, space.sobol(N_REFERENCE, rng)))

    def _search(self, space: Box, taken: FloatArray, rng: np.random.Generator) -> Search:
        """How the best point of a score is found: over the cube, or among the candidates that are left."""
        if self.candidates is None:
            return lambda score: maximise(score, space, rng, n_candidates=self.n_candidates)[0]
        known = {row.tobytes() for row in np.ascontiguousarray(taken)}
        left = np.array([row for row in np.ascontiguousarray(self.candidates) if row.tobytes() not in known])

        def best(score: Callable[[FloatArray], FloatArray]) -> FloatArray:
            nonlocal left
            if not len(left):
                raise InvalidInput("candidates must not all be taken, got none left; give more of them")
            i = int(np.argmax(score(left)))
            u: FloatArray = left[i]
            left = np.delete(left, i, axis=0)
            return u

        return best


def _spread(search: Search, taken: FloatArray, n: int) -> FloatArray:
    """Points far from all others, one after another."""
    points = taken
    for _ in range(n):
        points = np.vstack([points, search(_distance_from(points))])
    return points[len(taken) :]


def _distance_from(points: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """A score that is the distance to the nearest of some points, (q, d), or to the walls where there are none."""
    if not len(points):
        return lambda U: np.asarray(np.minimum(U, 1 - U).min(axis=1))
    return lambda U: np.asarray(np.sqrt(((U[:, None] - points[None]) ** 2).sum(axis=2)).min(axis=1))


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
