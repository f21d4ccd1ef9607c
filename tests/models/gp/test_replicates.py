import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from genbayes.models.gp.likelihood import Replicates


def test_weight_two_equals_the_row_given_twice() -> None:
    Z, y = np.array([[0.0], [1.0], [1.0]]), np.array([1.0, 2.0, 5.0])
    weighted = Replicates.collect(Z, y, np.array([2.0, 1.0, 2.0]))
    doubled = Replicates.collect(Z[[0, 0, 1, 2, 2]], y[[0, 0, 1, 2, 2]], np.ones(5))
    for name in ("Z", "mean", "count", "scatter"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(doubled, name), rtol=1e-15)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.floats(-5, 5)), min_size=1, max_size=20))
def test_total_weight_mean_and_sum_of_squares_are_kept(rows: list[tuple[int, int, float]]) -> None:
    Z, y = np.array([row[:2] for row in rows], dtype=float), np.array([row[2] for row in rows])
    groups = Replicates.collect(Z, y, np.ones(len(y)))
    assert groups.n_runs == len(y)
    np.testing.assert_allclose(groups.count @ groups.mean, y.sum(), atol=1e-12)
    np.testing.assert_allclose(groups.scatter.sum() + groups.count @ groups.mean**2, y @ y, atol=1e-10)


def test_inputs_are_distinct() -> None:
    groups = Replicates.collect(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]]), np.zeros(3), np.ones(3))
    assert len(groups) == 2


def test_take_keeps_the_order_asked_for() -> None:
    groups = Replicates.collect(np.arange(4.0)[:, None], np.arange(4.0), np.ones(4)).take(np.array([2, 0]))
    np.testing.assert_array_equal(groups.mean, [2.0, 0.0])
    np.testing.assert_array_equal(groups.Z[:, 0], [2.0, 0.0])
