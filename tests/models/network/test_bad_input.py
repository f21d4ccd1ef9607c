"""Bad input gets one clear sentence, tested by its words."""

import numpy as np
import pandas as pd
import pytest

from genbayes import InvalidInput
from genbayes.errors import GenBayesError, TrainingDiverged
from genbayes.models.regimes import Identity


def spoil(array: np.ndarray, at, value: float) -> np.ndarray:
    copy = array.copy()
    copy[at] = value
    return copy


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_inputs_are_named_by_row_and_column(make, runs, value: float) -> None:
    X = pd.DataFrame(spoil(runs[0], ([3, 9], 1), value), columns=["mach", "alpha"])
    with pytest.raises(InvalidInput, match=r"Input X contains \w+ in 2 of 60 rows \(rows 3, 9\) of 'alpha'; drop or"):
        make().fit(X, runs[1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_responses_are_named_by_row(make, runs, value: float) -> None:
    with pytest.raises(InvalidInput, match=r"Input y contains .* It is in 1 of 60 rows \(row 4\); drop or repair"):
        make().fit(runs[0], spoil(runs[1], 4, value))


def test_missing_inputs_at_prediction_are_refused(fitted, runs) -> None:
    with pytest.raises(InvalidInput, match=r"Input X contains NaN in 1 of 60 rows \(row 0\)"):
        fitted.predict(spoil(runs[0], (0, 0), np.nan))


def test_a_constant_response_is_refused(make, runs) -> None:
    with pytest.raises(InvalidInput, match="y must vary, got the constant .*2.5.* in all 60 rows"):
        make().fit(runs[0], np.full(60, 2.5))


def test_fewer_than_ten_runs_are_refused(make, runs) -> None:
    with pytest.raises(InvalidInput, match="At least 10 runs are needed; the table has 9"):
        make().fit(runs[0][:9], runs[1][:9])


def test_no_inputs_are_refused(make, runs) -> None:
    with pytest.raises(InvalidInput, match=r"0 feature\(s\)"):
        make().fit(np.empty((60, 0)), runs[1])


def test_a_wrong_number_of_columns_is_refused(fitted) -> None:
    with pytest.raises(ValueError, match="X has 3 features, but QuantileSurrogate is expecting 2 features"):
        fitted.predict(np.zeros((2, 3)))


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_a_level_outside_the_unit_interval_is_refused(fitted, runs, tau: float) -> None:
    with pytest.raises(InvalidInput, match="tau must lie strictly between 0 and 1, got .*; pass 0.05 for the 5%"):
        fitted.predict_quantiles(runs[0], [0.5, tau])


def test_a_percentage_as_level_is_refused(fitted, runs) -> None:
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1, got 90; pass 0.9 for 90%"):
        fitted.predict_interval(runs[0], level=90)


def test_two_responses_are_refused(make, runs) -> None:
    with pytest.raises(InvalidInput, match=r"y should be a 1d array, got an array of shape \(60, 2\)"):
        make().fit(runs[0], np.column_stack([runs[1], runs[1]]))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"recipe": "fsat"}, "recipe must be one of 'fast', 'paper', got 'fsat'; did you mean 'fast'?"),
        ({"weights": "pinball"}, "weights must be one of 'default', 'quantile-dominant', 'auto', got 'pinball'"),
        ({"weights": (0.5, 0.5)}, r"weights must be three numbers .*, got \(0.5, 0.5\)"),
        ({"weights": (0.3, "a", 1)}, "weights must be three numbers of at least 0"),
        ({"weights": (1, 1, 0)}, "weights must be three numbers of at least 0, the last positive"),
        ({"n_members": 0}, "n_members must be a whole number of at least 1, got 0"),
        ({"n_epochs": 2.5}, "n_epochs must be a whole number of at least 1, got 2.5"),
        ({"n_fourier": -1}, "n_fourier must be a whole number of at least 0, got -1"),
        ({"learning_rate": 0}, "learning_rate must be positive and finite, got 0"),
        ({"prior_scale": -1}, "prior_scale must be zero or positive and finite, got -1"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
        ({"device": "gpu"}, "device must be one of 'auto', 'cpu', 'cuda', got 'gpu'"),
        ({"y_bounds": (1, 0)}, r"y_bounds must be finite or None with lower < upper, got \(1, 0\)"),
        ({"y_bounds": 3}, r"y_bounds must be \(lower, upper\), got 3"),
        ({"y_bounds": (0.0, None)}, r"y must lie within y_bounds=\(0.0, None\), got values outside in \d+ of 60 rows"),
        ({"features": "boundary"}, "features must be None, a feature map or a list of them, got 'boundary'"),
        ({"random_state": -1}, "random_state must be None, a whole number of at least 0 or a NumPy generator, got -1"),
        ({"recipe": "paper", "batch_size": 8}, "batch_size must be None with recipe='paper', got 8"),
    ],
)
def test_a_bad_setting_is_refused(make, runs, settings: dict, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make(**settings).fit(*runs)


def test_negative_weights_are_refused(make, runs) -> None:
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        make().fit(*runs, sample_weight=-np.ones(60))


def test_weights_that_are_all_zero_are_refused(make, runs) -> None:
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero number"):
        make().fit(*runs, sample_weight=np.zeros(60))


def test_a_loss_that_explodes_is_reported_and_no_model_is_left(make, runs) -> None:
    model = make(learning_rate=1e30)
    with pytest.raises(
        TrainingDiverged, match="the training loss must stay finite, got .*; try a smaller learning_rate"
    ):
        model.fit(*runs)
    assert not hasattr(model, "network_")


def test_every_error_is_ours_and_the_builtin_one(make, runs) -> None:
    with pytest.raises(GenBayesError):
        make(n_members=0).fit(*runs)
    with pytest.raises(ValueError, match="n_members"):
        make(n_members=0).fit(*runs)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float32, bool])
