"""What every kind of ensemble must do, and what makes each one its own."""

from typing import Any

import numpy as np
import pytest

from genbayes.data.folds import assign_member_folds
from genbayes.design import RandomizedPriors
from genbayes.design.acquisition import disagreement
from genbayes_bench.rivals import SNGP, Anchored, Bootstrap, LastLayerLaplace

SHORT = {"n_steps": 60, "n_steps_more": 10}
KINDS = [RandomizedPriors, Bootstrap, Anchored, SNGP, LastLayerLaplace]
X = np.random.default_rng(0).uniform(size=(40, 2)) * [0.5, 1.0]  # the right half is empty
Y = 50 + 10 * np.sin(5 * X[:, 0]) + X[:, 1]
NEW = np.random.default_rng(1).uniform(size=(12, 2))


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return request.param(**SHORT).fit(X, Y, np.random.default_rng(0))


@pytest.mark.parametrize("kind", [SNGP, LastLayerLaplace])
def test_a_run_is_less_certain_than_the_mean_by_its_noise(kind: Any) -> None:
    model = kind(**SHORT).fit(X, Y, np.random.default_rng(0))
    run, mean = (model.predict_distribution(NEW, of=of).var() for of in ("run", "mean"))
    assert np.allclose(run - mean, Y.std() ** 2 * model.head_.noise)


def test_predictions_are_in_the_units_of_y_and_variance_reduction_is_positive_and_finite(model: Any) -> None:
    assert np.abs(model.predict(X) - Y).mean() < np.abs(Y - Y.mean()).mean()
    score = model.variance_reduction(NEW, X)
    assert score.shape == (12,)
    assert (np.isfinite(score) & (score >= 0)).all()


def test_an_imagined_run_settles_its_neighbourhood_and_leaves_the_model_as_it_was(model: Any) -> None:
    before = disagreement(model, NEW)
    after = disagreement(model.imagine(NEW[:1]), NEW)
    assert after[0] < before[0]
    assert (after <= before * (1 + 1e-9)).all()
    assert np.array_equal(disagreement(model, NEW), before)


def test_a_path_is_one_function_and_unseen_scores_belong_to_rows(model: Any) -> None:
    a, b = (model.draw_path(NEW, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(a, b)
    assert a.shape == (12,)
    scores = model.score_unseen()
    assert scores.shape == (40,)
    assert np.isfinite(scores).sum() >= 16
    assert np.nanmin(scores) >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_model_and_an_update_takes_a_new_run_in(kind: Any) -> None:
    model, again = (kind(**SHORT).fit(X, Y, np.random.default_rng(0)) for _ in range(2))
    assert np.array_equal(model.predict(NEW), again.predict(NEW))
    x = np.array([[0.95, 0.5]])
    before = float(model.predict(x)[0])
    grown = np.vstack([X, np.repeat(x, 8, axis=0) + 0.01 * np.random.default_rng(1).standard_normal((8, 2))])
    y = np.append(Y, np.full(8, 90.0))
    for _ in range(3):
        model.update(grown, y, np.random.default_rng(1))
    assert abs(float(model.predict(x)[0]) - 90) < abs(before - 90)


def test_randomized_priors_keep_members_apart_where_there_are_no_runs() -> None:
    model = RandomizedPriors(n_steps=300, prior_scale=1.0).fit(X, Y, np.random.default_rng(0))
    empty, full = (model.predict_members(at).std(axis=0, ddof=1).mean() for at in (X + np.array([0.5, 0.0]), X))
    assert empty > 2 * full


def test_bootstrap_weights_of_a_run_do_not_change_when_others_follow() -> None:
    model = Bootstrap(**SHORT).fit(X[:30], Y[:30], np.random.default_rng(0))
    first = model._weight
    model.update(X, Y, np.random.default_rng(1))
    assert model._weight.shape == (3, 40)
    assert (model._weight[:, :30] == first).all()


def test_anchors_are_kept_through_updates_and_drawn_anew_from_scratch() -> None:
    model = Anchored(**SHORT).fit(X[:30], Y[:30], np.random.default_rng(0))
    anchors = model._anchors
    model.update(X[:32], Y[:32], np.random.default_rng(1))
    assert model._anchors is anchors
    model.update(np.vstack([X, X]), np.append(Y, Y), np.random.default_rng(1))
    assert model._anchors is not anchors


def test_strong_anchors_hold_members_to_their_beginnings() -> None:
    weak, strong = (
        Anchored(strength=s, n_steps=100).fit(X, Y, np.random.default_rng(0)).predict_members(X).std(axis=0).mean()
        for s in (1e-4, 100.0)
    )
    assert strong > weak


def test_a_run_stays_held_out_for_its_member_as_runs_are_added_and_for_no_other() -> None:
    few, many = assign_member_folds(22, 3), assign_member_folds(90, 3)
    assert (many[:, : few.shape[1]] == few).all()
    assert sorted(assign_member_folds(50, 5).ravel().tolist()) == list(range(50))


def test_an_ensemble_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="n_members must be a whole number of at least 2"):
        RandomizedPriors(n_members=1).fit(X, Y, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RandomizedPriors, Bootstrap, Anchored])
def test_going_on_from_run_to_run_is_as_good_as_training_from_scratch(kind: Any) -> None:
    gaps = []
    for child in np.random.default_rng(0).spawn(4):
        U = child.uniform(size=(100, 2))
        y = np.sin(5 * U[:, 0]) + U[:, 1] ** 2 + 0.1 * child.standard_normal(100)
        test = child.uniform(size=(500, 2))
        truth = np.sin(5 * test[:, 0]) + test[:, 1] ** 2
        warm = kind().fit(U[:70], y[:70], child)
        for n in range(71, 101):
            warm.update(U[:n], y[:n], child)
        scratch = kind().fit(U, y, child)
        gaps.append(np.log([np.sqrt(np.mean((m.predict(test) - truth) ** 2)) for m in (warm, scratch)]))
    ratio = np.exp(np.diff(np.array(gaps), axis=1).mean())  # of RMSE, scratch over warm
    assert ratio > 0.9
