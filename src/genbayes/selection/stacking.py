"""Weights for several candidates' laws, fitted to rows that none of them had seen.

Two ways to join laws with weights w >= 0 that sum to 1. Averaging quantiles, Q(tau) = sum_k w_k Q_k(tau), shifts
sharp laws to a compromise; pooling distributions, F = sum_k w_k F_k, keeps both answers where candidates disagree.
The mean CRPS is convex in w for both: for the pool it is the quadratic w'a - w'B w / 2 with a_k = E|Y_k - y| and
B_kl = E|Y_k - Y_l| (Gneiting & Raftery 2007, section 4.2), for the average a mean of pinball losses, paper section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from genbayes.arrays import FloatArray, IntArray

__all__ = ["LEVELS", "Stack", "choose_stack", "crps_of_table", "find_team", "is_within_luck", "mean_and_error"]

N_LEVELS = 50  # the score of 50 quantiles is within 0.1% of that of the whole law
LEVELS: FloatArray = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
NO_SAY = 0.02  # a weight below this is not worth a second model
WORTH_IT = 0.002  # share of the best single score that joining must save on rows unseen by the weights
HELPS = 0.001  # share of the score that a further candidate must save to be worth cross-validating
ROWS_AT_ONCE = 2_000

Kind = Literal["single", "average", "pool"]


@dataclass(frozen=True)
class Stack:
    """How candidates are joined.

    Attributes:
        kind: "single", or "average" of quantiles, or "pool" of distributions.
        weights: One for each candidate, summing to 1, shape (K,).
        scores: CRPS at every row, with weights fitted to the other folds, shape (n,).
    """

    kind: Kind
    weights: FloatArray
    scores: FloatArray


def crps_of_table(q: FloatArray, y: FloatArray) -> FloatArray:
    """CRPS of quantiles at `LEVELS`: twice the mean pinball loss, (n, m) and (n,) -> (n,).

    Example:
        >>> crps_of_table(np.zeros((1, N_LEVELS)), np.array([2.0]))
        array([2.])
    """
    e = y[:, None] - q
    return np.asarray(2 * np.maximum(LEVELS * e, (LEVELS - 1) * e).mean(axis=1))


def mean_and_error(scores: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Weighted mean and its standard error, sqrt(sum p_i^2 (s_i - mean)^2) with p the shares of the weights.

    Args:
        scores: One for each row, shape (n,).
        weight: Positive weights, shape (n,).

    Example:
        >>> mean_and_error(np.array([1.0, 3.0]), np.ones(2))
        (2.0, 0.7071067811865476)
    """
    share = weight / weight.sum()
    mean = float(share @ scores)
    return mean, float(np.sqrt(np.sum((share * (scores - mean)) ** 2)))


def choose_stack(Q: FloatArray, y: FloatArray, weight: FloatArray, fold: IntArray) -> Stack:
    """The best single candidate, unless joining several is better on rows that the weights have not seen.

    Args:
        Q: Out-of-fold quantiles of each candidate at `LEVELS`, shape (K, n, m).
        y: Responses, shape (n,).
        weight: Positive weights of the rows, shape (n,).
        fold: Fold of each row, shape (n,).

    Returns:
        The stack; its scores are honest also where weights were fitted.

    Example:
        >>> y = np.random.default_rng(0).standard_normal(300)
        >>> low, high = (np.tile(LEVELS - 0.5 + shift, (300, 1)) for shift in (-1.0, 1.0))
        >>> choose_stack(np.stack([low, high]), y, np.ones(300), np.arange(300) % 5).weights.round(1)
        array([0.5, 0.5])
    """
    single = np.stack([crps_of_table(q, y) for q in Q])
    best = _first_best(single @ weight)
    chosen = Stack("single", np.eye(len(Q))[best], single[best])
    if len(Q) == 1:
        return chosen
    price = (1 - WORTH_IT) * float(single[best] @ weight)
    ways: list[tuple[Kind, _Way]] = [("average", _Average(Q, y)), ("pool", _Pool(Q, y))]
    for kind, way in ways:
        scores = _scores_across(way, weight, fold)
        if float(scores @ weight) < price:
            chosen, price = Stack(kind, way.fit(weight), scores), float(scores @ weight)
    return chosen


def find_team(Q: FloatArray, y: FloatArray, weight: FloatArray, size: int) -> list[int]:
    """The best candidate, those that help it most when quantiles are averaged, and those that may be better by luck.

    The second best alone is often the best one's twin and brings nothing; a weaker one of another kind may. Places that
    are left go to candidates within two standard errors of the best, by paired differences.

    Args:
        Q: Quantiles of each candidate at `LEVELS`, shape (K, n, m).
        y: Responses, shape (n,).
        weight: Positive weights of the rows, shape (n,).
        size: Most candidates.

    Returns:
        Their numbers, in the order in which they were found.

    Example:
        >>> y = np.random.default_rng(0).standard_normal(300)
        >>> tables = [np.tile(LEVELS - 0.5 + shift, (300, 1)) for shift in (-0.5, -0.51, 0.6)]
        >>> find_team(np.stack(tables), y, np.ones(300), 2)
        [0, 2]
    """
    single = np.array([crps_of_table(q, y) @ weight for q in Q])
    team = [_first_best(single)]
    reached = float(single[team[0]])
    while len(team) < min(size, len(Q)):
        others = [k for k in range(len(Q)) if k not in team]
        score = np.array([_joint_score(Q[[*team, k]], y, weight) for k in others])
        if score.min() > (1 - HELPS) * reached:
            break
        team.append(others[_first_best(score)])
        reached = float(score.min())
    scores = [crps_of_table(q, y) for q in Q]
    rivals = [k for k in np.argsort(single) if k not in team and is_within_luck(scores[k] - scores[team[0]], weight)]
    return team + [int(k) for k in rivals[: size - len(team)]]


