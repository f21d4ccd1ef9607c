"""Running simulators: the same answer whatever the parallelism, failures counted, one sentence for what is wrong."""

import os
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest

from genbayes import InvalidInput
from genbayes.errors import SimulationsDropped, SimulatorBroken
from genbayes.inference import simulation
from genbayes.inference.simulation import Tally, run_simulator

THETA = np.linspace(-1, 1, 230)[:, None] * [1.0, 2.0]
BUFFER = np.empty_like(THETA)


def noisy(theta: Any, rng: np.random.Generator) -> Any:
    return theta + rng.standard_normal(theta.shape)


def fails_below_zero(theta: Any, rng: np.random.Generator) -> Any:
    if theta[0] < -0.5:
        raise ArithmeticError("diverged")
    return [theta[0], np.nan if theta[0] < 0 else 1.0]


def batch_fails(theta: Any, rng: np.random.Generator) -> Any:
    if (theta[:, 0] < -0.9).any():
        raise ArithmeticError("diverged")
    return theta


def fills_its_buffer(theta: Any, rng: np.random.Generator) -> Any:
    filled = BUFFER[: len(theta)] if theta.ndim == 2 else BUFFER[0]
    filled[:] = theta
    return filled


def changes_theta(theta: Any, rng: np.random.Generator) -> Any:
    theta *= 2
    return theta


def ends_its_process(theta: Any, rng: np.random.Generator) -> Any:
    os._exit(3)


class HoldsALock:
    """A simulator that cannot be sent to another process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, theta: Any, rng: np.random.Generator) -> Any:
        return theta


def run(simulator: Any = noisy, **settings: Any) -> Any:
    return run_simulator(simulator, THETA, np.random.default_rng(0), **settings)


def test_the_answer_does_not_depend_on_where_runs_run() -> None:
    expected = run().y
    assert expected.shape == (230, 2)
    assert len(np.unique(expected - THETA)) == expected.size  # every run has a generator of its own
    with ThreadPoolExecutor(3) as executor:
        np.testing.assert_array_equal(run(executor=executor).y, expected)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        np.testing.assert_array_equal(run().y, expected)


def test_a_batched_simulator_gets_blocks_that_do_not_depend_on_where_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "BLOCK", 50)
    expected = run(batched=True).y
    with ThreadPoolExecutor(3) as executor:
        np.testing.assert_array_equal(run(batched=True, executor=executor).y, expected)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(("simulator", "factor"), [(fills_its_buffer, 1.0), (changes_theta, 2.0)])
def test_pairs_outlive_what_a_simulator_overwrites(
    simulator: Any, factor: float, batched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "BLOCK", 50)
    theta = THETA.copy()
    found = run_simulator(simulator, theta, np.random.default_rng(0), batched=batched)
    np.testing.assert_array_equal(theta, THETA)
    np.testing.assert_array_equal(found.theta, THETA)
    np.testing.assert_array_equal(found.y, factor * THETA)


def test_a_block_that_raises_loses_only_its_bad_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "BLOCK", 50)
    found = run(batch_fails, batched=True)
    np.testing.assert_array_equal(found.y, THETA[THETA[:, 0] >= -0.9])
    assert found.tally.first_error == "ArithmeticError: diverged"


def test_failed_runs_are_dropped_counted_and_warned_of() -> None:
    theta = np.linspace(-0.6, 1, 100)[:, None]
    found = run_simulator(fails_below_zero, theta, np.random.default_rng(0))
    np.testing.assert_array_equal(found.theta, theta[theta[:, 0] >= 0])
    assert found.tally.n_failed == int((theta < 0).sum())
    with pytest.warns(SimulationsDropped, match=r"38 of 100 simulations failed .*ArithmeticError: diverged"):
        found.tally.warn()


@pytest.mark.parametrize("batched", [False, True])
def test_a_run_that_asks_the_program_to_end_has_failed_like_others(batched: bool) -> None:
    def leaves(theta: Any, rng: np.random.Generator) -> Any:
        if np.min(theta) < -1.9:
            sys.exit("diverged")
        return theta

    assert run(leaves, batched=batched).tally == Tally(230, int((THETA[:, 1] < -1.9).sum()), "SystemExit: diverged")


def test_few_failures_are_counted_without_a_warning() -> None:
    theta = np.linspace(-0.02, 1, 100)[:, None]
    found = run_simulator(fails_below_zero, theta, np.random.default_rng(0))
    assert found.tally.dropped == {"the run failed or returned no finite number": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.tally.warn()


def test_sets_of_different_sizes_are_kept_as_a_list() -> None:
    found = run(lambda theta, rng: rng.normal(size=(2 + (theta[0] > 0), 3)))
    assert sorted({row.shape for row in found.y}) == [(2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("simulator", "settings", "error", "sentence"),
    [
        (3, {}, InvalidInput, "simulator must be a function"),
        (lambda t, rng: [1.0] * (1 + (t[0] > 0)), {}, InvalidInput, r"as many values, got shapes \(1,\) and \(2,\)"),
        (lambda t, rng: t[0], {"batched": True}, InvalidInput, r"one row a parameter .*\(230, p\)"),
        (noisy, {"executor": 4}, InvalidInput, "executor must be one of concurrent.futures"),
        (lambda t, rng: np.nan, {}, SimulatorBroken, "the first 50 simulations all failed .NaN"),
        (lambda t: t, {}, SimulatorBroken, "takes 1 positional argument"),
        (lambda t, rng: "text", {}, SimulatorBroken, "ValueError"),
        (lambda t, rng: t + 1j, {}, SimulatorBroken, "complex numbers"),
    ],
    ids=["number", "lengths", "batch", "executor", "nan", "signature", "text", "complex"],
)
def test_what_is_wrong_with_a_simulator_is_said_in_one_sentence(
    simulator: Any, settings: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        run(simulator, **settings)


def test_a_function_that_no_process_can_import_is_refused() -> None:
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(InvalidInput, match="importable by the executor's processes"),
    ):
        run(lambda theta, rng: theta, executor=executor)


def test_a_simulator_that_ends_its_process_is_told_in_one_sentence() -> None:
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(SimulatorBroken, match=r"simulator must leave the process that runs it alive, got 'A .*process"),
    ):
        run(ends_its_process, executor=executor)


def test_a_simulator_that_joblib_cannot_send_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"importable by joblib's processes, .* or pass n_jobs=1"):
        run(HoldsALock(), n_jobs=2)


def test_an_executor_that_was_shut_down_is_refused() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(InvalidInput, match="executor must be open, got one that refuses runs"):
        run(executor=executor)
