"""Mixtures of normals with weights of their own in each row."""

import numpy as np
import pytest

from genbayes import Mixture, Normal
from genbayes.distribution.mixture import SwitchingNormal

TAU = np.array([1e-6, 0.05, 0.3, 0.5, 0.77, 0.999])


def law(n: int = 6, k: int = 3, seed: int = 0) -> SwitchingNormal:
    rng = np.random.default_rng(seed)
    return SwitchingNormal(rng.dirichlet(np.ones(k), n), 3 * rng.standard_normal((n, k)), rng.uniform(0.2, 1, (n, k)))


@pytest.mark.parametrize("i", [0, 3, 5])
def test_each_row_is_the_mixture_of_its_own_weights(i: int) -> None:
    rows, y = law(), np.linspace(-3, 3, 6)
    one = Mixture([component[i : i + 1] for component in rows._components], rows._row_weights[i])
    np.testing.assert_allclose(rows[i : i + 1].ppf(TAU), one.ppf(TAU), rtol=1e-9)
    for read in ("crps", "pdf", "cdf"):
        np.testing.assert_allclose(getattr(rows, read)(y)[i], getattr(one, read)(y[i : i + 1])[0], rtol=1e-9)
    for read in ("mean", "var"):
        np.testing.assert_allclose(getattr(rows, read)()[i], getattr(one, read)()[0], rtol=1e-9)


def test_quantiles_and_cdf_are_one_law() -> None:
    rows = law()
    np.testing.assert_allclose(rows.cdf(rows.ppf(TAU)), np.tile(TAU, (6, 1)), atol=1e-12)
    assert (np.diff(rows.ppf(TAU), axis=1) > 0).all()


def test_a_component_of_weight_zero_is_never_met() -> None:
    rows = SwitchingNormal(np.array([[1.0, 0.0]]), np.array([[0.0, 1e6]]), np.ones((1, 2)))
    assert rows.sample(2_000, random_state=0).max() < 10
    np.testing.assert_allclose(rows.ppf(0.975), Normal([0.0], 1.0).ppf(0.975), rtol=1e-9)


def test_samples_have_the_mean_and_share_of_the_law() -> None:
    rows = SwitchingNormal(np.array([[0.3, 0.7]]), np.array([[0.0, 10.0]]), np.ones((1, 2)))
    draws = rows.sample(20_000, random_state=1)[0]
    assert (draws > 5).mean() == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 20_000))  # false alarm 1 in 16,000
