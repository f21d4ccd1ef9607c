"""Prediction from many runs: inducing points for what is smooth, neighbours for what is not.

f(x) = phi(x)'z + r(x), phi(x) = L^{-1} k(x) the whitened correlations with a few inducing inputs, z ~ N(0, I); what
they leave unexplained, r, is conditioned on near rows as in Vecchia's approximation. Neighbours alone cannot average
out noise beyond their number, inducing points alone cannot follow detail; together they come within a fraction of a
per cent of the exact GP (Gyger, Furrer & Sigrist 2025, Vecchia-inducing-points full-scale approximation).

Given its predecessors, row i says e_i = y_i - b'y_c = psi_i'z + error, psi_i = phi_i - sum_c b_c phi_c, the error of
variance v_i: a linear regression for z, to which the constant mean adds one column under a flat prior. Exact if every
row has all others for neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from genbayes.arrays import FloatArray, IntArray
from genbayes.models.gp.cholesky import solve_factored
from genbayes.models.gp.kernels import matern52_with_slope, slices, squared_distances
from genbayes.models.gp.likelihood import factorise_correlations
from genbayes.models.gp.vecchia import NearestRows, nearest_previous, solve_locally

N_INDUCING = 500
FEATURES_AT_MOST = 40_000_000  # entries of phi at all rows, 320 MB: beyond 80,000 rows there are fewer inducing points
INDUCING_JITTER = 1e-11  # on the correlations of the inducing points, which may nearly coincide; far below any nugget
N_PREDECESSORS = 20  # earlier neighbours that each training row conditions on
N_NEIGHBOURS = 40  # that a prediction conditions on
ENTRIES_AT_ONCE = 2_000_000  # of a batch of neighbours' features: 16 MB


@dataclass(frozen=True)
class FullScale:
    """Training rows, and what the regression on the inducing points learnt from them.

    Variances are in units of the process variance throughout; rows may differ in their noise.

    Attributes:
        W: Training inputs over length scales, shape (n, p).
        y: Responses, shape (n,).
        noise: Noise variance of each response, shape (n,).
        order: Row numbers in the order of the approximation, shape (n,); the first M are the inducing points.
        coefficients: Posterior mean of z and of the constant mean, shape (M + 1,).
        factor: Lower Cholesky factor of their posterior precision, shape (M + 1, M + 1).
        n_neighbours: Training rows that a prediction conditions on.
    """

    W: FloatArray
    y: FloatArray
    noise: FloatArray
    order: IntArray
    coefficients: FloatArray
    factor: FloatArray
    n_neighbours: int = N_NEIGHBOURS
    n_predecessors: int = N_PREDECESSORS
    _basis: _Basis = field(init=False, repr=False, compare=False)
    _nearest: NearestRows = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_basis", _Basis(self.W, self.order[: len(self.coefficients) - 1]))
        object.__setattr__(self, "_nearest", NearestRows(self.W))

    @classmethod
    def learn(
        cls,
        W: FloatArray,
        y: FloatArray,
        noise: FloatArray,
        rng: np.random.Generator,
        *,
        n_inducing: int = N_INDUCING,
        n_predecessors: int = N_PREDECESSORS,
        n_neighbours: int = N_NEIGHBOURS,
    ) -> FullScale:
        """Learn z and the mean from responses y, shape (n,), at scaled inputs W, shape (n, p).

        Args:
            W: Training inputs over length scales, shape (n, p).
            y: Responses, shape (n,).
            noise: Noise variance of each response over the process variance, shape (n,).
            rng: Draws the order of the rows and with it the inducing points.
            n_inducing: Number of inducing points, fewer where memory asks for it.
            n_predecessors: Earlier neighbours that each training row conditions on.
            n_neighbours: Training rows that a prediction conditions on.

        Example:
            >>> rng = np.random.default_rng(0)
            >>> W = rng.uniform(-2, 2, size=(600, 1))
            >>> y = np.sin(W[:, 0]) + 0.1 * rng.standard_normal(600)
            >>> mean, variance = FullScale.learn(W, y, np.full(600, 0.01), rng).predict(np.array([[1.0]]))
            >>> abs(mean - np.sin(1.0)) < 0.05, variance < 0.001
            (array([ True]), array([ True]))
        """
        M = max(1, min(n_inducing, len(W), FEATURES_AT_MOST // len(W)))
        blank = cls(W, y, noise, rng.permutation(len(W)), np.zeros(M + 1), np.eye(M + 1), n_neighbours, n_predecessors)
        precision = np.diag(np.append(np.ones(M), 0.0))  # z ~ N(0, I); the mean has a flat prior
        projection = np.zeros(M + 1)
        for _, terms, e, v in blank._training_terms():
            weighted = terms.psi / v[:, None]
            precision += terms.psi.T @ weighted
            projection += weighted.T @ e
        factor = np.linalg.cholesky(precision)
        coefficients = solve_factored(factor, projection[:, None])[:, 0]
        return cls(W, y, noise, blank.order, coefficients, factor, n_neighbours, n_predecessors)

    def predict(self, W_new: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the latent function at new scaled inputs, (n_new, p) -> (n_new,), (n_new,)."""
        mean, variance = np.empty((2, len(W_new)))
        for part in slices(len(W_new), self.n_neighbours * len(self.coefficients), ENTRIES_AT_ONCE):
            near = self._nearest.find(W_new[part], self.n_neighbours)
            terms = self._condition(W_new[part], near)
            mean[part] = terms.psi @ self.coefficients + terms.expected
            variance[part] = terms.variance + self._uncertainty(terms.psi)
        return mean, variance

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """As `predict` at every training row, but each from the others alone; (n,), (n,).

        The precision of y is Q = B'[D^{-1} - D^{-1} psi A^{-1} psi'D^{-1}]B, B the sparse matrix that takes y to e and
        D = diag(v); then mean_i = y_i - [Q y]_i / Q_ii, and 1 / Q_ii is the variance of y_i (Dubrule 1983).
        """
        n = len(self.W)
        gradient, precision, shared = np.zeros(n), np.zeros(n), np.zeros((n, len(self.coefficients)))
        for rows, terms, e, v in self._training_terms():
            B, touched = terms.transform(rows)
            gradient[touched] += B.T @ ((e - terms.psi @ self.coefficients) / v)
            precision[touched] += (B * B).T @ (1 / v)
            shared[touched] += B.T @ (terms.psi / v[:, None])
        precision -= self._uncertainty(shared)
        return self.y - gradient / precision, np.maximum(1 / precision - self.noise, 0.0)

    def _training_terms(self) -> Iterator[tuple[IntArray, _Terms, FloatArray, FloatArray]]:
        """Training rows given their predecessors, in batches: their numbers, terms, residuals e and variances v."""
        position = nearest_previous(self.W[self.order], np.arange(len(self.W)), min(self.n_predecessors, len(self.W)))
        for part in slices(len(self.W), self.n_predecessors * len(self.coefficients), ENTRIES_AT_ONCE):
            rows, near = self.order[part], position[part]
            near = np.where(near >= 0, self.order[near], -1)
            terms = self._condition(self.W[rows], near)
            yield rows, terms, self.y[rows] - terms.expected, terms.variance + self.noise[rows]

    def _condition(self, W_own: FloatArray, near: IntArray) -> _Terms:
        """Rows at scaled inputs, (b, p), given neighbours, (b, m)."""
        own = self._basis.at(W_own)
        features = torch.from_numpy(np.concatenate([self._basis.at_training[near], own[:, None]], axis=1))
        explained = features @ features.transpose(1, 2)
        nothing = np.zeros((len(self.W), 0))
        systems = solve_locally(self.W, W_own, near, self.noise, nothing, explained)
        weights = systems.weights
        psi = own - torch.bmm(weights.unsqueeze(1), features[:, :-1]).squeeze(1).numpy()
        psi = np.column_stack([psi, 1 - weights.sum(1).numpy()])
        expected = (weights.numpy() * self.y[near]).sum(axis=1)
        return _Terms(psi, expected, systems.variance.numpy(), weights.numpy(), near)

    def _uncertainty(self, psi: FloatArray) -> FloatArray:
        """psi'A^{-1}psi for every row of psi, (b, M + 1) -> (b,)."""
        return np.asarray((solve_triangular(self.factor, psi.T, lower=True, check_finite=False) ** 2).sum(axis=0))


