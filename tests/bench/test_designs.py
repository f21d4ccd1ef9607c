"""Sequential designs: played by the one runner, on the same problems as methods that are given their runs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes_bench.designs import DESIGNS, ByModel, Design, left_over, play
from genbayes_bench.measure import measure
from genbayes_bench.plan import Job
from genbayes_bench.problems import PROBLEMS, Problem
from genbayes_bench.problems.design import Sequential, Start
from genbayes_bench.problems.formulas import HL20_LOWER, HL20_UPPER, ROCKET_LOWER, ROCKET_UPPER, bump
from genbayes_bench.record import read_records
from genbayes_bench.registry import load_registry
from genbayes_bench.report import read_report
from genbayes_bench.runner import run_benchmark


class Corner:
    """Chooses the corner 1, 1, ..., and predicts the mean."""

    def __init__(self, start: Start, noise: str) -> None:
        pass

    def choose(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> FloatArray:
        return np.ones((1, X.shape[1]))

    def predict(self, X: FloatArray, y: FloatArray, X_test: FloatArray, rng: np.random.Generator) -> FloatArray:
        time.sleep(0.001)  # a record keeps milliseconds
        return np.full(len(X_test), y.mean())


CORNER = Design("corner", "the corner", Corner, "corner")


def short(problem: str = "rocket", n: int = 53) -> Sequential:
    return replace(PROBLEMS[problem].sequential, n_runs=n, n_random=n, n_deep=n, checkpoints=(n - 3, n - 1, n))


def test_runs_are_chosen_one_by_one_and_a_record_has_scores_at_the_checkpoints_and_the_time_of_the_whole() -> None:
    known = load_registry()
    problems = {"rocket": replace(known.problems["rocket"], sequential=short())}
    found = measure(
        Job("rocket", "paper", "corner", 53, 4), replace(known, problems=problems, methods={"corner": CORNER})
    )
    assert found.error is None
    assert (found.n_train, found.n_test, found.n_inputs, found.seed) == (53, 1_000, 3, 4)
    assert found.detail["curve"]["n"] == [50, 52, 53]
    assert found.scores == {"rmse": found.detail["curve"]["rmse"][-1]}
    assert "not that of the same number for methods that are given their runs" in found.detail["note"]
    assert found.fit_seconds > 0
    assert found.predict_seconds == 0


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_chooses_and_predicts(name: str) -> None:
    """Two runs beyond the initial ones, each design with its own model, made small."""
    design = DESIGNS[name]
    start = short("exp2d_gbc", 13).start(0)
    chooser: Any = design.make(start, "estimated")
    rng = np.random.default_rng(0)
    if name == "al-deep-gp":
        chooser.model.set_params(n_samples=2, n_burn_in=5)
    elif isinstance(chooser, ByModel) and hasattr(chooser.proposer.model, "n_steps"):
        chooser.proposer.model.n_steps = 10
    u = chooser.choose(start.X, start.y, rng)
    assert u.shape == (1, 2)
    assert ((u >= 0) & (u <= 1)).all()
    assert np.isfinite(chooser.predict(start.X, start.y, start.X_test[:5], rng)).all()


def test_what_is_played_is_what_was_recorded_before() -> None:
    """The first points of a committed learning curve, to the digits that another machine may round."""
    _, detail = play(DESIGNS["al-random"], replace(PROBLEMS["exp2d_gbc"].sequential, n_random=20), replicate=10)
    np.testing.assert_allclose(detail["curve"]["rmse_f"], [0.8564959845794663, 0.31381645902348665], rtol=1e-6)


def test_the_runner_and_the_report_take_designs_like_any_method(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(PROBLEMS, "rocket", replace(PROBLEMS["rocket"], sequential=short(n=52)))
    summary = run_benchmark(["rocket"], methods=["al-random"], replicates=range(2), results=tmp_path, n_jobs=1)
    assert [record.n_train for record in summary.records] == [52, 52]
    assert read_records(tmp_path) == sorted(summary.records, key=lambda record: record.key)
    assert len(read_report(tmp_path).results.designs) == 2


def test_rows_that_were_taken_are_left_out() -> None:
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(left_over(rows, rows[[0, 2]]), rows[[1, 3]])


# the same problems for those who choose their runs and for those who are given them


def present(name: str) -> Problem:
    if PROBLEMS[name].absent is not None:
        pytest.skip(PROBLEMS[name].absent)
    return PROBLEMS[name]


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("rocket", ROCKET_LOWER, ROCKET_UPPER), ("rocket_hl20", HL20_LOWER, HL20_UPPER), ("proxy7", [0.0] * 7, [1.0] * 7)],
)
def test_formulas_are_those_of_given_runs(name: str, low: list[float], high: list[float]) -> None:
    split, start = present(name).draw(0, 20, 20), PROBLEMS[name].sequential.start(0)
    np.testing.assert_allclose(start.simulate((split.X_test - low) / np.subtract(high, low)), split.y_test, rtol=1e-9)


def test_the_2d_exponential_is_that_of_given_runs() -> None:
    problem = PROBLEMS["exp2d_gbc"]
    start, split = problem.sequential.start(0), problem.draw(0, 100, 1000)
    np.testing.assert_allclose(start.y_test, bump(4 * start.X_test - 2, 10.0))  # scored on the noise-free response
    noise = start.simulate(start.X_test) - start.y_test
    assert noise.std() == pytest.approx(split.noise_sd, rel=0.1)  # 1,000 draws: four standard errors are 9%


@pytest.mark.parametrize("name", ["grace", "satmini"])
def test_rows_of_the_satellite_are_those_of_given_runs(name: str) -> None:
    start, split = present(name).sequential.start(0), PROBLEMS[name].draw(0, 60, 940)
    rest = start.simulate(start.candidates)
    np.testing.assert_array_equal(np.sort([*rest, *start.y_test]), np.sort([*split.y_train, *split.y_test]))
