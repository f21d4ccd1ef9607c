"""Running a simulator at many parameters: in parallel, with a generator of its own for each run, failures counted.

A run, or a block of `BLOCK` rows of a batched simulator, draws from a child of the seed that depends on its place
alone, so the answer is the same however many run at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput, SimulationsDropped, SimulatorBroken
from genbayes.progress import show_count
from genbayes.validation import check_jobs

Simulator = Callable[[FloatArray, np.random.Generator], Any]

BLOCK = 500  # rows that a batched simulator gets at once
N_PARTS = 100  # into which single runs are divided: steps of the progress bar, jobs of an executor
LARGEST_PART = 100
HOPELESS = 50  # runs that may fail at the beginning, all of them, before the simulator is taken to be broken
MANY_DROPPED = 0.05  # share of failed runs that is warned of
LONGEST_ERROR = 120  # characters


@dataclass(frozen=True)
class Simulations:
    """Pairs of parameters and responses, of the runs that succeeded.

    Attributes:
        theta: Parameters, shape (n, k).
        y: Responses, shape (n, p); (n, T, c) if runs return tables, a list of them if their lengths differ.
        tally: How many runs there were, and how many failed.
    """

    theta: FloatArray
    y: FloatArray | list[FloatArray]
    tally: Tally


@dataclass(frozen=True)
class Tally:
    """How many runs there were, how many failed, and what the first failure said.

    Attributes:
        n: Runs.
        n_failed: Runs that raised an error or returned NaN or infinity.
        first_error: What the first of them said.
    """

    n: int = 0
    n_failed: int = 0
    first_error: str = ""

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(self.n + other.n, self.n_failed + other.n_failed, self.first_error or other.first_error)

    def warn(self) -> None:
        """Warn if more than 5% of the runs failed."""
        if self.n_failed > MANY_DROPPED * self.n:
            warnings.warn(
                f"{self.n_failed:,} of {self.n:,} simulations failed and were dropped ({self.first_error}); posteriors "
                "are those given that a simulation succeeds. Repair the simulator or narrow the prior",
                SimulationsDropped,
                stacklevel=4,
            )

    @property
    def dropped(self) -> dict[str, int]:
        """The count of failed runs by reason, empty if there are none."""
        return {"the run failed or returned no finite number": self.n_failed} if self.n_failed else {}


@dataclass
class Runs:
    """A simulator with where and how to run it; counts what it ran.

    Attributes:
        simulator: As for `run_simulator`.
        settings: Its further arguments.
        total: Runs so far.
    """

    simulator: Simulator
    settings: dict[str, Any]
    total: Tally = Tally()

    def __call__(self, theta: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, Any]:
        """Parameters and responses of the runs that succeeded."""
        found = run_simulator(self.simulator, theta, rng, **self.settings)
        self.total = self.total.plus(found.tally)
        return found.theta, found.y


def run_simulator(
    simulator: Simulator,
    theta: FloatArray,
    rng: np.random.Generator,
    *,
    batched: bool = False,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Simulations:
    """Run a simulator at each row of theta and drop the runs that fail.

    Args:
        simulator: `simulator(theta, rng)` takes one row (k,) and returns (p,), a number, a series (T, c) or a set
            (m, p) whose size may differ from run to run; with `batched` it takes (n, k) and returns (n, p). It may
            change the theta that it is given and return the same array every time.
        theta: Parameters, shape (n, k).
        rng: Its children are handed to the runs.
        batched: Whether the simulator takes many rows at once.
        executor: Where to run, any executor of `concurrent.futures`; None for joblib.
        n_jobs: Runs at a time by joblib, whose active backend is used; -1 for all cores.
        verbose: Whether to show progress.

    Returns:
        The pairs of the runs that succeeded, in the order of theta.

    Example:
        >>> theta = np.linspace(-1, 1, 5)[:, None]
        >>> found = run_simulator(lambda row, rng: np.sqrt(row) if row > 0 else np.nan, theta, np.random.default_rng(0))
        >>> found.y.ravel().round(2).tolist(), found.tally.n_failed
        ([0.71, 1.0], 3)
    """
    if not callable(simulator):
        raise InvalidInput(f"simulator must be a function of theta and rng, got {type(simulator).__name__}")
    if executor is not None and not hasattr(executor, "submit"):
        raise InvalidInput(f"executor must be one of concurrent.futures, got {type(executor).__name__}")
    parts = _divide(theta, rng, batched)
    rows: list[Any] = []
    errors: list[str] = []
    with show_count("simulating", verbose) as report:
        for outcome in _run_parts(simulator, parts, batched, executor, n_jobs):
            rows += outcome.rows
            errors += outcome.errors
            report(len(rows), len(theta), f"{len(errors):,} failed" if errors else "")
            _stop_if_hopeless(rows, errors)
    return _gather(theta, rows, errors)


@dataclass(frozen=True)
class _Part:
    """Some rows of theta and the generators of their runs; a single one for a block of a batched simulator."""

    theta: FloatArray
    generators: Sequence[np.random.Generator]


@dataclass(frozen=True)
class _Outcome:
    """What came of a part: a response (p,) a row, None where the run failed, and what the failures said."""

    rows: list[FloatArray | None]
    errors: list[str]


def _divide(theta: FloatArray, rng: np.random.Generator, batched: bool) -> list[_Part]:
    n = len(theta)
    if batched:
        blocks = [theta[a : a + BLOCK] for a in range(0, n, BLOCK)]
        return [_Part(block, [child]) for block, child in zip(blocks, rng.spawn(len(blocks)), strict=True)]
    size = min(max(1, n // N_PARTS), LARGEST_PART)
    children = rng.spawn(n)
    return [_Part(theta[a : a + size], children[a : a + size]) for a in range(0, n, size)]


def _run_parts(
    simulator: Simulator, parts: Sequence[_Part], batched: bool, executor: Executor | None, n_jobs: int | None
) -> Iterator[_Outcome]:
    """Outcomes in the order of the parts, each as soon as it and those before it are there."""
    if executor is not None and n_jobs is not None:
        raise InvalidInput("n_jobs must be None with an executor, got both; pass one of them")
    try:
        if executor is not None:
            yield from _run_by_executor(simulator, parts, batched, executor)
        else:
            yield from _run_by_joblib(simulator, parts, batched, n_jobs)
    except BrokenExecutor as error:
        said = str(error).strip().partition(".")[0] or type(error).__name__
        raise SimulatorBroken(
            f"simulator must leave the process that runs it alive, got {said!r}; "
            "look for a crash, an exit, too little memory, or a function that other processes cannot import"
        ) from error
    except (PicklingError, AttributeError, TypeError) as error:
        where, said = "joblib's" if executor is None else "the executor's", str(error).rstrip(".")
        instead = "n_jobs=1" if executor is None else "n_jobs instead of an executor"
        raise InvalidInput(
            f"simulator must be importable by {where} processes, got {said}; "
            f"define it in a module, without locks, open files or executors in it, or pass {instead}"
        ) from error


def _run_by_executor(
    simulator: Simulator, parts: Sequence[_Part], batched: bool, executor: Executor
) -> Iterator[_Outcome]:
    futures: list[Future[_Outcome]] = []
    try:
        for part in parts:
            futures.append(_submit(executor, simulator, part, batched))
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _submit(executor: Executor, simulator: Simulator, part: _Part, batched: bool) -> Future[_Outcome]:
    try:
        return executor.submit(_run_part, simulator, part, batched)
    except BrokenExecutor:  # a part before has broken it
        raise
    except RuntimeError as error:
        raise InvalidInput(f"executor must be open, got one that refuses runs ({error}); pass a new one") from error


def _run_by_joblib(
    simulator: Simulator, parts: Sequence[_Part], batched: bool, n_jobs: int | None
) -> Iterator[_Outcome]:
    from joblib import Parallel, delayed

    jobs = (delayed(_run_part)(simulator, part, batched) for part in parts)
    yield from Parallel(n_jobs=check_jobs(n_jobs), return_as="generator")(jobs)


def _run_part(simulator: Simulator, part: _Part, batched: bool) -> _Outcome:
    """Run the rows of a part; a block that raises is run again row by row, so that only bad rows are lost."""
    if not batched:
        return _run_rows(simulator, part)
    seeds = part.generators[0].bit_generator.seed_seq
    assert isinstance(seeds, np.random.SeedSequence)  # of a spawned generator
    again = [np.random.default_rng(child) for child in seeds.spawn(len(part.theta))]
    try:
        y = _real(simulator(part.theta.copy(), part.generators[0]))
    except (Exception, SystemExit):  # which rows are to blame is found, recorded and shown below
        return _run_rows(lambda row, rng: np.asarray(simulator(row[None], rng))[0], _Part(part.theta, again))
    if y.ndim == 0 or len(y) != len(part.theta):
        raise InvalidInput(
            f"simulator must return one row a parameter with batched=True, ({len(part.theta)}, p), got shape {y.shape}"
        )
    y = y[:, None] if y.ndim == 1 else y
    good = np.array([np.isfinite(row).all() for row in y])
    bad = ["NaN or infinity"] * int((~good).sum())
    return _Outcome([row if fine else None for row, fine in zip(y, good, strict=True)], bad)


def _run_rows(simulator: Simulator, part: _Part) -> _Outcome:
    rows: list[FloatArray | None] = []
    errors: list[str] = []
    for row, rng in zip(part.theta, part.generators, strict=True):
        try:
            y = np.atleast_1d(_real(simulator(row.copy(), rng)))
            failed = "" if np.isfinite(y).all() else "NaN or infinity"
        except (Exception, SystemExit) as error:  # recorded, counted and shown
            failed = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
        rows.append(None if failed else y)
        errors += [failed] if failed else []
    return _Outcome(rows, errors)


def _real(y: Any) -> FloatArray:
    """A copy of what a run returned, which may fill the same array again, as real numbers."""
    if np.iscomplexobj(y):
        raise TypeError("complex numbers were returned")
    return np.array(y, dtype=np.float64)


def _stop_if_hopeless(rows: Sequence[Any], errors: Sequence[str]) -> None:
    if len(errors) == len(rows) >= HOPELESS:
        raise SimulatorBroken(f"the first {len(rows)} simulations all failed ({errors[0]}); repair the simulator")


def _gather(theta: FloatArray, rows: Sequence[FloatArray | None], errors: Sequence[str]) -> Simulations:
    good: BoolArray = np.array([row is not None for row in rows])
    if not good.any():
        raise SimulatorBroken(f"all {len(rows)} simulations failed ({errors[0]}); repair the simulator")
    kept = [row for row in rows if row is not None]
    shapes = {row.shape for row in kept}
    if len({shape[1:] if len(shape) > 1 else shape for shape in shapes}) > 1:
        shown = " and ".join(map(str, sorted(shapes)[:2]))
        raise InvalidInput(f"simulator must always return as many values, got shapes {shown}")
    return Simulations(
        theta[good], np.stack(kept) if len(shapes) == 1 else kept, Tally(len(rows), len(errors), (*errors, "")[0])
    )
