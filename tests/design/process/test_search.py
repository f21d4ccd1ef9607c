import numpy as np

from genbayes.design.gp import parameters_of, search_again, search_all
from genbayes.models.gp.likelihood import Replicates

BOTH = ("squared-exponential", "matern52")


def runs_of(n: int, rough: bool = False) -> Replicates:
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1.7, 1.7, (n, 2))
    y = np.abs(Z[:, 0] - 0.3) + np.abs(Z[:, 1]) if rough else np.sin(2 * Z[:, 0]) * np.cos(Z[:, 1])
    return Replicates.collect(Z, (y - y.mean()) / y.std(), np.ones(n))


def test_the_smoother_correlation_is_found_for_an_analytic_function() -> None:
    assert search_all(runs_of(60), BOTH, np.random.default_rng(0))[0].correlation == "squared-exponential"


def test_the_rougher_correlation_is_found_for_a_function_with_kinks() -> None:
    assert search_all(runs_of(60, rough=True), BOTH, np.random.default_rng(0))[0].correlation == "matern52"


def test_climbing_on_from_fewer_runs_ends_where_a_search_from_scratch_ends() -> None:
    few = search_all(runs_of(60), BOTH, np.random.default_rng(0))
    more = runs_of(80)
    again, scratch = search_again(more, few)[0], search_all(more, BOTH, np.random.default_rng(1))[0]
    assert abs(again.minimum.value - scratch.minimum.value) < 0.5  # in log posterior: the same maximum


def test_an_inert_input_has_a_long_scale() -> None:
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1.7, 1.7, (50, 2))
    runs = Replicates.collect(Z, np.sin(2 * Z[:, 0]), np.ones(50))
    length = parameters_of(runs, search_all(runs, BOTH, rng)[0]).length
    assert length[1] > 10 * length[0]
