"""Statistics of records: means with standard errors, paired differences, wins, ties and losses, ratios and ranks.

Everything is paired by replicate: two methods are compared on the replicates that both have, since these share their
runs. Over all problems each counts once; scores of different problems have different units, so they meet only as ratios
or ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats
from scipy.special import stdtrit

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes_bench.designs import is_sequential
from genbayes_bench.inference import is_inference
from genbayes_bench.record import Record
from genbayes_bench.studies import VARIANTS

Verdict = Literal["win", "tie", "loss"]

MOST_BEHIND = 0.02  # of the rival's mean: what is further behind is no tie, significant or not
LEVEL = 0.95  # of Student's interval that a difference must lie outside of, and of all other intervals
OTHER_DRAWS = 1_000_000  # what is added to the numbers of replicates that were drawn otherwise
FEWEST_REPLICATES = 3  # fewer say nothing about their own spread, so nobody wins by them


N_RESAMPLES = 10_000
LEAST_SHARE = 0.75  # of the problems: a method that was run on fewer takes no part in the ranking
STUDIES_OF_SIZE = ("friedman_scaling",)
SMALLEST = np.finfo(np.float64).tiny  # a score of zero has no logarithm


@dataclass(frozen=True, order=True)
class Contest:
    """A problem at one size: what methods are compared on."""

    problem: str
    n_train: int


@dataclass(frozen=True)
class Estimate:
    """Mean of a score over replicates.

    Attributes:
        mean: The mean.
        se: Its standard error; None for one replicate.
        n: Number of replicates.
    """

    mean: float
    se: float | None
    n: int


@dataclass(frozen=True)
class Difference:
    """A score of one method minus that of a rival, on the same replicates; below zero is better.

    Attributes:
        mean: Mean paired difference.
        se: Its standard error; None for one replicate.
        n: Replicates that both have.
        relative: The mean over the rival's mean score.
        n_better: Replicates on which the method scored lower.
        verdict: "win", "tie" or "loss" of the method.
    """

    mean: float
    se: float | None
    n: int
    relative: float
    n_better: int
    verdict: Verdict

    @property
    def relative_se(self) -> float | None:
        """Standard error of `relative`, the rival's mean taken as known."""
        return None if self.se is None or self.mean == 0 else abs(self.se * self.relative / self.mean)


def estimate(values: Iterable[float]) -> Estimate:
    """Mean and standard error s / sqrt(n) of some values.

    Example:
        >>> estimate([1.0, 2.0, 3.0]).mean, round(estimate([1.0, 2.0, 3.0]).se, 4)
        (2.0, 0.5774)
    """
    found = np.array(list(values), dtype=np.float64)
    se = float(found.std(ddof=1) / math.sqrt(len(found))) if len(found) > 1 else None
    return Estimate(float(found.mean()), se, len(found))


def compare(ours: Mapping[int, float], rival: Mapping[int, float]) -> Difference | None:
    """Two methods on the replicates that both have; None if there is none.

    A win is a mean paired difference below zero whose 95% interval, by Student's t, leaves zero out. A tie is one whose
    interval holds zero and that is less than 2% of the rival's mean behind. Everything else is a loss, so doubt counts
    against us; with fewer than three replicates nobody wins.

    Args:
        ours: Score of the method by replicate, less is better.
        rival: Score of the rival by replicate.

    Returns:
        The difference and the verdict.

    Example:
        >>> compare({0: 1.0, 1: 1.1, 2: 0.9}, {0: 2.0, 1: 2.2, 2: 1.9, 3: 2.0}).verdict
        'win'
    """
    both = sorted(set(ours) & set(rival))
    if not both:
        return None
    gap = np.array([ours[r] - rival[r] for r in both])
    found, level = estimate(gap), float(np.mean([rival[r] for r in both]))
    relative = found.mean / level if level else math.copysign(math.inf, found.mean) if found.mean else 0.0
    verdict = _judge(found, relative)
    return Difference(found.mean, found.se, found.n, relative, int((gap < 0).sum()), verdict)


def _judge(gap: Estimate, relative: float) -> Verdict:
    enough = gap.se is not None and gap.n >= FEWEST_REPLICATES
    # of three replicates Student's factor is 4.3, of twenty 2.1: a handful must agree well to prove anything
    margin = float(stdtrit(gap.n - 1, (1 + LEVEL) / 2)) * (gap.se or 0.0) if enough else math.inf
    if gap.mean < -margin:
        return "win"
    return "tie" if gap.mean <= margin and relative < MOST_BEHIND else "loss"


