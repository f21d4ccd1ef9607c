"""Scores from arrays: those of scoringrules and scikit-learn, their identities, and what each refuses in a sentence."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
import scoringrules as sr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import root_mean_squared_error

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.metrics import (
    coverage,
    crps,
    crps_normal,
    energy_score,
    interval_score,
    interval_width,
    pinball,
    rmse,
    rmspe,
)

NUMBERS = st.floats(-1e6, 1e6)
TABLE = arrays(np.float64, (3, 8), elements=NUMBERS)
ROWS = arrays(np.float64, 3, elements=NUMBERS)
many = settings(max_examples=60, deadline=None)


@many
@given(TABLE, ROWS)
def test_crps_is_that_of_scoringrules_and_of_all_pairs(q: FloatArray, y: FloatArray) -> None:
    q = np.sort(q, axis=1)
    pairs = np.abs(q - y[:, None]).mean(axis=1) - 0.5 * np.abs(q[:, :, None] - q[:, None, :]).mean(axis=(1, 2))
    np.testing.assert_allclose(crps(q, y), pairs, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(crps(q, y), sr.crps_ensemble(y, q, estimator="nrg"), rtol=1e-9, atol=1e-8)


@many
@given(NUMBERS, st.floats(1e-6, 1e6), NUMBERS)
def test_crps_of_a_normal_distribution_is_that_of_scoringrules(mu: float, sigma: float, y: float) -> None:
    expected = sr.crps_normal(y, mu, sigma)
    np.testing.assert_allclose(crps_normal(mu, sigma, [y]), expected, rtol=1e-6, atol=1e-9 * sigma)


@many
@given(arrays(np.float64, (2, 6, 3), elements=st.floats(-1e3, 1e3)), arrays(np.float64, (2, 3), elements=NUMBERS))
def test_energy_score_is_that_of_scoringrules(samples: FloatArray, y: FloatArray) -> None:
    np.testing.assert_allclose(energy_score(samples, y), sr.es_ensemble(y, samples), rtol=1e-9, atol=1e-9)


@many
@given(ROWS, ROWS, st.floats(0.001, 0.999))
def test_pinball_loss_is_that_of_scoringrules(q: FloatArray, y: FloatArray, tau: float) -> None:
    np.testing.assert_allclose(pinball(q, y, tau), sr.quantile_score(y, q, tau), rtol=1e-9, atol=1e-9)


@many
@given(arrays(np.float64, (4, 3), elements=NUMBERS), st.floats(0.01, 0.99))
def test_interval_score_is_that_of_scoringrules_and_the_pinball_loss_of_its_ends(table, level: float) -> None:
    ends, y, tail = np.sort(table[:, :2], axis=1), table[:, 2], (1 - level) / 2
    score = interval_score(*ends.T, y, level)
    np.testing.assert_allclose(score, sr.interval_score(y, *ends.T, 1 - level), rtol=1e-9, atol=1e-6)
    losses = pinball(ends, y, [tail, 1 - tail]).sum(axis=1)
    np.testing.assert_allclose(score, losses / tail, rtol=1e-6, atol=1e-6)


@many
@given(ROWS, ROWS)
def test_rmse_is_that_of_scikit_learn(prediction: FloatArray, y: FloatArray) -> None:
    assert rmse(prediction, y) == pytest.approx(root_mean_squared_error(y, prediction))


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (crps([[2.0]], [5.0]), 3.0),  # one quantile: the absolute error
        (crps_normal([1.0, 1.0], 0.0, [3.0, 1.0]), [2.0, 0.0]),  # a point mass
        (crps_normal(0.0, 1e-300, [1e10]), 1e10),  # a tiny sigma raises no warning
        (coverage([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.1]), 2 / 3),  # ends count
        (interval_width([0.0, 1.0], [2.0, 5.0]), 3.0),
        (rmspe([1.1, -1.8], [1.0, -2.0]), 10.0),  # percent of the observations
        (rmspe([1000.0, 2500.0], [1100.0, 2000.0]), rmspe([1.0, 2.5], [1.1, 2.0])),  # whatever the unit
    ],
)
def test_simple_cases_are_known(score: object, expected: object) -> None:
    np.testing.assert_allclose(score, expected, rtol=1e-12)


def test_crps_is_twice_the_mean_pinball_loss_and_keeps_its_digits_far_from_zero() -> None:
    tau = (np.arange(2000) + 0.5) / 2000
    q = np.log(tau / (1 - tau))[None, :]
    np.testing.assert_allclose(crps(q, [0.7]), 2 * pinball(q, [0.7], tau).mean(axis=1), rtol=1e-12)
    q = np.array([[0.0, 1.0, 3.0]])
    np.testing.assert_allclose(crps(q + 2.0**40, [2.0**40 + 2]), crps(q, [2.0]), rtol=1e-12)


@pytest.mark.parametrize("block", [4, 1_024])
def test_energy_score_of_one_response_is_the_crps_and_best_at_the_true_distribution(monkeypatch, block: int) -> None:
    monkeypatch.setattr(sys.modules["genbayes.metrics.crps"], "BLOCK", block)  # `metrics.crps` is the function
    rng = np.random.default_rng(0)
    draws, y = np.sort(rng.normal(size=(4, 30)), axis=1), np.array([0.0, 1.0, -2.0, 5.0])
    np.testing.assert_allclose(energy_score(draws[:, :, None], y[:, None]), crps(draws, y), rtol=1e-12)
    y, samples = rng.normal(size=(200, 2)), rng.normal(size=(200, 50, 2))
    assert energy_score(samples, y).mean() < energy_score(samples + 1.0, y).mean()


def test_each_column_of_quantiles_has_its_own_level_and_the_quantile_the_smallest_mean_pinball_loss() -> None:
    q, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1.0, 1.0])
    columns = [pinball(q[:, j], y, tau) for j, tau in enumerate((0.1, 0.8))]
    np.testing.assert_array_equal(pinball(q, y, [0.1, 0.8]), np.stack(columns, axis=1))
    y, candidates = np.random.default_rng(0).normal(size=501), np.linspace(-2, 2, 81)
    losses = [pinball(np.full(501, c), y, 0.8).mean() for c in candidates]
    assert abs(candidates[np.argmin(losses)] - np.quantile(y, 0.8)) <= 0.05


INTERVAL = [
    (([1.0], [0.0], [0.5]), r"lower must not exceed upper, got 1 of 1 rows \(row 0\) where it does"),
    (([0.0, 1.0], [1.0], [0.5, 0.5]), r"upper must have shape \(2,\)"),
    (([np.nan], [1.0], [0.5]), "lower must be finite"),
    (([0.0], [1.0], [np.nan]), "y must be finite"),
    (([0.0], [1.0], [0.5, 0.6]), r"y must have shape \(1,\)"),
    (([[0.0]], [1.0], [0.5]), r"lower must have shape \(n,\)"),
]
LEVEL = "level must lie strictly between 0 and 1, got .*; pass 0.9 for 90%"


@pytest.mark.parametrize(
    ("score", "arguments", "message"),
    [
        (crps, ([[2.0, 1.0]], [0.0]), r"q must not decrease along a row, got 1 of 1 rows \(row 0\) that do; sort each"),
        (crps, ([1.0, 2.0], [0.0]), r"q must have shape \(n, m\), got \(2,\)"),
        (crps, ([[1.0, np.nan]], [0.0]), "q must be finite"),
        (crps, ([[1.0, 2.0]], [np.nan]), "y must be finite"),
        (crps, ([[1.0, 2.0]], [0.0, 1.0]), r"y must have shape \(1,\)"),
        (crps, (np.empty((2, 0)), [0.0, 1.0]), r"q must have shape \(n, m\), got \(2, 0\)"),
        (crps, ("text", [0.0]), "q must be numbers"),
        (crps_normal, (0.0, -1.0, [0.0]), "sigma must be zero or positive, got -1.0"),
        (crps_normal, (np.nan, 1.0, [0.0]), "mu must be finite"),
        (crps_normal, (0.0, np.inf, [0.0]), "sigma must be finite"),
        (crps_normal, (0.0, 1.0, [np.inf]), "y must be finite"),
        (crps_normal, ([0.0, 1.0], 1.0, [0.0, 1.0, 2.0]), r"mu must have shape \(3,\)"),
        (energy_score, (np.zeros((2, 3)), np.zeros((2, 3))), r"samples must have shape \(n, S, q\), got \(2, 3\)"),
        (energy_score, (np.zeros((2, 5, 3)), np.zeros((2, 4))), r"y must have shape \(2, 3\), one vector per row of"),
        (energy_score, (np.full((1, 2, 1), np.nan), np.zeros((1, 1))), "samples must be finite"),
        (energy_score, (np.zeros((1, 2, 1)), np.full((1, 1), np.inf)), "y must be finite"),
        (pinball, ([1.0], [1.0], 1.0), "tau must lie strictly between 0 and 1, got 1.0"),
        (pinball, ([[1.0, 2.0]], [1.0], [0.5]), r"q must have one column per level, 1, got shape \(1, 2\)"),
        (pinball, ([[1.0, 2.0]], [1.0], 0.5), r"q must have shape \(n,\), got \(1, 2\)"),
        (pinball, ([1.0], [1.0], [0.5]), r"q must have shape \(n, m\), got \(1,\)"),
        (pinball, ([np.nan], [1.0], 0.5), "q must be finite"),
        (pinball, ([1.0], [np.nan], 0.5), "y must be finite"),
        (pinball, ([1.0], [1.0, 2.0], 0.5), r"y must have shape \(1,\)"),
        *[(coverage, *case) for case in INTERVAL],
        (coverage, ([], [], []), "lower must hold at least one interval, got none"),
        *[(interval_score, (*arguments, 0.9), message) for arguments, message in INTERVAL],
        *[(interval_score, ([0.0], [1.0], [0.5], level), LEVEL) for level in (0.0, 1.0, 90, np.nan)],
        (interval_width, ([1.0], [0.0]), "lower must not exceed upper"),
        (interval_width, ([], []), "lower must hold at least one interval, got none"),
        (rmse, ([np.nan], [1.0]), "prediction must be finite"),
        (rmse, ([1.0], [np.inf]), "y must be finite"),
        (rmse, ([1.0, 2.0], [1.0]), r"y must have shape \(2,\)"),
        (rmse, ([[1.0]], [1.0]), r"prediction must have shape \(n,\)"),
        (rmse, ([], []), "prediction must hold at least one value, got none"),
        (rmspe, ([1.0, 2.0], [1.0, 0.0]), r"y must not be zero for a percentage error, got 1 of 2 rows \(row 1\)"),
    ],
)
def test_bad_arrays_are_refused_in_a_sentence(score: Callable[..., object], arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        score(*arguments)
