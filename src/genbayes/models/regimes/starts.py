"""First guesses of which regime each run lies in, from inputs and responses: where the search by EM begins.

Local optima decide more than any rule inside EM, so several guesses of different kinds: groups of neighbours in
(x, y), a mixture of planes y = b_c'x, the same with a gate P(c | x) that is a plane too, and a mixture on y alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.special import softmax

from genbayes.arrays import FloatArray
from genbayes.models.regimes.mixture import evidence_of, fit_gaussians, responsibilities

RESPONSE_WEIGHT = 2.0  # of a standardised response beside inputs in units of their length scales
N_PLANES, N_PLANE_STEPS = 20, 60  # random starts of a mixture of planes, and EM steps of each
N_GATED, N_GATED_STEPS = 8, 40  # with a gate
RIDGE = 1e-2  # of a plane's slopes, per run
LEAST_SD = 1e-2  # of a plane's residuals, in standard deviations of y
SURE = 0.9  # that a guess says of the regime it names


def guess_labels(
    Z: FloatArray, y: FloatArray, weight: FloatArray, length: FloatArray, k: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Probabilities of k regimes at each run, one table of shape (n, k) for each kind of guess.

    Args:
        Z: Scaled inputs, shape (n, p).
        y: Standardised responses, shape (n,).
        weight: Positive weights, shape (n,).
        length: Length scales of a GP of all runs, which say what inputs matter, shape (p,).
        k: Number of regimes.
        rng: Draws random starts.

    Example:
        >>> Z = np.linspace(-1.5, 1.5, 60)[:, None]
        >>> y = np.where(Z[:, 0] > 0, 1.0, -1.0) + 0.1 * np.sin(40 * Z[:, 0])
        >>> [label.shape for label in guess_labels(Z, y, np.ones(60), np.ones(1), 2, np.random.default_rng(0))]
        [(60, 2), (60, 2), (60, 2), (60, 2)]
    """
    rng_near, rng_planes, rng_gated = rng.spawn(3)
    yield _named(_neighbours(Z, y, length, k, rng_near), k)
    yield mixture_of_planes(Z, y, weight, k, rng_planes, has_gate=True)
    yield mixture_of_planes(Z, y, weight, k, rng_gated)
    if len(np.unique(y)) >= k:
        mixture = fit_gaussians(y, weight, k)
        yield responsibilities(evidence_of(mixture, y), mixture.share)


def _named(group: FloatArray, k: int) -> FloatArray:
    """Probabilities from the number of each run's group, (n,) -> (n, k)."""
    label = np.full((len(group), k), (1 - SURE) / max(k - 1, 1))
    label[np.arange(len(group)), group.astype(np.int64)] = SURE
    return label


def _neighbours(Z: FloatArray, y: FloatArray, length: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """Number of the group of each run by k-means on (x / length, 2 y), (n,)."""
    scale = np.minimum(1.0 / length, 1e3)
    table = np.column_stack([Z * scale / max(float(scale.max()), 1e-12), RESPONSE_WEIGHT * y])
    found = [kmeans2(table, k, minit="++", rng=each, missing="warn") for each in rng.spawn(3)]
    spread = [float(((table - centre[group]) ** 2).sum()) for centre, group in found]
    return np.asarray(found[int(np.argmin(spread))][1])


def mixture_of_planes(
    Z: FloatArray, y: FloatArray, weight: FloatArray, k: int, rng: np.random.Generator, *, has_gate: bool = False
) -> FloatArray:
    """Probabilities of k planes y = b_c'(1, x) + N(0, sd_c^2) by EM, the most likely of many starts, (n, k).

    Args:
        Z: Scaled inputs, shape (n, p).
        y: Standardised responses, shape (n,).
        weight: Positive weights, shape (n,).
        k: Number of planes.
        rng: Draws the starts: responses above or below random planes, or inputs on either side of them.
        has_gate: Whether the probability of a plane depends on x, by a logistic regression; else it is one share.

    Example:
        >>> x = np.linspace(-1.5, 1.5, 80)
        >>> y = np.where(np.arange(80) % 2 == 0, x, -x)
        >>> label = mixture_of_planes(x[:, None], y, np.ones(80), 2, np.random.default_rng(0))
        >>> even = label[::2].mean(axis=0)
        >>> bool(even.max() > 0.9)
        True
    """
    n, starts = len(Z), N_GATED if has_gate else N_PLANES
    D = np.column_stack([np.ones(n), Z])
    q, share = D.shape[1], weight / weight.sum()
    ridge = RIDGE * np.eye(q)
    ridge[0, 0] = 1e-9
    direction = rng.standard_normal((starts, k, q)) / np.sqrt(q)
    score = np.einsum("nq,skq->snk", D, direction)
    if not has_gate:
        score = score - np.abs(y[:, None] - score)
    r = softmax(4 * score, axis=2)
    gate = np.zeros((starts, k, q))
    total = np.full(starts, -np.inf)
    for _ in range(N_GATED_STEPS if has_gate else N_PLANE_STEPS):
        mass = r * share[:, None]  # (s, n, k)
        weighted = mass.transpose(0, 2, 1)[..., None] * D  # (s, k, n, q)
        gram = weighted.transpose(0, 1, 3, 2) @ D + ridge * np.maximum(mass.sum(axis=1), 1e-9)[..., None, None]
        b = np.linalg.solve(gram, (weighted * y[:, None]).sum(axis=2)[..., None])[..., 0]
        residual = y[:, None] - np.einsum("nq,skq->snk", D, b)
        part = np.maximum(mass.sum(axis=1), 1e-9)
        sd = np.sqrt(np.maximum((mass * residual**2).sum(axis=1) / part, LEAST_SD**2))
        log_prior = np.log(part)[:, None, :]
        if has_gate:
            gate, log_prior = _step_of_gate(D, r, share, gate, ridge)
        joint = log_prior - np.log(sd)[:, None, :] - 0.5 * (residual / sd[:, None, :]) ** 2
        most = joint.max(axis=2, keepdims=True)
        density = np.exp(joint - most)
        total = ((np.log(density.sum(axis=2)) + most[..., 0]) * share).sum(axis=1)
        r = density / density.sum(axis=2, keepdims=True)
    return np.asarray(r[int(np.argmax(total))])


def _step_of_gate(
    D: FloatArray, r: FloatArray, share: FloatArray, gate: FloatArray, ridge: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A step of the logistic regressions by the bound W <= 1/2 (Boehning 1992), and log P(c | x), (s, n, k)."""
    p = softmax(np.einsum("nq,skq->snk", D, gate), axis=2)
    gram = 0.5 * (D * share[:, None]).T @ D + 0.1 * ridge
    slope = np.einsum("snk,nq->skq", (r - p) * share[:, None], D) - 0.1 * gate @ ridge
    gate = gate + np.linalg.solve(gram, slope.reshape(-1, D.shape[1]).T).T.reshape(gate.shape)
    score = np.einsum("nq,skq->snk", D, gate)
    most = score.max(axis=2, keepdims=True)
    return gate, score - most - np.log(np.exp(score - most).sum(axis=2, keepdims=True))