def test_other_number_types_are_accepted(make, dtype) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 3)).astype(dtype)
    y = X[:, 0].astype(int) + rng.integers(0, 3, 40)
    assert np.isfinite(make(n_epochs=2).fit(X, y).predict(X)).all()


def test_columns_on_scales_from_1e_minus_12_to_1e12(make, runs) -> None:
    X, y = runs
    unit = np.array([1e-12, 1e12])
    q = make().fit(X * unit, 1e9 * y).predict_quantiles(X * unit, [0.1, 0.9])
    np.testing.assert_allclose(q, 1e9 * make().fit(X, y).predict_quantiles(X, [0.1, 0.9]), rtol=1e-3, atol=1e5)


def test_a_column_that_spans_24_decades_is_survived(make) -> None:
    x = np.logspace(-12, 12, 60)[:, None]
    assert np.isfinite(make().fit(x, np.log(x[:, 0])).predict(x)).all()


def test_repeated_rows_are_accepted(make) -> None:
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([0.0, 1.0], 10)
    assert np.isfinite(make().fit(X, y).predict([[0.5]])).all()


def test_a_handful_of_distinct_rows_is_enough(make) -> None:
    X, y = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0), np.repeat([0.0, 1.0, 4.0], 5)
    assert np.isfinite(make().fit(X, y).predict([[0.5]])).all()
    only_two = np.r_[np.ones(6), np.zeros(9)]
    assert np.isfinite(make().fit(X, y, sample_weight=only_two).predict([[0.5]])).all()


def test_weights_that_leave_one_response_are_refused(make, runs) -> None:
    with pytest.raises(InvalidInput, match="y must vary, got the constant"):
        make().fit(*runs, sample_weight=np.eye(60)[0])


def test_responses_out_of_bounds_are_named_by_the_rows_given(make, runs) -> None:
    y = spoil(np.abs(runs[1]), 57, -1.0)
    with pytest.raises(InvalidInput, match=r"got values outside in 1 of 60 rows \(row 57\)"):
        make(y_bounds=(0.0, None)).fit(runs[0], y)


def test_dates_are_refused_by_name(make, runs) -> None:
    X = pd.DataFrame({"mach": runs[0][:, 0], "when": pd.date_range("2026-01-01", periods=60)})
    with pytest.raises(
        InvalidInput, match="X must be numeric, got dates or durations in 'when'; turn them into numbers"
    ):
        make().fit(X, runs[1])


def test_text_as_response_is_refused(make, runs) -> None:
    with pytest.raises(InvalidInput, match="y must be numbers, got text: could not convert string to float"):
        make().fit(runs[0], np.array(["high"] * 60, dtype=object))


@pytest.mark.parametrize(
    ("categorical", "sentence"),
    [
        ("gas", r"categorical must be a list of columns, got 'gas'; pass \['gas'\]"),
        ([1.5], "categorical must hold column numbers below 2, got 1.5"),
        ([7], "categorical must hold column numbers below 2, got 7"),
    ],
)
def test_columns_that_cannot_be_meant_are_refused(make, runs, categorical, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make(categorical=categorical).fit(*runs)


class Broken(Identity):
    """A map that forgets to return x."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X[:, :1]

    def fit_transform(self, data, rng: np.random.Generator) -> np.ndarray:
        return self.transform(data.X)


def test_a_feature_map_that_drops_inputs_is_refused(make, runs) -> None:
    with pytest.raises(InvalidInput, match=r"must return x followed by new columns, got shape \(60, 1\) from Broken"):
        make(features=Broken()).fit(*runs)


def test_dropout_on_a_large_full_batch(make) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(5_000, 1))
    model = make(recipe="paper", dropout=0.1, n_hidden=256, n_epochs=1, n_members=1).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X[:3])).all()
