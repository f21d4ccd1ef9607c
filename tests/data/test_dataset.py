"""Dataset: weights and repeated rows are the same thing, and order does not matter."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from genbayes.data.dataset import Dataset


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 3)), min_size=1, max_size=20))
def test_a_weight_equals_repeating_the_row(rows: list[tuple[int, int, int]]) -> None:
    x, y, count = np.array(rows).T
    weighted = Dataset.merged(x[:, None].astype(float), y.astype(float), count.astype(float))
    repeated = Dataset.merged(np.repeat(x, count)[:, None].astype(float), np.repeat(y, count).astype(float))
    for name in ("X", "y", "weight"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))
    assert weighted.fingerprint() == repeated.fingerprint()


@given(st.permutations(range(8)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (8, 2)).astype(float), rng.integers(0, 2, 8).astype(float)
    assert Dataset.merged(X[order], y[order]).fingerprint() == Dataset.merged(X, y).fingerprint()


def test_negative_zero_is_zero() -> None:
    assert len(Dataset.merged(np.array([[0.0], [-0.0]]), np.array([1.0, 1.0]))) == 1


def test_another_response_gives_another_fingerprint() -> None:
    X = np.zeros((2, 1))
    assert (
        Dataset.merged(X, np.array([1.0, 2.0])).fingerprint() != Dataset.merged(X, np.array([1.0, 3.0])).fingerprint()
    )
