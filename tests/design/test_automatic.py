import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.design import DesignGP, automatic
from genbayes.design.automatic import AutoModel
from genbayes.design.ensemble import RandomizedPriors


def smooth(X: FloatArray) -> FloatArray:
    return np.sin(4 * X[:, 0]) + X[:, 1]


def jump(X: FloatArray) -> FloatArray:
    return np.where(X[:, 0] + 0.3 * np.sin(6 * X[:, 1]) > 0.6, 5.0, 0.0)


X = np.random.default_rng(0).uniform(size=(62, 2))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_where_the_gp_is_good_nothing_else_is_tried(rng) -> None:
    model = AutoModel().fit(X[:50], smooth(X[:50]), rng).update(X, smooth(X), rng)
    assert model.ensemble_ is None
    assert set(model.scores_) == {"gp"}


def test_where_the_gp_is_wanting_the_ensemble_races_from_the_second_update_on(rng, monkeypatch) -> None:
    monkeypatch.setattr(automatic, "N_STEPS_FIRST", 5)
    model = AutoModel().fit(X[:60], jump(X[:60]), rng)
    assert model.chosen_ is model.gp_
    assert model.ensemble_ is None
    model.update(X[:61], jump(X[:61]), rng)
    assert set(model.scores_) == {"gp"}  # that call loads torch
    model.update(X, jump(X), rng)
    assert set(model.scores_) == {"gp", "ensemble"}
    assert model.chosen_ is model.gp_  # five steps teach a network nothing


@pytest.mark.parametrize(("standard_errors", "chosen"), [(-2.0, "gp"), (0.8, "gp"), (1.2, "ensemble")])
def test_the_ensemble_is_chosen_where_the_gp_is_clearly_behind_not_merely_behind(
    standard_errors: float, chosen: str, rng, monkeypatch
) -> None:
    """The GP is behind on 60 unseen runs, by this many standard errors of the mean paired difference."""
    monkeypatch.setattr(automatic, "N_STEPS_FIRST", 1)
    deviation = np.random.default_rng(1).standard_normal(60)
    deviation = (deviation - deviation.mean()) / deviation.std(ddof=1)
    behind = deviation + standard_errors / np.sqrt(60)
    monkeypatch.setattr(DesignGP, "score_unseen", lambda self: np.append(5.0 + behind, np.nan))
    monkeypatch.setattr(RandomizedPriors, "score_unseen", lambda self: np.append(np.full(60, 5.0), 1.0))
    x, y = X[:61], jump(X[:61])
    model = AutoModel().fit(x[:60], y[:60], rng).update(x, y, rng).update(x, y, rng)
    assert set(model.scores_) == {"gp", "ensemble"}
    assert model.chosen_ is {"gp": model.gp_, "ensemble": model.ensemble_}[chosen]


def test_an_ensemble_that_is_behind_rests_after_its_instalments(rng, monkeypatch) -> None:
    for name, value in (("N_STEPS_FIRST", 2), ("N_STEPS_MORE", 1), ("N_INSTALMENTS", 3)):
        monkeypatch.setattr(automatic, name, value)
    X = np.random.default_rng(0).uniform(size=(120, 2))
    model = AutoModel().fit(X[:40], jump(X[:40]), rng)
    raced = []
    model.update(X[:40], jump(X[:40]), rng)  # loads torch
    for n in range(41, 66):
        model.update(X[:n], jump(X[:n]), rng)
        raced.append("ensemble" in model.scores_)
    assert raced[:3] == [True] * 3  # at 41, 42, 43 runs
    assert not any(raced[3:23])
    assert raced[-1]  # from 43 times 1.5 on


def test_the_chosen_model_answers(rng) -> None:
    model = AutoModel().fit(X, smooth(X), rng)
    new = X[:5] + 0.01
    assert isinstance(model.chosen_, DesignGP)
    assert np.array_equal(model.predict(new), model.chosen_.predict(new))
    assert np.array_equal(model.variance_reduction(new, X), model.chosen_.variance_reduction(new, X))
    assert np.array_equal(model.score_unseen(), model.chosen_.score_unseen())
    assert model.imagine(new) is not model
    assert model.draw_path(new, rng).shape == (5,)


@pytest.mark.slow
def test_noisy_regimes_are_left_to_the_ensemble_in_the_end(rng) -> None:
    X = rng.uniform(size=(330, 2))
    y = jump(X) + 0.3 * rng.standard_normal(330)
    model = AutoModel().fit(X[:300], y[:300], rng)
    chosen = [type(model.update(X[:n], y[:n], rng).chosen_) for n in range(301, 331)]
    assert RandomizedPriors in chosen
