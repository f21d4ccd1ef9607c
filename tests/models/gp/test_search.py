from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime, rosen, rosen_der

from genbayes.arrays import FloatArray
from genbayes.models.gp import estimation
from genbayes.models.gp.estimation import estimate_parameters
from genbayes.models.gp.likelihood import GPParameters, Replicates, exact_profile
from genbayes.models.gp.quasi_newton import minimise_within
from genbayes.models.gp.search import LENGTH_BOUNDS, Posterior, climb, log_prior, search_widely, shake, starting_point

FAR = np.full(2, -5.0), np.full(2, 5.0)


def rosenbrock(x: FloatArray) -> tuple[float, FloatArray]:
    return float(rosen(x)), np.asarray(rosen_der(x))


@pytest.mark.parametrize(("upper", "bottom"), [(5.0, [1.0, 1.0]), (0.5, [0.5, 0.25])])  # along x2 = x1^2 to the bound
def test_the_bottom_of_a_curved_valley_is_found_within_the_bounds(upper: float, bottom: list[float]) -> None:
    box = FAR[0], np.array([upper, 5.0])
    found = minimise_within(rosenbrock, np.array([-1.2, 1.0]), box, np.eye(2), tolerance=1e-12)
    np.testing.assert_allclose(found.point, bottom, atol=1e-4)
    assert (np.linalg.eigvalsh(found.curvature) > 0).all()
    for tolerance in (1e-2, 1e-4):  # little is left to gain where it stops
        stopped = minimise_within(rosenbrock, np.array([-1.2, 1.0]), box, np.eye(2), tolerance=tolerance)
        assert stopped.value < found.value + 100 * tolerance


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_start_on_a_bound_that_the_bottom_lies_beyond_stays_there_in_that_input(sign: float) -> None:
    calls = []

    def bowl(x: FloatArray) -> tuple[float, FloatArray]:
        calls.append(x)
        H = np.array([[2.0, 1.0], [1.0, 2.0]])
        e = x - sign * np.array([-9.0, 1.0])  # beyond -5, or beyond 5 where all is turned round
        return float(0.5 * e @ H @ e), H @ e

    found = minimise_within(
        bowl, sign * np.array([-5.0, 0.0]), FAR, np.array([[2.0, 1.0], [1.0, 2.0]]), tolerance=1e-12
    )
    np.testing.assert_allclose(found.point, sign * np.array([-5.0, -1.0]), atol=1e-9)
    assert len(calls) <= 3  # the input on its bound takes no part in the step


def test_a_start_outside_is_moved_inside() -> None:
    found = minimise_within(rosenbrock, np.array([9.0, 9.0]), FAR, np.eye(2), tolerance=1e-12, n_steps=0)
    np.testing.assert_array_equal(found.point, [5.0, 5.0])


def test_the_true_curvature_makes_it_one_step() -> None:
    H = np.array([[3.0, 1.0], [1.0, 2.0]])
    calls = []

    def bowl(x: FloatArray) -> tuple[float, FloatArray]:
        calls.append(x)
        return float(0.5 * x @ H @ x), H @ x

    found = minimise_within(bowl, np.array([1.0, 1.0]), FAR, H, tolerance=1e-12)
    np.testing.assert_allclose(found.point, [0.0, 0.0], atol=1e-12)
    assert len(calls) == 2


def test_a_loss_that_is_not_a_number_turns_the_search_back() -> None:
    def cliff(x: FloatArray) -> tuple[float, FloatArray]:
        return (float(x @ x), 2 * x) if x[0] > -0.5 else (float("nan"), np.full(2, np.nan))

    found = minimise_within(cliff, np.array([1.0, 1.0]), FAR, 0.5 * np.eye(2), tolerance=1e-10)
    np.testing.assert_allclose(found.point, 0.0, atol=1e-4)


def test_a_curvature_that_rounding_made_singular_is_begun_anew_from_its_diagonal() -> None:
    """Forty runs of two inputs stopped the fit with "Singular matrix" where the likelihood was a narrow ridge."""
    bowl = lambda x: (float(x @ x), 2 * x)  # noqa: E731
    found = minimise_within(bowl, np.array([1.0, 0.5]), FAR, np.ones((2, 2)), tolerance=1e-12)
    np.testing.assert_allclose(found.point, 0, atol=1e-5)


