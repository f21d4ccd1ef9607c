"""Boundary features: x and the probability of its regime, honest at training rows, nothing where nothing jumps."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from genbayes import BoundaryFeatures, ConformalSurrogate, InvalidInput, QuantileSurrogate, load
from genbayes.data.dataset import Dataset
from genbayes.errors import UnreadableFile
from genbayes.models import RegimeGP
from genbayes.models.regimes import OneRegimeWarning
from genbayes.persistence import State


def draw(n: int = 200, seed: int = 0, levels: int = 2) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    regime = np.minimum(((X[:, 0] + 1) / 2 * levels).astype(int), levels - 1)
    return Dataset.merged(X, 10.0 * regime + rng.standard_normal(n))


def fitted(data: Dataset, **settings: Any) -> tuple[BoundaryFeatures, np.ndarray]:
    boundary = BoundaryFeatures(**settings)
    return boundary, boundary.fit_transform(data, np.random.default_rng(0))


@pytest.fixture(scope="module")
def two() -> tuple[BoundaryFeatures, np.ndarray]:
    return fitted(draw())


def test_two_regimes_add_one_probability_that_tells_them_apart_in_any_unit(two) -> None:
    boundary, Z = two
    data = draw()
    assert boundary.n_regimes_ == 2
    assert Z.shape == (200, 3)
    np.testing.assert_array_equal(Z[:, :2], data.X)
    assert ((Z[:, 2] >= 0) & (Z[:, 2] <= 1)).all()
    assert boundary.accuracy_ == pytest.approx(((Z[:, 2] > 0.5) == (data.y > 5)).mean())
    X = draw(500, seed=1).X
    assert ((boundary.transform(X)[:, 2] > 0.5) == (X[:, 0] > 0)).mean() > 0.97
    scaled, Z_scaled = fitted(Dataset(1e6 * data.X, 1e-6 * data.y, data.weight))
    assert scaled.n_regimes_ == 2
    np.testing.assert_allclose(Z_scaled[:, 2], Z[:, 2], atol=1e-3)


def test_three_regimes_add_three_probabilities_and_are_three_alternatives() -> None:
    boundary, Z = fitted(draw(240, levels=3))
    assert boundary.n_regimes_ == 3
    np.testing.assert_allclose(Z[:, 2:].sum(axis=1), 1)
    probability, parts = boundary.alternatives(Z)
    np.testing.assert_array_equal(probability, Z[:, 2:])
    np.testing.assert_array_equal([part[0, 2:] for part in parts], np.eye(3))


def test_regimes_that_y_alone_hides_are_found_unless_only_the_response_is_asked() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (150, 2))
    data = Dataset.merged(X, np.where(X[:, 0] > 0.2, X[:, 1], -X[:, 1]) + 0.05 * rng.standard_normal(150))
    boundary = fitted(data)[0]
    assert boundary.n_regimes_ == 2
    assert boundary.accuracy_ > 0.9
    upper = boundary.transform(X)[:, 2] > 0.5
    assert max(np.mean(upper == (X[:, 0] > 0.2)), np.mean(upper != (X[:, 0] > 0.2))) > 0.95
    again = BoundaryFeatures.from_state(boundary.to_state())
    np.testing.assert_array_equal(again.transform(X), boundary.transform(X))
    assert again.labels == "joint"
    with pytest.warns(OneRegimeWarning, match="adds nothing"):
        assert fitted(data, labels="response")[0].n_regimes_ == 1
    with pytest.raises(InvalidInput, match="labels must be"):
        fitted(data, labels="mine")


def test_regimes_of_a_model_of_the_same_runs_are_taken_over() -> None:
    data = draw()
    base = RegimeGP(random_state=0).fit(data.X, data.y)
    boundary = BoundaryFeatures()
    boundary.stand_on(base)
    Z = boundary.fit_transform(data, np.random.default_rng(0))
    order = np.argsort([data.y[base.regimes_.regime == c].mean() for c in range(2)])
    np.testing.assert_array_equal(Z[:, 2], base.regimes_.unseen[:, order[1]])
    X = draw(20, seed=1).X
    np.testing.assert_allclose(boundary.transform(X)[:, 2], base.gp_.predict(base._scaled(X))[0][:, order[1]])
    other = draw(seed=3)
    boundary.stand_on(base)
    boundary.fit_transform(other, np.random.default_rng(0))  # of other runs it looks for its own
    assert (boundary._regime == (other.y > 5)).mean() > 0.99


def test_training_rows_are_as_unsure_as_new_ones() -> None:
    # labels that inputs do not tell: in-sample probabilities would name them, honest ones cannot
    rng = np.random.default_rng(2)
    data = Dataset.merged(rng.uniform(size=(200, 2)), 10.0 * rng.integers(0, 2, 200) + rng.standard_normal(200))
    boundary, Z = fitted(data)
    accuracy = ((Z[:, 2] > 0.5) == (data.y > 5)).mean()
    assert max(accuracy, boundary.accuracy_) < 0.5 + 4 * 0.035  # of a coin: standard error 0.035; four of them


def test_one_regime_adds_nothing_and_says_so_unless_two_are_insisted_on() -> None:
    rng = np.random.default_rng(3)
    data = Dataset.merged(rng.uniform(size=(100, 2)), rng.standard_normal(100))
    with pytest.warns(OneRegimeWarning, match="the response has one regime, so BoundaryFeatures adds nothing"):
        boundary, Z = fitted(data)
    np.testing.assert_array_equal(Z, data.X)
    assert boundary.n_regimes_ == 1
    np.testing.assert_array_equal(BoundaryFeatures.from_state(boundary.to_state()).transform(data.X), data.X)
    rng = np.random.default_rng(4)
    data = Dataset.merged(rng.uniform(size=(100, 1)), rng.standard_normal(100))
    boundary, Z = fitted(data, n_regimes=2)  # without a warning
    assert (boundary.n_regimes_, Z.shape) == (2, (100, 2))


@pytest.mark.parametrize("arrays", [{}, {"mixture": np.ones((2, 2))}, {"mixture": np.ones((3, 0))}])
def test_a_damaged_state_is_refused(two, arrays) -> None:
    state = two[0].to_state()
    with pytest.raises(UnreadableFile, match="the model file"):
        BoundaryFeatures.from_state(State(state.kind, state.values, arrays))


def few_inputs(n: int) -> Dataset:
    y = np.r_[np.zeros(20), np.full(20, 9.0)] + 0.1 * np.sin(np.arange(40.0))
    return Dataset.merged(np.arange(40.0)[:, None] % n, y)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: fitted(draw(), n_regimes=1), InvalidInput, "n_regimes must be .*at least 2"),
        (lambda: fitted(draw(), n_regimes=9), InvalidInput, "must be at most 5"),
        (lambda: fitted(few_inputs(1)), InvalidInput, "at least 4 distinct rows for BoundaryFeatures .* got 1;"),
        (lambda: fitted(few_inputs(3)), InvalidInput, "X must have at least 4 distinct rows .* got 3;"),
        (lambda: BoundaryFeatures().transform(np.zeros((1, 2))), NotFittedError, "is not fitted yet"),
    ],
    ids=["one regime", "nine regimes", "one input", "three inputs", "unfitted"],
)
def test_what_has_no_boundary_is_refused(call, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_ten_runs_are_enough_where_two_regimes_are_insisted_on() -> None:
    data = Dataset.merged(np.arange(10.0)[:, None], np.r_[0.0, 0.1, 0.2, 0.1, 0.0, 9.0, 9.1, 9.2, 9.1, 9.0])
    boundary, Z = fitted(data, n_regimes=2)
    assert Z.shape == (10, 2)
    assert boundary.transform(np.array([[0.0], [9.0]]))[:, 1].round().tolist() == [0.0, 1.0]


SMALL = {"n_epochs": 20, "n_hidden": 8, "n_members": 1, "n_layers": 1, "random_state": 0, "device": "cpu"}


def surrogate(data: Dataset, *maps: BoundaryFeatures, **settings: Any) -> QuantileSurrogate:
    return QuantileSurrogate(features=[*maps], **SMALL | settings).fit(data.X, data.y)


@pytest.mark.parametrize("mix", [True, False])
def test_a_surrogate_with_boundary_features_survives_its_file_alone_and_calibrated(tmp_path, mix: bool) -> None:
    model, data = surrogate(draw(), BoundaryFeatures(mix=mix), n_members=2), draw(100, seed=6)
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict_quantiles(data.X, 0.3), model.predict_quantiles(data.X, 0.3))
    ours, theirs = (each.predict_distribution(data.X, of="mean").mean() for each in (again, model))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.features_[0].transform(data.X), model.features_[0].transform(data.X))
    assert (again.features_[0].accuracy_, again.features_[0].mix) == (model.features_[0].accuracy_, mix)
    anew = clone(again)
    assert not hasattr(anew.features[0], "mixture_")
    np.testing.assert_array_equal(anew.fit(draw().X, draw().y).predict(data.X), model.predict(data.X))
    calibrated = ConformalSurrogate(model, method="prefit").fit(data.X, data.y)
    again = load(calibrated.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict_interval(data.X), calibrated.predict_interval(data.X))


def test_a_row_of_weight_two_is_the_row_given_twice() -> None:
    data = draw()
    twice = np.r_[0, np.arange(len(data))]
    weighted = Dataset.merged(data.X, data.y, np.r_[2.0, np.ones(len(data) - 1)])
    np.testing.assert_array_equal(fitted(weighted)[1], fitted(Dataset.merged(data.X[twice], data.y[twice]))[1])


def test_a_model_learns_from_the_regimes_themselves_and_mixes_them_by_their_probabilities(two) -> None:
    boundary, Z = two
    y = draw().y
    np.testing.assert_array_equal(boundary.conditioned(Z)[:, 2], y > 5)
    probability, parts = boundary.alternatives(Z)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(probability[:, 1], Z[:, 2])
    assert [np.unique(part[:, 2]).tolist() for part in parts] == [[0.0], [1.0]]
    standardised, (location, scale) = boundary.standardised(y), boundary.levels()  # within each regime
    for k, rows in enumerate([y <= 5, y > 5]):
        assert location[k] == pytest.approx(y[rows].mean())
        np.testing.assert_allclose(location[k] + scale[k] * standardised[rows], y[rows])
        assert standardised[rows].std() == pytest.approx(1)
    unmixed, Z = fitted(draw(), mix=False)  # then the probabilities are what a model sees
    assert ((Z[:, 2] > 0) & (Z[:, 2] < 1)).all()
    assert len(unmixed.levels()[0]) == 1  # nothing is split


def test_beside_the_boundary_the_distribution_has_two_peaks_within_the_bounds_of_the_response() -> None:
    model = QuantileSurrogate(features=BoundaryFeatures(), y_bounds=(-5, 15), n_members=2, n_epochs=60, random_state=0)
    data = draw(300)
    model.fit(data.X, np.clip(data.y, -4, 14))
    between = model.predict_distribution([[0.0, 0.0], [-0.9, 0.0]]).cdf(np.array([[3.0, 7.0]]))  # levels at 0 and 10
    assert between[0, 1] - between[0, 0] < 0.1  # nothing between the peaks
    assert 0.02 < between[0, 0] < 0.98
    assert between[1, 0] > 0.98  # far from the boundary there is one
    lowest, highest = model.predict_quantiles(data.X, [1e-6, 1 - 1e-6]).T
    assert -5 <= lowest.min() <= highest.max() <= 15


def test_a_second_map_that_splits_regimes_is_refused_and_one_that_only_adds_columns_is_not() -> None:
    with pytest.raises(InvalidInput, match="at most one map that splits the runs into regimes, got BoundaryFeatures"):
        surrogate(draw(60), BoundaryFeatures(), BoundaryFeatures())
    assert surrogate(draw(60), BoundaryFeatures(), BoundaryFeatures(mix=False)).input_scaler_.n_outputs == 4
