import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.design import DesignGP
from genbayes.metrics import crps_normal
from genbayes.models.gp.exact import Kriging


def wave(X: FloatArray) -> FloatArray:
    return np.sin(5 * X[:, 0]) + X[:, 1] ** 2


def fitted(n: int = 30, noise: float = 0.0, **settings: bool) -> tuple[DesignGP, FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = 100 + 7 * (wave(X) + noise * rng.standard_normal(n))
    return DesignGP(**settings).fit(X, y, rng), X, y  # type: ignore[arg-type]


def test_predictions_are_in_the_units_of_y() -> None:
    model, _, _ = fitted(60)
    new = np.random.default_rng(1).uniform(size=(50, 2))
    assert np.abs(model.predict(new) - (100 + 7 * wave(new))).max() < 0.2


def test_variance_reduction_is_what_a_run_takes_off_the_mean_variance() -> None:
    model, _, _ = fitted(noise=0.1, local=False)
    rng = np.random.default_rng(2)
    candidates, reference = rng.uniform(size=(4, 2)), rng.uniform(size=(40, 2))
    before = model.predict_distribution(reference, of="mean").var().mean()
    after = [model.imagine(x[None]).predict_distribution(reference, of="mean").var().mean() for x in candidates]
    assert np.allclose(model.variance_reduction(candidates, reference), before - np.array(after), rtol=1e-6)


def test_imagining_leaves_the_model_and_its_mean_as_they_were() -> None:
    model, _, _ = fitted()
    new = np.random.default_rng(1).uniform(size=(5, 2))
    before = model.predict(new)
    dream = model.imagine(new[:1])
    assert np.array_equal(model.predict(new), before)
    assert np.allclose(dream.predict(new), before, atol=1e-6 * 7)
    assert (
        dream.predict_distribution(new[:1], of="mean").std()[0]
        < model.predict_distribution(new[:1], of="mean").std()[0]
    )


def test_the_law_of_the_mean_lacks_the_noise_of_a_run() -> None:
    model, X, _ = fitted(80, noise=0.3)
    run, mean = (model.predict_distribution(X, of=of).var() for of in ("run", "mean"))  # type: ignore[arg-type]
    assert np.allclose(run - mean, run[0] - mean[0])
    assert np.sqrt(run[0] - mean[0]) == pytest.approx(7 * 0.3, rel=0.35)  # 80 runs know it to 8%, smoothing costs more


def test_unseen_scores_are_those_of_the_same_gp_without_each_run() -> None:
    model, X, y = fitted(12, noise=0.2, local=False)
    gp, scores = model.gp_, model.score_unseen()
    means, _ = gp.leave_one_out()
    for row, z in enumerate(gp.runs.Z):
        i = int(np.flatnonzero((np.abs((X - 0.5) * np.sqrt(12) - z) < 1e-12).all(axis=1))[0])
        rest = Kriging(gp.parameters, gp.runs.take(np.flatnonzero(np.arange(12) != row)), gp.correlation)
        variance = rest.predict(z[None])[1][0] + gp.parameters.noise
        expected = y.std() * crps_normal(means[row], np.sqrt(variance), [gp.runs.mean[row]])[0]
        assert scores[i] == pytest.approx(expected, rel=1e-6)


def test_repeated_runs_share_an_input_and_a_score() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(size=(10, 2)), 2, axis=0)
    model = DesignGP().fit(X, wave(X) + 0.1 * rng.standard_normal(20), rng)
    scores = model.score_unseen()
    assert len(scores) == 20
    assert np.allclose(scores[::2], scores[1::2])


def test_paths_vary_as_the_model_says() -> None:
    model, _, _ = fitted(10, local=False)
    new = np.array([[0.5, 0.5], [0.95, 0.05]])
    paths = np.stack([model.draw_path(new, rng) for rng in np.random.default_rng(0).spawn(400)])
    law = model.predict_distribution(new, of="mean")
    error = law.std() / np.sqrt(400)
    assert (np.abs(paths.mean(axis=0) - law.mean()) < 4 * error).all()
    assert np.allclose(paths.std(axis=0), law.std(), rtol=0.15)  # sd of 400 draws is known to 3.5%


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
    assert np.allclose(model.predict(X), 3.0)
    assert np.isfinite(model.variance_reduction(X, X)).all()
