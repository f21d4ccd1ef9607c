from collections.abc import Callable

import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.gp import exact
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.exact import ExactKriging
from genbayes.gp.likelihood import exact_profile
from genbayes.gp.profile import GPParameters
from genbayes.gp.replicates import Replicates

LENGTH, NUGGET = np.array([0.9, 1.4]), 0.1
Dense = Callable[..., tuple[FloatArray, FloatArray]]


def kriging_of(runs: Replicates, nugget: float = NUGGET, kernel: str = "matern52") -> ExactKriging:
    correlation = CORRELATIONS[kernel]
    profile = exact_profile(runs, LENGTH, nugget, correlation=correlation)
    parameters = GPParameters(LENGTH, nugget, profile.variance, profile.mean, profile.mean_variance)
    return ExactKriging(parameters, runs, correlation)


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


def test_far_away_the_mean_returns_with_the_whole_variance(make_runs: Callable[..., Replicates]) -> None:
    model = kriging_of(make_runs(30, 2))
    mean, variance = model.predict(np.array([[1e3, 0.0]]))
    assert mean[0] == pytest.approx(model.parameters.mean)
    assert variance[0] == pytest.approx(model.parameters.variance + model.parameters.mean_variance)


def test_a_row_is_predicted_the_same_in_any_company(
    make_runs: Callable[..., Replicates], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = kriging_of(make_runs(50, 2))
    new = np.random.default_rng(1).normal(size=(101, 2))
    together = np.array(model.predict(new))
    monkeypatch.setattr(exact, "ENTRIES_AT_ONCE", 7 * 50)
    np.testing.assert_allclose(np.array(model.predict(new)), together, atol=1e-10)


def test_runs_without_noise_are_met(make_runs: Callable[..., Replicates]) -> None:
    runs = make_runs(40, 2, noise=0.0)
    mean, variance = kriging_of(runs, nugget=1e-8).predict(runs.Z)
    np.testing.assert_allclose(mean, runs.mean, atol=1e-4)
    assert variance.max() < 1e-6


def test_no_rows_give_no_predictions(make_runs: Callable[..., Replicates]) -> None:
    mean, variance = kriging_of(make_runs(10, 2)).predict(np.zeros((0, 2)))
    assert mean.shape == variance.shape == (0,)
