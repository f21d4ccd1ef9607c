import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from genbayes.diagnostics import assess, expected_coverage
from genbayes.diagnostics.assessment import _crps_without_inputs
from genbayes.errors import InvalidInput
from genbayes.metrics import crps_normal, share_band

Maker = Callable[..., Any]


@pytest.fixture
def line(make_model: Maker) -> Any:
    return make_model(lambda X: X[:, 0])


def sample(n: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    return X, X[:, 0] + scale * rng.normal(size=n)


def test_scores_are_those_of_the_closed_form_and_the_parts_add_up_to_them(line: Any) -> None:
    X, y = sample(300)
    result = assess(line, X, y)
    score = crps_normal(X[:, 0], 1.0, y)
    assert result.crps == pytest.approx(score.mean())
    assert result.crps_se == pytest.approx(score.std(ddof=1) / np.sqrt(300))
    assert result.rmse == pytest.approx(np.sqrt(np.mean((y - X[:, 0]) ** 2)))
    assert result.width_90 == pytest.approx(2 * 1.6448536)
    parts = result.diagnostics.decomposition
    assert parts.crps == pytest.approx(result.crps)
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(result.crps)
    assert parts.uncertainty == pytest.approx(result.crps_reference * 299 / 300)  # here each y is among its own law


def test_a_true_law_stays_within_the_calibration_band(line: Any) -> None:
    X, y = sample(2_000)
    result = assess(line, X, y)
    lower, upper = share_band(result.nominal, result.n)
    assert ((lower <= result.observed) & (result.observed <= upper)).all()


def test_coverage_counts_observations_between_the_ends_and_agrees_with_the_curve(make_model: Maker) -> None:
    X, y = sample(200)
    result = assess(make_model(lambda X: X[:, 0], scale=0.6), X, y)
    curve = dict(zip(result.nominal.tolist(), result.observed.tolist(), strict=True))
    assert (result.coverage_50, result.coverage_90) == (curve[0.5], curve[0.9])
    assert result.coverage_90 == ((result.lower <= y) & (y <= result.upper)).mean()


def test_a_forecast_that_ignores_the_inputs_has_no_skill(make_model: Maker) -> None:
    X, y = sample(2_000, scale=50.0)  # the input hardly matters, so the true law ignores it too
    result = assess(make_model(lambda X: np.zeros(len(X)), scale=50.0), X, y)
    assert result.skill == pytest.approx(0.0, abs=0.02)


def test_the_reference_is_half_the_mean_difference_of_pairs() -> None:
    y = np.array([1.0, 4.0, 4.0, 10.0])
    pairs = [abs(a - b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j]
    assert _crps_without_inputs(y) == pytest.approx(np.mean(pairs) / 2)


@pytest.mark.parametrize(("y", "has_skill"), [(np.ones(5), False), (np.arange(5.0), True)])
def test_the_dictionary_is_plain_json_and_constant_responses_have_no_reference_to_beat(line, y, has_skill) -> None:
    found = assess(line, np.zeros((5, 1)), y)
    assert (found.skill is not None) == has_skill
    result = found.to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert sum(result["pit_counts"]) == 5


def test_the_dictionary_holds_the_verdict(make_model: Maker) -> None:
    X, y = sample(300)
    found = assess(make_model(lambda X: X[:, 0], scale=0.4), X, y).to_dict()["diagnostics"]
    assert found["findings"] == ["narrow"]
    assert found["sentence"].startswith("The intervals are too narrow: ")


@pytest.mark.parametrize(("n", "level"), [(10, 0.9), (133, 0.9), (20_000, 0.5)])
def test_expected_coverage_holds_a_calibrated_count_with_95_percent(n: int, level: float) -> None:
    low, high = expected_coverage(n, level)
    law = binom(n, level)
    assert law.cdf(round(high * n)) - law.cdf(round(low * n) - 1) >= 0.95


@pytest.mark.parametrize(
    ("n", "y", "message"),
    [
        (1, [1.0], "y must hold at least 2 rows to give a standard error, got 1"),
        (2, [1.0, np.nan], "y must be finite, got NaN or infinity in 1 of 2 rows"),
        (3, [1.0, 2.0], r"y must have shape \(3,\)"),
    ],
)
def test_responses_that_cannot_be_scored_are_refused(line: Any, n: int, y: list[float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        assess(line, np.zeros((n, 1)), y)
