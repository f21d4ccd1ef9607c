import numpy as np
import pytest
import scoringrules as sr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.metrics import coverage, interval_score, interval_width, pinball

TABLE = arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6))


@settings(max_examples=60, deadline=None)
@given(TABLE, st.floats(0.01, 0.99))
def test_score_is_that_of_scoringrules(table: FloatArray, level: float) -> None:
    (lower, upper), y = np.sort(table[:, :2], axis=1).T, table[:, 2]
    expected = sr.interval_score(y, lower, upper, 1 - level)
    np.testing.assert_allclose(interval_score(lower, upper, y, level), expected, rtol=1e-9, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(TABLE, st.floats(0.01, 0.99))
def test_score_is_the_weighted_pinball_loss_of_its_ends(table: FloatArray, level: float) -> None:
    ends, y, tail = np.sort(table[:, :2], axis=1), table[:, 2], (1 - level) / 2
    losses = pinball(ends, y, [tail, 1 - tail]).sum(axis=1)
    np.testing.assert_allclose(interval_score(*ends.T, y, level), losses / tail, rtol=1e-6, atol=1e-6)


def test_coverage_counts_the_ends() -> None:
    assert coverage([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.1]) == pytest.approx(2 / 3)


def test_width_is_the_mean_distance_of_the_ends() -> None:
    assert interval_width([0.0, 1.0], [2.0, 5.0]) == 3.0


@pytest.mark.parametrize(
    ("lower", "upper", "y", "message"),
    [
        ([1.0], [0.0], [0.5], r"lower must not exceed upper, got 1 of 1 rows \(row 0\) where it does"),
        ([0.0, 1.0], [1.0], [0.5, 0.5], r"upper must have shape \(2,\)"),
        ([np.nan], [1.0], [0.5], "lower must be finite"),
        ([0.0], [1.0], [np.nan], "y must be finite"),
        ([0.0], [1.0], [0.5, 0.6], r"y must have shape \(1,\)"),
        ([], [], [], "lower must hold at least one interval, got none"),
        ([[0.0]], [1.0], [0.5], r"lower must have shape \(n,\)"),
    ],
)
def test_bad_intervals_are_refused(lower: object, upper: object, y: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        interval_score(lower, upper, y, 0.9)
    with pytest.raises(InvalidInput, match=message):
        coverage(lower, upper, y)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, np.nan])
def test_a_bad_level_is_refused(level: float) -> None:
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1, got .*; pass 0.9 for 90%"):
        interval_score([0.0], [1.0], [0.5], level)
