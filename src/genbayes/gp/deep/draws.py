"""Posterior draws of a two-layer deep GP: plain arrays, all that predictions and design need."""

from __future__ import annotations

from dataclasses import dataclass

from genbayes.arrays import FloatArray
from genbayes.gp.deep.settings import Kernel

__all__ = ["DeepGPDraws"]


@dataclass(frozen=True)
class DeepGPDraws:
    """t draws from the posterior of hidden layer and parameters, with the data they belong to.

    Attributes:
        kernel: Correlation of both layers.
        X: Training inputs, shape (n, d).
        y: Training responses, shape (n,).
        w: Hidden layer, shape (t, n, h).
        theta_y: Outer squared length scale, shape (t,).
        theta_w: Inner squared length scales, shape (t, h).
        xi: Standard normal numbers that place the hidden layer at new inputs within its conditional law, (t, h).
        nugget: Noise variance in units of tau2, shape (t,).
        tau2: Outer variance, its posterior mean given the rest of the draw, shape (t,).
        log_likelihood: Of the outer layer, tau2 integrated out, up to a constant, shape (t,).
    """

    kernel: Kernel
    X: FloatArray
    y: FloatArray
    w: FloatArray
    theta_y: FloatArray
    theta_w: FloatArray
    xi: FloatArray
    nugget: FloatArray
    tau2: FloatArray
    log_likelihood: FloatArray

    def __len__(self) -> int:
        return len(self.theta_y)

    def __getitem__(self, which: slice) -> DeepGPDraws:
        """Some of the draws, for instance every second one: draws[::2].

        Example:
            >>> import numpy as np
            >>> X, y, t = np.zeros((5, 1)), np.zeros(5), np.ones(4)
            >>> w, per_column = np.ones((4, 5, 1)), np.ones((4, 1))
            >>> draws = DeepGPDraws("matern52", X, y, w, t, per_column, per_column, nugget=t, tau2=t, log_likelihood=t)
            >>> len(draws[::2])
            2
        """
        return DeepGPDraws(
            self.kernel,
            self.X,
            self.y,
            w=self.w[which],
            theta_y=self.theta_y[which],
            theta_w=self.theta_w[which],
            xi=self.xi[which],
            nugget=self.nugget[which],
            tau2=self.tau2[which],
            log_likelihood=self.log_likelihood[which],
        )
