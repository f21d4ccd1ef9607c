"""QuantileSurrogate beyond the contract of all models: recipes, members, bounds, categories, frames, scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from genbayes import InvalidInput, QuantileSurrogate, load
from genbayes.distribution.quantile_function import GRID
from genbayes.metrics import coverage
from genbayes.models.network import DEFAULT, QUANTILE_DOMINANT
from genbayes.models.network.ensemble import distribution_of_run, member_quantiles, put_in_order
from genbayes.models.regimes import Identity


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_a_recipe_lowers_the_loss_and_a_weight_equals_repeating_the_row_exactly(make, runs, recipe: str) -> None:
    X, y = runs
    count = np.random.default_rng(1).integers(0, 4, len(y))
    settings = {"recipe": recipe, "n_epochs": 60, "learning_rate": 0.01}
    weighted = make(**settings).fit(X, y, sample_weight=count)
    repeated = make(**settings).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert weighted.fingerprint_ == repeated.fingerprint_
    assert weighted.history_.loss[-10:].mean() < weighted.history_.loss[:10].mean()


def test_neither_the_order_of_rows_nor_threads_matter_but_the_seed_does(make, runs) -> None:
    X, y = runs
    order, n_threads = np.random.default_rng(1).permutation(len(y)), torch.get_num_threads()
    predicted = make().fit(X, y).predict(X)
    np.testing.assert_array_equal(make().fit(X[order], y[order]).predict(X), predicted)
    assert not np.allclose(make(random_state=1).fit(X, y).predict(X), predicted)
    assert torch.get_num_threads() == n_threads


@pytest.mark.parametrize("prior_scale", [0.0, 0.5])
def test_a_member_of_a_given_plan_does_not_depend_on_how_many_there_are(make, runs, prior_scale: float) -> None:
    tau, Z = torch.tensor([0.1, 0.5]), torch.zeros(4, 2)
    one = make(n_members=1, n_layers=1, prior_scale=prior_scale).fit(*runs).network_.quantiles(Z, tau)
    three = make(n_members=3, n_layers=1, prior_scale=prior_scale).fit(*runs).network_.quantiles(Z, tau)
    torch.testing.assert_close(one[0], three[0], rtol=1e-3, atol=1e-4)  # batched products may round differently


def test_the_ensemble_is_the_mixture_of_its_members(make, runs) -> None:
    model = make(n_members=3).fit(*runs)
    q = member_quantiles(model.network_, model._scaled(runs[0]), model.spread_)
    members = [distribution_of_run(part[None, None], model.response_scaler_) for part in q]
    y = model.predict_quantiles(runs[0], GRID)  # between these levels the pooled distribution is linear
    hair = 1e-5 * np.ptp(y, axis=1, keepdims=True)  # at an atom F jumps
    below, above = (np.mean([member.cdf(y + side) for member in members], axis=0) for side in (-hair, hair))
    assert (below - 5e-5 <= GRID).all()
    assert (above + 5e-5 >= GRID).all()
    np.testing.assert_array_equal(model.predict_members(runs[0]), [member.median() for member in members])


def test_randomized_priors_make_members_disagree_away_from_the_data(make, runs) -> None:
    X, y = runs
    model = make(n_members=4, prior_scale=1.0, n_epochs=150, n_hidden=32, learning_rate=0.01).fit(X, y)
    near = model.predict_distribution(X, of="mean").std().mean()
    far = model.predict_distribution(np.array([[6.0, 6.0], [-6.0, 6.0], [6.0, -6.0]]), of="mean").std().mean()
    assert far > 3 * near


def test_what_members_know_of_the_mean_is_a_jackknife_by_groups_half_local_half_typical(make, runs, tmp_path) -> None:
    model = make(n_members=5).fit(*runs)
    q, _ = model._quantiles(runs[0])
    members = [distribution_of_run(q[:, j : j + 1], model.response_scaler_).mean() for j in range(5)]
    v = np.var(members, axis=0, ddof=1)
    known = model.predict_distribution(runs[0], of="mean")
    np.testing.assert_allclose(known.mean(), np.mean(members, axis=0))
    np.testing.assert_allclose(known.var(), 4 * (4 / 5) * 0.5 * (v + v.mean()), rtol=1e-6)
    one, again = model.predict_distribution(runs[0][:1], of="mean"), load(model.save(tmp_path / "model.gb"))
    np.testing.assert_allclose(one.std(), known.std()[:1])  # whatever else is asked for
    np.testing.assert_allclose(again.predict_distribution(runs[0], of="mean").std(), known.std())
    state = model.to_state()
    del state.values["disagreement"]  # as files of before
    np.testing.assert_allclose(
        QuantileSurrogate.from_state(state).predict_distribution(runs[0], of="mean").var(), v, rtol=1e-6
    )


def test_members_of_the_paper_s_recipe_have_all_runs_in_common_and_state_their_spread(make, runs) -> None:
    model = make(n_members=3, recipe="paper", n_epochs=20).fit(*runs)
    q, _ = model._quantiles(runs[0])
    members = [distribution_of_run(q[:, j : j + 1], model.response_scaler_).mean() for j in range(3)]
    assert model.disagreement_ is None
    known = model.predict_distribution(runs[0], of="mean")
    np.testing.assert_allclose(known.std(), np.std(members, axis=0, ddof=1))


def test_intervals_of_the_mean_hold_it(make) -> None:
    """The bare standard deviation of the members held 0.60 of these, where 90% was asked for."""
    rng = np.random.default_rng(3)
    held = []
    for seed in range(4):
        X = rng.uniform(size=(420, 2))
        f = np.sin(4 * X[:, 0] + seed) + X[:, 1] ** 2
        y = f + 0.3 * rng.standard_normal(420)
        model = QuantileSurrogate(n_layers=1, n_epochs=120, random_state=seed).fit(X[:120], y[:120])
        held.append(coverage(*model.predict_distribution(X[120:], of="mean").interval(0.9), f[120:]))
    assert 0.8 < np.mean(held) < 0.99


def test_the_distribution_of_the_mean_needs_members(make, runs) -> None:
    model = make(n_members=1).fit(*runs)
    assert not model.knows_mean
    with pytest.raises(InvalidInput, match="n_members must be at least 2 for of='mean', got 1"):
        model.predict_distribution(runs[0], of="mean")


@pytest.mark.parametrize("bounds", [(0.0, None), (None, 1.0), (0.0, 1.0)])
def test_bounded_responses_stay_within_their_bounds(make, bounds) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(100, 1)), rng.beta(0.3, 0.3, 100)
    predicted = make(y_bounds=bounds).fit(X, y).predict_distribution(np.linspace(-3, 4, 50)[:, None])
    draws = predicted.sample(200, random_state=0)
    lower, upper = bounds
    assert lower is None or min(draws.min(), predicted.ppf(1e-9).min()) >= lower
    assert upper is None or max(draws.max(), predicted.ppf(1 - 1e-9).max()) <= upper


def test_extrapolation_is_noticed(fitted) -> None:
    np.testing.assert_array_equal(fitted.extrapolates([[0.0, 0.0], [9.0, 0.0], [0.0, -9.0]]), [False, True, True])


def test_the_weight_rule_follows_the_marginal_distribution(make, runs) -> None:
    X, y = runs
    jump = np.where(X[:, 0] > 0, 5.0, 0.0) + y
    cases = [("auto", y, DEFAULT), ("auto", jump, QUANTILE_DOMINANT), ("default", jump, DEFAULT)]
    cases += [(None, jump, QUANTILE_DOMINANT), ("quantile-dominant", y, QUANTILE_DOMINANT)]
    for weights, response, expected in cases:
        assert make(weights=weights, n_epochs=1).fit(X, response).weights_ == expected
    assert make(weights=None, recipe="paper", n_epochs=1).fit(X, jump).weights_ == DEFAULT


def test_a_list_of_feature_maps_is_applied_in_turn_and_the_identity_changes_nothing(make, runs) -> None:
    model = make(features=[Identity(), Identity()]).fit(*runs)
    assert len(model.features_) == 2
    np.testing.assert_array_equal(model.predict(runs[0]), make().fit(*runs).predict(runs[0]))


def test_the_paper_recipe_is_the_paper_to_the_letter(runs) -> None:
    model = QuantileSurrogate(recipe="paper", n_epochs=2, random_state=0).fit(*runs)
    shape, training = model.settings_.shape, model.settings_.training
    assert (shape.n_hidden, shape.n_layers, shape.n_merge, shape.n_cosines, shape.n_members) == (256, 1, 256, 32, 1)
    assert (training.batch_size, training.learning_rate, training.weight_decay, training.warmup) == (None, 1e-3, 0, 0)
    assert model.settings_.n_tau is None  # one level a step
    assert (model.weights_, model.settings_.dropout) == (DEFAULT, 0.0)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_the_columns_of_a_frame_are_remembered_and_asked_for(make, runs, kind) -> None:
    gas = np.where(runs[0][:, 0] > 0, "He", "O2")
    frame = kind({"mach": runs[0][:, 0], "alpha": runs[0][:, 1]})
    model = make().fit(frame, runs[1])
    assert list(model.feature_names_in_) == ["mach", "alpha"]
    np.testing.assert_array_equal(model.predict(frame), make().fit(*runs).predict(runs[0]))
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        model.predict(frame[["alpha", "mach"]])
    with pytest.raises(ValueError, match=r"(?s)Feature names seen at fit time, yet now missing:.*alpha"):
        model.predict(frame[["mach"]])
    with_gas = kind({"mach": runs[0][:, 0], "gas": gas})
    model = make(categorical=["gas"]).fit(with_gas, runs[1])
    assert model.predict(with_gas).shape == (60,)
    assert model.coders_[0].levels == ("He", "O2")


def test_text_categories_are_learnt_by_name_or_index(make) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(size=150), "gas": rng.choice(["H", "He", "N2"], 150)})
    y = X["x"] + X["gas"].map({"H": 0.0, "He": 5.0, "N2": -5.0}) + 0.01 * rng.standard_normal(150)
    settings = {"n_epochs": 100, "n_hidden": 32, "learning_rate": 0.01}
    by_name = make(categorical=["gas"], **settings).fit(X, y)
    at = pd.DataFrame({"x": [0.5, 0.5, 0.5], "gas": ["H", "He", "N2"]})
    np.testing.assert_allclose(by_name.predict(at), [0.5, 5.5, -4.5], atol=1.0)
    by_index = make(categorical=[1], **settings).fit(X.to_numpy(dtype=object), y)
    np.testing.assert_array_equal(by_index.predict(X.to_numpy(dtype=object)), by_name.predict(X))


def test_many_categories_are_embedded(make) -> None:
    rng = np.random.default_rng(0)
    code = rng.integers(0, 30, 400)
    y = np.sin(code.astype(float)) + 0.01 * rng.standard_normal(400)
    model = make(categorical=[0], n_epochs=60, n_hidden=32, learning_rate=0.01).fit(code[:, None], y)
    assert model.settings_.shape.blocks == ((0, 30, 11),)
    assert np.corrcoef(model.predict(code[:, None]), y)[0, 1] > 0.9


def test_cross_val_score_grid_search_and_pipelines_with_weights(make, runs) -> None:
    model = make_pipeline(StandardScaler(), make(n_epochs=3))
    assert len(cross_val_score(model, *runs, cv=2)) == 2
    model.fit(*runs, quantilesurrogate__sample_weight=np.ones(60))
    search = GridSearchCV(make(n_epochs=2), {"n_hidden": [4, 8]}, cv=2).fit(*runs)
    assert search.best_params_["n_hidden"] in (4, 8)


def test_ordered_quantiles_are_left_alone_to_the_bit() -> None:
    q = torch.as_tensor(np.sort(np.random.default_rng(0).standard_normal((5, len(GRID))))).float()
    assert torch.equal(put_in_order(q), q)


def test_putting_in_order_brings_the_quantiles_nearer_to_the_true_ones() -> None:
    true = np.log(GRID / (1 - GRID))
    rough = true + np.random.default_rng(5).standard_normal((200, len(GRID)))
    ordered = put_in_order(torch.as_tensor(rough)).numpy()
    assert (np.diff(ordered, axis=1) >= 0).all()
    error, before = (((q - true) ** 2 @ np.gradient(GRID)).mean() for q in (ordered, rough))
    assert error < 0.5 * before


def test_a_wild_tail_does_not_move_the_middle() -> None:
    q = torch.as_tensor(np.log(GRID / (1 - GRID)))
    wild = q.clone()
    wild[:3], wild[-2:] = 50.0, -50.0
    ordered = put_in_order(wild)
    assert torch.equal(ordered[5:-5], q[5:-5])
    assert (ordered.diff() >= 0).all()


def test_one_response_in_a_hundred_that_is_off_by_a_million_leaves_the_others_as_they_were() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    y[[20, 90]] += 1e6, -1e6
    model = QuantileSurrogate(n_epochs=150, n_hidden=32, n_members=2, random_state=0).fit(X, y)
    at = np.linspace(0.05, 0.95, 50)[:, None]
    lower, upper = model.predict_interval(at, level=0.8)
    assert np.abs(model.predict_quantiles(at, 0.5) - np.sin(6 * at[:, 0])).mean() < 0.2
    assert np.median(upper - lower) < 1.5


def test_inputs_may_be_repeated_unequally_often() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(np.arange(20.0), rng.integers(1, 6, 20))[:, None]
    model = QuantileSurrogate(n_members=5, n_epochs=2, random_state=0).fit(X, X[:, 0] + rng.standard_normal(len(X)))
    assert np.isfinite(model.predict(X)).all()
