"""Who chooses the runs, and who predicts: ours, the same model on random runs, the deep GP with ALC, Supplement D's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.design import RandomizedPriors
from genbayes.design.acquisition import disagreement
from genbayes.design.proposers import ModelProposer
from genbayes.models import DeepGP
from genbayes_bench.rivals import SNGP, Anchored, Bootstrap, LastLayerLaplace
from genbayes_bench.studies.design.problems import DesignProblem, Game

__all__ = ["METHODS", "Player"]

N_CANDIDATES, N_REFERENCE = 200, 200  # of the deep GP's ALC, as in the reference runs of R's deepgp
NOBODY = 0


class Player(Protocol):
    """Chooses the next run and predicts."""

    def choose(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The next point, shape (1, d)."""

    def predict(self, X: FloatArray, y: FloatArray, X_test: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Predictive means at test points from these runs."""


class ByModel:
    """A `ModelProposer`; with `is_random` it only predicts, and the runs are drawn at random."""

    def __init__(self, game: Game, is_random: bool = False, **settings: Any) -> None:
        self.game, self.is_random = game, is_random
        self.proposer = ModelProposer(candidates=game.candidates, **settings)

    def choose(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        if self.is_random:
            return draw_one(self.game, X, rng)
        nothing = np.empty((NOBODY, X.shape[1]))
        return self.proposer.propose(self.game.space, X, y, nothing, 1, rng)

    def predict(self, X: FloatArray, y: FloatArray, X_test: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.proposer.learn(self.game.space, X, y, rng).predict(X_test)


class ByDeepGP:
    """Two-layer deep GP with active learning Cohn (Sauer, Gramacy & Higdon 2023); goes on from its last draw."""

    def __init__(self, game: Game, noise: str) -> None:
        self.game = game
        self.model = DeepGP(
            noise=noise,
            n_samples=50,
            n_burn_in=1_000,
            thinning=5,
            warm_start=True,
            random_state=np.random.default_rng(0),
        )
        self.known = 0

    def choose(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        self._learn(X, y)
        candidates = self.game.space.uniform(N_CANDIDATES, rng)
        if self.game.candidates is not None:
            left = left_over(self.game.candidates, X)
            candidates = left[rng.permutation(len(left))[:N_CANDIDATES]]
        score = self.model.variance_reduction(candidates, self.game.space.sobol(N_REFERENCE, rng))
        return candidates[[int(score.argmax())]]

    def predict(self, X: FloatArray, y: FloatArray, X_test: FloatArray, rng: np.random.Generator) -> FloatArray:
        self._learn(X, y)
        return self.model.predict(X_test)

    def _learn(self, X: FloatArray, y: FloatArray) -> None:
        if len(y) != self.known:
            self.model.fit(X, y)
            self.model.set_params(n_burn_in=25)  # 275 steps of the chain for each further run
            self.known = len(y)


def draw_one(game: Game, X: FloatArray, rng: np.random.Generator) -> FloatArray:
    if game.candidates is None:
        return game.space.uniform(1, rng)
    left = left_over(game.candidates, X)
    return left[[int(rng.integers(len(left)))]]


def left_over(candidates: FloatArray, X: FloatArray) -> FloatArray:
    known = {row.tobytes() for row in np.ascontiguousarray(X)}
    return candidates[[row.tobytes() not in known for row in np.ascontiguousarray(candidates)]]


def by_ensemble(make: Callable[[], Any]) -> Callable[[Game, DesignProblem], Player]:
    """An alternative of Supplement D: its disagreement chooses, itself predicts."""
    return lambda game, problem: ByModel(game, model=make(), acquisition=disagreement)


METHODS: dict[str, Callable[[Game, DesignProblem], Player]] = {
    "auto": lambda game, problem: ByModel(game),
    "random": lambda game, problem: ByModel(game, is_random=True),
    "deep-gp": lambda game, problem: ByDeepGP(game, problem.noise),
    "gbc-al": by_ensemble(RandomizedPriors),
    "gbc-random": lambda game, problem: ByModel(game, is_random=True, model=RandomizedPriors()),
    "bootstrap": by_ensemble(Bootstrap),
    "anchored": by_ensemble(Anchored),
    "sngp": by_ensemble(SNGP),
    "laplace": by_ensemble(LastLayerLaplace),
}