class _Basis:
    """phi(x) = L^{-1} k(x), the whitened correlations with the inducing points."""

    def __init__(self, W: FloatArray, rows: IntArray) -> None:
        self.points = W[rows]
        self.root, _, _ = factorise_correlations(self.points, np.full(len(rows), INDUCING_JITTER))
        self.at_training = np.concatenate([self.at(W[part]) for part in slices(len(W), len(rows), ENTRIES_AT_ONCE)])

    def at(self, W: FloatArray) -> FloatArray:
        """Features of scaled inputs, (b, p) -> (b, M)."""
        k, _ = matern52_with_slope(squared_distances(W, self.points))
        return np.ascontiguousarray(solve_triangular(self.root, k.T, lower=True, check_finite=False).T)


@dataclass(frozen=True)
class _Terms:
    """b rows, each given its m neighbours.

    Attributes:
        psi: phi_i - sum_c b_c phi_c, and the same of the constant one, shape (b, M + 1).
        expected: What the neighbours say of y, b'y_c, shape (b,).
        variance: Variance of the latent residual, shape (b,).
        weights, near: Weights b and row numbers of the neighbours, shape (b, m).
    """

    psi: FloatArray
    expected: FloatArray
    variance: FloatArray
    weights: FloatArray
    near: IntArray

    def transform(self, rows: IntArray) -> tuple[csr_array, IntArray]:
        """These rows of B, one at the row itself and minus the weights at its neighbours, shape (b, t), and which t."""
        b, m = self.weights.shape
        columns = np.column_stack([np.maximum(self.near, 0), rows])  # missing neighbours have zero weight
        values = np.column_stack([-self.weights, np.ones(b)])
        touched, place = np.unique(columns, return_inverse=True)
        shape = (b, len(touched))
        return csr_array((values.ravel(), (np.repeat(np.arange(b), m + 1), place.ravel())), shape=shape), touched
