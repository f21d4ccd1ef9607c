"""Scores from a GP classifier with a length scale for each input: the committee's member that finds what matters.

A latent f ~ GP(0, k), P(regime | z) = 1 / (1 + exp(-f)), with w = z / length and

    k(z, z') = A^2 exp(-|w - w'|^2 / 2) + S^2 w.w' + B^2,

seen through m inducing rows v, f(z) = sum_j a_j k(z, v_j). Length scales, A and S maximise Laplace's evidence

    J = sum_i w_i log p(t_i | f_i) - a'K a / 2 + log|K| / 2 - log|K + F'WF| / 2   at the mode of a,

K = k(v, v), F = k(z, v), W the curvature of -log p (Rasmussen & Williams 2006, sections 3.4 and 5.5.1; labels t may
lie between 0 and 1). Probabilities come from scores of unseen rows, by `probabilities.Stack`: Laplace's own are too
unsure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit

from genbayes.arrays import FloatArray, IntArray
from genbayes.deadline import require_time
from genbayes.models.gp.cholesky import factorise, invert_factored, log_determinant, solve_factored
from genbayes.models.gp.kernels import CORRELATIONS, slices
from genbayes.models.gp.quasi_newton import minimise_within
from genbayes.persistence import State
from genbayes.threads import share_out

N_INDUCING = 100
MOST_ROWS = 1_000  # that length scales are found on: with as many they are known well enough
BIAS = 2.0  # B, of the latent function: odds of e^2 to 1
JITTER = 1e-6  # of the mean diagonal of K
N_STEPS, N_NEWTON = 30, 25
NEWTON_TOLERANCE = 1e-4  # twice the gain in log posterior that is not worth a Newton step
TOLERANCE = 0.1  # gain in log evidence that is not worth a step
START_LENGTH = 1.5  # times sqrt(p), of inputs of unit spread
# Gaussian priors of the logarithms: centre and sd. An input may be a hundred times longer than the centre, hence inert.
PRIOR_LENGTH, PRIOR_A, PRIOR_S = (math.log(1.5), 1.5), (math.log(3.0), 1.0), (math.log(1.0), 1.0)
Parts = tuple[FloatArray, FloatArray, FloatArray]  # radial correlations, their slopes, products w.w', (n, m) each
_RADIAL = CORRELATIONS["squared-exponential"]


@dataclass(frozen=True)
class Latent:
    """One latent function, seen through inducing rows.

    Attributes:
        theta: log length scales, log A, log S, shape (p + 2,).
        coefficients: a, shape (m,).
    """

    theta: FloatArray
    coefficients: FloatArray


@dataclass(frozen=True)
class GPScores:
    """Scores of k regimes; with two the first score is 0.

    Attributes:
        vectors: Inducing rows v, shape (m, p).
        theta: Of each latent function, shape (c, p + 2); c is 1 for two regimes, else k.
        coefficients: a of each, shape (c, m).
    """

    vectors: FloatArray
    theta: FloatArray
    coefficients: FloatArray

    @property
    def length(self) -> FloatArray:
        """Shortest length scale of each input over the latent functions, shape (p,)."""
        return np.asarray(np.exp(self.theta[:, :-2].min(axis=0)))

    def scores(self, Z: FloatArray) -> FloatArray:
        """Scores of the regimes, (n, p) -> (n, k)."""
        f = np.empty((len(Z), len(self.theta)))
        for part in slices(len(Z), len(self.vectors)):
            for c, (theta, a) in enumerate(zip(self.theta, self.coefficients, strict=True)):
                f[part, c] = _kernel(Z[part], self.vectors, theta)[0] @ a
        return _as_scores(f)

    def rescaled(self, factor: FloatArray) -> GPScores:
        """The same scores of inputs that are multiplied by factors, shape (p,)."""
        theta = self.theta.copy()
        theta[:, :-2] += np.log(factor)
        return replace(self, vectors=self.vectors * factor, theta=theta)

    def to_state(self) -> State:
        """Inducing rows, parameters and coefficients."""
        arrays = {"vectors": self.vectors, "theta": self.theta, "coefficients": self.coefficients}
        return State("GPScores", {}, arrays)

    @classmethod
    def from_state(cls, state: State, p: int, k: int) -> GPScores:
        """Scores of k regimes from p inputs, as a file describes them."""
        c, vectors = 1 if k == 2 else k, state.array("vectors", (None, p))
        return cls(
            vectors,
            state.array("theta", (c, p + 2), at_least=-700, at_most=700),
            state.array("coefficients", (c, len(vectors))),
        )


def fit_gp_scores(
    Z: FloatArray,
    label: FloatArray,
    weight: FloatArray,
    folds: Sequence[IntArray],
    rng: np.random.Generator,
    start: GPScores | None = None,
) -> tuple[GPScores, FloatArray]:
    """Learn the latent functions, one for each regime against the rest, or a single one for two regimes.

    Args:
        Z: Scaled inputs, shape (n, p).
        label: Probability of each regime, shape (n, k).
        weight: Positive weights, shape (n,).
        folds: Row numbers of each fold.
        rng: Draws inducing rows, and the rows that length scales are found on.
        start: Scores learnt from nearly the same labels, to begin from; its inducing rows are kept.

    Returns:
        The scores, and those of each row by coefficients that have not seen its fold, at the same length scales,
        shape (n, k).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> Z = rng.standard_normal((90, 2))
        >>> label = np.eye(2)[(Z[:, 0] > 0).astype(int)]
        >>> found, unseen = fit_gp_scores(Z, label, np.ones(90), np.array_split(np.arange(90), 5), rng)
        >>> bool((unseen.argmax(axis=1) == label.argmax(axis=1)).mean() > 0.9), bool(found.length[1] > found.length[0])
        (True, True)
    """
    k, weight = label.shape[1], weight / weight.mean()
    rows = np.sort(rng.permutation(len(Z))[:MOST_ROWS])
    vectors = Z[_spread_over(label, rng)] if start is None else start.vectors
    latents, unseen = [], []
    for c, target in enumerate([label[:, 1]] if k == 2 else label.T):
        theta = _first_theta(Z.shape[1]) if start is None else start.theta[c]
        theta, a = _find_theta(Z[rows], vectors, target[rows], weight[rows], theta)
        F, K = _kernel(Z, vectors, theta)[0], _inducing(vectors, theta)[0]
        a = _mode(F, K, target, weight, a)
        held_out = np.empty(len(Z))
        without = [np.where(np.isin(np.arange(len(Z)), fold), 0.0, weight) for fold in folds]
        for fold, other in zip(folds, share_out(partial(_mode, F, K, target, a=a), without), strict=True):
            held_out[fold] = F[fold] @ other
        latents.append(Latent(theta, a))
        unseen.append(held_out)
    theta, a = (np.stack(part) for part in zip(*((one.theta, one.coefficients) for one in latents), strict=True))
    return GPScores(vectors, theta, a), _as_scores(np.column_stack(unseen))


def _as_scores(f: FloatArray) -> FloatArray:
    """Latent functions, (n, c), as scores of the regimes, (n, k)."""
    return np.column_stack([np.zeros(len(f)), f]) if f.shape[1] == 1 else f


def _spread_over(label: FloatArray, rng: np.random.Generator) -> IntArray:
    """Row numbers of the inducing rows: random, but at least a share 1 / (2 k) of each regime if there are as many."""
    regime, order = label.argmax(axis=1), rng.permutation(len(label))
    k = label.shape[1]
    first = [order[regime[order] == c][: N_INDUCING // (2 * k)] for c in range(k)]
    known = np.concatenate(first)
    rest = order[~np.isin(order, known)][: N_INDUCING - len(known)]
    return np.sort(np.concatenate([known, rest]))


def _first_theta(p: int) -> FloatArray:
    lengths = np.full(p, math.log(START_LENGTH * math.sqrt(p)))
    return np.concatenate([lengths, [PRIOR_A[0], PRIOR_S[0]]])


def _kernel(Z: FloatArray, V: FloatArray, theta: FloatArray) -> tuple[FloatArray, Parts]:
    """k(z, v), (n, m), and what its derivatives need."""
    length, A, S = np.exp(theta[:-2]), math.exp(theta[-2]), math.exp(theta[-1])
    W, U = Z / length, V / length
    correlation, slope = _RADIAL.between(W, U)
    product = W @ U.T
    return A**2 * correlation + S**2 * product + BIAS**2, (correlation, slope, product)


def _inducing(V: FloatArray, theta: FloatArray) -> tuple[FloatArray, Parts]:
    """The same among inducing rows, with a little on the diagonal."""
    K, parts = _kernel(V, V, theta)
    K[np.diag_indices(len(V))] += JITTER * K.diagonal().mean()
    return K, parts


def _mode(F: FloatArray, K: FloatArray, t: FloatArray, weight: FloatArray, a: FloatArray) -> FloatArray:
    """Coefficients a, (m,), of largest sum w log p(t | F a) - a'K a / 2, by Newton's steps from a."""

    def value(f: FloatArray, a: FloatArray) -> float:
        return float(weight @ (t * f - np.logaddexp(0.0, f)) - 0.5 * a @ K @ a)

    f = F @ a
    here = value(f, a)
    for _ in range(N_NEWTON):
        p = expit(f)
        gradient = F.T @ (weight * (t - p)) - K @ a
        B = (F * (weight * p * (1 - p))[:, None]).T @ F + K
        step = _solve(B, gradient)
        if float(step @ gradient) < NEWTON_TOLERANCE:
            break
        moved, size = F @ step, 1.0
        while (there := value(f + size * moved, a + size * step)) < here and size > 1e-3:
            size *= 0.5
        if there < here:
            break
        a, f, here = a + size * step, f + size * moved, there
    return a


def _solve(B: FloatArray, right: FloatArray) -> FloatArray:
    _, solution, failure = lapack.dposv(B, right)
    if failure != 0:
        return solve_factored(factorise(B, B.diagonal().copy()), right[:, None])[:, 0]
    return np.asarray(solution)


def _find_theta(
    Z: FloatArray, V: FloatArray, t: FloatArray, weight: FloatArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Parameters of largest evidence times prior, and the coefficients there."""
    p = Z.shape[1]
    centre = np.concatenate([np.full(p, PRIOR_LENGTH[0] + 0.5 * math.log(p)), [PRIOR_A[0], PRIOR_S[0]]])
    sd = np.concatenate([np.full(p, PRIOR_LENGTH[1]), [PRIOR_A[1], PRIOR_S[1]]])
    mode = np.zeros(len(V))

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        nonlocal mode
        require_time()
        value, gradient, mode = _evidence(Z, V, t, weight, theta, mode)
        away = (theta - centre) / sd
        return -value + 0.5 * float(away @ away), -gradient + away / sd

    bounds = centre - 4 * sd, centre + 4 * sd
    found = minimise_within(
        loss, start, bounds, (0.02 * len(Z) + 1.0) * np.eye(p + 2), tolerance=TOLERANCE, n_steps=N_STEPS
    )
    loss(found.point)
    return found.point, mode


