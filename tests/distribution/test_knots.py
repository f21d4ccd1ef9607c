import numpy as np
import pytest

from genbayes.distribution.piecewise import Knots


def gap_and_atom() -> Knots:
    """Uniform on (0, 1) with probability 1/2, nothing up to 2, then an atom at 2 of 1/4 and uniform up to 3."""
    levels = np.array([[1e-12, 0.5, 0.5, 0.75, 1 - 1e-12]])
    values = np.array([[0.0, 1.0, 2.0, 2.0, 3.0]])
    return Knots.build(levels, values, (np.zeros(1), np.zeros(1)), (-np.inf, np.inf))


ROW = np.zeros(5, dtype=int)
POINTS = np.array([0.5, 1.0, 1.5, 2.0, 2.5])


def test_ppf_takes_the_lower_end_of_a_gap() -> None:
    q = gap_and_atom().ppf(np.array([[0.25, 0.5, np.nextafter(0.5, 1), 0.75, 0.875]]))
    np.testing.assert_allclose(q, [[0.5, 1.0, 2.0, 2.0, 2.5]], rtol=1e-9)


def test_cdf_is_flat_across_a_gap_and_jumps_at_an_atom() -> None:
    np.testing.assert_allclose(gap_and_atom().cdf(ROW, POINTS), [0.25, 0.5, 0.5, 0.75, 0.875], rtol=1e-9)


def test_mass_is_the_height_of_the_jump() -> None:
    np.testing.assert_allclose(gap_and_atom().mass(ROW, POINTS), [0, 0, 0, 0.25, 0], atol=0)


def test_density_is_zero_in_a_gap_and_infinite_at_an_atom() -> None:
    np.testing.assert_allclose(gap_and_atom().pdf(ROW, POINTS), [0.5, 0.0, 0.0, np.inf, 0.25], rtol=1e-9)


@pytest.mark.parametrize("shared", [True, False])
def test_values_with_tails_come_in_order(shared: bool) -> None:
    levels = np.array([[0.2, 0.8]] if shared else [[0.2, 0.8], [0.3, 0.6]])
    knots = Knots.build(levels, np.array([[0.0, 1.0], [5.0, 7.0]]), (np.ones(2), np.ones(2)), (-np.inf, 7.5))
    values = knots.values_with_tails(np.array([0.5, 0.1]))
    assert values.shape == (2, 6)
    assert (np.diff(values, axis=1) >= 0).all()
    assert values.max() == 7.5
