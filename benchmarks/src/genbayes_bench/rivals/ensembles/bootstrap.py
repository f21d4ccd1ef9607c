"""Bootstrap: members that learn from resampled runs; the worst acquisition of the paper's Supplement D."""

from __future__ import annotations

import numpy as np
import torch

from genbayes.design.ensembles.base import NetworkEnsemble

__all__ = ["Bootstrap"]


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
