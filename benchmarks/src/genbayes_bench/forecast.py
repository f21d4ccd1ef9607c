"""Forecast: how long the jobs that are left will take, from how long others like them took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from genbayes_bench.job import Job
from genbayes_bench.record import Record

__all__ = ["Forecast", "told_time"]


class Forecast:
    """Expected seconds of a job: the mean of what is known of the same problem, method and size, else of the method.

    Example:
        >>> Forecast().seconds_left([Job("bgp2", "paper", "gp", 1600, 0)], n_jobs=1) is None
        True
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._known: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for record in records:
            self.learn(record)

    def learn(self, record: Record) -> None:
        """Take a finished job into account."""
        seconds = record.fit_seconds + record.predict_seconds
        like = record.problem, record.protocol, record.n_train, record.method
        for group in (like, (record.protocol, record.method), ()):
            self._known[group].append(seconds)

    def seconds_left(self, jobs: Iterable[Job], n_jobs: int) -> float | None:
        """Time until `n_jobs` at once have done these, or None while nothing is known."""
        if not self._known:
            return None
        return sum(self._expected(job) for job in jobs) / n_jobs

    def _expected(self, job: Job) -> float:
        like = job.problem, job.protocol, job.n_train, job.method
        for group in (like, (job.protocol, job.method), ()):
            if self._known.get(group):
                return sum(self._known[group]) / len(self._known[group])
        raise AssertionError("seconds_left asks only when something is known")


def told_time(seconds: float | None) -> str:
    """A time as people say it.

    Example:
        >>> [told_time(s) for s in (None, 40, 400, 9_000)]
        ['unknown time', '40 s', '7 min', '2 h 30 min']
    """
    if seconds is None:
        return "unknown time"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
