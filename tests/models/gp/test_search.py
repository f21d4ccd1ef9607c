from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from genbayes.models.gp.likelihood import Replicates, exact_profile
from genbayes.models.gp.search import LENGTH_BOUNDS, Posterior, climb, log_prior, search_widely, shake, starting_point


def posterior_of(runs: Replicates) -> Posterior:
    return Posterior(partial(exact_profile, runs), runs.n_runs, runs.Z.shape[1])


def test_prior_falls_on_either_side_of_its_centre() -> None:
    values = [log_prior(np.log([length, 0.01]))[0] for length in (1e-3, 1.6, 1e6)]
    assert values[1] > values[0]
    assert values[1] > values[2]


def test_prior_is_weak() -> None:
    heights = [log_prior(np.log([length, nugget]))[0] for length in LENGTH_BOUNDS for nugget in (1e-8, 1e3)]
    assert min(heights) > -6  # less than a dozen runs can say


@pytest.mark.parametrize("p", [1, 4])
def test_gradient_of_the_prior_agrees_with_differences(p: int) -> None:
    theta = np.linspace(-3.0, 4.0, p + 1)
    expected = approx_fprime(theta, lambda point: log_prior(point)[0], 1e-7)
    np.testing.assert_allclose(log_prior(theta)[1], expected, atol=1e-5)


def test_loss_and_value_agree(make_runs: Callable[..., Replicates]) -> None:
    posterior = posterior_of(make_runs(20, 2))
    theta = np.log([1.0, 2.0, 0.1])
    assert posterior.loss(theta)[0] == pytest.approx(posterior.value(theta), rel=1e-12)


def test_climb_ends_where_the_gradient_vanishes(make_runs: Callable[..., Replicates]) -> None:
    posterior = posterior_of(make_runs(60, 1))
    found = climb(posterior, np.log([3.0, 0.5]))
    assert found.value <= posterior.value(np.log([3.0, 0.5]))
    assert np.abs(posterior.loss(found.point)[1]).max() < 2.0  # at the start it is over twenty


def test_starting_point_has_the_best_of_the_nuggets(make_runs: Callable[..., Replicates]) -> None:
    posterior = posterior_of(make_runs(40, 2, noise=0.0))
    assert np.exp(starting_point(posterior, 1.5)[-1]) < 0.01


def test_a_stuck_input_is_shaken_loose() -> None:
    rng = np.random.default_rng(3)
    Z = rng.uniform(-1.7, 1.7, size=(150, 2))
    y = np.sin(5 * Z[:, 0]) + np.abs(Z[:, 1]) + 0.3 * rng.normal(size=150)
    posterior = posterior_of(Replicates.collect(Z, y / y.std(), np.ones(150)))
    stuck = climb(posterior, np.log([1e4, 1.0, 1.0]))
    assert np.exp(stuck.point[0]) > 100  # no gradient tells that the first input matters
    freed = shake(posterior, stuck)
    assert freed.value < stuck.value - 20
    assert np.exp(freed.point[0]) < 2


def test_the_best_of_several_climbs_is_kept(make_runs: Callable[..., Replicates]) -> None:
    small, large = (posterior_of(make_runs(n, 2)) for n in (40, 80))
    starts = [np.log([0.01, 0.01, 1.0]), np.log([1.0, 1.0, 0.1])]
    heard = []
    found = search_widely([small, large], starts, lambda minimum: heard.append(minimum) or minimum)
    assert len(heard) == 3
    assert found.value <= min(climb(large, start).value for start in starts) + 0.2
