import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.data.box import Box, Choice, Integer
from genbayes.optimise import maximise


def two_hills(U: FloatArray) -> FloatArray:
    """A broad hill of height 1 and a narrow one of height 1.5."""
    broad = np.exp(-2 * ((U - 0.7) ** 2).sum(axis=1))
    return broad + 1.5 * np.exp(-200 * ((U - 0.2) ** 2).sum(axis=1))


def test_refining_beats_the_best_candidate() -> None:
    rng = np.random.default_rng(0)
    rough = maximise(two_hills, Box.unit(3), rng, n_candidates=64, refine="none")
    fine = maximise(two_hills, Box.unit(3), np.random.default_rng(0), n_candidates=64)
    assert fine.score > rough.score


def test_the_higher_of_two_hills_is_found() -> None:
    best = maximise(two_hills, Box.unit(2), np.random.default_rng(0))
    assert np.allclose(best.u, 0.2, atol=0.02)


@pytest.mark.parametrize("refine", ["gradient", "simplex", "none"])
def test_whole_numbers_and_categories_come_out_as_values_they_can_take(refine: str) -> None:
    space = Box({"x": (0.0, 1.0), "n": Integer(1, 3), "gas": Choice("He", "O2")})
    peak = np.array([0.4, 0.5, 0.75])
    best = maximise(lambda U: -((U - peak) ** 2).sum(axis=1), space, np.random.default_rng(0), refine=refine)  # type: ignore[arg-type]
    assert np.allclose(best.u, peak, atol=0.02)
    assert np.array_equal(space.snap(best.u[None])[0], best.u)


def test_an_offered_gradient_is_used() -> None:
    asked = []

    def gradient(u: FloatArray) -> tuple[float, FloatArray]:
        asked.append(u)
        return -float(((u - 0.3) ** 2).sum()), -2 * (u - 0.3)

    best = maximise(lambda U: -((U - 0.3) ** 2).sum(axis=1), Box.unit(2), np.random.default_rng(0), gradient=gradient)
    assert asked
    assert np.allclose(best.u, 0.3, atol=1e-6)


def test_points_without_a_score_lose() -> None:
    best = maximise(
        lambda U: np.where(U[:, 0] > 0.5, np.nan, U[:, 0]), Box.unit(1), np.random.default_rng(0), refine="none"
    )
    assert best.u[0] <= 0.5


def test_the_same_seed_gives_the_same_point() -> None:
    a, b = (maximise(two_hills, Box.unit(2), np.random.default_rng(5)).u for _ in range(2))
    assert np.array_equal(a, b)


def test_an_unknown_way_of_refining_is_refused() -> None:
    with pytest.raises(ValueError, match="refine must be one of 'gradient'"):
        maximise(two_hills, Box.unit(2), np.random.default_rng(0), refine="gradients")  # type: ignore[arg-type]
