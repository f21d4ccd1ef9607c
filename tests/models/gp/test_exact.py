from collections.abc import Callable

import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.models.gp import exact
from genbayes.models.gp.exact import Kriging
from genbayes.models.gp.kernels import CORRELATIONS, slices
from genbayes.models.gp.likelihood import GPParameters, Replicates, exact_profile

LENGTH, NUGGET = np.array([0.9, 1.4]), 0.1
Dense = Callable[..., tuple[FloatArray, FloatArray]]


def kriging_of(runs: Replicates, nugget: float = NUGGET, kernel: str = "matern52") -> Kriging:
    correlation = CORRELATIONS[kernel]
    profile = exact_profile(runs, LENGTH, nugget, correlation=correlation)
    return Kriging(GPParameters(LENGTH, nugget, profile.variance, profile.mean), runs, correlation)


@pytest.mark.parametrize("kernel", list(CORRELATIONS))
def test_prediction_is_ordinary_kriging(
    make_runs: Callable[..., Replicates], dense_kriging: Dense, kernel: str
) -> None:
    runs = make_runs(40, 2, n_copies=8)
    model = kriging_of(runs, kernel=kernel)
    new = np.random.default_rng(1).normal(size=(15, 2))
    mean, variance = dense_kriging(runs.Z, runs.mean, NUGGET / runs.count, LENGTH, new, kernel)
    np.testing.assert_allclose(model.predict(new)[0], mean, atol=1e-10)
    np.testing.assert_allclose(model.predict(new)[1], model.parameters.variance * variance, rtol=1e-8)


@pytest.mark.parametrize("kernel", list(CORRELATIONS))
def test_leaving_one_out_equals_predicting_without_it(
    make_runs: Callable[..., Replicates], dense_kriging: Dense, kernel: str
) -> None:
    runs = make_runs(25, 2, n_copies=6)
    model = kriging_of(runs, kernel=kernel)
    mean, variance = model.leave_one_out()
    for i in range(25):
        rest = runs.take(np.flatnonzero(np.arange(25) != i))
        expected = dense_kriging(rest.Z, rest.mean, NUGGET / rest.count, LENGTH, runs.Z[i : i + 1], kernel)
        assert mean[i] == pytest.approx(expected[0][0], abs=1e-9)
        assert variance[i] == pytest.approx(model.parameters.variance * expected[1][0], rel=1e-7)


def test_far_away_the_mean_returns_with_the_whole_variance(
    make_runs: Callable[..., Replicates], dense_correlation: Callable[..., FloatArray]
) -> None:
    runs = make_runs(30, 2)
    model = kriging_of(runs)
    mean, variance = model.predict(np.array([[1e3, 0.0]]))
    assert mean[0] == pytest.approx(model.parameters.mean)
    precision = np.linalg.inv(dense_correlation(runs.Z, runs.Z, LENGTH) + NUGGET * np.eye(30)).sum()
    assert variance[0] == pytest.approx(model.parameters.variance * (1 + 1 / precision))


@pytest.mark.parametrize("kernel", list(CORRELATIONS))
def test_covariances_are_those_of_conditioning_a_normal_law_with_a_vague_mean(
    make_runs: Callable[..., Replicates], kernel: str
) -> None:
    gp, vague = kriging_of(make_runs(15, 2), kernel=kernel), 1e6
    new = np.random.default_rng(1).normal(size=(6, 2))
    both = np.vstack([gp.runs.Z, new]) / LENGTH
    joint = gp.parameters.variance * (CORRELATIONS[kernel].between(both, both)[0] + vague)
    K = joint[:15, :15] + gp.parameters.noise * np.eye(15)
    expected = joint[15:, 15:] - joint[15:, :15] @ np.linalg.solve(K, joint[:15, 15:])
    seen = gp.look_at(new)
    np.testing.assert_allclose(gp.covariance(seen, seen), expected, atol=1e-4 * gp.parameters.variance)
    np.testing.assert_allclose(gp.variance(seen), np.diag(gp.covariance(seen, seen)), rtol=1e-8)


def test_further_runs_given_later_equal_all_runs_given_at_once(make_runs: Callable[..., Replicates]) -> None:
    runs, rows = make_runs(15, 2), np.arange(15)
    few = kriging_of(runs.take(rows[:10]))
    later, at_once = few.with_runs(runs.Z[10:], runs.mean[10:]), Kriging(few.parameters, runs)
    for a, b in zip(later.predict(runs.Z + 0.1), at_once.predict(runs.Z + 0.1), strict=True):
        np.testing.assert_allclose(a, b)


def test_a_run_at_a_known_input_halves_its_noise() -> None:
    runs = Replicates.collect(np.array([[0.0], [50.0]]), np.array([1.0, -1.0]), np.ones(2))
    gp = Kriging(GPParameters(np.ones(1), 1.0, 1e6, 0.0), runs)
    again = gp.with_runs(np.array([[0.0]]), np.array([3.0]))
    assert again.runs.n_runs == 3
    assert again.predict(np.array([[0.0]]))[1][0] < gp.predict(np.array([[0.0]]))[1][0]


def test_a_row_is_predicted_the_same_in_any_company(
    make_runs: Callable[..., Replicates], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = kriging_of(make_runs(50, 2))
    new = np.random.default_rng(1).normal(size=(101, 2))
    together = np.array(model.predict(new))
    monkeypatch.setattr(exact, "slices", lambda n, entries: slices(n, entries, 7 * 50))
    np.testing.assert_allclose(np.array(model.predict(new)), together, atol=1e-10)


def test_runs_without_noise_are_met(make_runs: Callable[..., Replicates]) -> None:
    runs = make_runs(40, 2, noise=0.0)
    mean, variance = kriging_of(runs, nugget=1e-8).predict(runs.Z)
    np.testing.assert_allclose(mean, runs.mean, atol=1e-4)
    assert variance.max() < 1e-6


def test_no_rows_give_no_predictions(make_runs: Callable[..., Replicates]) -> None:
    mean, variance = kriging_of(make_runs(10, 2)).predict(np.zeros((0, 2)))
    assert mean.shape == variance.shape == (0,)
