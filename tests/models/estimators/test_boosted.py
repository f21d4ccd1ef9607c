"""BoostedQuantiles learns the quantiles of a distribution it was not told, and chooses its trees by rows held out."""

import numpy as np
import pytest
from scipy.stats import norm

from genbayes import InvalidInput, load
from genbayes.errors import UnreadableFile
from genbayes.models import BoostedQuantiles
from genbayes.models.trees import boosted
from genbayes.models.trees.boosted import LEVELS, SHAPES, _choose_shape, _leaf_size
from genbayes.persistence import State, read_state, write_state


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Y | x is normal with mean 2 sin(3 x) and standard deviation 0.2 + x on [0, 2]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (n, 1))
    return X, 2 * np.sin(3 * X[:, 0]) + (0.2 + X[:, 0]) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted():
    return BoostedQuantiles(n_leaves=4, n_trees=200, random_state=0).fit(*draw(1000, seed=0))


@pytest.mark.parametrize("tau", [0.05, 0.25, 0.5, 0.75, 0.95])
def test_quantiles_follow_mean_and_noise(fitted, tau: float) -> None:
    X = np.linspace(0.1, 1.9, 50)[:, None]
    truth = 2 * np.sin(3 * X[:, 0]) + (0.2 + X[:, 0]) * norm.ppf(tau)
    error = np.sqrt(np.mean((fitted.predict_quantiles(X, tau) - truth) ** 2))
    assert error < 0.4 * truth.std()  # a constant, the best that ignores x, has 1


def test_levels_are_unbiased_on_new_rows(fitted) -> None:
    X, y = draw(4000, seed=1)
    share = (y[:, None] <= fitted.predict_quantiles(X, [0.1, 0.5, 0.9])).mean(axis=0)
    np.testing.assert_allclose(share, [0.1, 0.5, 0.9], atol=0.06)  # three standard errors are 0.024, the rest overfit


def test_the_distribution_is_the_table_of_the_levels(fitted) -> None:
    X = np.linspace(0, 2, 20)[:, None]
    table = fitted.response_scaler_.inverse(fitted.trees_.sums(fitted._scaled(X), fitted.first_))
    np.testing.assert_allclose(fitted.predict_quantiles(X, LEVELS), np.sort(table, axis=1))


def test_leaves_of_extreme_levels_hold_more_rows() -> None:
    assert [_leaf_size(tau, 10_000) for tau in (0.5, 0.1, 0.9, 0.01, 0.995)] == [10, 30, 30, 300, 600]
    assert _leaf_size(0.01, 400) == 50  # an eighth of the rows
    assert _leaf_size(0.5, 10) == 2


def test_the_number_of_leaves_with_the_least_held_out_loss_is_chosen() -> None:
    class Booster:
        def choose_length(self, tau: float, n_leaves: int) -> tuple[int, float]:
            return 10, {4: 3.0, 8: 2.0, 16: 1.0, 31: 2.5}[n_leaves] + tau

    assert _choose_shape(Booster(), SHAPES) == 16


def test_a_step_asks_for_more_leaves_than_a_slope(monkeypatch) -> None:
    monkeypatch.setattr(boosted, "LEVELS", np.array([0.25, 0.75]))
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (400, 3))
    chequered = 3 * np.sign(X[:, 0] * X[:, 1] * X[:, 2]) + 0.1 * rng.standard_normal(400)
    additive = X.sum(axis=1) + 0.5 * rng.standard_normal(400)
    deep, shallow = (BoostedQuantiles(n_trees=60, random_state=0).fit(X, y).n_leaves_ for y in (chequered, additive))
    assert deep > shallow


def test_fewer_trees_are_grown_where_there_is_nothing_to_learn() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(300, 2))
    nothing, much = (
        len(BoostedQuantiles(n_trees=100, n_leaves=4, random_state=0).fit(X, y).trees_)
        for y in (rng.standard_normal(300), 3 * X[:, 0] + 0.1 * rng.standard_normal(300))
    )
    assert nothing < 0.5 * much


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_trees": 0}, "n_trees must be a whole number of at least 1, got 0"),
        ({"n_leaves": 1}, "n_leaves must be a whole number of at least 2, got 1"),
        ({"learning_rate": 0.0}, "learning_rate must be positive and finite, got 0.0"),
    ],
)
def test_settings_are_checked(settings, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        BoostedQuantiles(**settings).fit(*draw(30, seed=0))


@pytest.mark.parametrize("first", [np.arange(19) + 1, np.zeros(19, int), np.arange(19) * 10**5])
def test_a_file_whose_trees_belong_to_no_level_is_refused(fitted, tmp_path, first) -> None:
    state = read_state(fitted.save(tmp_path / "model.gb"))
    write_state(tmp_path / "bad.gb", State(state.kind, state.values, {**state.arrays, "learnt.first": first}))
    with pytest.raises(UnreadableFile, match="must be divided among the levels"):
        load(tmp_path / "bad.gb")
