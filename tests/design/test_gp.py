import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.design.gp import DesignGP, LocalScale, search_again, search_all
from genbayes.metrics import crps_normal
from genbayes.models.gp.exact import Kriging
from genbayes.models.gp.kernels import CORRELATIONS
from genbayes.models.gp.likelihood import GPParameters, Replicates
from genbayes.models.gp.search import exact_posterior

GRID = np.linspace(-2, 2, 41)[:, None]
BOTH = ("squared-exponential", "matern52")


def wave(X: FloatArray) -> FloatArray:
    return np.sin(5 * X[:, 0]) + X[:, 1] ** 2


def fitted(n: int = 30, noise: float = 0.0, **settings: bool) -> tuple[DesignGP, FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = 100 + 7 * (wave(X) + noise * rng.standard_normal(n))
    return DesignGP(**settings).fit(X, y, rng), X, y  # type: ignore[arg-type]


def test_predictions_are_in_the_units_of_y() -> None:
    new = np.random.default_rng(1).uniform(size=(50, 2))
    assert np.abs(fitted(60)[0].predict(new) - (100 + 7 * wave(new))).max() < 0.2


def test_variance_reduction_is_what_a_run_takes_off_the_mean_variance() -> None:
    model, _, _ = fitted(noise=0.1, local=False)
    rng = np.random.default_rng(2)
    candidates, reference = rng.uniform(size=(4, 2)), rng.uniform(size=(40, 2))
    before = model.predict_distribution(reference, of="mean").var().mean()
    after = [model.imagine(x[None]).predict_distribution(reference, of="mean").var().mean() for x in candidates]
    np.testing.assert_allclose(model.variance_reduction(candidates, reference), before - np.array(after), rtol=1e-6)


def test_imagining_a_run_leaves_the_model_and_the_mean_as_they_were_but_not_the_uncertainty_there() -> None:
    model, _, _ = fitted()
    new = np.random.default_rng(1).uniform(size=(5, 2))
    before = model.predict(new)
    imagined = model.imagine(new[:1])
    np.testing.assert_array_equal(model.predict(new), before)
    np.testing.assert_allclose(imagined.predict(new), before, atol=1e-6 * 7)
    after, now = (each.predict_distribution(new[:1], of="mean").std()[0] for each in (imagined, model))
    assert after < now


def test_the_distribution_of_the_mean_lacks_the_noise_of_a_run() -> None:
    model, X, _ = fitted(80, noise=0.3)
    run, mean = (model.predict_distribution(X, of=of).var() for of in ("run", "mean"))  # type: ignore[arg-type]
    np.testing.assert_allclose(run - mean, run[0] - mean[0])
    assert np.sqrt(run[0] - mean[0]) == pytest.approx(7 * 0.3, rel=0.35)  # 80 runs know it to 8%, smoothing costs more


def test_unseen_scores_are_those_of_the_same_gp_without_each_run() -> None:
    model, X, y = fitted(12, noise=0.2, local=False)
    gp, scores = model.gp_, model.score_unseen()
    means, _ = gp.leave_one_out()
    for row, z in enumerate(gp.runs.Z):
        i = int(np.flatnonzero((np.abs((X - 0.5) * np.sqrt(12) - z) < 1e-12).all(axis=1))[0])
        rest = Kriging(gp.parameters, gp.runs.take(np.flatnonzero(np.arange(12) != row)), gp.correlation)
        sd = np.sqrt(rest.predict(z[None])[1][0] + gp.parameters.noise)
        assert scores[i] == pytest.approx(y.std() * crps_normal(means[row], sd, [gp.runs.mean[row]])[0], rel=1e-6)


def test_repeated_runs_share_an_input_and_a_score() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(size=(10, 2)), 2, axis=0)
    scores = DesignGP().fit(X, wave(X) + 0.1 * rng.standard_normal(20), rng).score_unseen()
    assert len(scores) == 20
    np.testing.assert_allclose(scores[::2], scores[1::2])


def test_paths_vary_as_the_model_says() -> None:
    model, _, _ = fitted(10, local=False)
    new = np.array([[0.5, 0.5], [0.95, 0.05]])
    paths = np.stack([model.draw_path(new, rng) for rng in np.random.default_rng(0).spawn(400)])
    dist = model.predict_distribution(new, of="mean")
    assert (np.abs(paths.mean(axis=0) - dist.mean()) < 4 * dist.std() / np.sqrt(400)).all()
    np.testing.assert_allclose(paths.std(axis=0), dist.std(), rtol=0.15)  # sd of 400 draws is known to 3.5%


