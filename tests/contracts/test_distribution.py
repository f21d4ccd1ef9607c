"""Laws that every kind of predictive distribution obeys; a new kind adds one subclass."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from genbayes import metrics
from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution import Empirical, Mixture, Normal, PredictiveDistribution, QuantileFunction
from genbayes.errors import InvalidInput, NoDensity

LEVELS = np.concatenate([[1e-300, 1e-15, 1e-9, 1e-4], np.linspace(0.001, 0.999, 211), [1 - 1e-9, 1 - 2.0**-53]])
GRID = np.array([0.005, 0.02, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.98, 0.995])
ROUNDING = 1e-11  # relative, of a probability: the last place of a point, a thousand times magnified in a far tail


class DistributionContract:
    """Inherit, and say how the distribution is made and what is special about it."""

    continuous = True  # no atoms
    exact = True  # ppf and cdf agree to the last bit; otherwise up to rounding
    density = True

    def make(self) -> PredictiveDistribution:
        raise NotImplementedError

    @pytest.fixture
    def dist(self) -> PredictiveDistribution:
        return self.make()

    def points(self, dist: PredictiveDistribution) -> FloatArray:
        """Points (n, j) that matter: quantiles, their neighbours among the floats, and beyond both ends."""
        q = dist.ppf(LEVELS)
        beyond = np.stack([q[:, 0] - 1, q[:, -1] + 1], axis=1)
        return np.concatenate([q, np.nextafter(q, np.inf), np.nextafter(q, -np.inf), beyond], axis=1)

    # shapes and rows

    def test_shapes_follow_the_promise(self, dist) -> None:
        n = len(dist)
        y = np.zeros(n)
        assert [dist.ppf(tau).shape for tau in (0.5, [0.5], [0.2, 0.9])] == [(n,), (n, 1), (n, 2)]
        assert [dist.cdf(np.zeros((rows, 4))).shape for rows in (n, 1)] == [(n, 4), (n, 4)]
        summaries = [dist.mean(), dist.median(), dist.var(), dist.std()]
        scores = [dist.pit(y), dist.crps(y), dist.pinball(y, 0.1), dist.interval_score(y, 0.8)]
        assert {each.shape for each in (dist.cdf(0.0), dist.cdf(y), *summaries, *scores)} == {(n,)}
        assert (dist.pinball(y, [0.1, 0.9]).shape, dist.sample(7, random_state=0).shape) == ((n, 2), (n, 7))

    @pytest.mark.parametrize("rows", [1, -1, slice(0, 2), [2, 0], [0, 0, 1], np.array([True, False, True])])
    def test_rows_do_not_depend_on_other_rows(self, dist, rows: IntArray) -> None:
        index = np.atleast_1d(np.arange(len(dist))[rows])
        np.testing.assert_array_equal(dist[rows].ppf(GRID), dist.ppf(GRID)[index])
        np.testing.assert_array_equal(dist[rows].cdf(GRID[None, :]), dist.cdf(GRID[None, :])[index])
        np.testing.assert_allclose(dist[rows].crps(0.3), dist.crps(0.3)[index], rtol=1e-12)

    def test_one_row_and_no_row_are_distributions(self, dist) -> None:
        one, none = dist[0], dist[[]]
        assert [one.ppf(0.5).shape, one.ppf(GRID).shape, one.crps(0.3).shape] == [(1,), (1, len(GRID)), (1,)]
        assert (len(none), none.ppf(GRID).shape, none.cdf(0.0).shape) == (0, (0, len(GRID)), (0,))
        assert {
            part.shape for part in (none.crps([]), none.pit([]), none.interval_score([]), none.mean(), none.std())
        } == {(0,)}

    def test_iteration_visits_every_row_and_there_are_no_others(self, dist) -> None:
        np.testing.assert_array_equal(np.concatenate([row.median() for row in dist]), dist.median())
        with pytest.raises(IndexError, match="out of bounds"):
            dist[len(dist)]

    def test_repr_is_one_short_line_with_the_number_of_rows(self, dist) -> None:
        assert "n=3" in repr(dist)
        assert len(repr(dist)) < 80

    # one distribution: ppf and cdf

    def test_quantiles_do_not_cross_nor_fall_from_one_float_to_the_next(self, dist) -> None:
        assert (np.diff(dist.ppf(LEVELS), axis=1) >= 0).all()
        u = np.random.default_rng(0).uniform(1e-6, 1, 500)
        assert (dist.ppf(u) <= dist.ppf(np.minimum(np.nextafter(u, 1), 1 - 2.0**-53))).all()

    def test_a_quantile_does_not_depend_on_the_other_levels(self, dist) -> None:
        alone = np.stack([dist.ppf(float(u)) for u in GRID], axis=1)
        np.testing.assert_array_equal(dist.ppf(GRID[::-1])[:, ::-1], alone)

    def test_cdf_does_not_fall_and_runs_from_zero_to_one(self, dist) -> None:
        assert (np.diff(dist.cdf(np.sort(self.points(dist), axis=1)), axis=1) >= 0).all()
        ends = dist.cdf(np.array([[-np.inf, -1e300, 1e300, np.inf]]))
        np.testing.assert_array_equal(ends, np.tile([0.0, 0.0, 1.0, 1.0], (len(dist), 1)))

    def test_cdf_of_a_quantile_reaches_its_level_and_is_it_where_there_is_no_atom(self, dist) -> None:
        slack = 0 if self.exact else ROUNDING
        assert (dist.cdf(dist.ppf(LEVELS)) >= LEVELS * (1 - slack)).all()
        if self.continuous:
            np.testing.assert_allclose(dist.cdf(dist.ppf(GRID)), np.tile(GRID, (len(dist), 1)), rtol=1e-9)

    def test_ppf_undoes_cdf_within_the_support(self, dist) -> None:
        y = dist.ppf(GRID)
        u = np.minimum(dist.cdf(y), 1 - 2.0**-53)
        back = np.stack([dist[i].ppf(u[i])[0] for i in range(len(dist))])
        np.testing.assert_allclose(back, y, rtol=1e-12, atol=1e-12)

    def test_ppf_is_at_most_y_exactly_when_the_level_is_at_most_cdf(self, dist) -> None:
        y, F = self.points(dist), dist.cdf(self.points(dist))
        q = dist.ppf(LEVELS)
        below = q[:, :, None] <= y[:, None, :]
        reached = LEVELS[None, :, None] <= F[:, None, :]
        if not self.exact:  # a level within rounding of F may fall on either side
            near = np.isclose(LEVELS[None, :, None], F[:, None, :], rtol=ROUNDING, atol=0)
            below, reached = below[~near], reached[~near]
        np.testing.assert_array_equal(below, reached)

    def test_interval_ends_are_quantiles(self, dist) -> None:
        np.testing.assert_allclose(np.stack(dist.interval(0.9), axis=1), dist.ppf([0.05, 0.95]), rtol=1e-12, atol=1e-12)

    # density

    def test_density_integrates_to_the_probability(self, dist) -> None:
        if not self.density:
            with pytest.raises(NoDensity, match="distribution with a density"):
                dist.pdf(0.0)
        elif self.continuous:
            z = dist.ppf(np.linspace(0.1, 0.9, 10_001))
            middle = (z[:, 1:] + z[:, :-1]) / 2
            integral = (dist.pdf(middle) * np.diff(z, axis=1)).sum(axis=1)
            # a piece of probability 8e-5 that holds a kink errs by that much at most; none here has 250 kinks
            np.testing.assert_allclose(integral, 0.8, atol=0.02)

    # moments and samples

    def test_mean_agrees_with_samples(self, dist) -> None:
        draws = dist.sample(20_000, random_state=1)
        standard_error = dist.std() / math.sqrt(20_000)
        assert (np.abs(draws.mean(axis=1) - dist.mean()) <= 5 * standard_error).all()  # false alarm 6e-7 a row

    def test_variance_agrees_with_samples(self, dist) -> None:
        squares = (dist.sample(20_000, random_state=2) - dist.mean()[:, None]) ** 2
        standard_error = squares.std(axis=1) / math.sqrt(20_000)
        assert (np.abs(squares.mean(axis=1) - dist.var()) <= 6 * standard_error).all()  # tails: 6, not 5

    def test_samples_follow_the_cdf(self, dist) -> None:
        thresholds = dist.ppf([0.2, 0.5, 0.9])
        draws = dist.sample(20_000, random_state=3)
        share = (draws[:, :, None] <= thresholds[:, None, :]).mean(axis=1)
        F = dist.cdf(thresholds)
        standard_error = np.sqrt(F * (1 - F) / 20_000)
        assert (np.abs(share - F) <= 5 * standard_error + 1e-12).all()  # false alarm 6e-7 an entry

    def test_the_same_seed_gives_the_same_draws_and_a_generator_moves_on(self, dist) -> None:
        np.testing.assert_array_equal(dist.sample(5, random_state=4), dist.sample(5, random_state=4))
        rng = np.random.default_rng(5)
        assert (dist.sample(50, random_state=rng) != dist.sample(50, random_state=rng)).any()

    def test_pit_is_uniform_under_the_true_distribution(self, dist) -> None:
        many = dist[np.zeros(2_000, dtype=int)]
        pit = many.pit(dist[0].sample(2_000, random_state=6)[0])
        if self.continuous:
            assert kstest(pit, "uniform").pvalue > 1e-4  # false alarm 1 in 10,000
        else:
            assert abs(pit.mean() - 0.5) < 4 * math.sqrt(1 / 12 / 2_000)  # at most this variance; 1 in 16,000

    # scores

    def test_crps_lies_between_the_lower_and_the_upper_sum_of_its_integral(self, dist) -> None:
        y = dist.ppf(0.7) + 0.1
        u = np.concatenate([np.geomspace(1e-13, 1e-3, 400), np.linspace(0.001, 0.999, 6000)[1:-1]])
        u = np.concatenate([u, 1 - np.geomspace(1e-3, 1e-13, 400)])
        z = np.sort(np.concatenate([dist.ppf(u), y[:, None]], axis=1), axis=1)
        h, right = np.diff(z, axis=1), z[:, :-1] >= y[:, None]
        first, last = dist.cdf(z[:, :-1]), np.minimum(dist.cdf(np.nextafter(z[:, 1:], -np.inf)), dist.cdf(z[:, 1:]))
        low = (h * np.where(right, 1 - last, first) ** 2).sum(axis=1)
        high = (h * np.where(right, 1 - first, last) ** 2).sum(axis=1)
        crps = dist.crps(y)
        slack = 1e-9 * (z[:, -1] - z[:, 0])
        assert (low - slack <= crps).all()
        assert (crps <= high + slack).all()
        assert (high - low < 2e-3 * (z[:, -1] - z[:, 0])).all()  # the bracket says something

    def test_crps_agrees_with_the_papers_estimator(self, dist) -> None:
        m, y = 4_000, dist.ppf(0.3) - 0.2
        q = dist.ppf(np.arange(1, m + 1) / (m + 1))
        # |CRPS(F, y) - CRPS(G, y)| <= 2 int |F - G|: at most 1 / m between the outermost quantiles, and beyond
        # them by Cauchy-Schwarz E (Y - q_m)_+ <= sqrt(E (Y - q_m)^2 P(Y > q_m))
        spread = np.sqrt(dist.var()[:, None] + (dist.mean()[:, None] - q[:, [0, -1]]) ** 2).sum(axis=1)
        tolerance = 2 * ((q[:, -1] - q[:, 0]) / m + spread / math.sqrt(m + 1))
        assert (np.abs(dist.crps(y) - metrics.crps(q, y)) <= tolerance).all()

    def test_crps_grows_linearly_far_away(self, dist) -> None:
        far = dist.ppf(0.5) + 1e6
        np.testing.assert_allclose(dist.crps(far + 10) - dist.crps(far), 10, rtol=1e-5)

    def test_pinball_and_interval_score_are_those_of_quantiles_and_intervals(self, dist) -> None:
        y = dist.ppf(0.4) + 0.1
        np.testing.assert_array_equal(dist.pinball(y, GRID), metrics.pinball(dist.ppf(GRID), y, GRID))
        y = dist.ppf(0.99) + 0.5
        np.testing.assert_array_equal(dist.interval_score(y, 0.8), metrics.interval_score(*dist.interval(0.8), y, 0.8))

    def test_everything_but_samples_is_deterministic(self) -> None:
        a, b = self.make(), self.make()
        for read in (lambda d: d.ppf(GRID), lambda d: d.cdf(0.3), lambda d: d.mean(), lambda d: d.crps(0.3)):
            np.testing.assert_array_equal(read(a), read(b))

    # bad input

    @pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, 5, [0.5, np.nan]])
    def test_levels_outside_zero_and_one_are_refused(self, dist, tau: object) -> None:
        with pytest.raises(InvalidInput, match="tau must lie strictly between 0 and 1"):
            dist.ppf(tau)

    @pytest.mark.parametrize("method", ["cdf", "pit", "crps"])
    def test_nan_and_a_wrong_number_of_points_are_refused(self, dist, method: str) -> None:
        with pytest.raises(InvalidInput, match="y must"):
            getattr(dist, method)(np.nan)
        with pytest.raises(InvalidInput, match=r"y must .*shape"):
            getattr(dist, method)(np.zeros(4))

    def test_a_wrong_number_of_samples_is_refused(self, dist) -> None:
        with pytest.raises(InvalidInput, match="n_samples must be a whole number"):
            dist.sample(0)


def normal_table(levels: FloatArray) -> FloatArray:
    """Quantiles of N(0, 1), N(-3, 0.1^2) and N(100, 20^2) at these levels."""
    return Normal([0.0, -3.0, 100.0], [1.0, 0.1, 20.0]).ppf(levels)


class TestQuantileFunction(DistributionContract):
    def make(self) -> PredictiveDistribution:
        levels = np.linspace(0.01, 0.99, 99)
        return QuantileFunction(levels, normal_table(levels))


class TestFewLevels(DistributionContract):
    def make(self) -> PredictiveDistribution:
        return QuantileFunction([0.2, 0.45], [[0.0, 1.0], [-5.0, 7.0], [1.0, 1.25]])


class TestQuantileFunctionWithLevelsOfItsOwn(DistributionContract):
    def make(self) -> PredictiveDistribution:
        rng = np.random.default_rng(0)
        levels = np.sort(rng.uniform(0.005, 0.995, (3, 40)), axis=1)
        return QuantileFunction(levels, np.cumsum(rng.exponential(size=(3, 40)), axis=1))


class TestQuantileFunctionWithAtoms(DistributionContract):
    continuous = False

    def make(self) -> PredictiveDistribution:
        values = [[0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 3, 3, 4, 5], [-1, 0, 1, 2, 2, 2, 2]]
        return QuantileFunction([0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95], values)


class TestBoundedQuantileFunction(DistributionContract):
    continuous = False

    def make(self) -> PredictiveDistribution:
        values = [[0.3, 0.5, 0.7, 0.9], [-0.2, 0.1, 0.4, 2.0], [0.01, 0.02, 0.03, 0.05]]
        return QuantileFunction([0.1, 0.4, 0.6, 0.9], values, support=(0.0, 1.0))


class TestNormal(DistributionContract):
    exact = False

    def make(self) -> PredictiveDistribution:
        return Normal([0.0, -3.0, 100.0], [1.0, 0.1, 20.0])


class TestMixtureOfNormals(DistributionContract):
    exact = False

    def make(self) -> PredictiveDistribution:
        return Mixture([Normal([0.0, 1.0, 2.0], 1.0), Normal([0.0, 8.0, 2.5], [3.0, 0.5, 0.2])], weights=[3, 1])


class TestMixtureWithWeightsByRow(DistributionContract):
    exact = False

    def make(self) -> PredictiveDistribution:
        components = [Normal([0.0, 1.0, 2.0], 1.0), Normal([0.0, 8.0, 2.5], [3.0, 0.5, 0.2])]
        return Mixture(components, weights=[[0.5, 0.5], [1.0, 0.0], [1.0, 4.0]])


class TestMixtureOfKinds(DistributionContract):
    exact = False
    continuous = False
    density = False

    def make(self) -> PredictiveDistribution:
        draws = np.random.default_rng(0).normal(size=(3, 20))
        table = QuantileFunction([0.1, 0.3, 0.5, 0.9], [[0, 0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4]])
        return Mixture([Normal([0.0, 1.0, 2.0], [1.0, 0.0, 0.5]), Empirical(draws), table], weights=[0.5, 0.2, 0.3])


class TestEmpirical(DistributionContract):
    continuous = False
    density = False

    def make(self) -> PredictiveDistribution:
        return Empirical(np.random.default_rng(0).normal(size=(3, 49)))


class Logistic(PredictiveDistribution):
    """Writes what a kind must write and inherits everything else."""

    def __init__(self, loc: FloatArray) -> None:
        self.loc = loc

    def __len__(self) -> int:
        return len(self.loc)

    def _take(self, rows: IntArray) -> "Logistic":
        return Logistic(self.loc[rows])

    def _ppf(self, U: FloatArray) -> FloatArray:
        return self.loc[:, None] + np.log(U / (1 - U))


class TestDerived(DistributionContract):
    def make(self) -> PredictiveDistribution:
        return Logistic(np.array([0.0, 1.0, -2.0]))

    def test_moments_and_density_are_derived_to_many_digits(self, dist) -> None:
        np.testing.assert_allclose(dist.mean(), [0.0, 1.0, -2.0], atol=1e-12)
        np.testing.assert_allclose(dist.var(), math.pi**2 / 3, rtol=1e-10)
        F = dist.cdf(0.3)
        np.testing.assert_allclose(dist.pdf(0.3), F * (1 - F), rtol=1e-6)
