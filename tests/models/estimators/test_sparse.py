"""SparseGP is the exact GP while it can be, and loses little of it afterwards."""

import numpy as np
import pytest
import torch

from genbayes import InvalidInput
from genbayes.models import SparseGP, StationaryGP
from genbayes.models.gp import sparse
from genbayes_bench.problems.formulas import friedman


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.sin(4 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def exact():
    return StationaryGP(random_state=0).fit(*draw(150, seed=0))


def test_with_enough_inducing_points_it_is_the_exact_gp(exact) -> None:
    X, _ = draw(100, seed=1)
    mean, sd = SparseGP(random_state=0).fit(*draw(150, seed=0)).predict(X, return_std=True)
    mean_exact, sd_exact = exact.predict(X, return_std=True)
    np.testing.assert_allclose(mean, mean_exact, atol=1e-3)
    np.testing.assert_allclose(sd, sd_exact, rtol=0.02)  # the exact GP also doubts its constant mean


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
        gp, groups = (
            model.gp_,
            sparse.Replicates.collect(model._scaled(X), model.response_scaler_.transform(y), np.ones(200)),
        )
        scalars = torch.tensor([gp.variance, gp.noise, gp.mean], dtype=torch.float64)
        parameters = sparse.SparseParameters(torch.from_numpy(gp.length), *scalars)
        bounds.append(sparse.collapsed_bound(parameters, torch.from_numpy(gp.inducing), groups).item())
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


def test_an_input_without_effect_gets_a_long_scale() -> None:
    X, y = draw(150, seed=6)
    padded = np.column_stack([X, np.random.default_rng(7).uniform(-1, 1, 150)])
    length = SparseGP(n_inducing=40, random_state=0).fit(padded, y).gp_.length
    assert length[2] > 5 * length[0]


def test_torch_s_settings_are_left_alone() -> None:
    before = torch.get_default_dtype(), torch.get_num_threads()
    SparseGP(n_inducing=10, n_steps=2, random_state=0).fit(*draw(60, seed=0))
    assert (torch.get_default_dtype(), torch.get_num_threads()) == before


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