def _evidence(
    Z: FloatArray, V: FloatArray, t: FloatArray, weight: FloatArray, theta: FloatArray, a: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Laplace's evidence J, its gradient in theta, (p + 2,), and the mode, climbed to from a.

    J depends on theta through F and K, directly and by way of the mode, whose move is B^{-1} times that of its
    gradient, B = K + F'WF.
    """
    F, of_rows = _kernel(Z, V, theta)
    K, of_inducing = _inducing(V, theta)
    a = _mode(F, K, t, weight, a)
    f = F @ a
    p = expit(f)
    residual, curvature = weight * (t - p), weight * p * (1 - p)
    factor_K = factorise(K.copy(), K.diagonal().copy())
    B = (F * curvature[:, None]).T @ F + K
    factor_B = factorise(B, B.diagonal().copy())
    inverse_B = _whole(invert_factored(factor_B))
    FB = F @ inverse_B
    variance = (FB * F).sum(axis=1)  # of f at the rows
    fit = float(weight @ (t * f - np.logaddexp(0.0, f)) - 0.5 * a @ K @ a)
    value = fit + 0.5 * (log_determinant(factor_K) - log_determinant(factor_B))
    pull = -0.5 * variance * curvature * (1 - 2 * p)  # dJ / df by way of W
    v = inverse_B @ (F.T @ pull)
    G_F = np.outer(residual + pull - curvature * (F @ v), a) + np.outer(residual, v) - curvature[:, None] * FB
    G_K = -0.5 * np.outer(a, a) - np.outer(v, a) + 0.5 * (_whole(invert_factored(factor_K)) - inverse_B)
    gradient = _by_theta(G_F, of_rows, Z, V, theta)
    G_K[np.diag_indices(len(V))] += JITTER * G_K.trace() / len(V)  # the jitter grows with the diagonal
    gradient += _by_theta(G_K, of_inducing, V, V, theta)
    return value, gradient, a


def _whole(lower: FloatArray) -> FloatArray:
    """A symmetric matrix from its lower triangle."""
    return np.tril(lower) + np.tril(lower, -1).T


def _by_theta(G: FloatArray, parts: Parts, Z: FloatArray, V: FloatArray, theta: FloatArray) -> FloatArray:
    """sum_ij G_ij dk_ij / dtheta, shape (p + 2,)."""
    correlation, slope, product = parts
    length, A2, S2 = np.exp(theta[:-2]), math.exp(2 * theta[-2]), math.exp(2 * theta[-1])
    W, U = Z / length, V / length
    by_A, by_S = 2 * A2 * float(np.vdot(G, correlation)), 2 * S2 * float(np.vdot(G, product))
    by_length = -2 * S2 * (W * (G @ U)).sum(axis=0) + A2 * _RADIAL.by_log_length(G.copy(), slope, W, U)
    return np.concatenate([by_length, [by_A, by_S]])
