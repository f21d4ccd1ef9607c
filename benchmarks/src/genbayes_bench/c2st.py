"""C2ST: how well a classifier tells draws of two distributions apart; 0.5 if they are one, 1 if they never meet.

The definition is that of sbibm (Lueckmann et al. 2021, "Benchmarking Simulation-Based Inference"; the test is of
Lopez-Paz & Oquab 2017): accuracy in five shuffled folds of a network with two hidden layers of ten units a dimension,
trained as scikit-learn's `MLPClassifier(solver="adam")` trains it, on draws that are scaled by the first sample. Here
the folds of many comparisons are trained at once in stacked weights, which computes the same in a fraction of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import torch
    from torch import Tensor

N_FOLDS = 5
UNITS_PER_DIMENSION = 10
# what scikit-learn's MLPClassifier does unless told otherwise
RATE, BETAS, EPSILON, ALPHA = 1e-3, (0.9, 0.999), 1e-8, 1e-4
BATCH, TOLERANCE, PATIENCE = 200, 1e-4, 10
MOST_EPOCHS = 10_000  # sbibm's max_iter; training ends long before


def c2st(reference: FloatArray, draws: FloatArray, seed: int = 1) -> float:
    """Share of draws that a classifier gives to the right one of two samples, on draws that it has not seen.

    Args:
        reference: Draws of the one distribution, which also set the scale, shape (n, k).
        draws: Draws of the other, shape (m, k).
        seed: Of folds, starts and batches.

    Returns:
        Mean accuracy of five folds; 0.5 is perfect where n = m.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> c2st(rng.normal(0, 1, (200, 2)), rng.normal(50, 1, (200, 2)))
        1.0
    """
    return float(c2st_many([(reference, draws)], seed)[0])


def c2st_many(pairs: Sequence[tuple[FloatArray, FloatArray]], seed: int = 1) -> FloatArray:
    """`c2st` of several pairs of samples at once.

    Args:
        pairs: Reference and draws of each; all of one number of dimensions and draws.
        seed: Of folds, starts and batches.

    Returns:
        One accuracy a pair, in order.
    """
    import torch

    if len({(np.shape(a), np.shape(b)) for a, b in pairs}) > 1:
        raise InvalidInput("pairs must have as many draws each, got different numbers; compare them one by one")
    data = np.stack([_standardise(np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in pairs])
    target = np.repeat([0.0, 1.0], [len(pairs[0][0]), len(pairs[0][1])])
    generator = torch.Generator().manual_seed(seed)
    hits = np.zeros((len(pairs), N_FOLDS))
    for folds in _folds_by_size(len(target), seed):
        jobs = [(pair, fold, learn, test) for pair in range(len(pairs)) for fold, learn, test in folds]
        which = torch.tensor([job[0] for job in jobs])[:, None]
        learn, test = (torch.as_tensor(np.stack([job[part] for job in jobs])) for part in (2, 3))
        Z, t = torch.as_tensor(data, dtype=torch.float32), torch.as_tensor(target, dtype=torch.float32)
        weights = _train(Z[which, learn], t[learn], generator)
        right = (weights.logits(Z[which, test]) > 0) == (t[test] > 0.5)
        for (pair, fold, _, _), share in zip(jobs, right.double().mean(dim=1).tolist(), strict=True):
            hits[pair, fold] = share
    return np.asarray(hits.mean(axis=1))


def _standardise(reference: FloatArray, draws: FloatArray) -> FloatArray:
    """Both samples, one after the other, in units of the first."""
    if reference.ndim != 2 or draws.ndim != 2 or reference.shape[1] != draws.shape[1]:
        raise InvalidInput(f"draws must have the columns of the reference, got {reference.shape} and {draws.shape}")
    both = np.concatenate([reference, draws])
    if not np.isfinite(both).all():
        raise InvalidInput("draws must be finite, got NaN or infinity")
    spread = reference.std(axis=0, ddof=1)
    if not (spread > 0).all():
        raise InvalidInput("reference must vary in every dimension, got a constant one")
    return np.asarray((both - reference.mean(axis=0)) / spread)


def _folds_by_size(n: int, seed: int) -> list[list[tuple[int, IntArray, IntArray]]]:
    """Shuffled folds (number, rows to learn from, rows to test on), in groups of equal size, which train together."""
    from sklearn.model_selection import KFold

    groups: dict[int, list[tuple[int, IntArray, IntArray]]] = {}
    splits = KFold(N_FOLDS, shuffle=True, random_state=seed).split(np.empty((n, 1)))
    for fold, (learn, test) in enumerate(splits):
        groups.setdefault(len(test), []).append((fold, learn, test))
    return list(groups.values())


@dataclass
class _Networks:
    """Networks of two hidden layers, one a row of `flat`, shape (m, n_weights); `W` and `b` are views of it."""

    flat: Tensor
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        self.W, self.b, at = [], [], 0
        for fan_in, fan_out in pairwise(self.sizes):
            self.W.append(self.flat[:, at : at + fan_in * fan_out].view(-1, fan_in, fan_out))
            at += fan_in * fan_out
            self.b.append(self.flat[:, at : at + fan_out].view(-1, 1, fan_out))
            at += fan_out

    def layers(self, Z: Tensor) -> list[Tensor]:
        """Outputs of every layer: relu twice, then the logit."""
        first = self.b[0].baddbmm(Z, self.W[0]).relu_()
        second = self.b[1].baddbmm(first, self.W[1]).relu_()
        return [Z, first, second, self.b[2].baddbmm(second, self.W[2])]

    def logits(self, Z: Tensor) -> Tensor:
        return self.layers(Z)[-1][..., 0]


def _start(m: int, d: int, generator: torch.Generator) -> _Networks:
    """Glorot's uniform start, weights and biases alike, as scikit-learn does."""
    import torch

    units = UNITS_PER_DIMENSION * d
    sizes = (d, units, units, 1)
    bounds = [torch.full(((i + 1) * o,), math.sqrt(6 / (i + o))) for i, o in pairwise(sizes)]
    bound = torch.cat(bounds)
    return _Networks((2 * torch.rand(m, len(bound), generator=generator) - 1) * bound, sizes)


