"""GPInformedSurrogate: the GP's accuracy, a network's eye for the shape of what is left."""

from pathlib import Path

import numpy as np
import pytest

from genbayes import GPInformedSurrogate, InvalidInput, Normal, QuantileSurrogate, load
from genbayes.models import StationaryGP
from genbayes.models.gp import FittedGP, Replicates
from genbayes.models.gp.widening import asked_spread, widening

TAU = [0.001, 0.05, 0.5, 0.95, 0.999]
SMALL = {"n_members": 2, "n_epochs": 40, "random_state": 0}


def skewed(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(6 * X[:, 0]) + 0.5 * (rng.exponential(size=n) - 1)


def gaussian(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted() -> GPInformedSurrogate:
    return GPInformedSurrogate(**SMALL).fit(*skewed(80, 0))


@pytest.mark.parametrize(("draw", "n", "most"), [(skewed, 300, 0.97), (gaussian, 150, 1.05)])
def test_it_beats_the_gp_where_noise_is_skewed_and_is_as_good_where_gaussian(draw, n: int, most: float) -> None:
    X, y = draw(2_000, 1)
    model = GPInformedSurrogate(n_members=2, random_state=0).fit(*draw(n, 0))
    gp = StationaryGP(random_state=0).fit(*draw(n, 0))
    ours, theirs = (each.predict_distribution(X).crps(y).mean() for each in (model, gp))
    assert ours < most * theirs
    if draw is skewed:
        low, middle, high = model.predict_quantiles(np.linspace(0.1, 0.9, 9)[:, None], [0.05, 0.5, 0.95]).T
        assert ((high - middle) > 1.5 * (middle - low)).mean() > 0.8  # 3.6 for the exponential distribution


@pytest.fixture
def seen(monkeypatch) -> list[tuple[np.ndarray, np.ndarray]]:
    """What the network inside is given: its inputs and the residuals."""
    given: list[tuple[np.ndarray, np.ndarray]] = []
    fit = QuantileSurrogate.fit

    def watch(self, X, y, sample_weight=None):
        given.append((X, y))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(QuantileSurrogate, "fit", watch)
    return given


def test_the_network_learns_standardised_leave_one_out_residuals(seen) -> None:
    """r_i = (y_i - m_{-i}) / s_{-i}: a GP with the same parameters that never had run i says m and s of the residual.

    The network sees the mean by all runs: the one without run i lies beside it by a share of r_i, and would tell it.
    """
    X, y = gaussian(40, 2)
    model = GPInformedSurrogate(**SMALL).fit(X, y)
    (features, r), i = seen[0], 7
    Z, scaled = model.input_scaler_.transform(X), model.response_scaler_.transform(y)
    row = int(np.flatnonzero((features[:, :2] == Z[i]).all(axis=1))[0])
    rest = np.arange(40) != i
    runs = Replicates.collect(Z[rest], scaled[rest], np.ones(39))
    mean, latent, noise = FittedGP(model.gp_.parameters, runs).predict(Z[[i]])
    assert features[row, 2] == pytest.approx(model.gp_.predict(Z[[i]])[0][0], abs=1e-9)
    assert features[row, 3] == pytest.approx(0.5 * np.log(latent[0] + noise[0]), rel=0.01, abs=0.01)
    assert r[row] == pytest.approx((scaled[i] - mean[0]) / np.sqrt(latent[0] + noise[0]), rel=0.02, abs=0.02)


def test_what_the_network_sees_of_the_mean_does_not_tell_the_response() -> None:
    """Out-of-fold scores are those of new runs; with means of left-out runs they were a fifth too good here."""
    rng = np.random.default_rng([77, 0, 100])

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(size=n)
        wave = np.where(x < 0.25, 0.0, -3 * np.sin(9 * (x - 0.25)) * np.exp(-2 * (x - 0.25)))
        return x[:, None], wave + (0.05 + 0.8 * np.exp(-(((x - 0.55) / 0.2) ** 2))) * rng.standard_normal(n)

    (X, y), (X_new, y_new) = draw(100), draw(1_500)
    model = GPInformedSurrogate(random_state=0).fit(X, y)
    rows, unseen = model.predict_out_of_fold(X, y)
    assert unseen.crps(y[rows]).mean() > 0.9 * model.predict_distribution(X_new).crps(y_new).mean()


def test_replicates_at_an_input_are_left_out_together() -> None:
    """With their twin left in, residuals of exact replicates would be near zero and the distribution far too narrow."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.uniform(size=40), 5)[:, None]
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(200)
    model = GPInformedSurrogate(**SMALL).fit(X, y)
    X_new = rng.uniform(size=(500, 1))
    y_new = np.sin(6 * X_new[:, 0]) + 0.3 * rng.standard_normal(500)
    lower, upper = model.predict_interval(X_new, level=0.8)
    assert 0.65 < np.mean((lower <= y_new) & (y_new <= upper)) < 0.93


def test_an_outlier_of_the_gp_is_far_and_no_further(seen) -> None:
    X, y = gaussian(80, 4)
    y[0] += 1e4
    q = GPInformedSurrogate(**SMALL).fit(X, y).predict_quantiles(X, TAU)
    assert np.abs(seen[0][1]).max() == 8.0
    assert np.isfinite(q).all()


def test_few_distinct_runs_given_often_enough_are_learnt() -> None:
    X, y = skewed(6, 8)
    thrice, twice = (GPInformedSurrogate(**SMALL) for _ in range(2))
    thrice.fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    twice.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), sample_weight=np.tile([1.0, 2.0], 6))
    assert np.isfinite(thrice.predict_quantiles(X, TAU)).all()
    np.testing.assert_array_equal(thrice.predict(X), twice.predict(X))


def test_gp_and_network_survive_the_file_and_the_mean_is_centred_on_that_of_runs(fitted, tmp_path: Path) -> None:
    again, X = load(fitted.save(tmp_path / "informed.gb")), skewed(30, 7)[0]
    run, mean = (fitted.predict_distribution(X, of=of) for of in ("run", "mean"))
    for of, old in (("run", run), ("mean", mean)):
        np.testing.assert_array_equal(again.predict_distribution(X, of=of).ppf(TAU), old.ppf(TAU))
    assert again.summary() == fitted.summary()
    assert fitted.summary()["members"] == "2"
    assert float(fitted.summary()["GP length scales"]) > 0
    assert isinstance(mean, Normal)
    np.testing.assert_allclose(mean.mean(), run.mean(), atol=0.05)
    assert (mean.std() < run.std()).all()


@pytest.mark.parametrize("name", ["n_layers", "n_members", "n_epochs"])
def test_settings_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be .*, got 0"):
        GPInformedSurrogate(**{name: 0}).fit(*skewed(20, 0))


@pytest.mark.parametrize(("signal", "sees"), [(0.0, False), (3.0, True)])
def test_the_mean_of_the_gp_is_an_input_only_where_the_gp_explains_something(
    seen, tmp_path: Path, signal: float, sees: bool
) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 2))
    y = signal * np.sin(3 * X[:, 0]) + rng.standard_normal(80)
    model = GPInformedSurrogate(**SMALL).fit(X, y)
    assert model.sees_mean_ is sees
    assert seen[0][0].shape[1] == (4 if sees else 3)
    assert ("mean" in model.summary()["inputs of the network"]) is sees
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict_quantiles(X, TAU), model.predict_quantiles(X, TAU))


def test_of_few_runs_the_network_learns_residuals_of_refits_and_is_as_wide_as_the_gp() -> None:
    """The residuals ask for a part of the GP's factor by themselves; nothing is widened twice."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 5))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(30)
    model = GPInformedSurrogate(**SMALL).fit(X, y)
    assert model.gp_.is_refitted
    Z, t = model._scaled(X), model.response_scaler_.transform(y)
    assert model.spread_ == pytest.approx(model.gp_spread_ / asked_spread(model.gp_, Z, t, np.ones(30)))
    assert model.spread_ < model.gp_spread_
    assert not model.sees_mean_  # it explains the runs themselves far too well


def test_residuals_are_widened_for_the_length_scales_and_older_files_are_the_network_alone(fitted) -> None:
    X = skewed(9, 1)[0]
    state = fitted.to_state()
    for name in ("spread", "share", "gp_spread"):
        del state.values[name]
    older = GPInformedSurrogate.from_state(state)
    assert (older.spread_, older.share_, fitted.spread_) == (1.0, 1.0, 1 + widening(fitted.gp_.length_scales, 80))
    assert not fitted.gp_.is_refitted
    state.values["spread"] = 2.0
    wider = GPInformedSurrogate.from_state(state)
    (a, m, b), (c, _, d) = (each.predict_quantiles(X, [0.1, 0.5, 0.9]).T for each in (wider, older))
    np.testing.assert_allclose([m - a, b - m], 2 * np.array([m - c, d - m]), rtol=1e-6)


def test_where_few_runs_tell_no_shape_the_distribution_is_that_of_the_gp() -> None:
    """A network of 40 residuals in ten dimensions held 0.63 within 90% intervals, and its CRPS was a tenth worse."""
    rng = np.random.default_rng(5)
    X, X_new = rng.uniform(size=(40, 10)), rng.uniform(size=(300, 10))
    model = GPInformedSurrogate(**SMALL).fit(X, X[:, 0] + np.sin(4 * X[:, 1]) + 0.1 * rng.standard_normal(40))
    gp = StationaryGP(random_state=0).fit(X, X[:, 0] + np.sin(4 * X[:, 1]))
    assert model.share_ < 0.3
    gp.gp_, gp.spread_, gp.response_scaler_ = model.gp_, model.gp_spread_, model.response_scaler_
    width, normal = (np.ptp(each.predict_quantiles(X_new, [0.05, 0.95]), axis=1).mean() for each in (model, gp))
    assert width == pytest.approx(normal, rel=0.3)


def test_where_noise_is_skewed_rows_that_the_network_held_out_speak_for_it() -> None:
    assert GPInformedSurrogate(n_members=2, random_state=0).fit(*skewed(300, 0)).share_ > 0.5
