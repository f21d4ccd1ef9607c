"""Weights for several candidates' distributions, fitted to rows that none of them had seen.

Two ways to join them with weights w >= 0 that sum to 1. Averaging quantiles, Q(tau) = sum_k w_k Q_k(tau), shifts
sharp ones to a compromise; pooling distributions, F = sum_k w_k F_k, keeps both answers where candidates disagree.
The mean CRPS is convex in w for both: for the pool it is the quadratic w'a - w'B w / 2 with a_k = E|Y_k - y| and
B_kl = E|Y_k - Y_l| (Gneiting & Raftery 2007, section 4.2), for the average a mean of pinball losses, paper section 3.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution import Mixture, QuantileFunction
from genbayes.metrics import believed, best_spread, check_loss, is_clearly_better, mean_and_error, stretch_table

N_LEVELS = 50  # the score of 50 quantiles is within 0.1% of that of the whole distribution
LEVELS: FloatArray = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
MIN_WEIGHT = 0.05  # less is not worth a second model
MIN_SAVING = 0.002  # share of a score that a less simple candidate, or way to join, must save
MIN_HELP = 0.005  # share of the score that a further candidate must save to join
SPREADS = (0.5, 2.0)  # least and greatest factor that is tried
SPREAD_ROWS = 40  # rows at which half of what they ask for is believed
MIN_SPREAD, MIN_SPREAD_SAVING = 0.02, 0.001  # a smaller change, or saving of CRPS, is not worth having
TWINS = 0.03  # mean distance of two candidates' quantiles, as a share of the CRPS, below which they are the same
PULL_ERRORS = 4.0  # standard errors that a candidate must be apart from the others to be given all or nothing
ROWS_AT_ONCE = 2_000

Kind = Literal["single", "average", "pool"]


@dataclass(frozen=True)
class Stack:
    """How candidates are joined.

    Attributes:
        kind: "single", or "average" of quantiles, or "pool" of distributions.
        weights: One for each candidate, summing to 1, shape (K,).
        scores: CRPS at every row, with weights (or the winner) and spread found on the other folds; of the chosen
            model also with team and way to join found there (`cross_fitted_table`), shape (n,).
        spread: Factor by which quantiles are moved away from their median.
    """

    kind: Kind
    weights: FloatArray
    scores: FloatArray
    spread: float = 1.0


def crps_of_table(q: FloatArray, y: FloatArray) -> FloatArray:
    """CRPS of quantiles at `LEVELS`: twice the mean pinball loss, (n, m) and (n,) -> (n,).

    Example:
        >>> crps_of_table(np.zeros((1, N_LEVELS)), np.array([2.0]))
        array([2.])
    """
    e = y[:, None] - q
    return np.asarray(2 * check_loss(e, LEVELS).mean(axis=1))


def choose_stack(
    Q: FloatArray, y: FloatArray, weight: FloatArray, fold: IntArray, is_spread: Sequence[bool] = ()
) -> Stack:
    """Several candidates joined, unless the best one alone is better on rows that neither choice has seen.

    Joining is the safer choice where chance decides who is best, so the best one alone has to be ahead by a standard
    error of the paired difference; where weights leave one candidate only, it is that one.

    Args:
        Q: Out-of-fold quantiles of each candidate at `LEVELS`, shape (K, n, m).
        y: Responses, shape (n,).
        weight: Positive weights of the rows, shape (n,).
        fold: Fold of each row, shape (n,).
        is_spread: Whether each candidate has moved its quantiles apart by its own left-out runs, K of them; such a one
            alone is left as it is, for nothing is to be widened twice. None of them unless told.

    Returns:
        The stack; its scores are out-of-fold also where weights were fitted.

    Example:
        >>> y = np.random.default_rng(0).standard_normal(300)
        >>> low, high = (np.tile(LEVELS - 0.5 + shift, (300, 1)) for shift in (-1.0, 1.0))
        >>> choose_stack(np.stack([low, high]), y, np.ones(300), np.arange(300) % 5).weights.round(1)
        array([0.5, 0.5])
    """
    chosen = _choose_way(Q, y, weight, fold)
    used = np.flatnonzero(chosen.weights > 0)
    if len(used) == 1 and len(is_spread) and is_spread[used[0]]:
        return chosen
    return with_spread(chosen, Q, y, weight, fold)


def _choose_way(Q: FloatArray, y: FloatArray, weight: FloatArray, fold: IntArray) -> Stack:
    """The best way to use the candidates, their quantiles taken as they are; arguments as those of `choose_stack`."""
    alone = _stack("single", _Single(Q, y), weight, fold)
    if len(Q) == 1:
        return alone
    average, pool = _stack("average", _Average(Q, y), weight, fold), _stack("pool", _Pool(Q, y), weight, fold)
    better = float(pool.scores @ weight) < (1 - MIN_SAVING) * float(average.scores @ weight)
    joined = pool if better else average
    is_alone_better = is_clearly_better(alone.scores, joined.scores, weight, n_errors=1.0)
    return alone if is_alone_better or (joined.weights > 0).sum() == 1 else joined


def cross_fitted_table(
    Q: FloatArray, y: FloatArray, weight: FloatArray, fold: IntArray, size: int, is_spread: Sequence[bool] = ()
) -> FloatArray:
    """Quantiles of each row by a joined model whose every choice was made without the row's fold.

    The team, the way to join it, weights and spread are chosen anew on the other folds (nested cross-validation; Varma
    & Simon 2006). Scores of what was chosen on the same rows flatter it: with ten candidates that are equally good, by
    9% of the CRPS for 20 rows, 2% for 400.

    Args:
        Q: Out-of-fold quantiles of all candidates at `LEVELS`, shape (K, n, m).
        y: Responses, shape (n,).
        weight: Positive weights of the rows, shape (n,).
        fold: Fold of each row, shape (n,).
        size: Most candidates of a team.
        is_spread: As of `choose_stack`.

    Returns:
        Quantiles at `LEVELS`, shape (n, m).

    Example:
        >>> y = np.random.default_rng(0).standard_normal(40)
        >>> Q = np.stack([np.tile(LEVELS - 0.5 + shift, (40, 1)) for shift in (-1.0, 1.0)])
        >>> cross_fitted_table(Q, y, np.ones(40), np.arange(40) % 5, 3).shape
        (40, 50)
    """
    part, table = _parts(fold), np.empty(Q.shape[1:])
    for each in np.unique(part):
        held_out, rest = part == each, part != each
        team = find_team(Q[:, rest], y[rest], weight[rest], size)
        spread = [is_spread[k] for k in team] if len(is_spread) else ()
        stack = choose_stack(Q[team][:, rest], y[rest], weight[rest], fold[rest], spread)
        table[held_out] = stretch_table(joint_table(stack, Q[team][:, held_out]), stack.spread)
    return table


def with_spread(stack: Stack, Q: FloatArray, y: FloatArray, weight: FloatArray, fold: IntArray) -> Stack:
    """The stack with its quantiles moved away from their median, if that helps rows that the factor has not seen.

    The factor of least mean CRPS is drawn towards 1, the more so the fewer the rows; it is kept only if the factor of
    the other folds lowers the mean CRPS of each fold's rows together.
    """
    q = joint_table(stack, Q)
    factor = _spread(q, y, weight)
    if factor == 1:
        return stack
    part = _parts(fold)
    scores = np.empty(len(y))
    for each in np.unique(part):
        held_out = part == each
        other = _spread(q[~held_out], y[~held_out], weight[~held_out])
        scores[held_out] = crps_of_table(stretch_table(q[held_out], other), y[held_out])
    plain = crps_of_table(q, y)
    if float(scores @ weight) >= (1 - MIN_SPREAD_SAVING) * float(plain @ weight):
        return stack
    return replace(stack, spread=factor, scores=stack.scores + scores - plain)


def joint_table(stack: Stack, Q: FloatArray) -> FloatArray:
    """Quantiles of the joined candidates at `LEVELS`, (K, n, m) -> (n, m)."""
    used = np.flatnonzero(stack.weights > 0)
    if stack.kind != "pool" or len(used) == 1:
        return np.asarray(np.tensordot(stack.weights, Q, axes=1))
    parts = [QuantileFunction(LEVELS, Q[k]) for k in used]
    return np.asarray(Mixture(parts, stack.weights[used]).ppf(LEVELS))


def _spread(q: FloatArray, y: FloatArray, weight: FloatArray) -> float:
    """The factor of least mean CRPS, its logarithm shrunk by n / (n + 40)."""
    best = believed(best_spread(q, y, weight, SPREADS), len(y), SPREAD_ROWS)
    return 1.0 if abs(best - 1) < MIN_SPREAD else best


def _parts(fold: IntArray) -> IntArray:
    """Folds of rows; of one fold only, its two halves."""
    return fold if len(np.unique(fold)) > 1 else np.arange(len(fold)) % 2


def _stack(kind: Kind, way: _Way, weight: FloatArray, fold: IntArray) -> Stack:
    """One way to join, with the scores of rows that its weights have not seen."""
    return Stack(kind, way.fit(weight), _scores_across(way, weight, fold))


def find_team(Q: FloatArray, y: FloatArray, weight: FloatArray, size: int) -> list[int]:
    """The best candidate, those that help it most when quantiles are averaged, and those not clearly worse.

    The second best alone is often the best one's twin and brings nothing; a weaker one of another kind may, but must
    save more than two standard errors, for weights fitted to the same rows always seem to save something. Places that
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
    present = crps_of_table(Q[team[0]], y)
    while len(team) < min(size, len(Q)):
        others = [k for k in range(len(Q)) if k not in team]
        joint = [_joint_scores(Q[[*team, k]], y, weight) for k in others]
        best = _first_best(np.array([scores @ weight for scores in joint]))
        saves = float(joint[best] @ weight) < (1 - MIN_HELP) * float(present @ weight)
        if not saves or not is_clearly_better(joint[best], present, weight, n_errors=2.0):
            break
        team.append(others[best])
        present = joint[best]
    reached = float(present @ weight)
    scores = [crps_of_table(q, y) for q in Q]
    for k in np.argsort(single).tolist():
        is_rival = k not in team and is_not_clearly_worse(scores[k], scores[team[0]], weight)
        if is_rival and len(team) < size and not any(_are_twins(Q[k], Q[j], reached / weight.sum()) for j in team):
            team.append(k)
    return team


