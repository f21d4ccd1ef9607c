import numpy as np
import pytest
import scoringrules as sr

from genbayes.distribution import Empirical, Mixture, Normal, QuantileFunction


def test_cdf_pdf_and_moments_are_the_weighted_ones() -> None:
    a, b = Normal([0.0, 1.0], 1.0), Normal(3.0, [2.0, 0.5])
    mixture = Mixture([a, b], [1, 3])
    np.testing.assert_allclose(mixture.cdf(0.7), 0.25 * a.cdf(0.7) + 0.75 * b.cdf(0.7), rtol=1e-13)
    np.testing.assert_allclose(mixture.pdf(0.7), 0.25 * a.pdf(0.7) + 0.75 * b.pdf(0.7), rtol=1e-13)
    mixture = Mixture([Normal(0.0, 1.0), Normal(4.0, 2.0)], [0.5, 0.5])
    np.testing.assert_allclose([mixture.mean(), mixture.var()], [[2.0], [2.5 + 4.0]])  # within and between


def test_crps_of_normals_is_that_of_scoringrules() -> None:
    mu, sigma = np.array([[0.0, 2.0, -1.0], [5.0, 5.0, 6.0]]), np.array([[1.0, 0.1, 3.0], [1.0, 2.0, 3.0]])
    weights, y = np.array([0.2, 0.5, 0.3]), np.array([0.3, 9.0])
    mixture = Mixture([Normal(mu[:, k], sigma[:, k]) for k in range(3)], weights)
    np.testing.assert_allclose(mixture.crps(y), sr.crps_mixnorm(y, mu, sigma, np.tile(weights, (2, 1))), rtol=1e-12)


def test_crps_on_panels_agrees_with_the_closed_form() -> None:
    normals = [Normal([0.0, 1.0], [1.0, 0.3]), Normal([4.0, 1.5], 2.0)]
    nested = Mixture([Mixture([normals[0]]), normals[1]], [0.3, 0.7])  # the inner one hides that all are normal
    np.testing.assert_allclose(nested.crps([1.0, -3.0]), Mixture(normals, [0.3, 0.7]).crps([1.0, -3.0]), rtol=1e-9)


def test_crps_of_draws_is_that_of_all_draws_together() -> None:
    draws = np.random.default_rng(0).normal(size=(2, 30))
    mixture = Mixture([Empirical(draws[:, :15]), Empirical(draws[:, 15:])])
    np.testing.assert_allclose(mixture.crps([0.3, 5.0]), Empirical(draws).crps([0.3, 5.0]), rtol=1e-12)


def test_a_quantile_within_an_atom_is_exactly_the_atom() -> None:
    mixture = Mixture([Normal(0.0, 1.0), Normal(1 / 3, 0.0)])
    below = 0.5 * Normal(0.0, 1.0).cdf(1 / 3)[0]
    u = np.linspace(below + 1e-12, below + 0.5 - 1e-12, 50)
    np.testing.assert_array_equal(mixture.ppf(u), np.full((1, 50), 1 / 3))


def test_equal_components_change_nothing() -> None:
    dist = QuantileFunction([0.1, 0.5, 0.9], [[0.0, 1.0, 3.0]])
    u = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(Mixture([dist] * 10).ppf(u), dist.ppf(u), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("with_table", [True, False])
@pytest.mark.parametrize("i", [0, 3, 5])
def test_each_row_is_the_mixture_of_its_own_weights(i: int, with_table: bool) -> None:
    rng = np.random.default_rng(0)
    table = QuantileFunction(np.linspace(0.05, 0.95, 7), np.sort(rng.normal(size=(6, 7)), axis=1))
    normals = [Normal(3 * rng.standard_normal(6), rng.uniform(0.2, 1, 6)) for _ in range(2)]
    components = [table, *normals] if with_table else normals
    weights = rng.dirichlet(np.ones(len(components)), 6)
    y, tau = np.linspace(-3, 3, 6), np.array([1e-6, 0.05, 0.3, 0.5, 0.77, 0.999])
    rows, one = Mixture(components, weights), Mixture([each[i : i + 1] for each in components], weights[i])
    np.testing.assert_allclose(rows[i : i + 1].ppf(tau), one.ppf(tau), rtol=1e-9)
    np.testing.assert_allclose(rows.ppf(tau)[i], one.ppf(tau)[0], rtol=1e-9)
    for read in ("crps", "pdf", "cdf"):
        np.testing.assert_allclose(getattr(rows, read)(y)[i], getattr(one, read)(y[i : i + 1])[0], rtol=1e-9)
    for read in ("mean", "var"):
        np.testing.assert_allclose(getattr(rows, read)()[i], getattr(one, read)()[0], rtol=1e-9)


def test_a_component_of_weight_zero_is_left_out_or_in_its_row_never_met() -> None:
    assert repr(Mixture([Normal(0.0, 1.0), Normal(0.0, 2.0)], [1, 0])) == "Mixture(n=1, n_components=1)"
    rows = Mixture([Normal([0.0, 0.0], 1.0), Normal([1e6, 1e6], 1.0)], [[1.0, 0.0], [0.0, 1.0]])
    draws = rows.sample(2_000, random_state=0)
    assert draws[0].max() < 10 < draws[1].min()
    np.testing.assert_allclose(rows.ppf(0.975)[0], Normal(0.0, 1.0).ppf(0.975)[0], rtol=1e-9)


@pytest.mark.parametrize("weights", [[0.3, 0.7], [[0.3, 0.7]], [3.0, 7.0], [[3.0, 7.0]]])
def test_draws_come_from_each_component_as_often_as_its_weight_says(weights: list[float]) -> None:
    draws = Mixture([Normal(0.0, 1.0), Normal(10.0, 1.0)], weights).sample(20_000, random_state=1)[0]
    assert (draws > 5).mean() == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 20_000))  # false alarm 1 in 16,000
    assert draws[draws > 5].std() == pytest.approx(1.0, abs=0.05)
