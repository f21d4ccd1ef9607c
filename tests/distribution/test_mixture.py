import numpy as np
import pytest
import scoringrules as sr

from genbayes.distribution import Empirical, Mixture, Normal, PredictiveDistribution, QuantileFunction
from genbayes.errors import InvalidInput, NoDensity


def test_cdf_and_pdf_are_the_weighted_means() -> None:
    a, b = Normal([0.0, 1.0], 1.0), Normal(3.0, [2.0, 0.5])
    mixture = Mixture([a, b], [1, 3])
    np.testing.assert_allclose(mixture.cdf(0.7), 0.25 * a.cdf(0.7) + 0.75 * b.cdf(0.7), rtol=1e-13)
    np.testing.assert_allclose(mixture.pdf(0.7), 0.25 * a.pdf(0.7) + 0.75 * b.pdf(0.7), rtol=1e-13)


def test_moments_follow_the_laws_of_total_mean_and_variance() -> None:
    mixture = Mixture([Normal(0.0, 1.0), Normal(4.0, 2.0)], [0.5, 0.5])
    np.testing.assert_allclose([mixture.mean(), mixture.var()], [[2.0], [2.5 + 4.0]])


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


def test_crps_of_point_masses_counts_distances() -> None:
    mixture = Mixture([Normal(0.0, 0.0), Normal(1.0, 0.0)])
    np.testing.assert_allclose(mixture.crps(0.0), 0.5 - 0.25)


def test_a_quantile_within_an_atom_is_exactly_the_atom() -> None:
    mixture = Mixture([Normal(0.0, 1.0), Normal(1 / 3, 0.0)])
    below = 0.5 * Normal(0.0, 1.0).cdf(1 / 3)[0]
    u = np.linspace(below + 1e-12, below + 0.5 - 1e-12, 50)
    np.testing.assert_array_equal(mixture.ppf(u), np.full((1, 50), 1 / 3))


def test_quantiles_across_a_gap_take_its_lower_end() -> None:
    mixture = Mixture([Normal(0.0, 0.0), Normal(10.0, 0.0)])
    np.testing.assert_array_equal(mixture.ppf([0.5, np.nextafter(0.5, 1)]), [[0.0, 10.0]])


def test_equal_components_change_nothing() -> None:
    law = QuantileFunction([0.1, 0.5, 0.9], [[0.0, 1.0, 3.0]])
    u = np.linspace(0.01, 0.99, 99)
    np.testing.assert_allclose(Mixture([law] * 10).ppf(u), law.ppf(u), rtol=1e-14, atol=1e-15)


def test_probability_one_is_exactly_one() -> None:
    assert Mixture([Normal(0.0, 1.0)] * 10, [0.1] * 10).cdf(100.0) == 1.0


def test_a_component_of_weight_zero_is_left_out() -> None:
    assert repr(Mixture([Normal(0.0, 1.0), Normal(0.0, 2.0)], [1, 0])) == "Mixture(n=1, n_components=1)"


def test_draws_among_the_components_have_no_density() -> None:
    with pytest.raises(NoDensity, match="law with a density"):
        Mixture([Normal(0.0, 1.0), Empirical([[0.0, 1.0]])]).pdf(0.0)


@pytest.mark.parametrize(
    ("components", "weights", "message"),
    [
        ([], None, "components must be one or more PredictiveDistribution .* got none"),
        ([3.0], None, "components must be one or more PredictiveDistribution .* got float"),
        ([Normal([0.0, 1.0], 1.0), Normal(0.0, 1.0)], None, "same number of rows, got 2, 1 rows"),
        ([Normal(0.0, 1.0)], [1.0, 2.0], r"weights must hold 1 numbers.* got \[1.0, 2.0\]"),
        ([Normal(0.0, 1.0)], [0.0], "not all zero"),
        ([Normal(0.0, 1.0)], [-1.0], "none negative"),
        ([Normal(0.0, 1.0)], [np.nan], "weights must be finite"),
    ],
)
def test_bad_components_and_weights_are_refused(
    components: list[PredictiveDistribution], weights: list[float] | None, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        Mixture(components, weights)
