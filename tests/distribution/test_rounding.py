import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from genbayes.distribution.rounding import chord, from_ordinal, largest_where, secant, to_ordinal

FINITE = st.floats(-1e308, 1e308)


@settings(max_examples=100, deadline=None)
@given(FINITE)
def test_neighbouring_floats_have_neighbouring_numbers(x: float) -> None:
    pair = to_ordinal(np.array([x, np.nextafter(x, np.inf)]))
    assert pair[1] - pair[0] == 1 or x == -5e-324  # minus zero lies between


@settings(max_examples=100, deadline=None)
@given(FINITE)
def test_a_number_leads_back_to_its_float(x: float) -> None:
    assert from_ordinal(to_ordinal(np.array([x])))[0] == x


@settings(max_examples=100, deadline=None)
@given(FINITE, FINITE, FINITE)
def test_the_largest_float_below_a_threshold_is_found_from_any_guess(a: float, b: float, guess: float) -> None:
    threshold, high = sorted([a, b])
    if threshold < high:
        low = np.array([-np.inf])
        x = largest_where(lambda k, x: x <= threshold, low, np.array([high]), np.array([guess]))
        assert x[0] == threshold


def test_conditions_are_solved_side_by_side() -> None:
    c = np.arange(1.0, 50.0)
    root = largest_where(lambda k, x: x * x <= c[k], np.zeros(49), np.full(49, 10.0), np.full(49, 3.0))
    assert (root**2 <= c).all()
    assert (np.nextafter(root, 10) ** 2 > c).all()


def test_an_empty_stretch_gives_its_lower_end() -> None:
    one = np.ones(1)
    assert largest_where(lambda k, x: x < 0, one, one, one) == 1.0


def test_no_condition_gives_nothing() -> None:
    none = np.empty(0)
    assert largest_where(lambda k, x: x < 0, none, none, none).shape == (0,)


def test_the_secant_comes_near_a_smooth_root() -> None:
    c = np.array([0.1, 2.0, 900.0])
    root = secant(lambda k, x: np.log(x / c[k]), np.full(3, 0.01), np.full(3, 1000.0))
    np.testing.assert_allclose(root, c, rtol=1e-4)


def test_the_secant_stays_within_its_bounds_at_a_jump() -> None:
    root = secant(lambda k, x: np.where(x < 0.3, -1.0, 1e-9), np.zeros(1), np.ones(1))
    assert 0 <= root[0] <= 1


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.floats(0, 1))
def test_a_chord_meets_its_ends_and_never_falls(u_a: float, u_b: float, a: float, b: float, t: float) -> None:
    (u_a, u_b), (a, b) = sorted([u_a, u_b]), sorted([a, b])
    u = np.array([u_a, min(u_a + t * (u_b - u_a), u_b), np.nextafter(min(u_a + t * (u_b - u_a), u_b), u_b), u_b])
    heights = chord(u, *(np.full(4, x) for x in (u_a, u_b, a, b)))
    assert (np.diff(heights) >= 0).all()
    assert heights[-1] == b
    assert u_a == u_b or heights[0] == a
