import numpy as np
import pytest

from genbayes.data.box import Box, Choice, Integer
from genbayes.optimise import draw_candidates

MIXED = Box({"x": (0.0, 1.0), "n": Integer(1, 4), "gas": Choice("He", "O2")})


def test_candidates_are_values_that_inputs_can_take() -> None:
    U = draw_candidates(MIXED, 64, np.random.default_rng(0), near=np.array([[0.5, 0.375, 0.25]]), n_near=40)
    assert set(U[:, 1]) <= {0.125, 0.375, 0.625, 0.875}
    assert set(U[:, 2]) <= {0.25, 0.75}


def test_even_candidates_fill_every_part_of_the_box() -> None:
    U = draw_candidates(Box.unit(2), 64, np.random.default_rng(0))
    cells = {tuple(cell) for cell in np.floor(4 * U).astype(int)}
    assert len(cells) == 16


def test_candidates_near_a_point_lie_near_it_and_within_the_box() -> None:
    U = draw_candidates(Box.unit(2), 1, np.random.default_rng(0), near=np.array([[0.0, 1.0]]), n_near=200)[1:]
    assert ((U >= 0) & (U <= 1)).all()
    assert np.abs(U - [0.0, 1.0]).mean() < 0.1


def test_categories_change_also_near_a_point() -> None:
    U = draw_candidates(MIXED, 1, np.random.default_rng(0), near=np.array([[0.5, 0.375, 0.25]]), n_near=50)[1:]
    assert set(U[:, 2]) == {0.25, 0.75}


def test_no_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        draw_candidates(Box.unit(1), 0, np.random.default_rng(0))
