"""Runs in leaves make the law that Meinshausen wrote down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.errors import UnreadableFile
from genbayes.persistence import State
from genbayes_bench.rivals.forest import LeafRuns, weighted_quantiles

# Two trees: nodes 0 to 2 with leaves 1 and 2, nodes 3 to 5 with leaves 4 and 5.
IS_LEAF = np.array([False, True, True, False, True, True])
Y = np.array([1.0, 2.0, 3.0, 4.0])
LEAF = np.array([[1, 4], [1, 5], [2, 4], [2, 5]])
DRAWN = np.array([[1, 2], [3, 0], [1, 1], [1, 1]])
WEIGHT = np.array([1.0, 1.0, 2.0, 1.0])


@pytest.fixture
def runs() -> LeafRuns:
    return LeafRuns(Y, WEIGHT, LEAF, DRAWN, len(IS_LEAF))


def test_weights_are_shares_of_the_leaf_averaged_over_trees(runs) -> None:
    # leaf 1 holds y = 1 (mass 1) and 2 (3); leaf 4 holds y = 1 (mass 2) and 3 (weight 2 times 1)
    weights = runs._weights(np.array([[1, 4]]), None).toarray()[0] / 2
    np.testing.assert_allclose(weights, [(1 / 4 + 2 / 4) / 2, (3 / 4) / 2, (2 / 4) / 2, 0])


def test_a_new_input_asks_only_the_trees_it_is_told_to(runs) -> None:
    q = runs.quantiles(np.array([[1, 4]]), np.array([0.01, 0.99]), asked=np.array([[True, False]]))
    np.testing.assert_array_equal(q, [[1.0, 2.0]])  # leaf 1 alone


def test_the_order_of_the_runs_does_not_matter(runs) -> None:
    mixed = [2, 0, 3, 1]
    again = LeafRuns.sort(Y[mixed], WEIGHT[mixed], LEAF[mixed], DRAWN[mixed], len(IS_LEAF))
    tau = np.linspace(0.1, 0.9, 5)
    new = np.array([[2, 5], [1, 4]])
    np.testing.assert_array_equal(again.quantiles(new, tau), runs.quantiles(new, tau))


def test_many_inputs_are_answered_as_one_by_one(runs) -> None:
    new = LEAF[np.random.default_rng(0).integers(4, size=1201)]
    together = runs.quantiles(new, np.array([0.3, 0.6]))
    alone = np.vstack([runs.quantiles(row[None], np.array([0.3, 0.6])) for row in new[:20]])
    np.testing.assert_array_equal(together[:20], alone)
    assert np.isfinite(together).all()


def test_runs_come_back_from_a_state_as_they_were(runs) -> None:
    again = LeafRuns.from_state(runs.to_state(), IS_LEAF, 2)
    np.testing.assert_array_equal(again.quantiles(LEAF, np.array([0.5])), runs.quantiles(LEAF, np.array([0.5])))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("leaf", np.full((4, 2), 99, np.int32), "must lie in leaves of its trees"),
        ("leaf", np.full((4, 2), -1, np.int32), "must lie in leaves of its trees"),
        ("leaf", LEAF.astype(np.float32), "must lie in leaves of its trees"),
        ("drawn", np.full((4, 2), -1, np.int32), "must lie in leaves of its trees"),
        ("weight", np.zeros(4), "must lie in leaves of its trees"),
        ("weight", np.full(4, np.nan), "must lie in leaves of its trees"),
        ("drawn", np.zeros((4, 2), np.int32), "every leaf in the model file must hold training runs"),
        ("y", Y[::-1].copy(), "must be finite and increasing"),
        ("y", np.full(4, np.nan), "must be finite and increasing"),
        ("leaf", LEAF[:3].astype(np.int32), "must have shape"),
    ],
)
def test_runs_that_lie_in_no_leaf_are_refused(runs, name: str, value: np.ndarray, sentence: str) -> None:
    state = runs.to_state()
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
