"""A linear mean: generalised least squares on dense matrices, conditioning with vague slopes, when it is taken."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from genbayes import load
from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models import StationaryGP
from genbayes.models.gp import FittedGP, Replicates, fit_gp
from genbayes.models.gp.exact import Kriging
from genbayes.models.gp.likelihood import GPParameters, exact_profile
from genbayes.persistence import State

LENGTH, NUGGET, SLOPED = np.array([0.9, 1.4, 2.0]), 0.1, np.array([0, 2])
Make, Dense = Callable[..., Replicates], Callable[..., FloatArray]


def sloped_runs(make_runs: Make, n: int) -> Replicates:
    runs = make_runs(n, 3)
    return Replicates(runs.Z, runs.mean + 2 * runs.Z[:, 0] - runs.Z[:, 2], runs.count, runs.scatter)


def kriging_of(runs: Replicates) -> Kriging:
    found = exact_profile(runs, LENGTH, NUGGET, sloped=SLOPED)
    return Kriging(GPParameters(LENGTH, NUGGET, found.variance, found.mean, found.slope, SLOPED), runs)


def test_coefficients_variance_and_value_are_those_of_dense_generalised_least_squares(
    make_runs: Make, dense_correlation: Dense
) -> None:
    runs = sloped_runs(make_runs, 25)
    K = dense_correlation(runs.Z, runs.Z, LENGTH) + NUGGET * np.eye(25)
    F, inverse = np.column_stack([np.ones(25), runs.Z[:, SLOPED]]), np.linalg.inv(K)
    T = F.T @ inverse @ F
    beta = np.linalg.solve(T, F.T @ inverse @ runs.mean)
    found = exact_profile(runs, LENGTH, NUGGET, sloped=SLOPED)
    np.testing.assert_allclose([found.mean, *found.slope], beta, rtol=1e-8)
    residual = runs.mean - F @ beta
    assert found.variance == pytest.approx(residual @ inverse @ residual / 22, rel=1e-8)
    # Over a flat prior, p(y) = p(y | beta_hat) sqrt(|2 pi nu T^{-1}|).
    density = multivariate_normal.logpdf(runs.mean, F @ beta, found.variance * K)
    _, spread = np.linalg.slogdet(2 * np.pi * found.variance * np.linalg.inv(T))
    assert found.value == pytest.approx(density + 0.5 * spread, abs=1e-7)


def test_the_gradient_agrees_with_differences(make_runs: Make) -> None:
    runs = sloped_runs(make_runs, 25)

    def value(theta: FloatArray) -> float:
        return exact_profile(runs, np.exp(theta[:-1]), float(np.exp(theta[-1])), sloped=SLOPED).value

    theta = np.log(np.append(LENGTH, NUGGET))
    gradient = exact_profile(runs, LENGTH, NUGGET, sloped=SLOPED).gradient
    np.testing.assert_allclose(gradient, approx_fprime(theta, value, 1e-6), rtol=1e-4, atol=1e-4)


def test_predictions_are_those_of_conditioning_on_vague_slopes(make_runs: Make, dense_correlation: Dense) -> None:
    runs, vague = sloped_runs(make_runs, 20), 1e6
    gp = kriging_of(runs)
    new = np.random.default_rng(1).normal(size=(6, 3))
    both = np.vstack([runs.Z, new])
    F = np.column_stack([np.ones(26), both[:, SLOPED]])
    joint = dense_correlation(both, both, LENGTH) + vague * F @ F.T
    K = joint[:20, :20] + NUGGET * np.eye(20)
    solved = np.linalg.solve(K, joint[:20, 20:])
    mean, variance = gp.predict(new)
    np.testing.assert_allclose(mean, solved.T @ runs.mean, atol=1e-3)
    expected = gp.parameters.variance * (joint[20:, 20:] - joint[20:, :20] @ solved)
    np.testing.assert_allclose(variance, expected.diagonal(), rtol=1e-3, atol=1e-4)
    seen = gp.look_at(new)
    np.testing.assert_allclose(gp.covariance(seen, seen), expected, atol=1e-3)


def test_leaving_one_out_estimates_the_slopes_anew(make_runs: Make) -> None:
    runs = sloped_runs(make_runs, 15)
    gp = kriging_of(runs)
    mean, variance = gp.leave_one_out()
    for i in range(15):
        rest = runs.take(np.flatnonzero(np.arange(15) != i))
        found = exact_profile(rest, LENGTH, NUGGET, sloped=SLOPED)
        parameters = GPParameters(LENGTH, NUGGET, gp.parameters.variance, found.mean, found.slope, SLOPED)
        alone = Kriging(parameters, rest).predict(runs.Z[i : i + 1])
        assert (mean[i], variance[i]) == pytest.approx((alone[0][0], alone[1][0]), rel=1e-6)


@pytest.mark.parametrize(("steep", "expected"), [(True, "linear in 2 of 2 inputs"), (False, "constant")])
def test_a_trend_is_taken_where_the_runs_ask_for_it(steep: bool, expected: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    short = np.cos(25 * X[:, 0]) * np.sin(25 * X[:, 1])  # which tells nothing from one run to the next
    model = StationaryGP(trend="auto", random_state=0).fit(X, 0.3 * short + (X @ [3.0, -2.0] if steep else 0.0))
    assert model.summary()["trend"] == expected


def test_beyond_the_runs_a_linear_mean_goes_on_and_knows_less_the_farther() -> None:
    X = np.random.default_rng(0).uniform(size=(60, 2))
    y = X @ [3.0, -2.0] + 0.05 * np.cos(25 * X[:, 0]) * np.sin(25 * X[:, 1])
    model = StationaryGP(trend="linear", random_state=0).fit(X, y)
    far = model.predict_distribution(np.array([[3.0, 0.5], [6.0, 0.5]]), of="mean")
    assert far.mean() == pytest.approx([8.0, 17.0], rel=0.1)
    assert far.std()[1] > 1.5 * far.std()[0]


def test_inputs_that_others_make_up_have_no_slope_of_their_own() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 4))
    X[:, 1], X[:, 3] = 7.0, 1 - X[:, 0]
    model = StationaryGP(trend="linear", random_state=0).fit(X, X.sum(axis=1) + np.sin(5 * X[:, 2]))
    assert model.summary()["trend"] == "linear in 2 of 4 inputs"


def test_a_file_keeps_the_slopes_to_the_last_bit(tmp_path: Path) -> None:
    X = np.random.default_rng(0).uniform(size=(30, 2))
    model = StationaryGP(trend="linear", random_state=0).fit(X, X @ [1.0, 2.0] + np.sin(9 * X[:, 0]))
    model.save(tmp_path / "model.gbc")
    again = load(tmp_path / "model.gbc")
    np.testing.assert_array_equal(again.predict(X + 0.1), model.predict(X + 0.1))


def test_slopes_of_inputs_that_a_file_does_not_have_are_refused(make_runs: Make) -> None:
    state = fit_gp(make_runs(30, 2), np.random.default_rng(0), trend="linear").to_state()
    changed = State(state.kind, state.values, {**state.arrays, "sloped": np.array([0, 2])})
    with pytest.raises(UnreadableFile, match="sloped"):
        FittedGP.from_state(changed, 2)


@pytest.mark.parametrize(("n", "limit", "rule"), [(30, 20, "for more than 20"), (7, 100, "with fewer than two")])
def test_a_linear_mean_that_cannot_be_had_is_refused_and_auto_stays_constant(
    make_runs: Make, n: int, limit: int, rule: str
) -> None:
    runs, rng = make_runs(n, 3), np.random.default_rng(0)
    with pytest.raises(InvalidInput, match=f"trend must be 'constant' or 'auto' {rule}"):
        fit_gp(runs, rng, exact_limit=limit, trend="linear")
    assert not len(fit_gp(runs, rng, exact_limit=limit, trend="auto").parameters.sloped)


def test_an_unknown_trend_is_refused() -> None:
    with pytest.raises(InvalidInput, match="trend must be one of"):
        StationaryGP(trend="quadratic").fit(np.arange(20.0)[:, None], np.arange(20.0))
