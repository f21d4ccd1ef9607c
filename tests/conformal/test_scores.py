"""The conformity coordinate: increasing, invertible, finite, and the normal score where the law is good."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from genbayes.conformal.recalibration import NORMAL_SCORES, ScoreMap, least_slope
from genbayes.distribution import Empirical, Normal, PredictiveDistribution, QuantileFunction
from genbayes.errors import InvalidInput

TAU = np.arange(1, 100) / 100
LAWS = {
    "normal": Normal([3.0], 2.0),
    "point": Normal([3.0], 0.0),
    "skewed": QuantileFunction(TAU, [-np.log1p(-TAU)]),
    "atom": QuantileFunction(TAU, [np.maximum(TAU - 0.5, 0)], support=(0, None)),
    "draws": Empirical([[1.0, 1.0, 2.0, 7.0]]),
}


@pytest.fixture(params=LAWS, ids=str)
def law(request) -> PredictiveDistribution:
    return LAWS[request.param]


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.floats(-8, 8))
def test_the_score_of_a_normal_law_is_the_standardised_response(loc: float, scale: float, s: float) -> None:
    maps = ScoreMap.of(Normal([loc], scale), least=1e-12 * scale)
    error = 1e-9 + 1e-15 * abs(loc) / scale * 10
    assert maps.score(np.array([loc + scale * s]))[0] == pytest.approx(s, abs=error)


def test_the_score_is_the_normal_score_of_the_probability() -> None:
    law = LAWS["skewed"]
    y = law.ppf(TAU[5:95])[0]
    scores = ScoreMap.of(law[np.zeros(len(y), dtype=int)], 1e-9).score(y)
    np.testing.assert_allclose(scores, ndtri(TAU[5:95]), atol=0.01)  # chords between levels a tenth of a score apart


def test_scores_rise_with_the_response(law) -> None:
    y = np.linspace(-50, 50, 20_001)
    scores = ScoreMap.of(law[np.zeros(len(y), dtype=int)], 1e-6).score(y)
    assert (np.diff(scores) > 0).all()
    assert np.isfinite(scores).all()


def test_responses_rise_with_the_score(law) -> None:
    y = ScoreMap.of(law, 1e-6).response(np.linspace(-1e9, 1e9, 20_001))
    assert (np.diff(y[0]) > 0).all()
    assert np.isfinite(y).all()


def test_a_response_comes_back_from_its_score(law) -> None:
    y = np.random.default_rng(0).normal(0, 20, 500)
    maps = ScoreMap.of(law[np.zeros(500, dtype=int)], 1e-6)
    back = np.diag(maps.response(maps.score(y)))
    np.testing.assert_allclose(back, y, rtol=1e-13, atol=1e-13)


def test_a_point_mass_scores_residuals() -> None:
    maps = ScoreMap.of(Normal([0.0, 1e6], 0.0), least=0.5)
    np.testing.assert_allclose(maps.score(np.array([3.0, 1e6 + 3.0])), [6.0, 6.0])


def test_an_atom_at_a_bound_does_not_make_a_tail_infinitely_steep() -> None:
    maps = ScoreMap.of(LAWS["atom"], least=1e-9)
    assert abs(maps.score(np.array([-0.5]))[0]) < 20  # the law is half a unit wide


def test_rows_are_scored_by_their_own_law() -> None:
    maps = ScoreMap.of(Normal([0.0, 10.0, 20.0], [1.0, 2.0, 4.0]), 1e-9)
    np.testing.assert_allclose(maps.at(np.array([2, 0])).score(np.array([24.0, 2.0])), [1.0, 2.0], atol=1e-6)
    assert len(maps.at(slice(1, 3))) == 2


@given(st.floats(1e-100, 1e100), st.floats(-1, 1))
def test_the_least_slope_follows_the_unit_of_y(unit: float, x: float) -> None:
    y = np.array([-1.0, 1.0, x])
    assert least_slope(unit * y) == pytest.approx(unit * least_slope(y))


@pytest.mark.parametrize("y", [np.zeros(3), np.full(3, 1e12), np.array([1e12, 1e12 + 1e-3])])
def test_the_least_slope_tells_neighbouring_knots_apart(y: np.ndarray) -> None:
    assert (np.diff(y[0] + least_slope(y) * NORMAL_SCORES) > 0).all()


def test_a_law_without_finite_quantiles_is_refused() -> None:
    class Broken(Normal):
        def _ppf(self, U):
            return np.full((1, U.shape[1]), np.nan)

    with pytest.raises(InvalidInput, match="the model's quantiles must be finite"):
        ScoreMap.of(Broken([0.0], 1.0), 1e-6)
