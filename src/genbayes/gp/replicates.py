"""Runs repeated at one input, reduced to what a Gaussian likelihood needs of them: mean, count, spread.

With u distinct inputs among n runs every matrix is u x u instead of n x n (Binois, Gramacy & Ludkovski 2018,
section 3.1). A run of weight w counts as w equal runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray, IntArray

__all__ = ["Replicates"]


@dataclass(frozen=True)
class Replicates:
    """Sufficient statistics of runs (z, y) with Gaussian noise.

    Attributes:
        Z: Distinct inputs, shape (u, p).
        mean: Weighted mean response at each, shape (u,).
        count: Total weight at each, shape (u,).
        scatter: Weighted sum of squares around the mean at each, shape (u,).
    """

    Z: FloatArray
    mean: FloatArray
    count: FloatArray
    scatter: FloatArray

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def n_runs(self) -> float:
        """Number of runs, replicates included."""
        return float(self.count.sum())

    def take(self, rows: IntArray) -> Replicates:
        """Some of the groups, in the order of their numbers, shape (b,)."""
        return Replicates(self.Z[rows], self.mean[rows], self.count[rows], self.scatter[rows])

    @classmethod
    def collect(cls, Z: FloatArray, y: FloatArray, weight: FloatArray) -> Replicates:
        """Group runs by their inputs.

        Args:
            Z: Inputs, shape (n, p).
            y: Responses, shape (n,).
            weight: Positive weights, shape (n,).

        Returns:
            One group per distinct input, sorted.

        Example:
            >>> groups = Replicates.collect(np.array([[1.0], [0.0], [1.0]]), np.array([2.0, 5.0, 4.0]), np.ones(3))
            >>> groups.Z.ravel(), groups.mean, groups.count, groups.scatter
            (array([0., 1.]), array([5., 3.]), array([1., 2.]), array([0., 2.]))
        """
        distinct, group = np.unique(Z, axis=0, return_inverse=True)
        group = group.reshape(-1)
        count = np.bincount(group, weights=weight)
        mean = np.bincount(group, weights=weight * y) / count
        scatter = np.bincount(group, weights=weight * (y - mean[group]) ** 2)
        return cls(distinct, mean, np.asarray(count, np.float64), np.asarray(scatter, np.float64))
