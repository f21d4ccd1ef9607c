import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.distribution import Mixture, Normal, QuantileFunction, pool_quantile_functions
from genbayes.errors import InvalidInput

LEVELS = np.linspace(0.02, 0.98, 25)


def normals(*shifts: float) -> list[QuantileFunction]:
    return [QuantileFunction(LEVELS, Normal([c, 3 * c], [1.0, 0.1]).ppf(LEVELS)) for c in shifts]


@st.composite
def ensembles(draw: st.DrawFn) -> tuple[list[QuantileFunction], FloatArray]:
    """Two or three members with ties, bounds and levels of their own, and weights."""
    scale = 10.0 ** draw(st.integers(-12, 12))
    low = draw(st.sampled_from([None, 0.0]))
    members = []
    for _ in range(draw(st.integers(2, 3))):
        M = draw(st.integers(2, 6))
        value = st.one_of(st.integers(-3, 3), st.integers(-3000, 3000).map(lambda z: z / 1000))
        values = draw(arrays(np.float64, (1, M), elements=value))
        levels = sorted(
            draw(st.lists(st.floats(0.001, 0.999), min_size=M, max_size=M, unique_by=lambda u: round(u, 3)))
        )
        members.append(QuantileFunction(levels, values * scale, (low, None)))
    weights = draw(arrays(np.float64, len(members), elements=st.floats(0.01, 1)))
    return members, weights


@settings(max_examples=60, deadline=None)
@given(ensembles())
def test_the_pool_is_the_mixture_at_every_knot(ensemble: tuple[list[QuantileFunction], FloatArray]) -> None:
    members, weights = ensemble
    pool, mixture = pool_quantile_functions(members, weights), Mixture(members, weights)
    z = np.concatenate([member.values for member in members], axis=1)
    points = np.concatenate([z, z - 1e-9 * np.abs(z).max()], axis=1)  # at the knots, and left of their atoms
    inside = (points >= z.min()) & (points <= z.max())
    np.testing.assert_allclose(pool.cdf(z), mixture.cdf(z), rtol=1e-9, atol=1e-12)
    tail = max(max(member.levels[0], 1 - member.levels[-1]) for member in members)
    assert (np.abs(pool.cdf(points) - mixture.cdf(points))[inside] <= 0.015 * tail + 1e-6).all()


@settings(max_examples=40, deadline=None)
@given(ensembles())
def test_ppf_and_cdf_of_a_pool_are_one_law_to_the_last_bit(
    ensemble: tuple[list[QuantileFunction], FloatArray],
) -> None:
    pool = pool_quantile_functions(*ensemble)
    knots = np.unique(pool.levels)
    u = np.unique(np.clip([*knots, *np.nextafter(knots, 0), *np.nextafter(knots, 1), 0.5], 5e-324, 1 - 2.0**-53))
    q = pool.ppf(u)
    y = np.concatenate([pool.values, q, np.nextafter(q, -np.inf), np.nextafter(q, np.inf)], axis=1)
    assert (np.diff(q, axis=1) >= 0).all()
    np.testing.assert_array_equal(q[:, :, None] <= y[:, None, :], u[None, :, None] <= pool.cdf(y)[:, None, :])


def test_the_pool_is_the_mixture_where_all_members_are_inside() -> None:
    members = normals(-0.3, 0.0, 0.4)
    y = np.linspace(-1.2, 1.2, 301)[None, :]
    np.testing.assert_allclose(
        pool_quantile_functions(members)[0].cdf(y), Mixture(members)[0].cdf(y), rtol=1e-12, atol=1e-14
    )


def test_quantiles_of_the_pool_are_those_of_the_mixture() -> None:
    members = normals(-0.3, 0.0, 0.4)
    u = np.linspace(0.15, 0.85, 50)
    np.testing.assert_allclose(pool_quantile_functions(members)[0].ppf(u), Mixture(members)[0].ppf(u), atol=1e-12)


def test_far_tails_keep_the_mean_and_the_variance() -> None:
    members = normals(-2.0, 0.0, 3.0)
    pool, mixture = pool_quantile_functions(members, [1, 1, 2]), Mixture(members, [1, 1, 2])
    np.testing.assert_allclose(pool.mean(), mixture.mean(), rtol=1e-3)
    np.testing.assert_allclose(pool.var(), mixture.var(), rtol=1e-3)


def test_scores_of_the_pool_are_those_of_the_mixture() -> None:
    members = normals(-2.0, 0.0, 3.0)
    y = np.array([0.5, 9.5])
    np.testing.assert_allclose(pool_quantile_functions(members).crps(y), Mixture(members).crps(y), rtol=1e-4)


def test_one_member_pools_to_itself() -> None:
    member = normals(0.7)[0]
    u = np.linspace(0.02, 0.98, 97)
    np.testing.assert_allclose(pool_quantile_functions([member]).ppf(u), member.ppf(u), rtol=1e-12)


def test_two_point_masses_pool_to_two_atoms() -> None:
    one, two = (QuantileFunction([0.3, 0.6], [[z, z]]) for z in (1.0, 2.0))
    pool = pool_quantile_functions([one, two], [1, 3])
    np.testing.assert_allclose(pool.ppf([1e-9, 0.2499, 0.2501, 0.9999]), [[1.0, 1.0, 2.0, 2.0]])
    np.testing.assert_allclose(pool.cdf([[0.999, 1.0, 1.5, 2.0]]), [[0.0, 0.25, 0.25, 1.0]], atol=1e-15)
    np.testing.assert_allclose([pool.mean(), pool.var(), pool.crps(1.0)], [[1.75], [0.1875], [0.75**2]])


def test_an_atom_at_a_bound_is_kept() -> None:
    members = [QuantileFunction([0.2, 0.5, 0.8], [[z, z + 1, z + 2]], support=(0.0, None)) for z in (-1.0, 0.1)]
    pool, mixture = pool_quantile_functions(members), Mixture(members)
    np.testing.assert_allclose(pool.cdf([[-1e-12, 0.0]]), mixture.cdf([[-1e-12, 0.0]]), rtol=1e-12)
    assert pool.cdf(0.0) > 0.1


def test_the_pool_stays_within_the_support() -> None:
    members = [QuantileFunction([0.2, 0.8], [[z, z + 1]], support=(0.0, 2.0)) for z in (0.1, 0.9)]
    q = pool_quantile_functions(members).ppf([1e-300, 1 - 2.0**-53])
    assert ((q >= 0) & (q <= 2)).all()


def test_members_with_different_levels_pool() -> None:
    a = QuantileFunction([0.25, 0.75], [[0.0, 1.0]])
    b = QuantileFunction([0.1, 0.5, 0.9], [[0.0, 1.0, 2.0]])
    np.testing.assert_allclose(pool_quantile_functions([a, b]).cdf(1.0), (0.75 + 0.5) / 2)


def test_weight_zero_leaves_a_member_out() -> None:
    members = normals(0.0, 5.0)
    np.testing.assert_array_equal(
        pool_quantile_functions(members, [1, 0]).ppf(0.3), pool_quantile_functions(members[:1]).ppf(0.3)
    )


def test_no_member_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match="members must be one or more QuantileFunction with the same number of rows, got none"
    ):
        pool_quantile_functions([])


def test_other_kinds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="members must be one or more QuantileFunction .*, got Normal"):
        pool_quantile_functions([Normal(0.0, 1.0)])  # type: ignore[list-item]


def test_bad_weights_are_refused() -> None:
    with pytest.raises(InvalidInput, match="weights must hold 2 numbers, one for each of the members, none negative"):
        pool_quantile_functions(normals(0.0, 1.0), [1, -1])
