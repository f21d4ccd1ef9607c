"""QuantileForest reads from its own arrays what its engine would answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes import InvalidInput, load
from genbayes.baselines import QuantileForest
from genbayes.baselines.forest import _distinct_shares, weighted_quantiles
from genbayes.errors import UnreadableFile
from genbayes.persistence import State, read_state, write_state

SETTINGS = {"n_trees": 60, "n_leaf_rows": 5, "max_features": 1.0, "random_state": 0}


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] > 0, 3.0, 0.0) + np.abs(X[:, 1]) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def grown():
    """A fitted model and the engine's forest that it was read from."""
    kept = {}

    class Watched(QuantileForest):
        def _grow(self, *arguments):
            kept["forest"] = super()._grow(*arguments)
            return kept["forest"]

    model = Watched(**SETTINGS).fit(*draw(400, seed=0))
    return model, kept["forest"]


def test_quantiles_are_those_of_the_engine(grown) -> None:
    model, forest = grown
    X, _ = draw(100, seed=1)
    tau = [0.1, 0.3, 0.5, 0.7, 0.9]
    q = forest.predict(model._scaled(X), quantiles=tau, weighted_quantile=True, aggregate_leaves_first=True)
    theirs = model.response_scaler_.inverse(q)
    ours = model.predict_quantiles(X, tau)
    # the two interpolate differently between neighbouring runs, of which an x has about a hundred
    assert np.abs(ours - theirs).mean() < 0.02 * np.abs(theirs).mean()
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.9995


def test_each_tree_gives_its_leaf_a_mass_of_one_in_all(grown) -> None:
    model, _ = grown
    leaf = model.trees_.apply(model._scaled(draw(20, seed=2)[0]).astype(np.float32))
    mass = model._shares.sum(axis=1)[leaf]
    np.testing.assert_allclose(mass, 1 / len(model.trees_))


def test_two_groups_of_runs_apart_keep_their_own_laws() -> None:
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.append(np.arange(20.0), 100 + np.arange(20.0))
    model = QuantileForest(n_trees=200, n_leaf_rows=5, max_features=1.0, random_state=0).fit(X, y)
    low, high = model.predict_quantiles(np.array([[0.0], [1.0]]), 0.5)
    assert abs(low - 9.5) < 1.5
    assert abs(high - 109.5) < 1.5
    assert (model.predict_quantiles(np.array([[0.0]]), [0.02, 0.98])[0] < 25).all()


def test_the_spread_follows_the_noise(grown) -> None:
    quiet, loud = grown[0].predict_distribution(np.array([[0.5, 0.0], [0.5, 0.9]])).std()
    assert loud > 2 * quiet


def test_pure_noise_asks_for_larger_leaves_than_a_clear_signal() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(100, 2))
    noise, signal = (
        QuantileForest(n_trees=5, max_features=1.0, random_state=0).fit(X, y).n_leaf_rows_
        for y in (rng.standard_normal(100), np.sin(9 * X[:, 0]) + X[:, 1])
    )
    assert noise == 10
    assert signal == 2


def test_few_useful_inputs_among_many_ask_for_all_to_be_tried() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(150, 8))
    model = QuantileForest(n_trees=5, n_leaf_rows=5, random_state=0).fit(X, 5 * X[:, 0])
    assert model.max_features_ == 1.0


def test_shares_that_mean_the_same_number_of_inputs_are_tried_once() -> None:
    assert _distinct_shares(1) == [1.0]
    assert _distinct_shares(2) == [2 / 3, 1.0]
    assert _distinct_shares(9) == [1 / 3, 2 / 3, 1.0]


def test_there_are_fewer_trees_where_rows_abound() -> None:
    seen = []

    class Counted(QuantileForest):
        def _grow(self, runs, n_trees, *rest):
            seen.append(n_trees)
            return super()._grow(runs, 2, *rest)

    for n in (50, 40_000):
        Counted(n_leaf_rows=1000, max_features=1.0, random_state=0).fit(*draw(n, seed=0))
    assert seen == [500, 250]


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(1, 5), min_size=8, max_size=8),
    st.integers(0, 10**6),
)
def test_weighted_quantiles_stay_among_the_points_and_never_fall(points, counts, scale) -> None:
    y, weight = np.sort(points), np.array(counts[: len(points)], dtype=float)
    tau = np.linspace(0.01, 0.99, 25)
    q = weighted_quantiles(y, weight, tau)
    assert (np.diff(q) >= 0).all()
    assert y[0] <= q[0] <= q[-1] <= y[-1]
    np.testing.assert_allclose(weighted_quantiles(y, weight * (1 + scale), tau), q, atol=1e-6)


def test_weighted_quantiles_of_equal_weights_are_hazen_s() -> None:
    y = np.random.default_rng(5).standard_normal(9)
    tau = np.array([0.1, 0.25, 0.5, 0.8])
    np.testing.assert_allclose(weighted_quantiles(np.sort(y), np.ones(9), tau), np.quantile(y, tau, method="hazen"))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_trees": 0}, "n_trees must be a whole number of at least 1, got 0"),
        ({"n_leaf_rows": 0.5}, "n_leaf_rows must be a whole number of at least 1, got 0.5"),
        ({"max_features": 3}, "max_features must be a share of the inputs, at most 1, got 3"),
        ({"max_features": 0.0}, "max_features must be positive and finite, got 0.0"),
    ],
)
def test_settings_are_checked(settings, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        QuantileForest(**{**SETTINGS, **settings}).fit(*draw(30, seed=0))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("leaf", 10**6, "must lie in leaves of its trees"),
        ("leaf", -1, "must lie in leaves of its trees"),
        ("drawn", -1, "must lie in leaves of its trees"),
        ("weight", 0.0, "must lie in leaves of its trees"),
        ("drawn", 0, "every leaf in the model file must hold training runs"),
    ],
)
def test_a_file_whose_runs_are_in_no_leaf_is_refused(tmp_path, name: str, value: float, sentence: str) -> None:
    state = read_state(QuantileForest(**SETTINGS).fit(*draw(60, seed=0)).save(tmp_path / "model.gb"))
    part = np.full_like(state.arrays[f"learnt.{name}"], value)
    write_state(tmp_path / "bad.gb", State(state.kind, state.values, {**state.arrays, f"learnt.{name}": part}))
    with pytest.raises(UnreadableFile, match=sentence):
        load(tmp_path / "bad.gb")
