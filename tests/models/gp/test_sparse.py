"""Titsias' bound and the distribution it leads to, against the exact GP that it bounds."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import multivariate_normal

from genbayes import InvalidInput
from genbayes.errors import UnreadableFile
from genbayes.models import SparseGP, StationaryGP
from genbayes.models.gp import sparse
from genbayes.models.gp.kernels import matern52_with_slope
from genbayes.models.gp.likelihood import Replicates
from genbayes.models.gp.sparse import SparseParameters, SparseProcess, choose_inducing, collapsed_bound, condition
from genbayes_bench.problems.formulas import friedman

LENGTH, VARIANCE, NOISE, MEAN = np.array([0.7, 1.5]), 1.3, 0.05, 0.4
PARAMETERS = SparseParameters(torch.from_numpy(LENGTH), *torch.tensor([VARIANCE, NOISE, MEAN], dtype=torch.float64))


def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    s = (((A[:, None] - B[None]) / LENGTH) ** 2).sum(axis=-1)
    return VARIANCE * matern52_with_slope(s)[0]


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (40, 2))
    return Replicates.collect(Z, np.sin(3 * Z[:, 0]) + Z[:, 1] + 0.2 * rng.standard_normal(40), np.ones(40))


@pytest.fixture(scope="module")
def log_likelihood(runs) -> float:
    K = kernel(runs.Z, runs.Z) + NOISE * np.eye(len(runs))
    return float(multivariate_normal(np.full(len(runs), MEAN), K).logpdf(runs.mean))


def bound(U: np.ndarray, runs: Replicates) -> float:
    return collapsed_bound(PARAMETERS, torch.from_numpy(U), runs).item()


def test_with_all_inputs_as_inducing_points_the_bound_is_the_log_likelihood(runs, log_likelihood) -> None:
    assert bound(runs.Z, runs) == pytest.approx(log_likelihood, abs=1e-3)  # the jitter is 1e-7


def test_fewer_inducing_points_bound_it_less_tightly(runs, log_likelihood) -> None:
    values = [bound(runs.Z[:m], runs) for m in (2, 5, 10, 20, 40)]
    assert values == sorted(values)
    assert values[-2] < log_likelihood + 1e-6


def test_the_bound_is_titsias_formula(runs) -> None:
    U = runs.Z[:7]
    K_uz = kernel(U, runs.Z)
    Q = K_uz.T @ np.linalg.solve(kernel(U, U) + VARIANCE * sparse.JITTER * np.eye(7), K_uz)
    marginal = multivariate_normal(np.full(len(runs), MEAN), Q + NOISE * np.eye(len(runs))).logpdf(runs.mean)
    expected = marginal - (VARIANCE * len(runs) - np.trace(Q)) / (2 * NOISE)
    assert bound(U, runs) == pytest.approx(expected, rel=1e-9)


def test_replicates_give_the_bound_of_the_runs_they_stand_for(runs) -> None:
    rng = np.random.default_rng(1)
    Z, y = np.repeat(runs.Z[:10], 3, axis=0), rng.standard_normal(30)
    grouped = Replicates.collect(Z, y, np.ones(30))
    single = Replicates(Z, y, np.ones(30), np.zeros(30))
    U = runs.Z[:6]
    assert bound(U, grouped) == pytest.approx(bound(U, single), rel=1e-9)
    new = rng.uniform(-1, 1, (5, 2))
    a, b = (condition(PARAMETERS, torch.from_numpy(U), each).predict(new) for each in (grouped, single))
    np.testing.assert_allclose(a, b, rtol=1e-8)


def test_with_all_inputs_as_inducing_points_predictions_are_those_of_the_exact_gp(runs) -> None:
    new = np.random.default_rng(2).uniform(-1.5, 1.5, (25, 2))
    factor = cho_factor(kernel(runs.Z, runs.Z) + NOISE * np.eye(len(runs)))
    k = kernel(new, runs.Z)
    mean, latent, noise = condition(PARAMETERS, torch.from_numpy(runs.Z), runs).predict(new)
    np.testing.assert_allclose(mean, MEAN + k @ cho_solve(factor, runs.mean - MEAN), atol=1e-4)
    np.testing.assert_allclose(latent, VARIANCE - (k * cho_solve(factor, k.T).T).sum(axis=1), atol=1e-4)
    np.testing.assert_allclose(noise, NOISE)
    mean, latent, _ = condition(PARAMETERS, torch.from_numpy(runs.Z[:9]), runs).predict(np.full((1, 2), 100.0))
    np.testing.assert_allclose([mean[0], latent[0]], [MEAN, VARIANCE])  # the prior, far from all runs


def test_conditioning_on_a_few_rows_at_a_time_changes_nothing(runs, monkeypatch) -> None:
    U, new = torch.from_numpy(runs.Z[:9]), np.zeros((3, 2))
    together = condition(PARAMETERS, U, runs).predict(new)
    monkeypatch.setattr(sparse, "ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(condition(PARAMETERS, U, runs).predict(new), together, rtol=1e-9)


def test_the_slope_of_the_bound_is_its_difference_quotient(runs) -> None:
    U = torch.from_numpy(runs.Z[:5].copy()).requires_grad_()
    (slope,) = torch.autograd.grad(collapsed_bound(PARAMETERS, U, runs), U)
    step = np.zeros((5, 2))
    step[3, 1] = 1e-5
    quotient = (bound(runs.Z[:5] + step, runs) - bound(runs.Z[:5] - step, runs)) / 2e-5
    assert slope[3, 1].item() == pytest.approx(quotient, rel=1e-5)


def test_each_inducing_point_is_the_row_least_explained_by_those_before(runs) -> None:
    U = choose_inducing(runs.Z, LENGTH, NOISE, 6)
    for m in range(1, 6):
        explained = kernel(runs.Z, U[:m]) @ np.linalg.solve(kernel(U[:m], U[:m]), kernel(U[:m], runs.Z))
        left = VARIANCE - explained.diagonal()
        np.testing.assert_array_equal(runs.Z[np.argmax(left)], U[m])


def test_no_more_inducing_points_are_chosen_than_matter() -> None:
    Z = np.linspace(0, 1, 200)[:, None]
    assert len(choose_inducing(Z, np.array([10.0]), 0.1, 200)) < 10
    assert len(choose_inducing(Z, np.array([0.01]), 0.1, 200)) == 200


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("length", np.ones(3), r"'length' in the model file must have shape \(2,\)"),
        ("factor", np.full((9, 9), np.nan), "in the model file must be (finite|a number)"),
        ("coefficients", np.full(9, np.inf), "in the model file must be (finite|a number)"),
        ("coefficients", np.ones(8), r"'coefficients' .* shape \(9,\)"),
        ("mean", np.nan, "in the model file must be (finite|a number)"),
        ("length", np.array([1.0, 0.0]), "in the model file must (be positive|be finite|have factors)"),
        ("length", np.array([1.0, np.inf]), "in the model file must (be positive|be finite|have factors)"),
        ("noise", -1.0, "in the model file must (be positive|be finite|have factors)"),
        ("posterior_factor", np.zeros((9, 9)), "in the model file must (be positive|be finite|have factors)"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(runs, name: str, value: object, sentence: str) -> None:
    state = condition(PARAMETERS, torch.from_numpy(runs.Z[:9]), runs).to_state()
    part = "arrays" if isinstance(value, np.ndarray) else "values"
    with pytest.raises(UnreadableFile, match=sentence):
        SparseProcess.from_state(replace(state, **{part: {**getattr(state, part), name: value}}), 2)


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.sin(4 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def exact():
    return StationaryGP(kernel="matern52", random_state=0).fit(*draw(150, seed=0))


def test_with_enough_inducing_points_it_is_the_exact_gp(exact) -> None:
    X, _ = draw(100, seed=1)
    mean, sd = SparseGP(random_state=0).fit(*draw(150, seed=0)).predict(X, return_std=True)
    mean_exact, sd_exact = exact.predict(X, return_std=True)
    np.testing.assert_allclose(mean, mean_exact, atol=1e-3)
    np.testing.assert_allclose(sd, sd_exact / exact.spread_, rtol=0.02)  # the exact GP also doubts its constant mean


def test_few_inducing_points_lose_little_of_the_exact_gp(exact) -> None:
    X, y = draw(400, seed=2)
    model = SparseGP(n_inducing=25, random_state=0).fit(*draw(150, seed=0))
    assert len(model.gp_.inducing) == 25
    loss, loss_exact = (each.predict_distribution(X).crps(y).mean() for each in (model, exact))
    assert loss < 1.05 * loss_exact


def test_the_climb_raises_the_bound_above_that_of_its_start() -> None:
    X, y = draw(200, seed=3)
    bounds = []
    for n_steps in (1, 30):
        model = SparseGP(n_inducing=8, n_steps=n_steps, random_state=0).fit(X, y)
        gp, Z = model.gp_, model._scaled(X)
        groups = Replicates.collect(Z, model.response_scaler_.transform(y), np.ones(200))
        scalars = torch.tensor([gp.variance, gp.noise, gp.mean], dtype=torch.float64)
        parameters = SparseParameters(torch.from_numpy(gp.length), *scalars)
        bounds.append(collapsed_bound(parameters, torch.from_numpy(gp.inducing), groups).item())
    assert bounds[1] > bounds[0] + 1


def test_all_runs_are_conditioned_on_though_parameters_come_from_some(monkeypatch) -> None:
    monkeypatch.setattr(sparse, "N_LEARN", 60)
    monkeypatch.setattr(sparse, "N_EXACT", 40)
    X, y = draw(2000, seed=4)
    model = SparseGP(n_inducing=30, n_steps=5, random_state=0).fit(X, y)
    few = SparseGP(n_inducing=30, n_steps=5, random_state=0).fit(X[:60], y[:60])
    new = np.random.default_rng(5).uniform(-0.9, 0.9, (100, 2))
    sd_many, sd_few = (each.predict_distribution(new, of="mean").std().mean() for each in (model, few))
    assert sd_many < 0.5 * sd_few


@pytest.mark.parametrize("name", ["n_inducing", "n_steps"])
def test_settings_are_checked(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be a whole number of at least 1, got 0"):
        SparseGP(**{name: 0}).fit(*draw(30, seed=0))


@pytest.mark.slow
def test_friedman_s_function_is_learnt_as_well_as_by_the_exact_gp() -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(size=(3000, 10))
    f = friedman(X)
    y = f + rng.standard_normal(3000)
    error = []
    for model in (SparseGP(random_state=0), StationaryGP(random_state=0)):
        mean = model.fit(X[:2000], y[:2000]).predict(X[2000:])
        error.append(np.sqrt(np.mean((mean - f[2000:]) ** 2)))
    assert error[0] < 1.1 * error[1]
    assert error[0] < 0.25  # noise has standard deviation 1
