"""Calibration checks, conformal regions and the outside warning, on closed-form posteriors and on a fitted one."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.exceptions import NotFittedError

from genbayes import Box, InvalidInput, PosteriorEstimator, load
from genbayes.errors import NotFromPrior, OutsideSimulations
from genbayes.inference import as_prior
from genbayes.inference.calibration import DENSITY, DISTANCE, CalibrationReport, check_calibration
from genbayes.inference.novelty import Novelty
from genbayes.inference.prior_check import warn_unless_from_prior


def pairs(n: int, k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    theta = rng.standard_normal((n, k))
    return theta, theta + rng.standard_normal((n, k))


def test_an_exact_posterior_passes_every_check(gaussian: Any) -> None:
    report = gaussian().report_
    assert report.calibrated
    assert list(report.p_values) == ["theta1", "theta2", DENSITY, DISTANCE]
    assert report.sentences == ["No sign of miscalibration in 1,000 held-out pairs (4 checks)."]


@pytest.mark.parametrize(("narrow", "word", "size"), [(1.5, "too narrow", "too small"), (0.6, "too wide", "too large")])
def test_a_posterior_of_the_wrong_width_fails_every_check_and_is_told_how(
    gaussian: Any, narrow: float, word: str, size: str
) -> None:
    report = gaussian(narrow=narrow).report_
    assert max(report.p_values.values()) < 0.05
    assert all(word in sentence for sentence in report.sentences[:2])
    assert size in report.sentences[2]


def test_a_posterior_that_ignores_y_is_seen_by_the_distance_to_a_reference() -> None:
    rng = np.random.default_rng(0)
    theta, _ = pairs(1000, 2, rng)
    prior_draws = rng.standard_normal((1000, 200, 2))
    near = theta + 0.5 * rng.standard_normal(theta.shape)  # as the theta of a similar y would be
    report = check_calibration(theta, prior_draws, near, rng)
    assert min(report.p_values["theta1"], report.p_values["theta2"]) > 0.05
    assert report.p_values[DISTANCE] < 1e-6


def test_wrong_dependence_is_seen_jointly_though_margins_are_right() -> None:
    rng = np.random.default_rng(1)
    theta = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=1000)
    draws = rng.standard_normal((1000, 200, 2))
    density = (-0.5 * (theta**2).sum(axis=1), -0.5 * (draws**2).sum(axis=2))
    report = check_calibration(theta, draws, rng.standard_normal((1000, 2)), rng, log_prob=density)
    assert min(report.p_values["theta1"], report.p_values["theta2"]) > 0.05
    assert report.p_values[DENSITY] < 1e-3


def test_a_report_survives_a_file_and_speaks_json(gaussian: Any) -> None:
    report = gaussian(n=200).report_
    assert CalibrationReport.from_state(report.to_state()).to_dict() == report.to_dict()
    assert report.to_dict()["checks"][0]["coverage"].keys() == {"0.5", "0.9", "0.95"}
    assert len(report.plot().axes) == 4


def test_few_pairs_are_admitted_to(gaussian: Any) -> None:
    assert "With only 100 held-out pairs" in str(gaussian(n=100).report_)


@pytest.mark.parametrize("narrow", [1.0, 1.8, 0.5])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_conformal_regions_hold_theta_as_often_as_they_say_though_the_posterior_is_wrong(
    gaussian: Any, narrow: float, level: float
) -> None:
    estimator = gaussian(n=2000, narrow=narrow)
    theta, y = pairs(2000, 2, np.random.default_rng(5))
    posterior = estimator.condition_on_summaries(y)
    joint = posterior.region(level).contains(theta[:, None])[:, 0]
    margin = posterior.region(level, margin="theta2").contains(theta[:, 1:])[:, 0]
    # held-out and fresh pairs are both 2,000: standard error sqrt(2 level (1 - level) / 2000); 4 fail once in 16,000
    error = np.sqrt(2 * level * (1 - level) / 2000)
    assert abs(joint.mean() - level) < 4 * error
    assert abs(margin.mean() - level) < 4 * error


def test_regions_of_an_exact_posterior_are_nearly_its_own(gaussian: Any) -> None:
    posterior = gaussian(n=5000).condition_on_summaries(np.zeros((1, 2)), is_single=True)
    region = posterior.region(0.9, margin=0)
    assert float(region.upper) == pytest.approx(1.645 * np.sqrt(0.5), abs=0.06)
    assert posterior.region(0.9).contains([0.0, 0.0])
    assert not posterior.region(0.9).contains([[3.0, 0.0]])[0]
    inside = posterior.region(0.9).contains(posterior.sample(4000, random_state=3))
    assert inside.mean() == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda p: p.region(1.2), "strictly between 0 and 1"),
        (lambda p: p.region(0.999), "at most 0.9900 with 100 held-out pairs|at most 0.9900|at most 0.99 with 100"),
        (lambda p: p.region(0.99, margin=0), "calibration rows held out"),
        (lambda p: p.region(0.9, margin="theta9"), "did you mean"),
        (lambda p: p.region(0.9, margin=2), "its number from 0, got 2"),
        (lambda p: p.plot(), "one observation, got several"),
        (lambda p: p.region(0.9, margin=0).contains("x"), "theta must be numbers"),
    ],
)
def test_questions_that_have_no_answer_are_refused(gaussian: Any, call: object, sentence: str) -> None:
    posterior = gaussian(n=100).condition_on_summaries(np.zeros((2, 2)))
    with pytest.raises(InvalidInput, match=sentence):
        call(posterior)  # type: ignore[operator]


def test_the_warning_names_the_values_that_were_never_simulated() -> None:
    novelty = Novelty.fit(np.random.default_rng(0).normal(size=(1000, 3)), np.random.default_rng(1))
    with pytest.warns(OutsideSimulations, match=r"s3 = 9, simulated from -\d.* to \d"):
        assert novelty.warn(np.array([[0.0, 1.0, 9.0]]), ["s1", "s2", "s3"]).all()
    with pytest.raises(InvalidInput, match=r"got 1 of 2 rows \(row 1\), in row 1 y2 = -8"):
        novelty.warn(np.array([[0.0, 1.0, 0.0], [0.0, -8.0, 0.0]]), strict=True)
    assert not novelty.warn(np.array([[0.5, 1.0, -1.0]])).any()


def test_an_unusual_combination_of_usual_values_is_outside() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2000, 1))
    novelty = Novelty.fit(np.hstack([a, a + 0.05 * rng.normal(size=(2000, 1))]), rng)
    with pytest.warns(OutsideSimulations, match="unusual combination"):
        novelty.warn(np.array([[1.0, -1.0]]))


def test_a_gap_between_simulations_is_outside() -> None:
    rng = np.random.default_rng(0)
    ring = rng.normal(size=(4000, 2))
    ring /= np.linalg.norm(ring, axis=1, keepdims=True)
    assert Novelty.fit(ring, rng).outside(np.array([[0.0, 0.0], ring[0]])).tolist() == [True, False]


@pytest.mark.parametrize("column", [np.zeros, np.ones])
def test_a_summary_that_hardly_varies_does_not_stop_it(column: object) -> None:
    rng = np.random.default_rng(0)
    summaries = np.column_stack([rng.normal(size=500), column(500)])  # type: ignore[operator]
    novelty = Novelty.fit(summaries, rng)
    assert novelty.outside(summaries).mean() < 0.02
    assert novelty.outside(np.array([[0.0, 7.0]]))[0]


BOX = as_prior(Box.unit(2))


@pytest.mark.parametrize("design", ["uniform", "latin_hypercube", "sobol"])
def test_draws_from_the_prior_and_even_designs_pass(design: str) -> None:
    rng = np.random.default_rng(0)
    warn_unless_from_prior(getattr(Box.unit(2), design)(512, random_state=0), BOX, rng)


@pytest.mark.parametrize(
    ("theta", "sentence"),
    [
        (lambda u: np.column_stack([u[:, 0] ** 2, u[:, 1]]), r"the distribution of x1 \(p = "),
        (lambda u: np.column_stack([u[:, 0], (u[:, 0] + 0.2 * u[:, 1]) % 1]), "depend on each other"),
    ],
)
def test_other_designs_are_warned_of(theta: object, sentence: str) -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(NotFromPrior, match=sentence):
        warn_unless_from_prior(theta(rng.uniform(size=(600, 2))), BOX, rng)  # type: ignore[operator]


@pytest.fixture(scope="module")
def fitted() -> PosteriorEstimator:
    rng = np.random.default_rng(0)
    theta = rng.uniform(-1, 1, size=(400, 2))
    estimator = PosteriorEstimator(Box({"a": (-1, 1), "b": (-1, 1)}), n_members=1, random_state=0)
    return estimator.fit(theta, theta + 0.3 * rng.normal(size=theta.shape))


def test_a_fitted_estimator_has_a_report_and_regions_that_a_file_keeps(
    fitted: PosteriorEstimator, tmp_path: Path
) -> None:
    again = load(fitted.save(tmp_path / "posterior.gb"))
    assert again.report_.to_dict() == fitted.report_.to_dict()
    assert again.report_.n_pairs == 40
    ends = [estimator.condition([0.3, 0.0]).region(0.8, "a") for estimator in (fitted, again)]
    assert (ends[0].lower, ends[0].upper) == (ends[1].lower, ends[1].upper)
    assert ends[0].contains([0.3, 0.95]).tolist() == [True, False]


def test_an_observation_outside_is_answered_with_a_warning_or_refused(fitted: PosteriorEstimator) -> None:
    with pytest.warns(OutsideSimulations, match="y1 = 5"):
        assert fitted.condition([5.0, 0.0]).sample(10, random_state=0).max() <= 1
    with pytest.raises(InvalidInput, match="y must lie within what was simulated, got y1 = 5"):
        fitted.condition([5.0, 0.0], strict=True)


def test_a_second_fit_forgets_the_checks_of_the_first_and_warns_of_theta_that_is_not_from_the_prior() -> None:
    rng = np.random.default_rng(0)
    theta, noise = rng.uniform(size=(60, 2)), rng.normal(size=(60, 2))
    estimator = PosteriorEstimator(Box({"a": (0, 1), "b": (0, 1)}), n_members=1, random_state=0).fit(
        theta, theta + noise
    )
    first = estimator.report_
    with pytest.warns(NotFromPrior, match="the distribution of a "):
        estimator.fit(theta ** [3, 1], theta + noise)
    assert estimator.report_ is not first


def test_values_of_an_observation_are_found_by_name() -> None:
    rng = np.random.default_rng(0)
    theta = rng.uniform(size=(60, 2))
    y = pd.DataFrame(theta + rng.normal(size=(60, 2)), columns=["s1", "s2"])
    estimator = PosteriorEstimator(Box.unit(2), n_members=1, random_state=0).fit(theta, y)
    expected = estimator.condition([0.9, 0.1]).mean()
    for named in ({"s2": 0.1, "s1": 0.9}, pd.Series({"s2": 0.1, "s1": 0.9})):
        np.testing.assert_array_equal(estimator.condition(named).mean(), expected)
    frame = pd.DataFrame({"s2": [0.1], "s1": [0.9]})
    np.testing.assert_array_equal(estimator.condition(frame).mean(), expected[None])
    with pytest.raises(InvalidInput, match="y must have the keys s1, s2, got s1"):
        estimator.condition({"s1": 0.9})


def shifted(y: Any) -> Any:
    return y[:, :2] + 0.1 * y[:, 2:]


@pytest.mark.parametrize("summary", [shifted, "network"], ids=["function", "network"])
def test_an_observation_that_is_summarised_is_read_by_its_own_names_not_by_those_of_its_summaries(
    summary: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    theta = rng.uniform(size=(80, 2))
    y = np.hstack([theta + rng.normal(size=(80, 2)), rng.normal(size=(80, 1))])
    row, columns = np.array([[0.9, 0.1, 0.2]]), ["y2", "y1", "s"]
    estimator = PosteriorEstimator(Box.unit(2), summary=summary, n_members=1, random_state=0).fit(theta, y)
    for names in (columns, ["y1", "y2", "y3"]):  # names of summaries, in another order or of another number
        found = estimator.condition(pd.DataFrame(row, columns=names))
        np.testing.assert_array_equal(found.mean(), estimator.condition(row).mean())
    estimator.fit(theta, pd.DataFrame(y, columns=columns))
    if summary == "network":
        estimator = load(estimator.save(tmp_path / "posterior.gb"))
    assert estimator.observation_names_ == ("y2", "y1", "s")
    named = estimator.condition({"s": 0.2, "y1": 0.1, "y2": 0.9})
    np.testing.assert_array_equal(named.mean(), estimator.condition(row[0]).mean())
    with pytest.raises(InvalidInput, match="y must have the columns y2, y1, s, got a, b, c"):
        estimator.condition(pd.DataFrame(row, columns=["a", "b", "c"]))


def test_columns_that_are_only_numbered_name_nothing() -> None:
    rng = np.random.default_rng(0)
    theta = pd.DataFrame(rng.uniform(size=(60, 1)))
    estimator = PosteriorEstimator([stats.uniform(0, 1)], n_members=1, random_state=0)
    estimator.fit(theta, pd.DataFrame(theta.to_numpy() + rng.normal(size=(60, 1))))
    assert (estimator.prior_.names, estimator.response_names_) == (("theta1",), ("y1",))
    assert estimator.condition(pd.Series([0.1, 0.2, 0.3])).mean().shape == (3, 1)


def test_an_estimator_that_is_not_fitted_has_no_report() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        PosteriorEstimator(Box.unit(2)).report_  # noqa: B018
