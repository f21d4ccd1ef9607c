"""AutoModel: the Gaussian process where it is winning, the ensemble where it is not; AutoSurrogate's rule, made cheap.

Both are judged on runs they have not seen: the GP leaves each run out in closed form, every member of the ensemble
holds out its own fifth of the runs. The ensemble is trained in instalments, a short one with every update, so that
no call takes long; once it has had its share and is behind, it rests until the runs have grown by half.
"""

from __future__ import annotations

from importlib import import_module
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.design.gp import DesignGP
from genbayes.design.interface import DesignModel
from genbayes.distribution import PredictiveDistribution
from genbayes.metrics import is_clearly_better
from genbayes.models.protocols import Of

FEWEST_RUNS = 30  # for the ensemble: with fewer a fifth of them says nothing
GOOD_ENOUGH = 0.05  # CRPS of the GP in standard deviations of y below which nothing else is tried: R^2 is 0.99 then
N_INSTALMENTS = 15  # after which the ensemble has had its chance
N_STEPS_FIRST, N_STEPS_MORE = 150, 100  # of an instalment: a quarter of a second or so
GROWTH = 1.5  # of the runs, after which it begins anew


def leaves_something(score: FloatArray, y: FloatArray) -> bool:
    """Whether a GP leaves enough to be learnt that networks are worth trying.

    Args:
        score: CRPS of its predictions of runs it has not seen, shape (n,); NaN where there is none.
        y: Their responses, shape (n,).

    Example:
        >>> y = np.arange(40.0)
        >>> leaves_something(np.full(40, 0.1), y), leaves_something(np.full(40, 5.0), y)
        (False, True)
    """
    return len(y) >= FEWEST_RUNS and float(np.nanmean(score)) > GOOD_ENOUGH * float(np.std(y))


class AutoModel(DesignModel):
    """A GP and, where the GP leaves something to be learnt, an ensemble of quantile networks with randomized priors.

    Attributes:
        gp_: The Gaussian process.
        ensemble_: The ensemble; None while it is not wanted.
        chosen_: The one that is ahead, and answers.
        scores_: Mean CRPS on unseen runs of the models compared last, by name.

    Example:
        >>> X = np.random.default_rng(0).uniform(size=(40, 2))
        >>> model = AutoModel().fit(X, np.sin(3 * X[:, 0]) + X[:, 1], np.random.default_rng(0))
        >>> type(model.chosen_).__name__
        'DesignGP'
    """

    gp_: DesignGP
    ensemble_: DesignModel | None
    chosen_: DesignModel
    scores_: dict[str, float]

    def fit(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Learn the GP only, so that the first answer is quick."""
        self.gp_, self.ensemble_ = DesignGP().fit(X, y, rng), None
        self._n_resting = self._n_begun = self._n_instalments = 0
        self._has_torch = False
        self.chosen_, self.scores_ = self.gp_, {"gp": float(np.nanmean(self.gp_.score_unseen()))}
        return self

    def update(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Update the GP; train the ensemble a little where the GP leaves something to learn; who is ahead answers."""
        self.chosen_ = self.gp_.update(X, y, rng)
        ours = self.gp_.score_unseen()
        self.scores_ = {"gp": float(np.nanmean(ours))}
        has_grown = len(y) >= GROWTH * self._n_resting
        if leaves_something(ours, y) and has_grown and self._is_ready():
            self._train_more(X, y, rng)
            assert self.ensemble_ is not None
            theirs = self.ensemble_.score_unseen()
            self.scores_["ensemble"] = float(np.nanmean(theirs))
            if is_clearly_better(theirs, ours):
                self.chosen_ = self.ensemble_
            elif self._n_instalments >= N_INSTALMENTS:
                self.ensemble_, self._n_resting = None, len(y)
        return self

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> PredictiveDistribution:
        """Distributions by the chosen model."""
        return self.chosen_.predict_distribution(X, of)

    def variance_reduction(self, X: FloatArray, reference: FloatArray) -> FloatArray:
        """Reduction by the chosen model."""
        return self.chosen_.variance_reduction(X, reference)

    def draw_path(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One function that the chosen model holds possible."""
        return self.chosen_.draw_path(X, rng)

    def imagine(self, X: FloatArray) -> DesignModel:
        """The chosen model with runs at X taken for done."""
        return self.chosen_.imagine(X)

    def score_unseen(self) -> FloatArray:
        """Scores of the chosen model."""
        return self.chosen_.score_unseen()

    def _is_ready(self) -> bool:
        """Whether torch is loaded; the call that loads it, which takes a second or two, does nothing else."""
        was_ready, self._has_torch = self._has_torch, True
        import_module("genbayes.design.ensemble")
        return was_ready

    def _train_more(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> None:
        from genbayes.design.ensemble import RandomizedPriors  # torch loads only when it is wanted

        if self.ensemble_ is None or len(y) >= GROWTH * self._n_begun:
            self._n_instalments, self._n_begun = 0, len(y)
            self.ensemble_ = RandomizedPriors(n_steps=N_STEPS_FIRST, n_steps_more=N_STEPS_MORE).fit(X, y, rng)
        else:
            self.ensemble_.update(X, y, rng)
        self._n_instalments += 1
