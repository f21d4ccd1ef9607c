import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.distribution import Empirical
from genbayes.errors import InvalidInput, NoDensity


@pytest.mark.parametrize("S", [1, 3, 7, 10, 49, 100, 1000])
def test_the_level_j_of_s_gives_the_jth_draw(S: int) -> None:
    dist = Empirical(np.arange(1.0, S + 1)[None, :])
    j = np.arange(1, S)
    if S > 1:
        np.testing.assert_array_equal(dist.ppf(j / S)[0], j)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (1, 13), elements=st.integers(-3, 3)), st.floats(1e-9, 1 - 1e-9))
def test_ppf_and_cdf_are_one_distribution_to_the_last_bit(draws: np.ndarray, u: float) -> None:
    dist = Empirical(draws)
    levels = np.unique([u, *(np.arange(1, 13) / 13), *np.nextafter(np.arange(1, 13) / 13, 1)])
    y = np.arange(-4.0, 4.5, 0.5)[None, :]
    q, F = dist.ppf(levels), dist.cdf(y)
    np.testing.assert_array_equal(q[:, :, None] <= y[:, None, :], levels[None, :, None] <= F[:, None, :])


def test_draws_may_come_in_any_order() -> None:
    np.testing.assert_array_equal(Empirical([[3.0, 1.0, 2.0]]).ppf([0.3, 0.6, 0.9]), [[1.0, 2.0, 3.0]])


def test_moments_are_those_of_the_draws() -> None:
    draws = np.random.default_rng(0).normal(size=(3, 20))
    dist = Empirical(draws)
    np.testing.assert_allclose([dist.mean(), dist.var()], [draws.mean(axis=1), draws.var(axis=1)])


def test_crps_counts_all_pairs() -> None:
    x, y = np.array([0.0, 1.0, 5.0]), 2.0
    pairs = np.abs(x - y).mean() - 0.5 * np.abs(x[:, None] - x).mean()
    np.testing.assert_allclose(Empirical([x]).crps(y), pairs)


def test_sampling_draws_with_replacement_from_the_draws() -> None:
    assert set(Empirical([[1.0, 2.0]]).sample(100, random_state=0)[0]) == {1.0, 2.0}


def test_pit_of_a_draw_is_the_middle_of_its_jump() -> None:
    np.testing.assert_allclose(Empirical([[1.0, 2.0, 3.0, 4.0]]).pit(2.0), 0.375)


def test_draws_have_no_density() -> None:
    with pytest.raises(NoDensity, match="pdf must be asked of a distribution with a density, got draws; use cdf"):
        Empirical([[1.0, 2.0]]).pdf(1.0)


def test_repr_names_the_number_of_draws() -> None:
    assert repr(Empirical([[1.0, 2.0]])) == "Empirical(n=1, n_draws=2)"


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        ([1.0, 2.0], r"draws must have shape \(n, S\), got \(2,\)"),
        ([[1.0, np.nan]], "draws must be finite"),
        (np.empty((2, 0)), r"draws must have shape \(n, S\), got \(2, 0\)"),
        ([["a", "b"]], "draws must be numbers"),
    ],
)
def test_bad_draws_are_refused(draws: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Empirical(draws)