def _train(Z: Tensor, t: Tensor, generator: torch.Generator) -> _Networks:
    """Train one network a row of the data, (m, n, d) and (m, n); each stops when its own loss no longer falls."""
    import torch

    m, n, d = Z.shape
    networks = _start(m, d, generator)
    done = networks.flat.clone()
    active, best, waited = torch.arange(m), torch.full((m,), math.inf), torch.zeros(m)
    adam = _Adam(networks.flat)
    for _ in range(MOST_EPOCHS):
        order = torch.rand(len(active), n, generator=generator).argsort(dim=1)
        rows = torch.arange(len(active))[:, None]
        Zs, ts = Z[rows, order], t[rows, order]
        loss = torch.zeros(len(active))
        for begin in range(0, n, BATCH):
            part = slice(begin, begin + BATCH)
            loss += _step(networks, adam, Zs[:, part], ts[:, part])
        loss /= n
        waited = torch.where(loss > best - TOLERANCE, waited + 1, 0)
        best = torch.minimum(best, loss)
        stays = waited <= PATIENCE
        if not bool(stays.all()):
            done[active[~stays]] = networks.flat[~stays]
            active, best, waited, Z, t = (x[stays] for x in (active, best, waited, Z, t))
            networks = _Networks(networks.flat[stays].contiguous(), networks.sizes)
            adam.keep(networks.flat, stays)
        if not len(active):
            break
    done[active] = networks.flat
    return _Networks(done, networks.sizes)


def _step(networks: _Networks, adam: _Adam, Z: Tensor, t: Tensor) -> Tensor:
    """One step on a batch, (m, b, d) and (m, b); returns the summed loss of each network, (m,).

    Loss: mean of -t log p - (1 - t) log(1 - p) plus alpha |W|^2 / (2 b), p the logistic function of the logit.
    """
    import torch

    batch = Z.shape[1]
    layers = networks.layers(Z)
    logit = layers[-1]
    total = (torch.nn.functional.softplus(logit) - t[..., None] * logit).sum(dim=(1, 2))
    gradient = _Networks(torch.empty_like(networks.flat), networks.sizes)
    delta = (torch.sigmoid(logit) - t[..., None]) / batch
    for layer in (2, 1, 0):
        W = networks.W[layer]
        torch.baddbmm(W, layers[layer].mT, delta, beta=ALPHA / batch, out=gradient.W[layer])
        gradient.b[layer].copy_(delta.sum(dim=1, keepdim=True))
        if layer:
            delta = (delta @ W.mT) * (layers[layer] > 0)
    penalty = sum((W * W).sum(dim=(1, 2)) for W in networks.W)
    adam.step(gradient.flat)
    return total + 0.5 * ALPHA * penalty


class _Adam:
    """Adam (Kingma & Ba 2015) in scikit-learn's form, on all networks at once."""

    def __init__(self, flat: Tensor) -> None:
        self.flat, self.t = flat, 0
        self.first, self.second = flat * 0, flat * 0

    def step(self, gradient: Tensor) -> None:
        self.t += 1
        b1, b2 = BETAS
        self.first.mul_(b1).add_(gradient, alpha=1 - b1)
        self.second.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
        rate = RATE * math.sqrt(1 - b2**self.t) / (1 - b1**self.t)
        self.flat.addcdiv_(self.first, self.second.sqrt().add_(EPSILON), value=-rate)

    def keep(self, flat: Tensor, rows: Tensor) -> None:
        """Go on with some of the networks."""
        self.flat, self.first, self.second = flat, self.first[rows], self.second[rows]
