"""Measuring: fit one method to one replicate, score it, and write down what it took; a failure is a result too."""

from __future__ import annotations

import hashlib
import math
import platform
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import genbayes
from genbayes.distribution import PredictiveDistribution
from genbayes.metrics import coverage, crps_normal, interval_width, rmse, rmspe
from genbayes.writing import jsonable
from genbayes_bench.designs import Design, play
from genbayes_bench.figure_data import keep_figure_data
from genbayes_bench.inference import Inferrer
from genbayes_bench.limits import limit_threads, watch_memory
from genbayes_bench.methods import Method
from genbayes_bench.plan import Job
from genbayes_bench.problems.problem import Case, Split
from genbayes_bench.record import SOURCE, Record
from genbayes_bench.registry import Registry
from genbayes_bench.rivals.foreign import cpu_seconds

PACKAGES = ("genbayes", "torch", "numpy", "scipy", "scikit-learn", "lightgbm", "quantile-forest", "ngboost")
MOST_WARNINGS = 5  # kept in a record
MOST_FRAMES = 5  # of a traceback


@dataclass
class _Findings:
    """What is known of a job so far; the parts that a failure leaves out stay empty."""

    n_test: int
    scores: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    error: str | None = None


def measure(job: Job, registry: Registry, n_threads: int = 1) -> Record:
    """Fit, predict and score; an error of the method becomes that of the record.

    Args:
        job: What to run.
        registry: Where its names are looked up.
        n_threads: Threads that numerical libraries may use.

    Returns:
        The record, not yet written.
    """
    case, method = registry.case(job.problem, job.protocol, job.n_train), registry.method(job.method)
    found = _Findings(case.protocol.n_test, settings={"n_threads": n_threads})
    with limit_threads(n_threads), watch_memory() as peak:
        try:
            with _warnings_kept(found.detail):
                if isinstance(method, Design):
                    _play(method, case, job, found)
                elif isinstance(method, Inferrer):
                    _infer(method, case, job, found)
                else:
                    _fit(method, case, job, found)
            wrong = [name for name, value in found.scores.items() if not math.isfinite(value)]
            if wrong:
                raise FloatingPointError(f"{', '.join(wrong)} came out as NaN or infinity")
        except Exception as error:  # a failing method is a record, not the end of the run
            found.scores, found.error = {}, " ".join(f"{type(error).__name__}: {error}".split())
            found.detail["traceback"] = _frames(error)
    return _record(job, case, found, peak.mb)


def record_failure(job: Job, registry: Registry, error: str) -> Record:
    """The record of a job whose process did not live to write its own."""
    case = registry.case(job.problem, job.protocol, job.n_train)
    return _record(job, case, _Findings(case.protocol.n_test, error=error))


