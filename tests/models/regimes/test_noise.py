"""What a GP leaves: nothing where noise is even and normal, its pace and shape where it is not."""

import numpy as np
import pytest

from genbayes.distribution import Normal, QuantileFunction
from genbayes.models.regimes.noise import NORMAL, Noise, fit_noise, fit_scale, shows_structure


def residuals(kind: str, n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1.7, 1.7, (n, 2))
    pace = np.exp(0.7 * Z[:, 0]) if "uneven" in kind else np.ones(n)
    e = rng.exponential(size=n) - 1 if "skewed" in kind else rng.standard_normal(n)
    r = pace * e
    return Z, r / r.std()


def learn(kind: str, **given: int) -> tuple[Noise, np.ndarray]:
    Z, r = residuals(kind, **given)
    return fit_noise(Z, r, np.ones(len(r)), np.random.default_rng(1))


@pytest.mark.parametrize(
    ("kind", "has_pace", "has_shape"),
    [("plain", False, False), ("uneven", True, False), ("skewed", False, True), ("uneven skewed", True, True)],
)
def test_pace_and_shape_are_learnt_where_they_are(kind: str, has_pace: bool, has_shape: bool) -> None:
    noise, _ = learn(kind)
    assert (noise.pace is not None, noise.shape is not None) == (has_pace, has_shape)
    Z, r = residuals(kind)
    uneven = fit_scale(Z, r, np.ones(300), np.random.default_rng(0))
    assert shows_structure(Z, r, np.ones(300), uneven) == (kind != "plain")


def test_few_residuals_are_taken_for_normal() -> None:
    assert learn("uneven skewed", n=40)[0] is NORMAL


def test_the_pace_is_that_of_the_noise_and_the_shape_its_quantiles() -> None:
    noise, _ = learn("uneven", n=400)
    Z = np.array([[-1.0, 0.0], [1.0, 0.0]])
    low, high = noise.scale(Z)
    assert high / low == pytest.approx(np.exp(1.4), rel=0.4)
    skewed = learn("skewed", n=400)[0].about(np.zeros(1), np.ones(1))
    np.testing.assert_allclose(skewed.ppf([0.1, 0.5, 0.9])[0], [-0.895, -0.307, 1.303], atol=0.2)  # log(10) - 1


def test_densities_of_left_out_residuals_are_those_of_new_ones() -> None:
    noise, density = learn("uneven skewed", n=500)
    Z, r = residuals("uneven skewed", n=2_000, seed=9)
    new = noise.log_density(Z, r)
    assert density.mean() == pytest.approx(new.mean(), abs=3 * new.std() * np.hypot(500**-0.5, 2_000**-0.5))


@pytest.mark.parametrize("kind", ["plain", "uneven", "uneven skewed"])
def test_noise_survives_its_file(kind: str) -> None:
    noise, _ = learn(kind)
    again = Noise.from_state(noise.to_state(), 2)
    Z = residuals("plain", n=5)[0]
    np.testing.assert_array_equal(again.scale(Z), noise.scale(Z))
    expected = Normal if noise.shape is None else QuantileFunction
    assert isinstance(again.about(np.zeros(5), np.ones(5)), expected)
