"""Bad input gets one clear sentence; odd input that is good gets an answer."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from genbayes import InvalidInput
from genbayes.errors import GenBayesError, TrainingDiverged
from genbayes.models.regimes import Identity

GAS = np.where(np.arange(60) % 2, "He", "O2")


class Broken(Identity):
    """A map that forgets to return x."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X[:, :1]

    def fit_transform(self, data, rng: np.random.Generator) -> np.ndarray:
        return self.transform(data.X)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"recipe": "fsat"}, "recipe must be one of 'fast', 'paper', got 'fsat'; did you mean 'fast'?"),
        ({"missing": "drop"}, "missing must be one of 'error', 'regime', got 'drop'"),
        ({"weights": "pinball"}, "weights must be one of 'default', 'quantile-dominant', 'auto', got 'pinball'"),
        ({"weights": (0.5, 0.5)}, r"weights must be three numbers .*, got \(0.5, 0.5\)"),
        ({"weights": (0.3, "a", 1)}, "weights must be three numbers of at least 0"),
        ({"weights": (1, 1, 0)}, "weights must be three numbers of at least 0, the last positive"),
        ({"n_members": 0}, "n_members must be a whole number of at least 1, got 0"),
        ({"n_epochs": 2.5}, "n_epochs must be a whole number of at least 1, got 2.5"),
        ({"n_cosines": 0}, "n_cosines must be a whole number of at least 1, got 0"),
        ({"n_fourier": -1}, "n_fourier must be a whole number of at least 0, got -1"),
        ({"learning_rate": 0}, "learning_rate must be positive and finite, got 0"),
        ({"weight_decay": -1}, "weight_decay must be zero or positive and finite, got -1"),
        ({"prior_scale": -1}, "prior_scale must be zero or positive and finite, got -1"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
        ({"device": "gpu"}, "device must be one of 'auto', 'cpu', 'cuda', got 'gpu'"),
        ({"y_bounds": (1, 0)}, r"y_bounds must be finite or None with lower < upper, got \(1, 0\)"),
        ({"y_bounds": 3}, r"y_bounds must be \(lower, upper\), got 3"),
        ({"y_bounds": (0.0, None)}, r"y must lie within y_bounds=\(0.0, None\), got values outside in \d+ of 60 rows"),
        ({"features": "boundary"}, "features must be None, a feature map or a list of them, got 'boundary'"),
        ({"features": Broken()}, r"must return x followed by new columns, got shape \(60, 1\) from Broken"),
        ({"random_state": -1}, "random_state must be None, a whole number of at least 0 or a NumPy generator, got -1"),
        ({"recipe": "paper", "batch_size": 8}, "batch_size must be None with recipe='paper', got 8"),
        ({"categorical": "gas"}, r"categorical must be a list of columns, got 'gas'; pass \['gas'\]"),
        ({"categorical": ["gass"]}, "categorical must name columns of X, got 'gass'; did you mean 'gas'?"),
        ({"categorical": [1.5]}, "categorical must hold column numbers below 3, got 1.5"),
        ({"categorical": [7]}, "categorical must hold column numbers below 3, got 7"),
        ({"categorical": None}, "must be numeric outside `categorical`, got text in 'gas'; name them in"),
    ],
)
def test_a_bad_setting_is_refused(make, runs, settings: dict, sentence: str) -> None:
    X = runs[0]
    if "categorical" in settings:
        X = pd.DataFrame({"mach": X[:, 0], "alpha": X[:, 1], "gas": GAS})
    with pytest.raises(InvalidInput, match=sentence):
        make(**settings).fit(X, runs[1])


def spoil(array: np.ndarray, at, value: float) -> np.ndarray:
    copy = array.copy()
    copy[at] = value
    return copy


def with_gas(X: np.ndarray, gas) -> pd.DataFrame:
    return pd.DataFrame({"mach": X[:, 0], "gas": gas})


FIT: list[tuple[Callable, str]] = [
    *[
        (
            lambda X, y, bad=bad: (pd.DataFrame(spoil(X, ([3, 9], 1), bad), columns=["mach", "alpha"]), y),
            r"Input X contains \w+ in 2 of 60 rows \(rows 3, 9\) of 'alpha'; drop or",
        )
        for bad in (np.nan, np.inf, -np.inf)
    ],
    *[
        (
            lambda X, y, bad=bad: (X, spoil(y, 4, bad)),
            r"Input y contains .* It is in 1 of 60 rows \(row 4\); drop or repair",
        )
        for bad in (np.nan, np.inf)
    ],
    (lambda X, y: (X, np.full(60, 2.5)), "y must vary, got the constant .*2.5.* in all 60 rows"),
    (lambda X, y: (X, y, 10 * np.eye(60)[0]), "y must vary, got the constant"),
    (lambda X, y: (X, y, np.eye(60)[0]), "At least 10 runs are needed; the table has 1 of positive weight"),
    (lambda X, y: (X[:9], y[:9]), "At least 10 runs are needed; the table has 9"),
    (lambda X, y: (np.empty((60, 0)), y), r"0 feature\(s\)"),
    (lambda X, y: (X, np.column_stack([y, y])), r"y should be a 1d array, got an array of shape \(60, 2\)"),
    (lambda X, y: (X, GAS.astype(object)), "y must be numbers, got .O2.; repair or drop such rows"),
    (lambda X, y: (X, y, -np.ones(60)), "Negative values in data passed to `sample_weight`"),
    (lambda X, y: (X, y, np.zeros(60)), "Sample weights must contain at least one non-zero number"),
    (
        lambda X, y: (with_gas(X, pd.date_range("2026-01-01", periods=60)), y),
        "X must be numeric, got dates or durations in 'gas'; turn them into numbers",
    ),
]


