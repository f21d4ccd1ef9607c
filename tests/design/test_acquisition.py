from typing import Any

import numpy as np
import pytest

from genbayes import QuantileSurrogate
from genbayes.arrays import FloatArray
from genbayes.design import DesignGP
from genbayes.design.acquisition import (
    AvoidFailures,
    BoundarySeeking,
    IntervalWidth,
    VarianceReduction,
    disagreement,
    interval_width,
    predictive_variance,
)
from genbayes.distribution import Normal
from genbayes.models import BoostedQuantiles, DeepGP, StationaryGP

RNG = np.random.default_rng(0)
X = np.vstack([RNG.uniform(size=(30, 2)) * [0.5, 1.0]])  # the right half is empty
Y = np.sin(5 * X[:, 0]) + X[:, 1]
LEFT, RIGHT = np.array([[0.25, 0.5]]), np.array([[0.9, 0.5]])


class Members:
    """Two members: one says 0, the other twice the first input."""

    def predict_members(self, X: Any) -> FloatArray:
        return np.stack([np.zeros(len(X)), 2 * np.asarray(X)[:, 0]])

    def predict_distribution(self, X: Any, of: str = "run") -> Normal:
        return Normal(np.asarray(X)[:, 0], 1.0)


@pytest.fixture(scope="module")
def gp() -> DesignGP:
    return DesignGP().fit(X, Y, np.random.default_rng(0))


def test_disagreement_is_the_standard_deviation_of_the_members_medians() -> None:
    assert np.allclose(disagreement(Members(), np.array([[0.0], [3.0]])), [0.0, 3 * np.sqrt(2)])


def test_disagreement_of_a_gp_is_its_uncertainty_of_the_mean(gp: DesignGP) -> None:
    assert np.allclose(disagreement(gp, X), gp.predict_distribution(X, of="mean").std())


@pytest.mark.parametrize("acquisition", [disagreement, predictive_variance, interval_width, IntervalWidth(0.5)])
def test_where_there_are_no_runs_there_is_more_to_learn(acquisition: Any, gp: DesignGP) -> None:
    left, right = acquisition(gp, np.vstack([LEFT, RIGHT]))
    assert right > left


def test_the_width_is_that_of_the_interval() -> None:
    assert IntervalWidth(0.9)(Members(), np.zeros((1, 1)))[0] == pytest.approx(2 * 1.6448536)


def test_variance_reduction_asks_a_model_that_knows_its_covariance(gp: DesignGP) -> None:
    reference = RNG.uniform(size=(20, 2))
    assert np.allclose(VarianceReduction(reference)(gp, X), gp.variance_reduction(X, reference))


def test_variance_reduction_prefers_the_inside_to_the_corner(gp: DesignGP) -> None:
    reference = np.random.default_rng(0).uniform(size=(300, 2))
    inside, corner = VarianceReduction(reference)(gp, np.array([[0.8, 0.5], [1.0, 1.0]]))
    assert inside > corner


def test_variance_reduction_of_a_deep_gp_is_its_own() -> None:
    model = DeepGP(n_samples=5, n_burn_in=10, thinning=1, random_state=0).fit(X, Y)
    assert np.allclose(VarianceReduction(X[:10])(model, X), model.variance_reduction(X, X[:10]))


@pytest.mark.parametrize("make", [StationaryGP, BoostedQuantiles])
def test_any_model_tells_its_predictive_variance(make: Any) -> None:
    model = make(random_state=0).fit(X, Y)
    assert predictive_variance(model, X).shape == (30,)


def test_a_surrogate_with_members_serves_every_acquisition() -> None:
    model = QuantileSurrogate(n_members=2, n_hidden=8, n_layers=1, n_epochs=20, random_state=0).fit(X, Y)
    for acquisition in (disagreement, predictive_variance, interval_width, VarianceReduction(X), BoundarySeeking(0.5)):
        scores = acquisition(model, X[:7])  # type: ignore[operator]
        assert scores.shape == (7,)
        assert (scores >= 0).all()


def test_boundary_seeking_is_nought_where_the_side_is_certain_and_peaks_on_the_threshold() -> None:
    scores = BoundarySeeking(2.0)(Members(), np.array([[-50.0], [1.5], [2.0], [60.0]]))
    assert scores[0] == pytest.approx(0.0, abs=1e-12)
    assert scores[3] == pytest.approx(0.0, abs=1e-12)
    assert scores.argmax() == 2


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="threshold must be a finite number, got nan"):
        BoundarySeeking(float("nan"))(Members(), np.zeros((1, 1)))


class Failing(Members):
    def predict_failure_probability(self, X: Any) -> FloatArray:
        return np.array([0.0, 0.5, 0.95])


def test_scores_shrink_with_the_probability_of_failure_and_hopeless_inputs_are_ruled_out() -> None:
    scores = AvoidFailures(lambda model, X: np.array([1.0, 1.0, 1.0]))(Failing(), np.zeros((3, 1)))
    assert scores.tolist() == [1.0, 0.5, -np.inf]


def test_scores_below_nought_are_not_raised_by_failures() -> None:
    scores = AvoidFailures(lambda model, X: np.array([-1.0, -1.0, -1.0]))(Failing(), np.zeros((3, 1)))
    assert scores.tolist() == [-1.0, -1.0, -np.inf]


def test_a_surrogate_that_learnt_failures_serves_the_wrapper() -> None:
    y = np.where(X[:, 1] > 0.6, np.nan, Y)
    model = QuantileSurrogate(missing="regime", n_hidden=8, n_layers=1, n_epochs=5, random_state=0).fit(X, y)
    safe, unsafe = AvoidFailures(predictive_variance)(model, np.array([[0.3, 0.1], [0.3, 0.95]]))
    plain_safe, plain_unsafe = predictive_variance(model, np.array([[0.3, 0.1], [0.3, 0.95]]))
    assert safe / plain_safe > unsafe / plain_unsafe


def test_a_model_that_knows_no_failures_is_refused_with_a_way_out() -> None:
    with pytest.raises(ValueError, match="model must predict where runs fail.*missing='regime'"):
        AvoidFailures(disagreement)(Members(), np.zeros((1, 1)))


def test_a_model_that_knows_nothing_of_the_mean_is_refused_with_a_way_out() -> None:
    class Plain:
        def predict_distribution(self, X: Any) -> Normal:
            return Normal(np.zeros(len(X)), 1.0)

    with pytest.raises(ValueError, match="model must have members or know .* use predictive_variance"):
        disagreement(Plain(), np.zeros((1, 1)))
