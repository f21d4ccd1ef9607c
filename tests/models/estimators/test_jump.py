"""The modular jump GP: sharp where the response jumps, two-peaked where its regime is uncertain, else a plain GP."""

import numpy as np
import pytest

from genbayes import Normal, PredictiveDistribution, load
from genbayes.models import ModularJumpGP, StationaryGP


def disc(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    inside = X[:, 0] ** 2 + X[:, 1] ** 2 < 0.5
    return X, 6.0 * inside + np.sin(3 * X[:, 0]) + 0.2 * rng.standard_normal(n)


def crps_ratio(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> float:
    laws = [make(random_state=0).fit(*train).predict_distribution(test[0]) for make in (ModularJumpGP, StationaryGP)]
    jump, plain = (law.crps(test[1]).mean() for law in laws)
    return float(jump / plain)


@pytest.fixture(scope="module")
def jump() -> ModularJumpGP:
    return ModularJumpGP(random_state=0).fit(*disc(250, 0))


def test_it_halves_the_crps_of_the_stationary_gp_where_the_response_jumps() -> None:
    assert crps_ratio(disc(250, 0), disc(400, 1)) < 0.5


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_it_wins_at_a_sharp_step_of_one_input(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, X_new = rng.uniform(-1, 1, (2, 200, 1))
    y, y_new = (5.0 * (Z[:, 0] > 0.2) + np.sin(3 * Z[:, 0]) + 0.1 * rng.standard_normal(200) for Z in (X, X_new))
    assert crps_ratio((X, y), (X_new, y_new)) < 0.9


def test_its_classifier_is_judged_on_runs_it_has_not_seen(jump) -> None:
    assert 0.9 < jump.gp_.accuracy < 1
    assert jump.summary()["regimes"] == "two"


def test_beside_the_jump_a_run_is_on_one_level_or_the_other(jump) -> None:
    edge = np.column_stack([np.linspace(0.6, 0.8, 41), np.zeros(41)])
    weight = jump.gp_.predict(jump._scaled(edge))[0][:, 1]
    law = jump.predict_distribution(edge[[int(np.abs(weight - 0.5).argmin())]])
    low, between, high = law.pdf(np.sin(2.1) + np.array([[0.0, 3.0, 6.0]]))[0]  # sin(3 x) at the edge, x = 0.7
    assert between < 0.1 * min(low, high)


def test_three_levels_are_three_regimes() -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-1, 1, (240, 1))
    y = 10.0 * np.digitize(X[:, 0], [-0.3, 0.4]) + rng.standard_normal(240)
    model = ModularJumpGP(random_state=0).fit(X, y)
    assert model.summary()["regimes"] == "three"
    np.testing.assert_allclose(model.predict([[-0.7], [0.0], [0.8]]), [0, 10, 20], atol=1.5)


def test_without_a_jump_it_is_the_stationary_gp() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (80, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    model = ModularJumpGP(random_state=0).fit(X, y)
    if model.gp_.classifier is None:
        assert model.summary()["regimes"] == "one: a stationary GP"
        assert isinstance(model.predict_distribution(X), Normal)
    plain = StationaryGP(random_state=0).fit(X, y)
    X_new = np.linspace(-1, 1, 50)[:, None]
    assert np.abs(model.predict(X_new) - plain.predict(X_new)).max() < 0.15


def test_gp_and_classifier_survive_the_file(jump, tmp_path) -> None:
    again = load(jump.save(tmp_path / "jump.gb"))
    X = disc(50, 4)[0]
    np.testing.assert_array_equal(again.predict_quantiles(X, [0.1, 0.9]), jump.predict_quantiles(X, [0.1, 0.9]))
    assert again.gp_.accuracy == jump.gp_.accuracy


def left_out_law(model: ModularJumpGP, X: np.ndarray) -> PredictiveDistribution:
    """The law that decides whether regimes help: at a training input without the runs there."""
    return model._in_units(*model.gp_.leave_out(model._scaled(X)), "run")


def test_left_out_laws_are_as_good_as_those_of_new_runs(jump) -> None:
    X, y = disc(250, 0)
    X_new, y_new = disc(1_000, 1)
    left_out, new = left_out_law(jump, X).crps(y), jump.predict_distribution(X_new).crps(y_new)
    standard_error = np.hypot(left_out.std() / np.sqrt(250), new.std() / np.sqrt(1_000))
    assert abs(left_out.mean() - new.mean()) < 3 * standard_error  # false alarm 1 in 370
    assert jump.predict_distribution(X).crps(y).mean() < left_out.mean()


def test_inputs_that_were_not_learnt_from_have_nothing_to_leave_out(jump) -> None:
    X = disc(20, 5)[0]
    np.testing.assert_allclose(left_out_law(jump, X).mean(), jump.predict(X), rtol=1e-12)