@pytest.mark.parametrize(("spoilt", "sentence"), FIT)
def test_runs_that_cannot_be_learnt_from_are_refused(make, runs, spoilt: Callable, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make().fit(*spoilt(*runs))


def test_responses_out_of_bounds_are_named_by_the_rows_given(make, runs) -> None:
    with pytest.raises(InvalidInput, match=r"got values outside in 1 of 60 rows \(row 57\)"):
        make(y_bounds=(0.0, None)).fit(runs[0], spoil(np.abs(runs[1]), 57, -1.0))


def test_a_missing_or_unknown_category_is_named(make, runs) -> None:
    model = make(categorical=["gas"], n_epochs=1)
    with pytest.raises(InvalidInput, match=r"X\['gas'\] must not have missing categories, got 1 of 60 rows \(row 3\)"):
        model.fit(with_gas(runs[0], [*GAS[:3], None, *GAS[4:]]), runs[1])
    model.fit(with_gas(runs[0], GAS), runs[1])
    with pytest.raises(InvalidInput, match=r"X\['gas'\] must hold categories seen in fit \('He', 'O2'\), got 'Xe'"):
        model.predict(pd.DataFrame({"mach": [0.1], "gas": ["Xe"]}))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m, X: m.predict(spoil(X, (0, 0), np.nan)), r"Input X contains NaN in 1 of 60 rows \(row 0\)"),
        (lambda m, X: m.predict(np.zeros((2, 3))), "X has 3 features, but QuantileSurrogate is expecting 2 features"),
        *[
            (
                lambda m, X, tau=tau: m.predict_quantiles(X, [0.5, tau]),
                "tau must lie strictly between 0 and 1, got .*; pass 0.05 for the 5%",
            )
            for tau in (0.0, 1.0, -0.1, 1.5, np.nan)
        ],
        (
            lambda m, X: m.predict_interval(X, level=90),
            "level must lie strictly between 0 and 1, got 90; pass 0.9 for 90%",
        ),
        (
            lambda m, X: m.predict_failure_probability(X),
            "missing must be 'regime' for predict_failure_probability, got 'error'",
        ),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(fitted, runs, call: Callable, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call(fitted, runs[0])


def test_a_loss_that_explodes_is_reported_and_no_model_is_left(make, runs) -> None:
    model = make(learning_rate=1e30)
    with pytest.raises(TrainingDiverged, match="the training loss must stay finite, got .*; try a smaller learning"):
        model.fit(*runs)
    assert not hasattr(model, "network_")


def test_every_error_is_ours_and_the_builtin_one(make, runs) -> None:
    for kind in (GenBayesError, ValueError):
        with pytest.raises(kind, match="n_members"):
            make(n_members=0).fit(*runs)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.arange(120).reshape(40, 3) % 2 == 1, np.arange(40) % 5),
        *[((np.arange(120).reshape(40, 3) % 7).astype(kind), np.arange(40) % 5) for kind in ("i8", "i1", "f4")],
        (np.logspace(-12, 12, 60)[:, None], np.linspace(-12, 12, 60)),  # a column that spans 24 decades
        (np.repeat([[0.0], [1.0]], 10, axis=0), np.repeat([0.0, 1.0], 10)),
        (np.repeat([[0.0], [1.0], [2.0]], 5, axis=0), np.repeat([0.0, 1.0, 4.0], 5)),
    ],
)
def test_odd_but_good_runs_are_learnt(make, X: np.ndarray, y: np.ndarray) -> None:
    assert np.isfinite(make(n_epochs=5).fit(X, y).predict(X)).all()
    only_some = np.where(np.arange(len(y)) < 12, 1.0, 0.0)
    assert np.isfinite(make(n_epochs=5).fit(X, y, sample_weight=only_some).predict_distribution(X).mean()).all()


def test_columns_on_scales_from_1e_minus_12_to_1e12(make, runs) -> None:
    X, y = runs
    unit = np.array([1e-12, 1e12])
    q = make().fit(X * unit, 1e9 * y).predict_quantiles(X * unit, [0.1, 0.9])
    np.testing.assert_allclose(q, 1e9 * make().fit(X, y).predict_quantiles(X, [0.1, 0.9]), rtol=1e-3, atol=1e5)


def test_dropout_on_a_large_full_batch(make) -> None:
    X = np.random.default_rng(0).uniform(size=(5_000, 1))
    model = make(recipe="paper", dropout=0.1, n_hidden=256, n_epochs=1, n_members=1).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X[:3])).all()
