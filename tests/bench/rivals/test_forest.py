"""QuantileForest reads from its own arrays what its engine would answer: the distribution of Meinshausen (2006)."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quantile_forest import RandomForestQuantileRegressor

from genbayes import InvalidInput
from genbayes.errors import UnreadableFile
from genbayes.persistence import State
from genbayes_bench.rivals import QuantileForest, forest
from genbayes_bench.rivals.forest import LeafRuns, _distinct_shares, weighted_quantiles

SETTINGS = {"n_trees": 60, "n_leaf_rows": 5, "max_features": 1.0, "random_state": 0}


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] > 0, 3.0, 0.0) + np.abs(X[:, 1]) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def grown():
    """A fitted model and the engine's forest that it was read from, which kept all runs of its leaves."""
    kept = {}

    def keep_all(**settings):
        kept["forest"] = RandomForestQuantileRegressor(max_samples_leaf=None, **settings)
        return kept["forest"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forest, "load_engine", lambda *_: SimpleNamespace(RandomForestQuantileRegressor=keep_all))
        model = QuantileForest(**SETTINGS).fit(*draw(400, seed=0))
    return model, kept["forest"]


def test_quantiles_are_those_of_the_engine(grown) -> None:
    """The two interpolate differently between neighbouring runs, of which an x has about a hundred."""
    model, engine_s = grown
    X, _ = draw(100, seed=1)
    tau = [0.1, 0.3, 0.5, 0.7, 0.9]
    q = engine_s.predict(model._scaled(X), quantiles=tau, weighted_quantile=True, aggregate_leaves_first=True)
    theirs, ours = model.response_scaler_.inverse(q), model.predict_quantiles(X, tau)
    assert np.abs(ours - theirs).mean() < 0.02 * np.abs(theirs).mean()
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.9995


def test_out_of_bag_quantiles_are_those_of_the_engine(grown) -> None:
    model, engine_s = grown
    X, y = draw(400, seed=0)
    order = np.lexsort([y, X[:, 1], X[:, 0]])  # the order in which the model learns
    Z, y = model._scaled(X[order]), y[order]
    theirs = engine_s.predict(Z, quantiles=[0.25, 0.75], oob_score=True)[np.argsort(y, kind="stable")]
    leaves = model.leaves_
    ours = leaves.quantiles(leaves.leaf, np.array([0.25, 0.75]), leaves.drawn == 0)
    assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.999


def test_a_run_of_weight_three_counts_three_times() -> None:
    rng = np.random.default_rng(6)
    X, y = rng.uniform(size=(400, 1)), np.tile([0.0, 1.0], 200) + 1e-3 * rng.standard_normal(400)
    settings = {**SETTINGS, "n_leaf_rows": 100, "n_trees": 300}
    law = QuantileForest(**settings).fit(X, y, sample_weight=np.tile([1.0, 3.0], 200)).predict_distribution(X)
    # 100 rows at least to a leaf, so shares of 1/4 have a standard error of 0.04; counted twice it would be 1/10
    assert abs(np.mean(law.cdf(0.5)) - 0.25) < 0.05


def test_runs_too_heavy_to_be_left_out_do_not_disturb_the_choice() -> None:
    X, y = draw(60, seed=7)
    model = QuantileForest(n_trees=5, random_state=0).fit(X, y, sample_weight=np.append(50.0, np.ones(59)))
    assert np.isfinite(model.predict(X)).all()


def test_two_groups_of_runs_apart_keep_their_own_laws() -> None:
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.append(np.arange(20.0), 100 + np.arange(20.0))
    model = QuantileForest(n_trees=200, n_leaf_rows=5, max_features=1.0, random_state=0).fit(X, y)
    assert model.predict_quantiles(np.array([[0.0], [1.0]]), 0.5) == pytest.approx([9.5, 109.5], abs=1.5)
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
    assert (noise, signal) == (10, 2)


def test_few_useful_inputs_among_many_ask_for_all_to_be_tried() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(150, 8))
    model = QuantileForest(n_trees=5, n_leaf_rows=5, random_state=0).fit(X, 5 * X[:, 0])
    assert model.max_features_ == 1.0


@pytest.mark.parametrize(("n_inputs", "shares"), [(1, [1.0]), (2, [2 / 3, 1.0]), (9, [1 / 3, 2 / 3, 1.0])])
def test_shares_that_mean_the_same_number_of_inputs_are_tried_once(n_inputs: int, shares: list[float]) -> None:
    assert _distinct_shares(n_inputs) == shares


