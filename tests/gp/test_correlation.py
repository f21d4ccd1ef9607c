import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.gp.correlation import CORRELATIONS


@pytest.mark.parametrize("name", CORRELATIONS)
@given(s=st.floats(1e-3, 30.0))
def test_slopes_are_derivatives_of_the_correlation(name: str, s: float) -> None:
    step = 1e-6 * max(s, 1.0)
    around, _ = CORRELATIONS[name](np.array([s - step, s + step]))
    _, slope = CORRELATIONS[name](np.array([s]))
    assert np.isclose(slope[0], (around[1] - around[0]) / (2 * step), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlations_are_one_at_no_distance_and_fall(name: str) -> None:
    correlation, slope = CORRELATIONS[name](np.array([0.0, 0.5, 2.0, 9.0]))
    assert correlation[0] == 1
    assert (np.diff(correlation) < 0).all()
    assert (slope < 0).all()


def test_rougher_correlations_fall_faster_at_short_distances() -> None:
    near = np.array([0.01])
    smooth, middle, rough = (CORRELATIONS[n](near)[0][0] for n in ("squared-exponential", "matern52", "matern32"))
    assert smooth > middle > rough
