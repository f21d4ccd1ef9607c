"""BoostedQuantiles learns the quantiles of a distribution it was not told, and chooses its trees by rows held out."""

import json
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.stats import norm

from genbayes import GenBayesError, InvalidInput, load
from genbayes.data.folds import held_out_folds
from genbayes.errors import MissingExtra, OutOfReach, UnreadableFile
from genbayes.models import BoostedQuantiles
from genbayes.models.trees import boosted
from genbayes.models.trees.boosted import LEVELS, SHAPES, _choose_shape, _leaf_size, best_length
from genbayes.persistence import State, read_state, write_state
from genbayes_bench.rivals import NaturalGradientBoosting, QuantileForest


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Y | x is normal with mean 2 sin(3 x) and standard deviation 0.2 + x on [0, 2]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, (n, 1))
    return X, 2 * np.sin(3 * X[:, 0]) + (0.2 + X[:, 0]) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted():
    return BoostedQuantiles(n_leaves=4, n_trees=200, random_state=0).fit(*draw(1000, seed=0))


def test_quantiles_follow_mean_and_noise_and_are_unbiased_on_new_rows(fitted) -> None:
    X = np.linspace(0.1, 1.9, 50)[:, None]
    tau = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    truth = 2 * np.sin(3 * X) + (0.2 + X) * norm.ppf(tau)
    error = np.sqrt(np.mean((fitted.predict_quantiles(X, tau) - truth) ** 2, axis=0))
    assert (error < 0.4 * truth.std(axis=0)).all()  # a constant, the best that ignores x, has 1
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
    loss = {4: 3.0, 8: 2.0, 16: 1.0, 31: 2.5}
    booster = SimpleNamespace(choose_length=lambda tau, n_leaves: (10, loss[n_leaves] + tau))
    assert _choose_shape(booster, SHAPES) == 16


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
    with pytest.raises(UnreadableFile, match="must (be divided among the levels|hold whole numbers)"):
        load(tmp_path / "bad.gb")


@pytest.mark.parametrize("n", [10, 101])
def test_every_row_is_held_out_once_and_never_seen_by_its_fold(n: int) -> None:
    folds = held_out_folds(n, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.concatenate([held_out for _, held_out in folds])), np.arange(n))
    assert all(np.intersect1d(*fold).size == 0 and sum(map(len, fold)) == n for fold in folds)
    ((learn, held_out),) = held_out_folds(10_001, np.random.default_rng(0))  # one is enough when rows abound
    assert len(held_out) == 2001
    assert np.intersect1d(learn, held_out).size == 0


@pytest.mark.parametrize(
    ("curves", "best"),
    [
        ([[5.0, 1.0, 4.0, 0.0], [5.0, 4.0, 0.5, 9.0]], (3, 2.25)),  # that of the mean curve
        ([[5.0, 4.0, 0.0], [5.0, 4.5]], (2, 4.25)),  # only lengths that every fold reached are compared
        ([[5.0, 1.0, np.nan], [5.0, np.inf, 0.0]], (1, 5.0)),  # one at which a fold diverged is never chosen
    ],
)
def test_the_best_length_is_where_the_mean_curve_of_all_folds_is_least(curves: list, best: tuple) -> None:
    assert best_length(curves) == best


SMALL = {
    "lightgbm": BoostedQuantiles(n_trees=5, n_leaves=4, random_state=0),
    "quantile-forest": QuantileForest(n_trees=5, n_leaf_rows=3, max_features=1.0, random_state=0),
    "ngboost": NaturalGradientBoosting(n_rounds=3, depth=2, random_state=0),
}


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    return X, X[:, 0] + 0.1 * rng.standard_normal(40)


BROKEN = r"got one that does not load \(libgomp is missing\)"


@pytest.mark.parametrize("caught", [MissingExtra, ImportError, GenBayesError])
@pytest.mark.parametrize("library", SMALL)
def test_a_missing_engine_is_named_with_its_remedy_and_told_from_one_that_does_not_load(
    library: str, caught: type[Exception], runs, monkeypatch
) -> None:
    model = SMALL[library]
    package = "genbayes[baselines]" if library == "lightgbm" else "genbayes-bench[rivals]"
    sentence = f"{library} must be installed for {type(model).__name__}, got none; pip install '{package}'"
    absent = ModuleNotFoundError(f"No module named {library!r}", name=library.replace("-", "_"))
    broken = [(error("libgomp is missing"), BROKEN) for error in (ImportError, OSError)]
    for error, told in [(absent, re.escape(sentence)), *broken]:
        monkeypatch.setattr(boosted, "import_module", Mock(side_effect=error))
        with pytest.raises(caught, match=told):
            model.fit(*runs)


@pytest.mark.parametrize("library", SMALL)
def test_a_saved_model_answers_where_its_engine_is_missing(library, runs, tmp_path, monkeypatch) -> None:
    fitted = SMALL[library].fit(*runs)
    path = fitted.save(tmp_path / "model.gb")
    monkeypatch.setattr(boosted, "import_module", lambda name: pytest.fail(f"{name} must not be imported"))
    np.testing.assert_array_equal(load(path).predict(runs[0]), fitted.predict(runs[0]))


def test_looking_at_all_baselines_imports_no_engine() -> None:
    program = """
import json, sys
from genbayes import baselines
from genbayes_bench import rivals
names = [getattr(module, name).__name__ for module in (baselines, rivals) for name in dir(module)]
print(json.dumps([names, [name for name in ("lightgbm", "quantile_forest", "ngboost") if name in sys.modules]]))
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names, loaded = json.loads(out.stdout)
    assert {"BoostedQuantiles", "QuantileForest", "NaturalGradientBoosting", "SparseGP"} <= set(names)
    assert loaded == []


@pytest.mark.parametrize(("share", "stops"), [(0.8, True), (0.97, False)])
def test_trees_give_up_only_against_a_rival_that_is_clearly_better(share: float, stops: bool) -> None:
    X, y = draw(400, seed=2)
    alone = BoostedQuantiles(n_leaves=4, n_trees=100, random_state=0).fit(X, y)
    rows, unseen = alone.predict_out_of_fold(X, y)
    rival = np.full(len(y), np.nan)
    rival[rows[::2]] = share * unseen.crps(y[rows])[::2]  # of half of the runs nothing is known
    order = np.random.default_rng(3).permutation(len(y))
    again = BoostedQuantiles(n_leaves=4, n_trees=100, random_state=0)
    if stops:
        with pytest.raises(OutOfReach, match=r"a rival is out of reach: CRPS 1\.2\d times the rival's at 5 levels"):
            again.fit_against(rival[order], X[order], y[order])
    else:
        again.fit_against(rival, X, y)
        np.testing.assert_array_equal(again.predict_quantiles(X[:9], LEVELS), alone.predict_quantiles(X[:9], LEVELS))
