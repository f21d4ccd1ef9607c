"""One factor about the median: the best there is, its ends included, believed the more the more rows ask for it."""

import numpy as np
import pytest
from scipy.special import ndtri

from genbayes.metrics import believed, best_spread, crps, stretch_table

TAU = (np.arange(49) + 0.5) / 49


def table(n: int, scale: float) -> np.ndarray:
    return np.tile(scale * ndtri(TAU), (n, 1))


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_it_is_the_factor_of_least_weighted_crps_among_many_tried_by_hand(scale: float) -> None:
    rng = np.random.default_rng(0)
    y, weight, q = rng.standard_normal(300), rng.uniform(0.1, 3, 300), table(300, scale)
    tried = np.geomspace(0.3, 3, 400)
    by_hand = tried[np.argmin([weight @ crps(stretch_table(q, s), y) for s in tried])]
    assert best_spread(q, y, weight) == pytest.approx(by_hand, rel=0.01)
    assert best_spread(q, y, weight) == pytest.approx(1 / scale, rel=0.15)


@pytest.mark.parametrize(("scale", "between", "found"), [(2.0, (1.0, 3.0), 1.0), (0.1, (1.0, 3.0), 3.0)])
def test_it_may_be_an_end_of_the_range(scale: float, between: tuple[float, float], found: float) -> None:
    y = np.random.default_rng(0).standard_normal(200)
    assert best_spread(table(200, scale), y, np.ones(200), between) == pytest.approx(found)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_units_do_not_matter(unit: float) -> None:
    y = np.random.default_rng(0).standard_normal(100)
    assert best_spread(unit * table(100, 0.6), unit * y, np.ones(100)) == pytest.approx(
        best_spread(table(100, 0.6), y, np.ones(100)), rel=0.01
    )


def test_few_rows_are_believed_little_and_many_almost_wholly() -> None:
    assert believed(2.0, 20, 20) == pytest.approx(np.sqrt(2))
    assert believed(2.0, 0, 20) == 1
    assert believed(0.5, 1e6, 20) == pytest.approx(0.5, rel=1e-4)


def test_even_and_odd_numbers_of_levels_have_their_median_in_the_middle() -> None:
    assert stretch_table(np.array([[0.0, 1.0, 3.0]]), 2.0).tolist() == [[-1.0, 1.0, 5.0]]
    assert stretch_table(np.array([[0.0, 1.0, 3.0, 4.0]]), 2.0).tolist() == [[-2.0, 0.0, 4.0, 6.0]]