class Results:
    """Records of one protocol, looked up by contest, method and metric.

    Sequential designs chose their runs, so they take part in no contest; they are kept apart in `designs`. Posteriors
    have another score and are kept in `posteriors`. Nor do the variants take part that only a study asks for. Records
    whose runs were drawn otherwise (`detail["note"]` tells how) are replicates of their own, and pair with one another
    only.

    Args:
        records: Records of any protocol.
        protocol: The one to keep; None for "paper" if there is any record of it, or else the first.
    """

    def __init__(self, records: Sequence[Record], protocol: str | None = None) -> None:
        there = list(dict.fromkeys(record.protocol for record in records))
        if not there:
            raise InvalidInput("records must not be empty, got none; run genbayes bench run quick first")
        if protocol is not None and protocol not in there:
            raise InvalidInput(f"protocol must be one of the records' ({', '.join(there)}), got {protocol!r}")
        self.protocol = protocol or ("paper" if "paper" in there else there[0])
        own = [record for record in records if record.protocol == self.protocol]
        self.records = tuple(record for record in own if record.error is None)
        self.failures = tuple(record for record in own if record.error is not None)
        self.designs = tuple(record for record in self.records if is_sequential(record))
        self.posteriors = tuple(record for record in self.records if is_inference(record))
        ways = ["", *sorted({note_of(record) for record in self.records} - {""})]
        self._by_key: dict[tuple[Contest, str], dict[int, Record]] = {}
        for record in self.records:
            if is_sequential(record) or is_inference(record) or record.method in VARIANTS:
                continue
            key = Contest(record.problem, record.n_train), record.method
            number = record.replicate + OTHER_DRAWS * ways.index(note_of(record))
            self._by_key.setdefault(key, {})[number] = record

    @property
    def contests(self) -> list[Contest]:
        """Problems and sizes that have a score, by name and size."""
        return sorted({contest for contest, _ in self._by_key})

    def of_problem(self, problem: str) -> list[Contest]:
        """The sizes of one problem."""
        return [contest for contest in self.contests if contest.problem == problem]

    def methods(self, contest: Contest) -> list[str]:
        """Methods with a score of this contest, by name."""
        return sorted(method for known, method in self._by_key if known == contest)

    def runs(self, contest: Contest, method: str) -> dict[int, Record]:
        """Records by replicate; none if there are none."""
        return self._by_key.get((contest, method), {})

    def scores(self, contest: Contest, method: str, metric: str) -> dict[int, float]:
        """A score by replicate, where it is known; "seconds" is the time to fit, "memory" the peak in MB."""
        found = {replicate: _score(record, metric) for replicate, record in self.runs(contest, method).items()}
        return {replicate: value for replicate, value in found.items() if value is not None}

    def estimate(self, contest: Contest, method: str, metric: str) -> Estimate | None:
        """Mean of a score; None if there is none."""
        values = self.scores(contest, method, metric).values()
        return estimate(values) if values else None

    def compare(self, contest: Contest, ours: str, rival: str, metric: str) -> Difference | None:
        """A method and a rival on the replicates that both have."""
        return compare(self.scores(contest, ours, metric), self.scores(contest, rival, metric))

    def strongest(self, contest: Contest, among: Iterable[str], metric: str) -> str | None:
        """The method of the lowest mean score on the replicates that the candidates share; None if none was run.

        Chosen with hindsight, which flatters it. A candidate with fewer than half the replicates of the fullest one is
        left out, lest the comparison shrink to those.
        """
        found = {method: self.scores(contest, method, metric) for method in among}
        most = max((len(scores) for scores in found.values()), default=0)
        full = {method: scores for method, scores in found.items() if scores and 2 * len(scores) >= most}
        if not full:
            return None
        shared = set.intersection(*(set(scores) for scores in full.values()))
        means = {m: np.mean([s[r] for r in shared] if shared else list(s.values())) for m, s in full.items()}
        return min(sorted(means), key=lambda method: means[method])


def note_of(record: Record) -> str:
    """How the runs of a record were drawn, where that is not the usual way; else nothing."""
    note = record.detail.get("note")
    return note if isinstance(note, str) else ""


def _score(record: Record, metric: str) -> float | None:
    if metric == "seconds":
        return record.fit_seconds
    if metric == "memory":
        return record.peak_memory_mb
    return record.scores.get(metric)


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
