"""Acquisition functions: laws that each obeys, closed forms, and what a model lacks said in one sentence."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from genbayes import QuantileSurrogate
from genbayes.arrays import FloatArray
from genbayes.design import DesignGP, RandomizedPriors
from genbayes.design.acquisition import (
    AvoidFailures,
    BoundarySeeking,
    IntervalWidth,
    VarianceReduction,
    covariance_of_members,
    disagreement,
    interval_width,
    member_medians,
    predictive_variance,
    taper,
)
from genbayes.design.optimum import ExpectedImprovement, ThompsonSampling, UpperConfidenceBound
from genbayes.distribution import Empirical, Normal
from genbayes.distribution.quantile_function import GRID
from genbayes.models import BoostedQuantiles, DeepGP, StationaryGP
from genbayes.models.network.ensemble import member_quantiles

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2)) * [0.5, 1.0]  # the right half is empty
Y = np.sin(5 * X[:, 0]) + X[:, 1]
REFERENCE = RNG.uniform(size=(60, 2))
POINTS = np.array([[-1.0], [0.0], [2.0]])
NETWORK = {"n_hidden": 8, "n_layers": 1, "random_state": 0}


class Known:
    """A model whose distribution at x is N(x, scale^2), or draws from it; it does not tell noise from ignorance."""

    def __init__(self, draws: bool = False, scale: float = 1.0, **further: Any) -> None:
        self.draws, self.scale = draws, scale
        vars(self).update(further)

    def predict_distribution(self, X: Any) -> Any:
        mean = np.asarray(X)[:, 0]
        if self.draws:
            return Empirical(mean[:, None] + Normal([0.0], [1.0]).ppf((np.arange(2000) + 0.5) / 2000))
        return Normal(mean, self.scale)


def two_members(X: Any) -> FloatArray:
    """One says 0, the other twice the first input."""
    return np.stack([np.zeros(len(X)), 2 * np.asarray(X)[:, 0]])


MEMBERS = Known(predict_members=two_members)
FAILING = Known(predict_members=two_members, predict_failure_probability=lambda X: np.array([0.0, 0.5, 0.95]))


@pytest.fixture(scope="module")
def gp() -> DesignGP:
    return DesignGP().fit(X, Y, np.random.default_rng(0))


@pytest.fixture(scope="module")
def surrogate() -> QuantileSurrogate:
    return QuantileSurrogate(n_members=3, prior_scale=0.5, n_epochs=20, **NETWORK).fit(X, Y)


@pytest.fixture(scope="module")
def ensemble() -> RandomizedPriors:
    return RandomizedPriors(n_steps=50).fit(X, Y, np.random.default_rng(0))


# Whatever an acquisition is for, it gives each row a score that does not depend on the others, and changes nothing.
LEARNING = [
    disagreement, predictive_variance, interval_width, IntervalWidth(0.5), VarianceReduction(REFERENCE),
    BoundarySeeking(0.5), AvoidFailures(disagreement, probability=lambda X: X[:, 0]),
]  # fmt: skip
SEEKING = [ExpectedImprovement(0.5), ExpectedImprovement(0.5, maximise=True), UpperConfidenceBound()]


@pytest.mark.parametrize("which", ["gp", "ensemble", "surrogate"])
@pytest.mark.parametrize(
    "acquisition", [*LEARNING, *SEEKING], ids=lambda each: getattr(each, "__name__", repr(each)[:30])
)
def test_every_acquisition_scores_rows_one_by_one(acquisition: Any, which: str, request) -> None:
    model = request.getfixturevalue(which)
    scores = acquisition(model, REFERENCE[:7])
    assert scores.shape == (7,)
    np.testing.assert_allclose(acquisition(model, REFERENCE[3:7]), scores[3:], rtol=1e-4, atol=1e-6)
    assert np.array_equal(acquisition(model, REFERENCE[:7]), scores)
    if acquisition in LEARNING:
        assert ((scores >= 0) | (scores == -np.inf)).all()


@pytest.mark.parametrize("acquisition", [disagreement, predictive_variance, interval_width, IntervalWidth(0.5)])
def test_where_there_are_no_runs_there_is_more_to_learn(acquisition: Any, gp: DesignGP) -> None:
    left, right = acquisition(gp, np.array([[0.25, 0.5], [0.9, 0.5]]))
    assert right > left


def test_disagreement_is_the_standard_deviation_of_the_members_medians_or_of_a_gps_mean(gp: DesignGP) -> None:
    assert np.allclose(disagreement(MEMBERS, np.array([[0.0], [3.0]])), [0.0, 3 * np.sqrt(2)])
    assert np.allclose(disagreement(gp, X), gp.predict_distribution(X, of="mean").std())


def test_the_width_is_that_of_the_interval() -> None:
    assert IntervalWidth(0.9)(MEMBERS, np.zeros((1, 1)))[0] == pytest.approx(2 * 1.6448536)


def test_variance_reduction_is_the_models_own_where_it_has_one_and_prefers_the_inside_to_the_corner(gp) -> None:
    deep = DeepGP(n_samples=5, n_burn_in=10, thinning=1, random_state=0).fit(X, Y)
    for model in (gp, deep):
        assert np.allclose(VarianceReduction(REFERENCE)(model, X), model.variance_reduction(X, REFERENCE))
    reference = np.random.default_rng(0).uniform(size=(300, 2))
    noisy = DesignGP().fit(X, Y + 0.1 * np.random.default_rng(1).standard_normal(40), np.random.default_rng(0))
    inside, corner = VarianceReduction(reference)(noisy, np.array([[0.8, 0.5], [1.0, 1.0]]))
    assert inside > corner


@pytest.mark.parametrize("make", [StationaryGP, BoostedQuantiles])
def test_any_model_has_a_predictive_variance(make: Any) -> None:
    assert predictive_variance(make(random_state=0).fit(X, Y), X).shape == (40,)


def test_boundary_seeking_is_zero_where_the_side_is_certain_and_peaks_on_the_threshold() -> None:
    scores = BoundarySeeking(2.0)(MEMBERS, np.array([[-50.0], [1.5], [2.0], [60.0]]))
    assert scores[[0, 3]] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert scores.argmax() == 2


@pytest.mark.parametrize(("score", "expected"), [(1.0, [1.0, 0.5, -np.inf]), (-1.0, [-1.0, -1.0, -np.inf])])
def test_likely_failures_lower_positive_scores_and_hopeless_inputs_are_ruled_out(score: float, expected: Any) -> None:
    assert AvoidFailures(lambda model, X: np.full(3, score))(FAILING, np.zeros((3, 1))).tolist() == expected


def test_a_surrogate_that_learnt_failures_serves_the_wrapper() -> None:
    y = np.where(X[:, 1] > 0.6, np.nan, Y)
    model = QuantileSurrogate(missing="regime", n_epochs=5, **NETWORK).fit(X, y)
    points = np.array([[0.3, 0.1], [0.3, 0.95]])
    safe, unsafe = AvoidFailures(predictive_variance)(model, points) / predictive_variance(model, points)
    assert safe > unsafe


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: disagreement(Known(), POINTS), "model must have members or answer .* use predictive_variance"),
        (lambda: VarianceReduction(POINTS)(Known(), POINTS), "model must have two or more members .* predictive_vari"),
        (lambda: AvoidFailures(disagreement)(MEMBERS, POINTS), "model must predict where runs fail.*missing='regime'"),
        (lambda: BoundarySeeking(float("nan"))(MEMBERS, POINTS), "threshold must be a finite number, got nan"),
        (lambda: UpperConfidenceBound(kappa=-1.0)(Known(), POINTS), "kappa must be zero or positive"),
        (lambda: IntervalWidth(1.0)(MEMBERS, POINTS), "level must lie strictly between 0 and 1, got 1.0"),
    ],
)
def test_what_a_model_or_an_argument_lacks_is_said_in_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def test_an_error_of_a_model_is_not_taken_for_an_answer() -> None:
    def broken(X: Any, of: str = "run") -> None:
        raise TypeError("a slip in the model")

    model = SimpleNamespace(knows_mean=True, predict_distribution=broken)
    for acquisition in (disagreement, ExpectedImprovement(0.0)):
        with pytest.raises(TypeError, match="a slip in the model"):
            acquisition(model, POINTS)


def test_medians_of_a_surrogate_are_those_of_its_networks_one_by_one(surrogate: QuantileSurrogate) -> None:
    medians = member_medians(surrogate, X)
    assert medians is not None
    assert medians.std(axis=0).min() > 0
    q = member_quantiles(surrogate.network_, surrogate.input_scaler_.transform(X), surrogate.spread_).numpy()
    middle = surrogate.response_scaler_.inverse(q[..., np.searchsorted(GRID, 0.5)])
    assert np.allclose(medians, middle, atol=1e-6)
    single = QuantileSurrogate(n_members=1, n_epochs=2, **NETWORK).fit(X, Y)
    assert (single.predict_members(X).shape, member_medians(single, X)) == ((1, 40), None)


def test_undamped_covariance_is_that_of_numpy_and_damping_fades_with_distance() -> None:
    F = RNG.normal(size=(5, 3))
    assert np.allclose(covariance_of_members(F, F, np.ones((3, 3))), np.cov(F.T))
    damping = taper(X, X, 0.3)
    assert np.allclose(np.diag(damping), 1)
    assert damping[np.triu_indices(40, 1)].max() < 1


def test_reduction_by_members_is_largest_where_members_disagree_most(surrogate: QuantileSurrogate) -> None:
    reduction, spread = VarianceReduction(REFERENCE)(surrogate, REFERENCE), disagreement(surrogate, REFERENCE)
    assert reduction[np.argsort(spread)[-12:]].mean() > reduction[np.argsort(spread)[:12]].mean() > 0


def test_expected_improvement_is_that_of_simulation() -> None:
    y = POINTS[:, 0] + np.random.default_rng(0).standard_normal((400_000, 3))
    simulated = np.maximum(0.5 - y, 0.0)
    error = simulated.std(axis=0) / np.sqrt(len(y))
    assert (np.abs(ExpectedImprovement(0.5)(Known(), POINTS) - simulated.mean(axis=0)) < 4 * error).all()


def test_expected_improvement_of_draws_of_maximising_and_of_what_is_certain() -> None:
    exact, drawn, certain = (
        ExpectedImprovement(0.5)(m, POINTS) for m in (Known(), Known(draws=True), Known(scale=0.0))
    )
    assert np.allclose(exact, drawn, rtol=0.02, atol=1e-3)
    assert np.allclose(certain, [1.5, 0.5, 0.0])  # the gap, or nothing at all
    up, down = ExpectedImprovement(0.5, maximise=True)(Known(), POINTS), ExpectedImprovement(-0.5)(Known(), -POINTS)
    assert np.allclose(up, down)


def test_an_optimum_reads_what_is_known_of_the_mean_where_the_model_tells() -> None:
    class TellsMean(Known):
        knows_mean = True

        def predict_distribution(self, X: Any, of: str = "run") -> Normal:
            return Normal(np.asarray(X)[:, 0], 0.5 if of == "mean" else 1.0)

    assert np.allclose(UpperConfidenceBound(2.0, maximise=True)(TellsMean(), POINTS), POINTS[:, 0] + 1)
    assert np.allclose(UpperConfidenceBound(2.0, maximise=True)(Known(), POINTS), POINTS[:, 0] + 2)
    assert np.allclose(UpperConfidenceBound(2.0)(Known(), POINTS), -POINTS[:, 0] + 2)


def test_thompson_sampling_keeps_to_one_function(gp: DesignGP) -> None:
    one, other = ThompsonSampling(0), ThompsonSampling(1)
    assert np.array_equal(one(gp, REFERENCE), one(gp, REFERENCE))
    assert not np.array_equal(one(gp, REFERENCE), other(gp, REFERENCE))
    found = {float(ThompsonSampling(seed)(MEMBERS, POINTS)[0]) for seed in range(20)}
    assert found == {0.0, 2.0}  # of members, one of them; its sign is turned to be maximised
    draws = [ThompsonSampling(seed, maximise=True)(Known(), POINTS)[2] for seed in range(200)]
    assert abs(np.mean(draws) - 2) < 4 / np.sqrt(200)  # of others, a draw a row


def test_an_optimum_is_found_by_a_few_improvements() -> None:
    grid, rng = np.linspace(0, 1, 200)[:, None], np.random.default_rng(0)

    def f(X: FloatArray) -> FloatArray:
        return np.sin(9 * X[:, 0]) + 2 * X[:, 0]

    X = np.array([[0.0], [0.3], [0.6], [1.0]])
    for _ in range(8):
        model = DesignGP().fit(X, f(X), rng)
        X = np.vstack([X, grid[[ExpectedImprovement(f(X).min())(model, grid).argmax()]]])
    assert f(X).min() - f(grid).min() < 0.01
