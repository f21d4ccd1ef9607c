"""Ensembles that lost to randomized priors in the paper's Supplement D: anchored ones and the bootstrap.

Anchored members are held to where each began (Pearce, Leibfried & Brintrup 2020); the bootstrap's learn from resampled
runs. Networks whose last layer alone is Bayesian are in `last_layer`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from genbayes.design.ensemble import N_STEPS, N_STEPS_MORE, NetworkEnsemble
from genbayes.models.network.fit import Penalty
from genbayes.validation import check_nonnegative


class Anchored(NetworkEnsemble):
    """Members that minimise the loss plus (strength / n) |theta - theta_0|^2, theta_0 a draw from the prior.

    Each weight counts by the inverse of its prior variance. For a linear model with Gaussian noise the members are
    exact draws from the posterior; for a network nearly so. As runs grow the anchors give way.

    Args:
        n_members: Ensemble size K.
        strength: How strongly members are held, in units of one run's loss.
        n_steps: Training steps from scratch, at most.
        n_steps_more: Training steps after a new run.

    Example:
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> model = Anchored(n_steps=30).fit(X, np.sin(6 * X[:, 0]), np.random.default_rng(0))
        >>> model.predict_members(X).shape
        (3, 20)
    """

    _anchors: list[Tensor]
    _of: object = None

    def __init__(
        self,
        n_members: int = 3,
        strength: float = 0.01,
        n_steps: int = N_STEPS,
        n_steps_more: int = N_STEPS_MORE,
    ) -> None:
        super().__init__(n_members, n_steps, n_steps_more)
        self.strength = strength

    def _penalty(self, n: int) -> Penalty:
        share = check_nonnegative(self.strength, "strength") / n
        weights = list(self.network_.trained.parameters())
        if self._of is not self.network_:  # a network that has not been trained yet: its weights are the prior's draw
            self._of, self._anchors = self.network_, [weight.detach().clone() for weight in weights]
        return lambda network: share * _distance(weights, self._anchors)


def _distance(weights: Sequence[Tensor], anchors: Sequence[Tensor]) -> Tensor:
    """Squared distance of each member's weights from its anchor, in units of the prior variance, shape (K,)."""
    parts = []
    for weight, anchor in zip(weights, anchors, strict=True):
        spread = anchor.var().clamp(min=torch.finfo(anchor.dtype).tiny)
        parts.append(((weight - anchor) ** 2 / spread).flatten(1).sum(dim=1))
    return torch.stack(parts).sum(dim=0)


class Bootstrap(NetworkEnsemble):
    """Members that weigh runs by how often each was drawn with replacement (Efron 1979).

    A run's weights are drawn once and kept when others follow: the Poisson(1) form of Oza & Russell (2001), which
    unlike the multinomial one does not depend on how many runs there will be.

    Args:
        n_members: Ensemble size K.
        n_steps: Training steps from scratch, at most.
        n_steps_more: Training steps after a new run.

    Example:
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> model = Bootstrap(n_steps=30).fit(X, np.sin(6 * X[:, 0]), np.random.default_rng(0))
        >>> model.predict_members(X).shape
        (3, 20)
    """

    _weight: torch.Tensor | None = None

    def _row_weight(self, n: int, rng: np.random.Generator) -> torch.Tensor:
        known = torch.empty(self.n_members, 0) if self._weight is None else self._weight[:, :n]
        fresh = rng.poisson(1.0, (self.n_members, n - known.shape[1]))
        self._weight = torch.cat([known, torch.as_tensor(fresh, dtype=torch.float32)], dim=1)
        return self._weight
