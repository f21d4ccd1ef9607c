"""The modular jump GP: sharp where the response jumps, a plain GP where it does not."""

import numpy as np
import pytest

from genbayes import load
from genbayes.baselines import ModularJumpGP, StationaryGP


def step(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    inside = X[:, 0] ** 2 + X[:, 1] ** 2 < 0.5
    return X, 6.0 * inside + np.sin(3 * X[:, 0]) + 0.2 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def jump() -> ModularJumpGP:
    return ModularJumpGP(random_state=0).fit(*step(250, 0))


def test_it_beats_the_stationary_gp_where_the_response_jumps(jump) -> None:
    X, y = step(400, 1)
    plain = StationaryGP(random_state=0).fit(*step(250, 0))
    ours, theirs = (model.predict_distribution(X).crps(y).mean() for model in (jump, plain))
    assert ours < 0.95 * theirs


def test_its_classifier_is_judged_on_runs_it_has_not_seen(jump) -> None:
    assert 0.9 < jump.gp_.accuracy < 1
    assert jump.summary()["regimes"] == "two"


def test_the_regime_is_a_probability(jump) -> None:
    added = jump.gp_.augmented(np.random.default_rng(2).uniform(-5, 5, (200, 2)))[:, -1] / jump.gp_.scale
    assert added.min() >= 0
    assert added.max() <= 1 + 1e-12


def test_without_a_jump_it_is_the_stationary_gp() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (80, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    model = ModularJumpGP(random_state=0).fit(X, y)
    if model.gp_.classifier is None:
        assert model.summary()["regimes"] == "one: a stationary GP"
    plain = StationaryGP(random_state=0).fit(X, y)
    X_new = np.linspace(-1, 1, 50)[:, None]
    assert np.abs(model.predict(X_new) - plain.predict(X_new)).max() < 0.15


def test_both_gps_survive_the_file(jump, tmp_path) -> None:
    again = load(jump.save(tmp_path / "jump.gb"))
    X = step(50, 4)[0]
    np.testing.assert_array_equal(again.predict(X), jump.predict(X))
    assert again.gp_.accuracy == jump.gp_.accuracy
