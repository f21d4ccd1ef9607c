"""Trees as arrays answer as the trees they were read from, and a crafted file cannot send a walk astray."""

from dataclasses import fields

import lightgbm
import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from genbayes.errors import UnreadableFile
from genbayes.models.trees import tree_arrays as module
from genbayes.models.trees.tree_arrays import Tree, TreeArrays, trees_from_lightgbm, trees_from_sklearn
from genbayes.persistence import State

ONE = np.array([0])


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.fixture(scope="module")
def grown(runs):
    return [DecisionTreeRegressor(max_depth=depth, random_state=0).fit(*runs) for depth in (1, 4, None)]


@pytest.fixture(scope="module")
def arrays(grown):
    return TreeArrays.join(trees_from_sklearn(grown))


def test_a_row_reaches_the_leaf_that_scikit_learn_sends_it_to(arrays, grown) -> None:
    X = np.random.default_rng(1).standard_normal((200, 4)).astype(np.float32)
    leaf = arrays.apply(X) - arrays.root
    np.testing.assert_array_equal(leaf, np.column_stack([tree.apply(X) for tree in grown]))


@pytest.mark.parametrize("n_at_once", [7, 10**6])
def test_groups_of_trees_add_up_their_answers_in_blocks_of_any_size(arrays, grown, n_at_once: int, monkeypatch) -> None:
    monkeypatch.setattr(module, "N_AT_ONCE", n_at_once)
    X = np.random.default_rng(2).standard_normal((50, 4)).astype(np.float32)
    first, second, third = (tree.predict(X) for tree in grown)
    np.testing.assert_allclose(arrays.sums(X, np.array([0, 2])), np.column_stack([first + second, third]))


@pytest.mark.parametrize("shape", [{"num_leaves": 9}, {"min_data_in_leaf": 299}], ids=["trees", "without a split"])
def test_lightgbm_s_trees_add_up_to_its_prediction(runs, shape: dict[str, int]) -> None:
    settings = {"objective": "quantile", "alpha": 0.8, "verbosity": -1, "num_threads": 1, **shape}
    model = lightgbm.train(settings, lightgbm.Dataset(*runs), num_boost_round=30)
    trees = TreeArrays.join(trees_from_lightgbm(model.model_to_string()))
    X = np.random.default_rng(4).standard_normal((200, 4))
    np.testing.assert_allclose(trees.sums(X, ONE)[:, 0], model.predict(X), rtol=1e-9, atol=1e-12)


def test_a_threshold_belongs_to_the_left(arrays) -> None:
    left, right = (np.array([k, 1, 2]) for k in (1, 2))
    stump = Tree(left, right, np.zeros(3, int), np.array([0.5, 0, 0]), np.array([0, 10.0, 20.0]))
    X = np.array([[0.5], [np.nextafter(0.5, 1)]])
    np.testing.assert_array_equal(TreeArrays.join([stump]).sums(X, ONE).ravel(), [10.0, 20.0])


def crafted(arrays: TreeArrays, name: str, where: int, value: float) -> dict[str, np.ndarray]:
    part = getattr(arrays, name).copy()
    part[where] = value
    return {name: part}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        *[
            (lambda arrays, case=case: crafted(arrays, *case), "must (lead from root to leaf|hold whole|be finite)")
            for case in [
                ("left", 4, 0),  # back to a parent: the walk would never end
                ("left", 0, 3),  # into the next tree
                ("right", -2, 10**6),  # beyond all nodes
                ("right", 0, -1),
                ("feature", 0, 4),  # a column that does not exist
                ("feature", 0, -1),
                *[("value", 1, np.nan), ("root", 0, 1), ("root", 2, 0), ("root", 2, 10**6)],
            ]
        ],
        (lambda arrays: {p.name: getattr(arrays, p.name)[:0] for p in fields(arrays)}, "must lead from root to leaf"),
        (lambda arrays: {"left": arrays.left.astype(np.float32)}, "must hold whole numbers from 0 to .*, got float32"),
    ],
)
def test_a_walk_that_could_go_astray_is_refused(arrays, change, sentence: str) -> None:
    state = arrays.to_state()
    with pytest.raises(UnreadableFile, match=sentence):
        TreeArrays.from_state(State(state.kind, state.values, state.arrays | change(arrays)), n_inputs=4)
