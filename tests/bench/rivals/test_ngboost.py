"""NaturalGradientBoosting answers as NGBoost does, but for the spread that rows it has not seen ask for."""

from types import SimpleNamespace

import ngboost
import numpy as np
import pytest
from ngboost.manifold import manifold
from ngboost.scores import LogScore

from genbayes import InvalidInput, load
from genbayes.errors import UnreadableFile
from genbayes.models.base import ScaledRuns
from genbayes.persistence import State, read_state, write_state
from genbayes_bench.rivals import NaturalGradientBoosting
from genbayes_bench.rivals.ngboost import SMALLEST_SD, _spread, _Trial, normal_of_engine

SETTINGS = {"n_rounds": 30, "depth": 3, "learning_rate": 0.1, "random_state": 0}


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, 3 * X[:, 0] + np.where(X[:, 1] > 0, 1.0, 0.1) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def fitted():
    """A fitted model and NGBoost's own that it was read from."""
    kept = {}

    class Watched(NaturalGradientBoosting):
        def _read(self, model):
            kept["model"] = model
            super()._read(model)

    return Watched(**SETTINGS).fit(*draw(400, seed=0)), kept["model"]


def test_mean_and_spread_are_those_of_the_engine(fitted) -> None:
    model, engine_s = fitted
    X, _ = draw(50, seed=1)
    law = engine_s.pred_dist(model._scaled(X))
    mean, sd = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, model.response_scaler_.inverse(law.loc), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sd, model.response_scaler_.scale * model.spread_ * law.scale, rtol=1e-9)


def test_the_standard_deviation_follows_the_noise(fitted) -> None:
    quiet, loud = fitted[0].predict_distribution(np.array([[0.0, -0.5], [0.0, 0.5]])).std()
    assert loud > 2 * quiet


@pytest.mark.parametrize("truth", [1.0, 3.0])
def test_the_spread_is_that_of_held_out_rows_after_as_many_rounds_as_are_kept(truth: float) -> None:
    n, asked = 20_000, []
    runs = ScaledRuns(np.zeros((n, 1)), 0.5 * truth * np.random.default_rng(2).standard_normal(n), np.ones(n))

    def pred_dist(Z, max_iter):
        asked.append(max_iter)
        return SimpleNamespace(loc=Z[:, 0], scale=np.full(len(Z), 0.5))

    model = SimpleNamespace(pred_dist=pred_dist)
    found = _spread(runs, _Trial(3, 17, 0.0, [model, model]), np.split(np.arange(n), 2))
    # E|z| over n rows has relative standard error sqrt(pi / 2 - 1) / sqrt(n) = 0.0053
    assert abs(found / truth - 1) < 3 * 0.0053
    assert asked == [17, 17]


def test_a_step_in_three_inputs_asks_for_deeper_trees_than_a_slope() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (300, 4))
    stepped = np.sign(X[:, 0]) * np.sign(X[:, 1]) * (1 + X[:, 2]) * np.sign(X[:, 3]) + 0.05 * rng.standard_normal(300)
    additive = X[:, 0] + 0.5 * rng.standard_normal(300)
    settings = {"n_rounds": 25, "learning_rate": 0.2, "random_state": 0}
    deep, shallow = (NaturalGradientBoosting(**settings).fit(X, y).depth_ for y in (stepped, additive))
    assert (deep, shallow) == (5, 3)


def test_a_simulator_without_noise_is_learnt() -> None:
    X = np.linspace(0, 1, 24)[:, None]
    y = np.where(X[:, 0] > 0.5, 1.0, 0.0)  # sigma tends to zero, where NGBoost's own normal divides by it
    model = NaturalGradientBoosting(n_rounds=80, depth=2, learning_rate=0.2, random_state=0).fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert (np.isfinite(sd) & (sd > 0)).all()
    assert np.abs(mean - y).mean() < 0.1


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_rounds": 0}, "n_rounds must be a whole number of at least 1, got 0"),
        ({"depth": 0}, "depth must be a whole number of at least 1, got 0"),
        ({"learning_rate": -1}, "learning_rate must be positive and finite, got -1"),
    ],
)
def test_settings_are_checked(settings, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        NaturalGradientBoosting(**{**SETTINGS, **settings}).fit(*draw(30, seed=0))


def test_a_file_with_trees_for_one_parameter_only_is_refused(tmp_path) -> None:
    model = NaturalGradientBoosting(**{**SETTINGS, "n_rounds": 2}).fit(*draw(60, seed=0))
    state = read_state(model.save(tmp_path / "model.gb"))
    root = state.arrays["learnt.trees.root"]
    second = int(root[1]) if len(root) > 1 else None
    names = [f"learnt.trees.{name}" for name in ("left", "right", "feature", "threshold", "value")]
    part = {"learnt.trees.root": root[:1], **{name: state.arrays[name][:second] for name in names}}
    write_state(tmp_path / "bad.gb", State(state.kind, state.values, {**state.arrays, **part}))
    with pytest.raises(UnreadableFile, match="as many trees of each parameter, got 1"):
        load(tmp_path / "bad.gb")


# the normal distribution that it boosts is NGBoost's own, until sigma vanishes


NORMAL = normal_of_engine(ngboost)


def test_start_score_and_natural_gradient_are_the_engine_s() -> None:
    params, y = np.random.default_rng(0).standard_normal((2, 30)), np.random.default_rng(1).standard_normal(30)
    ours, theirs = (manifold(LogScore, law)(params) for law in (NORMAL, ngboost.distns.Normal))
    np.testing.assert_allclose(ours.score(y), theirs.score(y))
    np.testing.assert_allclose(ours.grad(y), theirs.grad(y))
    np.testing.assert_allclose(NORMAL.fit(y), ngboost.distns.Normal.fit(y))


def test_sigma_has_a_floor() -> None:
    law = manifold(LogScore, NORMAL)(np.array([[0.0], [-1e4]]))
    assert law.scale == pytest.approx(SMALLEST_SD)
    assert np.isfinite(law.grad(np.array([1.0]))).all()
