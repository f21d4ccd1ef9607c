"""Fitted models joined: averaged quantiles, pooled distributions, bounds, and what is known of the mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from genbayes import InvalidInput, Mixture, Normal
from genbayes.auto.surrogate import Combination
from genbayes.distribution.quantile import GRID

X = np.linspace(-1, 1, 7)[:, None]
TAU = np.array([0.001, 0.025, 0.1, 0.5, 0.9, 0.975, 0.999])


def join(kind: str, models: list, weights: list[float], bounds=(None, None)) -> Combination:
    return Combination(kind, tuple(models), np.array(weights), bounds)


@pytest.fixture
def pair(fakes) -> list:
    return [fakes.Bell(shift=-2.0, scale=0.5, slope=1.0), fakes.Bell(shift=4.0, scale=2.0, slope=-1.0)]


@settings(max_examples=20)
@given(st.floats(0.01, 0.99))
def test_the_average_of_normal_laws_has_their_mean_location_and_scale(w: float) -> None:
    """Q(tau) = sum_k w_k (m_k + s_k z_tau) is again the quantile of a normal law."""

    class Fixed:
        def __init__(self, loc: float, scale: float) -> None:
            self.law = Normal(np.full(3, loc), scale)

        def predict_distribution(self, X):
            return self.law

    law = join("average", [Fixed(-2.0, 0.5), Fixed(4.0, 2.0)], [w, 1 - w]).predict_run(X[:3])
    loc, scale = -2 * w + 4 * (1 - w), 0.5 * w + 2 * (1 - w)
    np.testing.assert_allclose(law.ppf(TAU), np.tile(loc + scale * ndtri(TAU), (3, 1)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(law.mean(), loc, atol=1e-6)
    np.testing.assert_allclose(law.std(), scale, rtol=0.01)


def test_the_average_follows_each_row(pair) -> None:
    np.testing.assert_allclose(
        join("average", pair, [0.25, 0.75]).predict_run(X).ppf(0.5), 2.5 - 0.5 * X[:, 0], atol=1e-12
    )


def test_the_table_of_an_average_is_symmetric_and_fine() -> None:
    np.testing.assert_allclose(GRID, 1 - GRID[::-1], atol=1e-15)
    assert (np.diff(GRID) > 0).all()
    assert np.diff(GRID).max() <= 0.025 + 1e-12


def test_the_pool_is_the_mixture(pair) -> None:
    law = join("pool", pair, [0.25, 0.75]).predict_run(X)
    expected = Mixture([model.predict_distribution(X) for model in pair], [0.25, 0.75])
    np.testing.assert_array_equal(law.ppf(TAU), expected.ppf(TAU))
    np.testing.assert_allclose(law.cdf(1.0), expected.cdf(1.0), rtol=1e-12)


@pytest.mark.parametrize("kind", ["single", "average", "pool"])
def test_one_model_speaks_for_itself(kind: str, pair) -> None:
    law = join(kind, pair[:1], [1.0]).predict_run(X)
    assert isinstance(law, Normal)
    np.testing.assert_array_equal(law.ppf(TAU), pair[0].predict_distribution(X).ppf(TAU))


@pytest.mark.parametrize(("kind", "n_models"), [("single", 1), ("average", 2), ("pool", 2)])
def test_no_law_leaves_the_bounds(kind: str, n_models: int, pair) -> None:
    law = join(kind, pair[:n_models], [1 / n_models] * n_models, (-1.5, 3.0)).predict_run(X)
    q, draws = law.ppf([1e-6, 0.01, 0.5, 0.99, 1 - 1e-6]), law.sample(200, random_state=0)
    assert q.min() >= -1.5
    assert q.max() <= 3.0
    assert draws.min() >= -1.5
    assert draws.max() <= 3.0
    np.testing.assert_allclose(law.cdf(3.0), 1.0)


@pytest.mark.parametrize(("kind", "n_models"), [("single", 1), ("average", 2), ("pool", 2)])
def test_bounds_far_away_change_hardly_anything(kind: str, n_models: int, pair) -> None:
    weights = [1 / n_models] * n_models
    free, bounded = (
        join(kind, pair[:n_models], weights, bounds).predict_run(X) for bounds in ((None, None), (-1e6, 1e6))
    )
    np.testing.assert_allclose(bounded.ppf(TAU), free.ppf(TAU), rtol=0.02, atol=0.02)


def test_what_is_known_of_the_mean_is_averaged_like_the_runs(pair) -> None:
    law = join("average", pair, [0.25, 0.75]).predict_mean(X)
    np.testing.assert_allclose(law.mean(), 2.5 - 0.5 * X[:, 0])
    np.testing.assert_allclose(law.std(), np.full(7, 0.25 * 0.25 + 0.75 * 1.0))


def test_what_is_known_of_the_mean_is_pooled_like_the_runs(pair) -> None:
    law = join("pool", pair, [0.25, 0.75]).predict_mean(X)
    expected = Mixture([model.predict_distribution(X, of="mean") for model in pair], [0.25, 0.75])
    np.testing.assert_array_equal(law.ppf(TAU), expected.ppf(TAU))


@pytest.mark.parametrize("kind", ["average", "pool"])
def test_models_that_do_not_know_the_mean_are_left_out_of_it(kind: str, pair) -> None:
    pair[1].knows_mean = False
    law = join(kind, pair, [0.25, 0.75]).predict_mean(X)
    np.testing.assert_allclose(law.mean(), X[:, 0] - 2.0)
    np.testing.assert_allclose(law.std(), np.full(7, 0.25))


def test_a_model_of_the_users_own_that_takes_no_of_is_left_out_of_the_mean(pair) -> None:
    class Plain:
        def predict_distribution(self, X):
            return Normal(np.zeros(len(X)), 1.0)

    law = join("average", [pair[0], Plain()], [0.25, 0.75]).predict_mean(X)
    np.testing.assert_allclose(law.mean(), X[:, 0] - 2.0)


@pytest.mark.parametrize("kind", ["average", "pool"])
def test_what_is_known_of_the_mean_keeps_to_the_bounds(kind: str, pair) -> None:
    law = join(kind, pair, [0.25, 0.75], bounds=(0.0, 1.0)).predict_mean(X)
    q = law.ppf(TAU)
    assert q.min() >= 0.0
    assert q.max() <= 1.0


def test_where_none_knows_the_mean_it_is_said(pair) -> None:
    for model in pair:
        model.knows_mean = False
    with pytest.raises(InvalidInput, match="of must be 'run'.*, got 'mean'"):
        join("pool", pair, [0.5, 0.5]).predict_mean(X)
