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


def sample(n: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    return X, X[:, 0] + scale * rng.normal(size=n)


def test_scores_are_those_of_the_closed_form(make_model: Maker) -> None:
    X, y = sample(300)
    result = assess(make_model(lambda X: X[:, 0]), X, y)
    score = crps_normal(X[:, 0], 1.0, y)
    assert result.crps == pytest.approx(score.mean())
    assert result.crps_se == pytest.approx(score.std(ddof=1) / np.sqrt(300))
    assert result.rmse == pytest.approx(np.sqrt(np.mean((y - X[:, 0]) ** 2)))
    assert result.width_90 == pytest.approx(2 * 1.6448536)


def test_a_true_law_stays_within_the_calibration_band(make_model: Maker) -> None:
    X, y = sample(2_000)
    result = assess(make_model(lambda X: X[:, 0]), X, y)
    lower, upper = share_band(result.nominal, result.n)
    assert (result.observed >= lower).all()
    assert (result.observed <= upper).all()


def test_coverage_agrees_with_the_calibration_curve(make_model: Maker) -> None:
    X, y = sample(200)
    result = assess(make_model(lambda X: X[:, 0], scale=0.6), X, y)
    curve = dict(zip(result.nominal.tolist(), result.observed.tolist(), strict=True))
    assert (result.coverage_50, result.coverage_90) == (curve[0.5], curve[0.9])


def test_coverage_counts_observations_between_the_ends(make_model: Maker) -> None:
    X, y = sample(200)
    result = assess(make_model(lambda X: X[:, 0]), X, y)
    assert result.coverage_90 == ((result.lower <= y) & (y <= result.upper)).mean()


def test_a_forecast_that_ignores_the_inputs_has_no_skill(make_model: Maker) -> None:
    X, y = sample(2_000, scale=50.0)  # the input hardly matters, so the true law ignores it too
    result = assess(make_model(lambda X: np.zeros(len(X)), scale=50.0), X, y)
    assert result.skill == pytest.approx(0.0, abs=0.02)


def test_the_reference_is_half_the_mean_difference_of_pairs() -> None:
    y = np.array([1.0, 4.0, 4.0, 10.0])
    pairs = [abs(a - b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j]
    assert _crps_without_inputs(y) == pytest.approx(np.mean(pairs) / 2)


def test_constant_responses_have_no_reference_to_beat(make_model: Maker) -> None:
    assert assess(make_model(lambda X: X[:, 0]), np.zeros((5, 1)), np.ones(5)).skill is None


@pytest.mark.parametrize("y", [np.ones(5), np.arange(5.0)])
def test_the_dictionary_is_plain_json(make_model: Maker, y: np.ndarray) -> None:
    result = assess(make_model(lambda X: X[:, 0]), np.zeros((5, 1)), y).to_dict()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert sum(result["pit_counts"]) == 5


def test_the_parts_add_up_to_the_score(make_model: Maker) -> None:
    X, y = sample(100)
    result = assess(make_model(lambda X: X[:, 0]), X, y)
    parts = result.diagnostics.decomposition
    assert parts.crps == pytest.approx(result.crps)
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(result.crps)
    assert parts.uncertainty == pytest.approx(result.crps_reference * 99 / 100)  # here each y is among its own law


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
    ("y", "message"),
    [
        ([1.0], "y must hold at least 2 rows to give a standard error, got 1"),
        ([1.0, np.nan], "y must be finite, got NaN or infinity in 1 of 2 rows"),
    ],
)
def test_responses_that_cannot_be_scored_are_refused(make_model: Maker, y: list, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        assess(make_model(lambda X: X[:, 0]), np.zeros((len(y), 1)), y)


def test_as_many_responses_as_rows_are_asked_for(make_model: Maker) -> None:
    with pytest.raises(InvalidInput, match=r"y must have shape \(3,\)"):
        assess(make_model(lambda X: X[:, 0]), np.zeros((3, 1)), [1.0, 2.0])
