from collections.abc import Callable

import numpy as np
import pytest

from genbayes.models.gp import estimation
from genbayes.models.gp.estimation import estimate_parameters
from genbayes.models.gp.likelihood import GPParameters, Replicates


def estimate(runs: Replicates, *, n_starts: int = 3, exact_limit: int = 3000) -> GPParameters:
    return estimate_parameters(runs, np.random.default_rng(0), n_starts=n_starts, exact_limit=exact_limit)


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


def test_every_stage_is_reported(make_runs: Callable[..., Replicates]) -> None:
    heard: list[tuple[int, int, float]] = []
    estimate_parameters(
        make_runs(30, 2),
        np.random.default_rng(0),
        n_starts=2,
        exact_limit=3000,
        report=lambda stage, stages, loss: heard.append((stage, stages, loss)),
    )
    assert [stage for stage, _, _ in heard] == list(range(1, len(heard) + 1))
    assert all(stage <= stages for stage, stages, _ in heard)


@pytest.mark.parametrize("n_starts", [1, 5])
def test_any_number_of_starts_is_served(make_runs: Callable[..., Replicates], n_starts: int) -> None:
    assert np.isfinite(estimate(make_runs(25, 2), n_starts=n_starts).length).all()


@pytest.mark.parametrize("size", [30, 2 * estimation.SUBSETS[0]])
def test_the_last_stage_heard_of_is_the_last_one_announced(make_runs: Callable[..., Replicates], size: int) -> None:
    heard: list[tuple[int, int]] = []
    estimate_parameters(
        make_runs(size, 1),
        np.random.default_rng(0),
        n_starts=1,
        exact_limit=3000,
        report=lambda stage, stages, loss: heard.append((stage, stages)),
    )
    assert heard[-1][0] == heard[-1][1]
