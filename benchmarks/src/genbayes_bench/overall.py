"""What all problems say together: ratios of scores with bootstrap intervals over problems, and average ranks.

A problem counts once. Scores of different problems have different units, so they meet only as ratios or ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from genbayes.arrays import FloatArray
from genbayes_bench.summary import Contest, Results

__all__ = [
    "SMALLEST",
    "STUDIES_OF_SIZE",
    "Ranks",
    "Ratio",
    "average_ranks",
    "bootstrap_ratio",
    "comparable_contests",
    "rank_methods",
    "ratios",
]

N_RESAMPLES = 10_000
LEVEL = 0.95
LEAST_SHARE = 0.75  # of the problems: a method that was run on fewer takes no part in the ranking
STUDIES_OF_SIZE = ("friedman_scaling",)
SMALLEST = np.finfo(np.float64).tiny  # a score of zero has no logarithm


@dataclass(frozen=True)
class Ratio:
    """Geometric mean over problems of a method's score over a rival's, with its bootstrap interval.

    Attributes:
        mean: The geometric mean; below 1 the method is better.
        lower: Lower end of the 95% interval over problems.
        upper: Upper end.
        each: The ratio of each problem, by name.
    """

    mean: float
    lower: float
    upper: float
    each: Mapping[str, float]


@dataclass(frozen=True)
class Ranks:
    """Average ranks over problems, 1 the best.

    Attributes:
        methods: Names, best first.
        average: Average rank of each, shape (k,).
        critical: Critical difference: average ranks closer than this are not told apart at 5%.
        p_value: Of Friedman's test that all methods are alike.
        problems: Problems that all of the methods were run on.
    """

    methods: tuple[str, ...]
    average: FloatArray
    critical: float
    p_value: float
    problems: tuple[str, ...]


def comparable_contests(results: Results) -> list[Contest]:
    """One contest a problem, the largest; studies of size repeat another problem, so they are left out."""
    largest = {contest.problem: contest for contest in results.contests}  # contests come in order of size
    return [contest for problem, contest in largest.items() if problem not in STUDIES_OF_SIZE]


def ratios(results: Results, ours: str, rival: str, metric: str = "crps") -> dict[str, float]:
    """Mean score of a method over that of a rival on the replicates both have, by problem."""
    found = {}
    for contest in comparable_contests(results):
        a, b = (results.scores(contest, method, metric) for method in (ours, rival))
        both = set(a) & set(b)
        if both:
            above, below = (max(float(np.mean([scores[r] for r in both])), SMALLEST) for scores in (a, b))
            found[contest.problem] = above / below
    return found


def bootstrap_ratio(each: Mapping[str, float], rng: np.random.Generator) -> Ratio:
    """Geometric mean of ratios with the percentile interval of resampled problems.

    exp(mean of log r_j), and the 2.5% and 97.5% quantiles of the same over problems drawn with replacement
    (Efron and Tibshirani 1993, section 13.3).

    Args:
        each: Ratio by problem.
        rng: Draws the problems.

    Returns:
        Mean, interval and the ratios themselves.

    Example:
        >>> found = bootstrap_ratio({"a": 0.5, "b": 2.0}, np.random.default_rng(0))
        >>> round(found.mean, 6), round(found.lower, 6), round(found.upper, 6)
        (1.0, 0.5, 2.0)
    """
    logs = np.log(np.fromiter(each.values(), dtype=np.float64))
    drawn = logs[rng.integers(len(logs), size=(N_RESAMPLES, len(logs)))].mean(axis=1)
    tail = (1 - LEVEL) / 2
    lower, upper = np.exp(np.quantile(drawn, [tail, 1 - tail]))
    return Ratio(float(np.exp(logs.mean())), float(lower), float(upper), dict(each))


def rank_methods(scores: FloatArray, methods: Sequence[str], problems: Sequence[str]) -> Ranks:
    """Average ranks and the critical difference of Nemenyi's test.

    CD = q sqrt(k (k + 1) / (6 N)) for k methods on N problems, q the 95% quantile of the studentised range over
    sqrt(2) (Demsar 2006, section 3.2.2); ties share their ranks.

    Args:
        scores: Score of each method on each problem, less is better, shape (N, k).
        methods: Names of the k methods.
        problems: Names of the N problems.

    Returns:
        The ranks, best first.

    Example:
        >>> found = rank_methods(np.array([[1.0, 2.0], [1.0, 3.0]]), ["a", "b"], ["p", "q"])
        >>> found.methods, found.average.tolist(), round(found.critical, 3)
        (('a', 'b'), [1.0, 2.0], 1.386)
    """
    n, k = scores.shape
    average = stats.rankdata(scores, axis=1).mean(axis=0)
    q = stats.studentized_range.ppf(LEVEL, k, np.inf) / math.sqrt(2)
    order = np.argsort(average, kind="stable")
    critical = float(q * math.sqrt(k * (k + 1) / (6 * n)))
    # Friedman's statistic needs three methods; of two, the sign test asks the same
    p_value = float(stats.friedmanchisquare(*scores.T).pvalue) if k > 2 else _sign_test(scores)
    return Ranks(tuple(methods[j] for j in order), average[order], critical, p_value, tuple(problems))


def average_ranks(results: Results, metric: str = "crps") -> Ranks | None:
    """Ranks of the methods that were run on most problems, over the problems and replicates that these share.

    Args:
        results: The records.
        metric: The score that ranks.

    Returns:
        The ranks; None where fewer than two methods share two problems.
    """
    contests = comparable_contests(results)
    names = sorted({method for contest in contests for method in results.methods(contest)})
    found = {(contest, m): results.scores(contest, m, metric) for contest in contests for m in names}
    kept = [m for m in names if sum(bool(found[contest, m]) for contest in contests) >= LEAST_SHARE * len(contests)]
    if len(kept) < 2:
        return None
    shared = {contest: set.intersection(*(set(found[contest, m]) for m in kept)) for contest in contests}
    used = [contest for contest in contests if shared[contest]]
    if len(used) < 2:
        return None
    scores = [[np.mean([found[contest, m][r] for r in shared[contest]]) for m in kept] for contest in used]
    return rank_methods(np.array(scores), kept, [contest.problem for contest in used])


def _sign_test(scores: FloatArray) -> float:
    first, second = scores.T
    n_lower, n_different = int((first < second).sum()), int((first != second).sum())
    return float(stats.binomtest(n_lower, n_different).pvalue) if n_different else 1.0
