import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.distribution.rowwise import CHUNK, chunks, entry, rank, row_of


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.integers(-3, 3)),
    arrays(np.float64, 5, elements=st.integers(-4, 4)),
    st.sampled_from(["left", "right"]),
)
def test_rank_is_numpys_search_row_by_row(table: FloatArray, x: FloatArray, side: str) -> None:
    table = np.sort(table, axis=1)
    row, points = row_of((len(table), 5)), np.tile(x, len(table))
    expected = np.concatenate([np.searchsorted(one, x, side=side) for one in table])
    np.testing.assert_array_equal(rank(table, row, points, side), expected)


def test_rank_works_across_chunks() -> None:
    table, n = np.sort(np.random.default_rng(0).normal(size=(3, 11)), axis=1), CHUNK + 7
    row = np.arange(n) % 3
    np.testing.assert_array_equal(rank(table, row, table[row, 4], "left"), 4)


def test_entry_reads_one_shared_row() -> None:
    np.testing.assert_array_equal(entry(np.array([[5.0, 6.0]]), np.array([0, 7]), np.array([1, 0])), [6.0, 5.0])


@pytest.mark.parametrize(("n", "width"), [(0, 5), (1, 1), (10, 10**6), (10**6, 3)])
def test_chunks_cover_every_row_once(n: int, width: int) -> None:
    assert sum(rows.stop - rows.start for rows in chunks(n, width)) == n
