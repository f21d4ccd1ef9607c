"""Boundary features: x and the probability of its regime, honest at training rows, nothing where nothing jumps."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from genbayes import BoundaryFeatures, ConformalSurrogate, InvalidInput, QuantileSurrogate, load
from genbayes.data.dataset import Dataset
from genbayes.errors import UnreadableFile
from genbayes.models.regimes import OneRegimeWarning
from genbayes.persistence import State


def draw(n: int = 200, seed: int = 0, levels: int = 2) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    regime = np.minimum(((X[:, 0] + 1) / 2 * levels).astype(int), levels - 1)
    return Dataset.merged(X, 10.0 * regime + rng.standard_normal(n))


def fitted(data: Dataset, **settings: int) -> tuple[BoundaryFeatures, np.ndarray]:
    boundary = BoundaryFeatures(**settings)
    return boundary, boundary.fit_transform(data, np.random.default_rng(0))


@pytest.fixture(scope="module")
def two() -> tuple[BoundaryFeatures, np.ndarray]:
    return fitted(draw())


def test_two_regimes_add_one_probability_that_tells_them_apart(two) -> None:
    boundary, Z = two
    data = draw()
    assert boundary.n_regimes_ == 2
    assert Z.shape == (200, 3)
    np.testing.assert_array_equal(Z[:, :2], data.X)
    assert ((Z[:, 2] >= 0) & (Z[:, 2] <= 1)).all()
    assert boundary.accuracy_ == pytest.approx(((Z[:, 2] > 0.5) == (data.y > 5)).mean())
    X = draw(500, seed=1).X
    assert ((boundary.transform(X)[:, 2] > 0.5) == (X[:, 0] > 0)).mean() > 0.97


def test_three_regimes_add_three_probabilities_and_are_three_alternatives() -> None:
    boundary, Z = fitted(draw(240, levels=3))
    assert boundary.n_regimes_ == 3
    np.testing.assert_allclose(Z[:, 2:].sum(axis=1), 1)
    probability, parts = boundary.alternatives(Z)
    np.testing.assert_array_equal(probability, Z[:, 2:])
    np.testing.assert_array_equal([part[0, 2:] for part in parts], np.eye(3))


def test_training_rows_are_as_unsure_as_new_ones() -> None:
    # labels that inputs do not tell: in-sample probabilities would name them, honest ones cannot
    rng = np.random.default_rng(2)
    data = Dataset.merged(rng.uniform(size=(200, 2)), 10.0 * rng.integers(0, 2, 200) + rng.standard_normal(200))
    boundary, Z = fitted(data)
    # honest accuracy of a coin: standard error 0.035; four of them
    assert ((Z[:, 2] > 0.5) == (data.y > 5)).mean() < 0.5 + 4 * 0.035
    assert boundary.accuracy_ < 0.5 + 4 * 0.035


def test_one_regime_adds_nothing_and_says_so() -> None:
    rng = np.random.default_rng(3)
    data = Dataset.merged(rng.uniform(size=(100, 2)), rng.standard_normal(100))
    boundary = BoundaryFeatures()
    with pytest.warns(OneRegimeWarning, match="the response has one regime, so BoundaryFeatures adds nothing"):
        Z = boundary.fit_transform(data, rng)
    np.testing.assert_array_equal(Z, data.X)
    assert boundary.n_regimes_ == 1
    again = BoundaryFeatures.from_state(boundary.to_state())
    np.testing.assert_array_equal(again.transform(data.X), data.X)


def test_two_regimes_may_be_insisted_on() -> None:
    rng = np.random.default_rng(4)
    data = Dataset.merged(rng.uniform(size=(100, 1)), rng.standard_normal(100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        boundary, Z = fitted(data, n_regimes=2)
    assert (boundary.n_regimes_, Z.shape) == (2, (100, 2))


@pytest.mark.parametrize(("wanted", "message"), [(1, "n_regimes must be .*at least 2"), (9, "must be at most 5")])
def test_a_senseless_number_of_regimes_is_refused(wanted: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        fitted(draw(), n_regimes=wanted)


def test_an_unfitted_map_says_so() -> None:
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        BoundaryFeatures().transform(np.zeros((1, 2)))


def test_units_do_not_matter(two) -> None:
    data = draw()
    scaled, Z = fitted(Dataset(1e6 * data.X, 1e-6 * data.y, data.weight))
    assert scaled.n_regimes_ == 2
    np.testing.assert_allclose(Z[:, 2], two[1][:, 2], atol=1e-3)


@pytest.mark.parametrize("arrays", [{}, {"mixture": np.ones((2, 2))}, {"mixture": np.ones((3, 0))}])
def test_a_damaged_state_is_refused(two, arrays) -> None:
    state = two[0].to_state()
    with pytest.raises(UnreadableFile, match="the model file"):
        BoundaryFeatures.from_state(State(state.kind, state.values, arrays))


@pytest.mark.parametrize("n", [1, 3])
def test_too_few_distinct_inputs_are_refused(n: int) -> None:
    y = np.r_[np.zeros(20), np.full(20, 9.0)] + 0.1 * np.sin(np.arange(40.0))
    with pytest.raises(InvalidInput, match=f"X must have at least 4 distinct rows for BoundaryFeatures .* got {n};"):
        fitted(Dataset.merged(np.arange(40.0)[:, None] % n, y))


def test_ten_runs_are_enough_where_two_regimes_are_insisted_on() -> None:
    data = Dataset.merged(np.arange(10.0)[:, None], np.r_[0.0, 0.1, 0.2, 0.1, 0.0, 9.0, 9.1, 9.2, 9.1, 9.0])
    boundary, Z = fitted(data, n_regimes=2)
    assert Z.shape == (10, 2)
    assert boundary.transform(np.array([[0.0], [9.0]]))[:, 1].round().tolist() == [0.0, 1.0]


SMALL = {"n_epochs": 20, "n_hidden": 8, "n_members": 1, "n_layers": 1, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def augmented() -> QuantileSurrogate:
    return QuantileSurrogate(features=BoundaryFeatures(), **SMALL).fit(draw().X, draw().y)


def test_a_surrogate_with_boundary_features_survives_its_file_alone_and_calibrated(augmented, tmp_path) -> None:
    again = load(augmented.save(tmp_path / "model.gb"))
    data = draw(100, seed=6)
    np.testing.assert_array_equal(again.predict(data.X), augmented.predict(data.X))
    np.testing.assert_array_equal(again.features_[0].transform(data.X), augmented.features_[0].transform(data.X))
    assert again.features_[0].accuracy_ == augmented.features_[0].accuracy_
    anew = clone(again)
    assert not hasattr(anew.features[0], "mixture_")
    np.testing.assert_array_equal(anew.fit(draw().X, draw().y).predict(draw().X), augmented.predict(draw().X))
    model = ConformalSurrogate(augmented, method="prefit").fit(data.X, data.y)
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict_interval(data.X), model.predict_interval(data.X))


def test_a_row_of_weight_two_is_the_row_given_twice() -> None:
    data = draw()
    weight = np.r_[2.0, np.ones(len(data) - 1)]
    one = BoundaryFeatures().fit_transform(Dataset.merged(data.X, data.y, weight), np.random.default_rng(0))
    X, y = np.vstack([data.X, data.X[:1]]), np.r_[data.y, data.y[:1]]
    two = BoundaryFeatures().fit_transform(Dataset.merged(X, y), np.random.default_rng(0))
    np.testing.assert_array_equal(one, two)


def test_a_model_learns_from_the_regimes_themselves_and_mixes_them_by_their_probabilities(two) -> None:
    boundary, Z = two
    learnt = boundary.conditioned(Z)
    np.testing.assert_array_equal(learnt[:, 2], draw().y > 5)
    probability, parts = boundary.alternatives(Z)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(probability[:, 1], Z[:, 2])
    assert [np.unique(part[:, 2]).tolist() for part in parts] == [[0.0], [1.0]]


def test_without_mixing_the_probabilities_are_what_a_model_sees() -> None:
    boundary, Z = fitted(draw(), mix=False)
    assert ((Z[:, 2] > 0) & (Z[:, 2] < 1)).all()
    assert len(boundary.levels()[0]) == 1  # nothing is split


def test_beside_the_boundary_the_distribution_has_two_peaks() -> None:
    data = draw(300)
    model = QuantileSurrogate(features=BoundaryFeatures(), n_members=2, n_epochs=60, random_state=0)
    predicted = model.fit(data.X, data.y).predict_distribution([[0.0, 0.0], [-0.9, 0.0]])
    between = predicted.cdf(np.array([[3.0, 7.0]]))  # levels at 0 and 10
    assert between[0, 1] - between[0, 0] < 0.1  # nothing between the peaks
    assert 0.02 < between[0, 0] < 0.98
    assert between[1, 0] > 0.98  # far from the boundary there is one


@pytest.mark.parametrize("mix", [True, False])
def test_mixing_survives_the_file(tmp_path, mix: bool) -> None:
    data = draw(100)
    model = QuantileSurrogate(features=BoundaryFeatures(mix=mix), n_members=2, n_epochs=20, random_state=0)
    again = load(model.fit(data.X, data.y).save(tmp_path / "model.gb"))
    assert again.features_[0].mix is mix
    np.testing.assert_array_equal(again.predict_quantiles(data.X, 0.3), model.predict_quantiles(data.X, 0.3))
    ours, theirs = (each.predict_distribution(data.X, of="mean").mean() for each in (again, model))
    np.testing.assert_array_equal(ours, theirs)


def test_responses_are_standardised_within_their_regimes(two) -> None:
    boundary, _ = two
    data = draw()
    y = boundary.standardised(data.y)
    location, scale = boundary.levels()
    upper = data.y > 5
    for k, rows in enumerate([~upper, upper]):
        assert location[k] == pytest.approx(data.y[rows].mean())
        np.testing.assert_allclose(location[k] + scale[k] * y[rows], data.y[rows])
        assert y[rows].std() == pytest.approx(1)


def test_bounds_of_the_response_hold_beside_a_jump() -> None:
    data = draw(200)
    model = QuantileSurrogate(features=BoundaryFeatures(), y_bounds=(-5, 15), n_members=2, n_epochs=20, random_state=0)
    predicted = model.fit(data.X, np.clip(data.y, -4, 14)).predict_distribution(data.X)
    assert predicted.ppf(1e-6).min() >= -5
    assert predicted.ppf(1 - 1e-6).max() <= 15


def test_a_second_map_that_splits_regimes_is_refused_and_one_that_only_adds_columns_is_not() -> None:
    data = draw(60)
    settings = {"n_members": 1, "n_epochs": 2, "n_hidden": 8, "random_state": 0}
    with pytest.raises(InvalidInput, match="at most one map that splits the runs into regimes, got BoundaryFeatures"):
        QuantileSurrogate(features=[BoundaryFeatures(), BoundaryFeatures()], **settings).fit(data.X, data.y)
    both = QuantileSurrogate(features=[BoundaryFeatures(), BoundaryFeatures(mix=False)], **settings)
    assert both.fit(data.X, data.y).input_scaler_.n_outputs == 4