def _record(job: Job, case: Case, found: _Findings, peak_memory_mb: float = 0.0) -> Record:
    return Record(
        problem=job.problem,
        protocol=job.protocol,
        method=job.method,
        replicate=job.replicate,
        seed=case.protocol.seed + job.replicate,
        n_train=job.n_train,
        n_test=found.n_test,
        n_inputs=case.problem.n_inputs,
        scores=found.scores,
        fit_seconds=found.fit_seconds,
        predict_seconds=found.predict_seconds,
        peak_memory_mb=round(peak_memory_mb, 1),
        settings=jsonable(found.settings),
        versions={**known_versions(), **found.versions},
        detail=jsonable(found.detail),
        error=found.error,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _fit(method: Method, case: Case, job: Job, found: _Findings) -> None:
    """A method that is given its runs."""
    model = method.make(case.protocol.seed + job.replicate, case)
    found.settings |= dict(model.get_params(deep=False)) if hasattr(model, "get_params") else {}
    split = case.problem.draw(job.replicate, job.n_train, case.protocol.n_test)
    found.n_test = len(split.y_test)
    if len(split.y_train) != job.n_train:
        raise ValueError(f"the problem must draw {job.n_train} runs to learn from, got {len(split.y_train)}")
    if split.note:
        found.detail["note"] = split.note
    started = cpu_seconds()
    model.fit(split.X_train, split.y_train)
    found.fit_seconds = round(cpu_seconds() - started, 3)
    started = time.perf_counter()
    found.scores = score(model.predict_distribution(split.X_test), split)
    found.predict_seconds = round(time.perf_counter() - started, 3)
    if method.more_scores is not None:
        found.scores |= method.more_scores(model, split)
    found.detail |= {**_chosen(model), **getattr(model, "facts_", {})}
    if job.replicate == 0:
        found.detail |= keep_figure_data(job.problem, model, split)


def _play(design: Design, case: Case, job: Job, found: _Findings) -> None:
    """A method that chooses its runs; its time is that of the whole design."""
    assert case.problem.sequential is not None
    started = cpu_seconds()
    found.scores, detail = play(design, case.problem.sequential, job.replicate)
    found.fit_seconds = round(cpu_seconds() - started, 3)
    found.n_test = detail.pop("n_test")
    found.detail |= detail


def _infer(inferrer: Inferrer, case: Case, job: Job, found: _Findings) -> None:
    """A method that infers parameters; `fit_seconds` are cpu seconds, `predict_seconds` what draws and scores took."""
    assert case.problem.inference is not None
    split = case.problem.draw(job.replicate, job.n_train, case.protocol.n_test)
    if split.note:
        found.detail["note"] = split.note
    started = time.perf_counter()
    judged = inferrer.judge(case.problem.inference, split, case.protocol.n_test, case.protocol.seed + job.replicate)
    found.scores, found.fit_seconds = judged.scores, round(judged.fit_seconds, 3)
    found.predict_seconds = round(max(time.perf_counter() - started - judged.fit_seconds, 0.0), 3)
    found.versions |= judged.versions
    found.detail |= judged.detail


def score(distribution: PredictiveDistribution, split: Split) -> dict[str, float]:
    """Scores of one predictive distribution a test run; the protocol says which of them a table shows.

    "crps", "rmse", "coverage" and "width" of 90% intervals against the observed responses, "rmspe" where all are of one
    sign; where the truth f is known, "rmse_f", "crps_f" and "coverage_f" against it; where the noise is known too,
    "ratio", the CRPS over that of the true distribution N(f, sd^2).

    Args:
        distribution: Predictions at the test runs.
        split: Where the test runs come from.

    Returns:
        Means over the test runs.

    Example:
        >>> from genbayes import Normal
        >>> zero = np.zeros(2)
        >>> split = Split(zero[:, None], zero, zero[:, None], np.array([-1.0, 1.0]))
        >>> score(Normal(loc=zero, scale=np.ones(2)), split)["rmse"]
        1.0
    """
    mean, (lower, upper) = distribution.mean(), distribution.interval(0.9)
    y, f = split.y_test, split.f_test
    scores = {
        "crps": float(np.mean(distribution.crps(y))),
        "rmse": rmse(mean, y),
        "coverage": coverage(lower, upper, y),
        "width": interval_width(lower, upper),
    }
    if y.min() > 0 or y.max() < 0:  # a percentage of next to nothing says nothing
        scores["rmspe"] = rmspe(mean, y)
    if f is not None:
        scores["rmse_f"] = rmse(mean, f)
        scores["crps_f"] = float(np.mean(distribution.crps(f)))
        scores["coverage_f"] = coverage(lower, upper, f)
        if split.noise_sd is not None:
            truth = crps_normal(f, np.full(len(f), split.noise_sd), y)
            scores["ratio"] = scores["crps"] / float(np.mean(truth))
    return scores


@contextmanager
def _warnings_kept(detail: dict[str, Any]) -> Iterator[None]:
    """Keep the first few warnings in the record instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    if texts:
        detail["warnings"] = texts[:MOST_WARNINGS]


def _chosen(model: Any) -> dict[str, Any]:
    """What AutoSurrogate tried and chose; nothing of other models."""
    report = getattr(model, "report_", None)
    if report is None or not hasattr(report, "entries"):
        return {}
    return {
        "kind": report.kind,
        "weights": {entry.name: round(entry.weight, 3) for entry in report.entries if entry.weight > 0},
        "out_of_fold": {entry.name: entry.crps for entry in report.entries},
    }


def _frames(error: Exception) -> list[str]:
    """The innermost calls, without folders, which differ from machine to machine."""
    frames = traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:]
    return [f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}" for frame in frames]


@cache
def known_versions() -> dict[str, str]:
    """Versions of Python and of the packages that records depend on, those that are installed."""
    known = {"python": platform.python_version(), SOURCE: _fingerprint()}
    for name in PACKAGES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:  # an engine that is installed only on request
            continue
    return known


def _fingerprint() -> str:
    """Twelve digits that change with the code of both packages: a version has many states while it is being written."""
    found = hashlib.sha256()
    for package in (Path(genbayes.__path__[0]), Path(__file__).parent):
        for path in sorted(package.rglob("*.py")):
            found.update(path.relative_to(package.parent).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]