def test_updating_with_few_more_runs_predicts_as_a_fit_from_scratch() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = wave(X)
    model = DesignGP().fit(X[:40], y[:40], rng)
    for n in range(41, 61):
        model.update(X[:n], y[:n], rng)
    new = rng.uniform(size=(200, 2))
    error, scratch = (np.abs(m.predict(new) - wave(new)).mean() for m in (model, DesignGP().fit(X, y, rng)))
    assert error < 1.5 * scratch


def test_a_response_that_does_not_vary_is_no_trouble() -> None:
    X = np.random.default_rng(0).uniform(size=(10, 2))
    model = DesignGP().fit(X, np.full(10, 3.0), np.random.default_rng(0))
    np.testing.assert_allclose(model.predict(X), 3.0)
    assert np.isfinite(model.variance_reduction(X, X)).all()


def scale_of(y: FloatArray) -> LocalScale:
    runs = Replicates.collect(GRID, y, np.ones(41))
    return LocalScale.learn(Kriging(GPParameters(np.array([0.5]), 1e-4, 1.0, 0.0), runs))


def test_a_gp_that_is_right_is_left_alone_on_average() -> None:
    rng = np.random.default_rng(0)
    distance = np.sqrt(5) * np.abs(GRID - GRID.T) / 0.5
    C = (1 + distance + distance**2 / 3) * np.exp(-distance) + 1e-4 * np.eye(41)
    means = [scale_of(draw).ratio.mean() for draw in (np.linalg.cholesky(C) @ rng.standard_normal((41, 50))).T]
    assert abs(np.mean(means) - 1) < 3 * np.std(means) / np.sqrt(50)  # E[e^2 / s^2] = 1; false alarm 1 in 370


def test_the_factor_is_large_where_the_response_is_lively_small_where_it_is_calm_and_one_far_away() -> None:
    scale = scale_of(np.where(GRID[:, 0] > 0, np.sin(20 * GRID[:, 0]), 0.0))
    calm, lively, far = scale.at(np.array([[-1.5], [1.5], [50.0]]))
    assert lively > 10 * calm
    assert far == pytest.approx(1.0)


def test_the_factor_at_a_run_without_its_own_error_ignores_that_error() -> None:
    scale = scale_of(np.sin(3 * GRID[:, 0]))
    other = LocalScale(scale.length, scale.W, scale.ratio + 1e3 * (np.arange(41) == 20))
    assert scale.at()[20] == other.at()[20]
    assert scale.at(GRID)[20] < other.at(GRID)[20]


def runs_of(n: int, response: str = "smooth") -> Replicates:
    Z = np.random.default_rng(0).uniform(-1.7, 1.7, (n, 2))
    a, b = Z.T
    y = {"smooth": np.sin(2 * a) * np.cos(b), "kinks": np.abs(a - 0.3) + np.abs(b), "one input": np.sin(2 * a)}[
        response
    ]
    return Replicates.collect(Z, (y - y.mean()) / y.std(), np.ones(n))


@pytest.mark.parametrize(("response", "best"), [("smooth", "squared-exponential"), ("kinks", "matern52")])
def test_the_correlation_found_is_as_smooth_as_the_response(response: str, best: str) -> None:
    assert search_all(runs_of(60, response), BOTH, np.random.default_rng(0))[0].correlation == best


def test_climbing_on_from_fewer_runs_ends_where_a_search_from_scratch_ends() -> None:
    few = search_all(runs_of(60), BOTH, np.random.default_rng(0))
    again, scratch = search_again(runs_of(80), few)[0], search_all(runs_of(80), BOTH, np.random.default_rng(1))[0]
    assert abs(again.minimum.value - scratch.minimum.value) < 0.5  # in log posterior: the same maximum


def test_an_inert_input_has_a_long_scale() -> None:
    runs = runs_of(50, "one input")
    found = search_all(runs, BOTH, np.random.default_rng(0))[0]
    length = exact_posterior(runs, CORRELATIONS[found.correlation]).parameters(found.minimum.point).length
    assert length[1] > 10 * length[0]
