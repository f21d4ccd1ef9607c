"""Where the training inputs lie: a surrogate's answer far from all of them is a guess, and should be called one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from genbayes.arrays import BoolArray, FloatArray

N_KEPT = 2_000  # training inputs kept for the comparison
FAR = 2.0  # times the usual largest gap between neighbouring training inputs
USUAL = 0.99  # quantile of the gaps that counts as the usual largest


@dataclass(frozen=True)
class InputCoverage:
    """A sample of the scaled training inputs and the distance beyond which a new input is far from all of them.

    Attributes:
        inputs: Scaled training inputs, shape (r, p).
        radius: Distance that counts as far.
    """

    inputs: FloatArray
    radius: float

    @classmethod
    def learn(cls, Z: FloatArray, rng: np.random.Generator) -> InputCoverage:
        """Keep up to 2,000 inputs; the radius is twice the 99% quantile of the distance to the nearest other one.

        Example:
            >>> cover = InputCoverage.learn(np.linspace(0, 1, 11)[:, None], np.random.default_rng(0))
            >>> cover.is_far(np.array([[0.55], [3.0]]))
            array([False,  True])
        """
        if len(Z) > N_KEPT:
            Z = Z[rng.choice(len(Z), N_KEPT, replace=False)]
        kept = np.unique(Z.astype(np.float32), axis=0).astype(np.float64)  # as it will be read back from a file
        if len(kept) == 1:
            return cls(kept, 0.0)
        gap, _ = cKDTree(kept).query(kept, k=2)
        return cls(kept, float(FAR * np.quantile(gap[:, 1], USUAL)))

    def is_far(self, Z: FloatArray) -> BoolArray:
        """Whether each scaled input lies beyond the radius of every training input kept, (n, p) -> (n,)."""
        distance, _ = cKDTree(self.inputs).query(Z)
        return np.asarray(distance > self.radius * (1 + 1e-6))
