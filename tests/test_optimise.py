from collections.abc import Callable

import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.data.box import Box, Choice, Integer
from genbayes.optimise import maximise

PEAK = np.array([0.37, 0.81])


def two_hills(U: FloatArray) -> FloatArray:
    """A broad hill of height 1 and a narrow one of height 1.5."""
    broad = np.exp(-2 * ((U - 0.7) ** 2).sum(axis=1))
    return broad + 1.5 * np.exp(-200 * ((U - 0.2) ** 2).sum(axis=1))


def calls_of(score: Callable[[FloatArray], FloatArray], space: Box, n_candidates: int) -> list[FloatArray]:
    """All points that a search asks for, call by call; the last one is where it ended."""
    asked: list[FloatArray] = []

    def noted(U: FloatArray) -> FloatArray:
        asked.append(U.copy())
        return score(U)

    maximise(noted, space, np.random.default_rng(0), n_candidates=n_candidates)
    return asked


def test_candidates_fill_every_part_of_the_box_and_climbing_beats_the_best() -> None:
    candidates = calls_of(two_hills, Box.unit(2), 64)[0]
    assert len(candidates) == 64
    assert len({tuple(cell) for cell in np.floor(4 * candidates).astype(int)}) == 16
    assert maximise(two_hills, Box.unit(2), np.random.default_rng(0), n_candidates=64)[1] > two_hills(candidates).max()


def test_the_higher_of_two_hills_is_found_and_the_same_one_from_the_same_seed() -> None:
    (u, value), again = (maximise(two_hills, Box.unit(2), np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_allclose(u, 0.2, atol=0.02)
    assert value == two_hills(u[None])[0]
    np.testing.assert_array_equal(u, again[0])


@pytest.mark.parametrize("scale", [1e-21, 1.0, 1e12])
def test_the_maximum_does_not_depend_on_the_units_of_the_score(scale: float) -> None:
    def score(U: FloatArray) -> FloatArray:
        return scale * np.exp(-20 * ((U - PEAK) ** 2).sum(axis=1))

    np.testing.assert_allclose(
        maximise(score, Box.unit(2), np.random.default_rng(0), n_candidates=8)[0], PEAK, atol=0.01
    )


def test_whole_numbers_and_categories_come_out_as_values_they_can_take() -> None:
    space = Box({"x": (0.0, 1.0), "n": Integer(1, 3), "gas": Choice("He", "O2")})
    peak = np.array([0.4, 0.5, 0.75])
    candidates, *_, last = calls_of(lambda U: -((U - peak) ** 2).sum(axis=1), space, 500)
    assert set(candidates[:, 2]) == {0.25, 0.75}
    u = last[0]
    np.testing.assert_allclose(u, peak, atol=1e-4)
    np.testing.assert_array_equal(space.snap(u[None])[0], u)


def test_one_call_of_the_score_serves_all_free_axes_and_leaves_the_others_alone() -> None:
    space = Box({"x": (0.0, 1.0), "gas": Choice("He", "O2"), "y": (0.0, 1.0)})
    climbs = calls_of(lambda U: -((U - 0.3) ** 2).sum(axis=1), space, 16)[1:]
    assert {(len(points), len(set(points[:, 1]))) for points in climbs} == {(5, 1)}


def test_a_maximum_outside_the_cube_is_found_on_its_wall() -> None:
    u, value = maximise(lambda U: U[:, 0] - (U[:, 1] - 0.5) ** 2, Box.unit(2), np.random.default_rng(0))
    np.testing.assert_allclose(u, [1.0, 0.5], atol=1e-3)
    assert value == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("ruled_out", [np.nan, -np.inf])
def test_points_without_a_score_lose_and_climbs_stay_away_from_them(ruled_out: float) -> None:
    def score(U: FloatArray) -> FloatArray:
        return np.where(U[:, 0] > 0.6, ruled_out, U[:, 0] + 0 * U[:, 1])

    u, value = maximise(score, Box.unit(2), np.random.default_rng(0))
    assert 0.5 <= u[0] <= 0.6
    assert value == pytest.approx(u[0])


def test_where_nothing_has_a_score_some_point_is_given_back() -> None:
    u, value = maximise(lambda U: np.full(len(U), -np.inf), Box.unit(2), np.random.default_rng(0))
    assert value == -np.inf
    assert ((u >= 0) & (u <= 1)).all()


def test_no_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="n_candidates must be a whole number of at least 1"):
        maximise(two_hills, Box.unit(1), np.random.default_rng(0), n_candidates=0)
