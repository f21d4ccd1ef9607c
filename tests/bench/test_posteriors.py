"""The study of posteriors: exact moments by closed forms, and every part with an estimator that knows the truth."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from genbayes.errors import OutsideSimulations
from genbayes_bench.studies import posteriors
from genbayes_bench.studies.__main__ import parts_of


class Exact:
    """Stands in for the estimator: draws from the exact moments of a sample, warns beyond four standard deviations."""

    def __init__(self, prior, *, summary=None, random_state=None) -> None:
        self.prior, self.summary = prior, summary

    def fit(self, theta, y) -> Exact:
        self.k = theta.shape[1]
        if self.summary is None:
            self.mean, self.sd = y.mean(axis=0), y.std(axis=0)
        return self

    def condition(self, y) -> SimpleNamespace:
        if self.summary is None and np.any(np.abs((y - self.mean) / self.sd) > 4):
            warnings.warn("outside", OutsideSimulations, stacklevel=2)

        def sample(n: int, random_state: int) -> np.ndarray:
            rng = np.random.default_rng(random_state)
            if self.summary is None and np.ndim(y) == 1:  # one observation of the linear task
                return y / 2 + np.sqrt(0.05) * rng.standard_normal((n, 10))
            if self.summary is None:
                return rng.normal(size=(len(y), n, self.k))
            density = posteriors._density_of_series if self.summary == "series" else posteriors._density_of_sample
            found = [posteriors.exact_moments(density(np.ravel(row)), *posteriors._ends(self.prior)) for row in y]
            return np.stack([mean + sd * rng.standard_normal((n, 2)) for mean, sd in found])

        def reweight(log_likelihood, n: int, random_state: int) -> SimpleNamespace:
            theta = y / 2 + np.sqrt(0.05) * np.random.default_rng(random_state).standard_normal((n, 10))
            assert np.argmax(log_likelihood(np.stack([y, theta[0]]))) == 0
            return SimpleNamespace(mean=lambda: theta.mean(axis=0), cov=lambda: np.cov(theta.T), effective_size=n)

        half = 1.645 * np.sqrt(0.05)
        ends = (y / 2 - half, y / 2 + half) if self.summary is None else None
        return SimpleNamespace(sample=sample, reweight=reweight, interval=lambda level: ends)

    def fit_campaign(self, campaign) -> None:
        frame = campaign.to_frame()
        assert {"y1", "y10", "theta1", "theta10"} <= set(frame.columns)
        assert len(frame) == 12
        self.mean, self.sd = np.zeros(10), np.ones(10)


@pytest.fixture
def small(monkeypatch) -> None:
    for name, value in {
        "PosteriorEstimator": Exact,
        "N_PAIRS": 300,
        "SIZES": (300,),
        "N_LINEAR": 300,
        "N_TESTS": 4,
        "N_GRID": 60,
    }.items():
        monkeypatch.setattr(posteriors, name, value)


@pytest.mark.parametrize("part", ["sample", "series", "linear", "weights", "campaign", "draws"])
def test_an_exact_estimator_meets_every_target(part, small, monkeypatch) -> None:
    monkeypatch.setattr(posteriors, "N_TRIALS", 12)
    lines = list(parts_of("posteriors")[part]())
    assert lines
    assert all(line.met for line in lines), lines


def test_observations_within_and_far_from_the_simulations_are_told_apart(small, monkeypatch) -> None:
    monkeypatch.setattr(posteriors, "N_OUTSIDE", 50)
    by_task = {line.what.partition(":")[0]: line.measured for line in posteriors.measure_outside()}
    assert set(by_task) == {"gaussian_linear", "two_moons", "slcp"}
    assert by_task["two_moons"] == "0.0%, 100.0%"


def test_the_posterior_of_a_sample_has_students_mean_and_spread() -> None:
    y = np.random.default_rng(0).normal(0.3, 1.1, 30)  # ends of the box far off: mean given y is t with 29 degrees
    mean, sd = posteriors.exact_moments(posteriors._density_of_sample(y), np.array([-9.0, -4.0]), np.array([9.0, 4.0]))
    spread = np.sqrt(y.var(ddof=1) / 30 * 29 / 27)
    np.testing.assert_allclose([mean[0], sd[0]], [y.mean(), spread], rtol=1e-3)


def test_a_series_follows_its_coefficients() -> None:
    y = posteriors.autoregression(np.tile([0.5, -0.3], (400, 1)), np.random.default_rng(1))
    assert y.shape == (400, 200)
    mean, _ = posteriors.exact_moments(
        posteriors._density_of_series(y[0]), np.array([-1.0, -0.9]), np.array([1.0, 0.0])
    )
    assert np.abs(mean - [0.5, -0.3]).max() < 4 / np.sqrt(200)
    assert y[:, -1].var() == pytest.approx((1 + 0.3) / ((1 - 0.3) * ((1 + 0.3) ** 2 - 0.5**2)), rel=0.3)
