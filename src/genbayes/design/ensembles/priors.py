"""Randomized priors: GBC-AL of the paper, section 4.3 (Osband, Aslanides & Cassirer 2018)."""

from __future__ import annotations

from genbayes.design.ensembles.base import N_STEPS, N_STEPS_MORE, NetworkEnsemble

__all__ = ["RandomizedPriors"]


class RandomizedPriors(NetworkEnsemble):
    """Members that are each the sum of a trained network and a frozen random one, G_k = g_k + alpha g_{0,k}.

    Where there are runs g_k learns to cancel its prior; where there are none it cannot, so members differ there,
    however many runs there are elsewhere.

    Args:
        n_members: Ensemble size K; the paper's is 3.
        prior_scale: Size alpha of the prior, in standard deviations of y; the paper's is 0.5.
        n_steps: Training steps from scratch, at most.
        n_steps_more: Training steps after a new run.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 0.5, 20)[:, None]
        >>> model = RandomizedPriors(n_steps=50).fit(X, np.sin(6 * X[:, 0]), np.random.default_rng(0))
        >>> near, far = model.predict_members(np.array([[0.25], [1.0]])).std(axis=0)
        >>> bool(far > near)
        True
    """

    def __init__(
        self,
        n_members: int = 3,
        prior_scale: float = 0.5,
        n_steps: int = N_STEPS,
        n_steps_more: int = N_STEPS_MORE,
    ) -> None:
        super().__init__(n_members, n_steps, n_steps_more)
        self.prior_scale = prior_scale
