import numpy as np
import pytest

from genbayes.arrays import FloatArray, IntArray
from genbayes.models.gp.vecchia import NearestRows, nearest_previous, with_random_previous


def distances(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("p", [1, 3, 12])  # 12 inputs: by brute force
def test_found_rows_are_the_nearest(p: int) -> None:
    rng = np.random.default_rng(0)
    W, W_new = rng.normal(size=(200, p)), rng.normal(size=(30, p))
    expected = np.argsort(distances(W_new, W), axis=1)[:, :7]
    np.testing.assert_array_equal(NearestRows(W).find(W_new, 7), expected)


def test_never_more_neighbours_than_rows() -> None:
    assert NearestRows(np.zeros((3, 1))).find(np.zeros((2, 1)), 10).shape == (2, 3)


def test_one_neighbour_still_has_two_axes() -> None:
    assert NearestRows(np.arange(3.0)[:, None]).find(np.array([[2.2]]), 1).tolist() == [[2]]


def test_no_rows_asked_no_rows_found() -> None:
    assert NearestRows(np.ones((20, 12)) * np.arange(20)[:, None]).find(np.zeros((0, 12)), 4).shape == (0, 4)


@pytest.mark.parametrize("p", [2, 12])
def test_previous_neighbours_are_the_nearest_earlier_rows(p: int) -> None:
    W = np.random.default_rng(1).normal(size=(700, p))
    rows = np.array([0, 3, 5, 255, 256, 400, 699])
    found = nearest_previous(W, rows, 5)
    for row, near in zip(rows, found, strict=True):
        expected = np.argsort(distances(W[row : row + 1], W[:row])[0])[:5]
        np.testing.assert_array_equal(near, np.append(expected, np.full(5 - len(expected), -1)))


def test_previous_neighbours_are_found_when_later_rows_crowd_around() -> None:
    W = np.concatenate([np.linspace(5, 6, 300), np.zeros(300)])[:, None]  # row 300 has only copies of itself nearby
    np.testing.assert_array_equal(nearest_previous(W, np.array([300]), 3), [[0, 1, 2]])


def test_more_neighbours_than_rows_are_missing() -> None:
    found = nearest_previous(np.arange(300.0)[:, None], np.array([299]), 310)
    assert (found >= 0).sum() == 299


@pytest.mark.parametrize("rows", [np.array([0, 1, 2, 30, 99])])
def test_random_additions_are_earlier_and_distinct(rows: IntArray) -> None:
    W = np.random.default_rng(2).normal(size=(100, 2))
    sets = with_random_previous(rows, nearest_previous(W, rows, 4), 6, np.random.default_rng(0))
    assert sets.shape == (5, 10)
    for row, chosen in zip(rows, sets, strict=True):
        there = chosen[chosen >= 0]
        assert (there < row).all()
        assert len(np.unique(there)) == len(there)
        assert set(nearest_previous(W, np.array([row]), 4)[0]) - {-1} <= set(there)