def test_there_are_fewer_trees_where_rows_abound() -> None:
    seen = []

    class Counted(QuantileForest):
        def _grow(self, runs, n_trees, *rest):
            seen.append(n_trees)
            return super()._grow(runs, 2, *rest)

    for n in (50, 40_000):
        Counted(n_leaf_rows=1000, max_features=1.0, random_state=0).fit(*draw(n, seed=0))
    assert seen == [500, 250]


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


# runs in leaves

# Two trees: nodes 0 to 2 with leaves 1 and 2, nodes 3 to 5 with leaves 4 and 5.
IS_LEAF = np.array([False, True, True, False, True, True])
Y = np.array([1.0, 2.0, 3.0, 4.0])
LEAF = np.array([[1, 4], [1, 5], [2, 4], [2, 5]])
DRAWN = np.array([[1, 2], [3, 0], [1, 1], [1, 1]])
WEIGHT = np.array([1.0, 1.0, 2.0, 1.0])


LEAF_RUNS = LeafRuns(Y, WEIGHT, LEAF, DRAWN, len(IS_LEAF))
TAU = np.linspace(0.1, 0.9, 5)


def test_weights_are_shares_of_the_leaf_averaged_over_trees() -> None:
    # leaf 1 holds y = 1 (mass 1) and 2 (3); leaf 4 holds y = 1 (mass 2) and 3 (weight 2 times 1)
    weights = LEAF_RUNS._weights(np.array([[1, 4]]), None).toarray()[0] / 2
    np.testing.assert_allclose(weights, [(1 / 4 + 2 / 4) / 2, (3 / 4) / 2, (2 / 4) / 2, 0])


def test_a_new_input_asks_only_the_trees_it_is_told_to() -> None:
    q = LEAF_RUNS.quantiles(np.array([[1, 4]]), np.array([0.01, 0.99]), asked=np.array([[True, False]]))
    np.testing.assert_array_equal(q, [[1.0, 2.0]])  # leaf 1 alone


def test_runs_in_another_order_and_runs_from_a_state_answer_the_same() -> None:
    mixed = [2, 0, 3, 1]
    sorted_again = LeafRuns.sort(Y[mixed], WEIGHT[mixed], LEAF[mixed], DRAWN[mixed], len(IS_LEAF))
    for again in (sorted_again, LeafRuns.from_state(LEAF_RUNS.to_state(), IS_LEAF, 2)):
        np.testing.assert_array_equal(again.quantiles(LEAF, TAU), LEAF_RUNS.quantiles(LEAF, TAU))


def test_many_inputs_are_answered_as_one_by_one() -> None:
    new = LEAF[np.random.default_rng(0).integers(4, size=1201)]
    together = LEAF_RUNS.quantiles(new, TAU)
    np.testing.assert_array_equal(together[:20], np.vstack([LEAF_RUNS.quantiles(row[None], TAU) for row in new[:20]]))
    assert np.isfinite(together).all()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("leaf", np.full((4, 2), 99, np.int32), "must (hold whole numbers|be positive|be finite)"),
        ("leaf", np.full((4, 2), -1, np.int32), "must (hold whole numbers|be positive|be finite)"),
        ("leaf", LEAF.astype(np.float32), "must (hold whole numbers|be positive|be finite)"),
        ("drawn", np.full((4, 2), -1, np.int32), "must (hold whole numbers|be positive|be finite)"),
        ("weight", np.zeros(4), "must (hold whole numbers|be positive|be finite)"),
        ("weight", np.full(4, np.nan), "must (hold whole numbers|be positive|be finite)"),
        ("drawn", np.zeros((4, 2), np.int32), "every leaf in the model file must hold training runs"),
        ("y", Y[::-1].copy(), "must be (finite|increasing)"),
        ("y", np.full(4, np.nan), "must be (finite|increasing)"),
        ("leaf", LEAF[:3].astype(np.int32), "must have shape"),
    ],
)
def test_runs_that_lie_in_no_leaf_are_refused(name: str, value: np.ndarray, sentence: str) -> None:
    state = LEAF_RUNS.to_state()
    with pytest.raises(UnreadableFile, match=sentence):
        LeafRuns.from_state(State(state.kind, {}, {**state.arrays, name: value}), IS_LEAF, 2)


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
