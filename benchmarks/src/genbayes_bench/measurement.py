"""Measuring: fit one method to one replicate, score it, and write down what it took; a failure is a result too."""

from __future__ import annotations

import hashlib
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

import genbayes
from genbayes_bench.exhibits import kept_exhibit
from genbayes_bench.job import Job
from genbayes_bench.memory import watch_memory
from genbayes_bench.problems.problem import Case, Split
from genbayes_bench.record import SOURCE, Record, jsonable
from genbayes_bench.registry import Registry
from genbayes_bench.scoring import score
from genbayes_bench.threads import limit_threads

__all__ = ["known_versions", "measure", "note_failure"]

PACKAGES = ("genbayes", "torch", "numpy", "scipy", "scikit-learn", "lightgbm", "quantile-forest", "ngboost")
MOST_WARNINGS = 5  # kept in a record
MOST_FRAMES = 5  # of a traceback


@dataclass
class _Findings:
    """What is known of a job so far; the parts that a failure leaves out stay empty."""

    scores: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    n_test: int = 0
    n_inputs: int = 0


def measure(job: Job, registry: Registry, n_threads: int = 1) -> Record:
    """Fit, predict and score; an error of the method becomes that of the record.

    Args:
        job: What to run.
        registry: Where its names are looked up.
        n_threads: Threads that numerical libraries may use.

    Returns:
        The record, not yet written.
    """
    case = registry.case(job.problem, job.protocol, job.n_train)
    found = _Findings(n_test=case.protocol.n_test, n_inputs=case.problem.n_inputs)
    with limit_threads(n_threads), watch_memory() as peak:
        try:
            model = registry.method(job.method).make(_seed(job, case), case)
            found.settings = {**_parameters(model), "n_threads": n_threads}
            _try(model, case, job, found)
        except Exception as error:  # a failing method is a record, not the end of the run
            found.scores, found.error = {}, _sentence(error)
            found.detail["traceback"] = _frames(error)
    return _record(job, case, found, peak.mb)


def note_failure(job: Job, registry: Registry, error: str) -> Record:
    """The record of a job whose process did not live to write its own."""
    case = registry.case(job.problem, job.protocol, job.n_train)
    return _record(job, case, _Findings(n_test=case.protocol.n_test, n_inputs=case.problem.n_inputs, error=error))


def _seed(job: Job, case: Case) -> int:
    return case.protocol.seed + job.replicate


def _record(job: Job, case: Case, found: _Findings, peak_memory_mb: float = 0.0) -> Record:
    return Record(
        problem=job.problem,
        protocol=job.protocol,
        method=job.method,
        replicate=job.replicate,
        seed=_seed(job, case),
        n_train=job.n_train,
        n_test=found.n_test,
        n_inputs=found.n_inputs,
        scores=found.scores,
        fit_seconds=found.fit_seconds,
        predict_seconds=found.predict_seconds,
        peak_memory_mb=round(peak_memory_mb, 1),
        settings=jsonable(found.settings),
        versions=known_versions(),
        detail=jsonable(found.detail),
        error=found.error,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _try(model: Any, case: Case, job: Job, found: _Findings) -> None:
    split = case.problem.draw(job.replicate, job.n_train, case.protocol.n_test)
    found.n_test, found.n_inputs = split.X_test.shape
    _check_size(split, job)
    if split.note:
        found.detail["note"] = split.note
    with _noting_warnings(found.detail):
        started = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        found.fit_seconds = round(time.perf_counter() - started, 3)
        started = time.perf_counter()
        scores = score(model.predict_distribution(split.X_test), split)
        found.predict_seconds = round(time.perf_counter() - started, 3)
    found.detail |= _own_account(model)
    if job.replicate == 0:
        found.detail |= kept_exhibit(job.problem, model, split)
    wrong = [name for name, value in scores.items() if not abs(value) < float("inf")]  # NaN is not below anything
    if wrong:
        raise FloatingPointError(f"{', '.join(wrong)} came out as NaN or infinity")
    found.scores = scores


def _check_size(split: Split, job: Job) -> None:
    if len(split.y_train) != job.n_train:
        raise ValueError(f"the problem must draw {job.n_train} runs to learn from, got {len(split.y_train)}")


@contextmanager
def _noting_warnings(detail: dict[str, Any]) -> Iterator[None]:
    """Keep the first few warnings in the record instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    texts = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    if texts:
        detail["warnings"] = texts[:MOST_WARNINGS]


def _parameters(model: Any) -> dict[str, Any]:
    return dict(model.get_params(deep=False)) if hasattr(model, "get_params") else {}


def _own_account(model: Any) -> dict[str, Any]:
    """What a method tells of itself: AutoSurrogate says what it tried and chose."""
    report = getattr(model, "report_", None)
    if report is None or not hasattr(report, "entries"):
        return {}
    return {
        "kind": report.kind,
        "weights": {entry.name: round(entry.weight, 3) for entry in report.entries if entry.weight > 0},
        "out_of_fold": {entry.name: entry.crps for entry in report.entries},
    }


def _sentence(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


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
