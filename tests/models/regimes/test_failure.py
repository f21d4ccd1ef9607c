"""Failed runs: a regime of their own where the user says so, an error where not."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from genbayes import BoundaryFeatures, InvalidInput, QuantileSurrogate, load

SMALL = {"n_epochs": 20, "n_hidden": 8, "n_members": 1, "n_layers": 1, "random_state": 0, "device": "cpu"}


def draw(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Runs fail beyond x1 = 0.5."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, np.where(X[:, 0] > 0.5, np.nan, y)


def make(**settings: Any) -> QuantileSurrogate:
    return QuantileSurrogate(**{**SMALL, "missing": "regime", **settings})


@pytest.fixture(scope="module")
def fitted() -> QuantileSurrogate:
    return make().fit(*draw())


def test_the_probability_of_failure_tells_where_runs_fail_and_survives_the_file(fitted, tmp_path) -> None:
    X = np.random.default_rng(1).uniform(-1, 1, (400, 2))
    probability = fitted.predict_failure_probability(X)
    assert probability.shape == (400,)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert ((probability > 0.5) == (X[:, 0] > 0.5)).mean() > 0.95
    again = load(fitted.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict_failure_probability(X), probability)
    assert again.summary()["failed runs"] == str(int(np.isnan(draw()[1]).sum()))


def test_the_distribution_is_that_of_the_runs_with_a_response_and_where_none_failed_none_will(fitted) -> None:
    X, y = draw()
    done = ~np.isnan(y)
    plain = make().fit(X[done], y[done])
    for model in (QuantileSurrogate(**SMALL).fit(X[done], y[done]), fitted):
        np.testing.assert_array_equal(model.predict_distribution(X).mean(), plain.predict_distribution(X).mean())
    assert not plain.predict_failure_probability(X).any()


@pytest.mark.parametrize(
    ("y", "settings", "sentence"),
    [
        (draw()[1], {"missing": "error"}, "Input y contains NaN"),
        (np.full(120, np.nan), {}, "y must have responses to learn from, got NaN in all 120 rows; every run has fail"),
        (np.where(np.arange(120) < 6, draw(seed=3)[0][:, 0], np.nan), {}, "At least 10 runs are needed"),
        (np.where(np.arange(120) == 3, np.inf, draw()[1]), {}, "Input y contains"),  # infinity is not a failure
        (["failed"] * 120, {}, "y must be numbers, NaN for a failed run, got list"),
        (np.arange(50.0), {}, "inconsistent numbers of samples"),
    ],
)
def test_responses_that_cannot_be_learnt_from_are_refused(y, settings: dict, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make(**settings).fit(draw()[0], y)


def test_a_weight_equals_repeating_the_row_and_frames_and_missing_objects_are_taken() -> None:
    X, y = draw(60)
    weight = np.tile([1, 2, 0], 20)
    weighted = make().fit(X, y, sample_weight=weight)
    repeated = make().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict_failure_probability(X), repeated.predict_failure_probability(X))
    frame, objects = pd.DataFrame(X, columns=["a", "b"]), pd.Series(y, dtype=object).where(~np.isnan(y), None)
    named = make().fit(frame, objects, sample_weight=weight)
    np.testing.assert_array_equal(named.predict_failure_probability(frame), weighted.predict_failure_probability(X))


def test_failures_and_boundary_features_go_together() -> None:
    X, y = draw(200)
    model = make(features=BoundaryFeatures()).fit(X, y + 10.0 * (X[:, 1] > 0))
    assert model.features_[0].n_regimes_ == 2
    assert model.predict_failure_probability([[0.9, 0.0]])[0] > 0.5