def is_within_luck(behind: FloatArray, weight: FloatArray) -> bool:
    """Whether a mean paired difference is below two of its standard errors.

    Example:
        >>> is_within_luck(np.array([1.0, -1.0, 0.5]), np.ones(3)), is_within_luck(np.array([1.0, 1.1]), np.ones(2))
        (True, False)
    """
    mean, error = mean_and_error(behind, weight)
    return mean <= 2 * error


def _joint_score(Q: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """Sum of the weighted scores of the best average of some candidates."""
    way = _Average(Q, y)
    return float(way.scores(way.fit(weight)) @ weight)


def _first_best(scores: FloatArray) -> int:
    """The first candidate that is as good as the best: those before it are simpler or quicker."""
    return int(np.argmax(scores <= scores.min() * (1 + WORTH_IT)))


def _scores_across(way: _Way, weight: FloatArray, fold: IntArray) -> FloatArray:
    """Score of each row under weights fitted to the rows of other folds; of one fold only, to its other half."""
    part = fold if len(np.unique(fold)) > 1 else np.arange(len(fold)) % 2
    scores = np.empty(len(fold))
    for each in np.unique(part):
        held_out = part == each
        scores[held_out] = way.scores(way.fit(np.where(held_out, 0.0, weight)))[held_out]
    return scores


class _Way:
    """A way to join: row scores for given weights, and the weights of least mean score."""

    n_candidates: int

    def scores(self, w: FloatArray) -> FloatArray:
        """CRPS at every row, shape (n,)."""
        raise NotImplementedError

    def gradient(self, w: FloatArray, share: FloatArray) -> FloatArray:
        """Gradient in w of the mean score with row shares, shape (K,)."""
        raise NotImplementedError

    def fit(self, weight: FloatArray) -> FloatArray:
        """Weights within the simplex that minimise the weighted mean score; negligible ones are dropped."""
        share = weight / weight.sum()
        w = _minimise_on_simplex(
            lambda w: float(share @ self.scores(w)), lambda w: self.gradient(w, share), self.n_candidates
        )
        w = np.where(w < NO_SAY, 0.0, w)
        return np.asarray(w / w.sum())


class _Average(_Way):
    def __init__(self, Q: FloatArray, y: FloatArray) -> None:
        self.n_candidates, self.Q, self.y = len(Q), Q, y

    def scores(self, w: FloatArray) -> FloatArray:
        return crps_of_table(np.tensordot(w, self.Q, axes=1), self.y)

    def gradient(self, w: FloatArray, share: FloatArray) -> FloatArray:
        q = np.tensordot(w, self.Q, axes=1)
        slope = 2 * ((self.y[:, None] < q) - LEVELS) / N_LEVELS * share[:, None]  # of the pinball loss in q
        return np.asarray(np.einsum("knm,nm->k", self.Q, slope))


class _Pool(_Way):
    def __init__(self, Q: FloatArray, y: FloatArray) -> None:
        self.n_candidates = len(Q)
        self.a = np.abs(Q - y[:, None]).mean(axis=2)  # (K, n)
        self.B = np.stack([[_mean_distance(q, r) for r in Q] for q in Q])  # (K, K, n)

    def scores(self, w: FloatArray) -> FloatArray:
        return np.asarray(w @ self.a - 0.5 * np.einsum("k,l,kln->n", w, w, self.B))

    def gradient(self, w: FloatArray, share: FloatArray) -> FloatArray:
        return np.asarray(self.a @ share - self.B @ share @ w)


def _mean_distance(q: FloatArray, r: FloatArray) -> FloatArray:
    """E|Y - Y'| of two tables of equally likely values, (n, m) -> (n,)."""
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(q), ROWS_AT_ONCE)]
    return np.concatenate([np.abs(q[rows, :, None] - r[rows, None, :]).mean(axis=(1, 2)) for rows in parts])


def _minimise_on_simplex(
    value: Callable[[FloatArray], float], gradient: Callable[[FloatArray], FloatArray], n: int
) -> FloatArray:
    """Minimise a convex function of weights >= 0 that sum to 1, from equal ones and from each corner's side."""
    unit = max(value(np.full(n, 1 / n)), float(np.finfo(np.float64).tiny))  # so that tolerances have no unit
    sums_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(n)}
    found = minimize(
        lambda w: value(w) / unit,
        np.full(n, 1 / n),
        jac=lambda w: gradient(w) / unit,
        bounds=[(0.0, 1.0)] * n,
        constraints=[sums_to_one],
        method="SLSQP",
        options={"maxiter": 100, "ftol": 1e-7},
    )
    w = np.clip(found.x, 0.0, None)
    return np.asarray(w / w.sum())