def posterior_of(runs: Replicates) -> Posterior:
    return Posterior(partial(exact_profile, runs), runs.n_runs, runs.Z.shape[1])


def test_the_prior_falls_on_either_side_of_its_centre_but_weakly() -> None:
    heights = [log_prior(np.log([length, nugget]))[0] for length in LENGTH_BOUNDS for nugget in (1e-8, 1e3)]
    assert max(heights) < log_prior(np.log([1.6, 0.01]))[0]
    assert min(heights) > -6  # less than a dozen runs can say


@pytest.mark.parametrize("p", [1, 4])
def test_gradient_of_the_prior_agrees_with_differences(p: int) -> None:
    theta = np.linspace(-3.0, 4.0, p + 1)
    expected = approx_fprime(theta, lambda point: log_prior(point)[0], 1e-7)
    np.testing.assert_allclose(log_prior(theta)[1], expected, atol=1e-5)


def test_climb_ends_where_the_gradient_vanishes(make_runs: Callable[..., Replicates]) -> None:
    posterior = posterior_of(make_runs(60, 1))
    found = climb(posterior, np.log([3.0, 0.5]))
    assert found.value == pytest.approx(posterior.value(found.point), rel=1e-12)
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


def estimate(runs: Replicates, *, n_starts: int = 3, exact_limit: int = 3000) -> GPParameters:
    rng = np.random.default_rng(0)
    return estimate_parameters(runs, rng, n_starts=n_starts, exact_limit=exact_limit).parameters


def wave(n: int, p: int, frequency: float, noise: float, seed: int = 0) -> Replicates:
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1.7, 1.7, size=(n, p))
    y = np.sin(frequency * Z[:, 0]) + noise * rng.normal(size=n)
    return Replicates.collect(Z, y / y.std(), np.ones(n))


def test_noise_is_found() -> None:
    runs = wave(300, 1, 3.0, noise=0.3)
    expected = 0.3**2 / (0.3**2 + 0.5)  # y was divided by its standard deviation
    assert estimate(runs).noise == pytest.approx(expected, rel=0.25)  # sd of a variance from 300 runs: 8%


def test_inert_inputs_get_large_length_scales() -> None:
    length = estimate(wave(300, 4, 3.0, noise=0.1)).length
    assert length[0] < 3
    assert (length[1:] > 20).all()


def test_a_deterministic_simulator_gets_almost_no_nugget() -> None:
    assert estimate(wave(100, 2, 3.0, noise=0.0)).nugget < 1e-6


@pytest.mark.parametrize("weight", [2.0, 1e6])
def test_replicates_that_agree_to_the_last_digit_leave_the_process_its_variance(weight: float) -> None:
    runs = wave(60, 1, 3.0, noise=0.0)
    repeated = estimate(Replicates(runs.Z, runs.mean, np.full(60, weight), runs.scatter))
    assert repeated.variance > 0.1  # of responses with variance one; without care it shrinks as one over the weight
    assert repeated.noise < 1e-6


def test_detail_between_neighbours_is_found_though_no_subset_shows_it() -> None:
    runs = wave(1000, 1, 300.0, noise=0.3)  # 162 periods, of which 400 rows see two and a half each
    assert estimate(runs).length[0] < 0.03


@pytest.mark.slow
def test_vecchia_estimates_what_the_exact_likelihood_does() -> None:
    runs = wave(1500, 2, 3.0, noise=0.2)
    exact, vecchia = estimate(runs), estimate(runs, exact_limit=1000)
    assert vecchia.noise == pytest.approx(exact.noise, rel=0.05)
    assert vecchia.length[0] == pytest.approx(exact.length[0], rel=0.5)


@pytest.mark.parametrize(("n", "n_starts"), [(30, 2), (25, 1), (25, 5), (2 * estimation.SUBSETS[0], 1)])
def test_every_stage_is_reported_up_to_the_last_one_announced(
    make_runs: Callable[..., Replicates], n: int, n_starts: int
) -> None:
    heard: list[tuple[int, int]] = []
    found = estimate_parameters(
        make_runs(n, 1), np.random.default_rng(0), n_starts=n_starts, exact_limit=3000,
        report=lambda stage, stages, loss: heard.append((stage, stages)),
    )  # fmt: skip
    assert heard == [(stage, len(heard)) for stage in range(1, len(heard) + 1)]
    assert np.isfinite(found.parameters.length).all()