def is_not_clearly_worse(scores: FloatArray, best: FloatArray, weight: FloatArray) -> bool:
    """Whether mean scores are behind the best by at most two standard errors of the difference, all (n,).

    Example:
        >>> is_not_clearly_worse(np.array([1.0, 2.0, 3.0]), np.array([0.0, 3.0, 2.5]), np.ones(3))
        True
    """
    return not is_clearly_better(best, scores, weight, n_errors=2.0)


def _are_twins(q: FloatArray, r: FloatArray, score: float) -> bool:
    """Whether two tables of quantiles, (n, m), are so alike that joining them changes nothing."""
    return float(np.abs(q - r).mean()) < TWINS * score


def _joint_scores(Q: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Scores of the best average of some candidates, shape (n,)."""
    way = _Average(Q, y)
    return way.scores(way.fit(weight))


def _first_best(scores: FloatArray) -> int:
    """The first candidate that is as good as the best: those before it are simpler or quicker."""
    return int(np.argmax(scores <= scores.min() * (1 + MIN_SAVING)))


def _scores_across(way: _Way, weight: FloatArray, fold: IntArray) -> FloatArray:
    """Score of each row under weights fitted to the rows of other folds; of one fold only, to its other half."""
    part = _parts(fold)
    scores = np.empty(len(fold))
    for each in np.unique(part):
        held_out = part == each
        scores[held_out] = way.scores(way.fit(np.where(held_out, 0.0, weight)))[held_out]
    return scores


class _Way(ABC):
    """A way to use candidates: row scores for given weights, and the weights that suit some rows best."""

    def __init__(self, Q: FloatArray, y: FloatArray) -> None:
        self.single = np.stack([crps_of_table(q, y) for q in Q])

    @abstractmethod
    def scores(self, w: FloatArray) -> FloatArray:
        """CRPS at every row, shape (n,)."""

    @abstractmethod
    def fit(self, weight: FloatArray) -> FloatArray:
        """Weights of the candidates for rows with these weights, shape (K,)."""


class _Single(_Way):
    """The best candidate alone."""

    def scores(self, w: FloatArray) -> FloatArray:
        return np.asarray(w @ self.single)

    def fit(self, weight: FloatArray) -> FloatArray:
        return np.asarray(np.eye(len(self.single))[_first_best(self.single @ weight)])


class _Joined(_Way):
    """Several candidates, with a score that is convex in their weights."""

    @abstractmethod
    def gradient(self, w: FloatArray, share: FloatArray) -> FloatArray:
        """Gradient in w of the mean score with row shares, shape (K,)."""

    def fit(self, weight: FloatArray) -> FloatArray:
        """Weights within the simplex of least mean score plus a pull to equal ones, S |w - 1/K|^2 / 2.

        S is four standard errors of the candidates' differences: what chance may explain moves a weight little, a
        candidate that is clearly behind loses its weight, and with many rows the pull vanishes.
        """
        share, K = weight / weight.sum(), len(self.single)
        pull = PULL_ERRORS * self._typical_error(weight)
        w = _minimise_on_simplex(
            lambda w: float(share @ self.scores(w)) + 0.5 * pull * float(np.sum((w - 1 / K) ** 2)),
            lambda w: self.gradient(w, share) + pull * (w - 1 / K),
            K,
        )
        w = np.where(w < MIN_WEIGHT, 0.0, w)
        return np.asarray(w / w.sum())

    def _typical_error(self, weight: FloatArray) -> float:
        """Mean standard error of the differences between the candidates' mean score and that of each."""
        apart = self.single - self.single.mean(axis=0)
        return float(np.mean([mean_and_error(each, weight)[1] for each in apart]))


class _Average(_Joined):
    def __init__(self, Q: FloatArray, y: FloatArray) -> None:
        super().__init__(Q, y)
        self.Q, self.y = Q, y

    def scores(self, w: FloatArray) -> FloatArray:
        return crps_of_table(np.tensordot(w, self.Q, axes=1), self.y)

    def gradient(self, w: FloatArray, share: FloatArray) -> FloatArray:
        q = np.tensordot(w, self.Q, axes=1)
        slope = 2 * ((self.y[:, None] < q) - LEVELS) / N_LEVELS * share[:, None]  # of the pinball loss in q
        return np.asarray(np.einsum("knm,nm->k", self.Q, slope))


class _Pool(_Joined):
    def __init__(self, Q: FloatArray, y: FloatArray) -> None:
        super().__init__(Q, y)
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
