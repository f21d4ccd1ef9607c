"""QuantileSurrogate as users meet it: shapes, frames, weights, seeds, members, bounds, categories."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from genbayes import InvalidInput, QuantileSurrogate
from genbayes.models.network import DEFAULT, QUANTILE_DOMINANT
from genbayes.models.regimes import Identity


def test_predictions_have_the_promised_shapes(fitted, runs) -> None:
    X = runs[0][:5]
    assert fitted.predict(X).shape == (5,)
    assert [part.shape for part in fitted.predict(X, return_std=True)] == [(5,), (5,)]
    assert fitted.predict_quantiles(X, [0.05, 0.5, 0.95]).shape == (5, 3)
    assert fitted.predict_quantiles(X, 0.5).shape == (5,)
    assert [part.shape for part in fitted.predict_interval(X, level=0.9)] == [(5,), (5,)]
    assert fitted.sample_y(X, n_samples=7, random_state=0).shape == (5, 7)
    assert fitted.extrapolates(X).dtype == bool


def test_all_answers_read_one_law(fitted, runs) -> None:
    X = runs[0][:5]
    law = fitted.predict_distribution(X)
    np.testing.assert_array_equal(fitted.predict(X), law.mean())
    np.testing.assert_array_equal(fitted.predict_quantiles(X, [0.2, 0.7]), law.ppf([0.2, 0.7]))
    np.testing.assert_array_equal(fitted.predict_interval(X, 0.8), law.interval(0.8))
    np.testing.assert_array_equal(fitted.sample_y(X, 3, random_state=5), law.sample(3, random_state=5))


def test_quantiles_never_cross_and_do_not_depend_on_the_company(fitted, runs) -> None:
    tau = np.linspace(0.001, 0.999, 333)
    q = fitted.predict_quantiles(runs[0], tau)
    assert (np.diff(q, axis=1) >= 0).all()
    np.testing.assert_array_equal(fitted.predict_quantiles(runs[0], [tau[40]])[:, 0], q[:, 40])


def test_a_row_s_answer_does_not_depend_on_other_rows(fitted, runs) -> None:
    whole = fitted.predict_quantiles(runs[0], [0.1, 0.9])
    np.testing.assert_array_equal(fitted.predict_quantiles(runs[0][7:8], [0.1, 0.9])[0], whole[7])


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_training_lowers_the_loss(make, runs, recipe: str) -> None:
    history = make(recipe=recipe, n_epochs=60, learning_rate=0.01).fit(*runs).history_
    assert history.loss[-10:].mean() < history.loss[:10].mean()


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_a_seed_gives_the_same_model_again(make, runs, recipe: str) -> None:
    first, second = (make(recipe=recipe).fit(*runs).predict(runs[0]) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_another_seed_gives_another_model(make, runs) -> None:
    assert not np.allclose(make(random_state=1).fit(*runs).predict(runs[0]), make().fit(*runs).predict(runs[0]))


def test_the_global_random_state_is_neither_used_nor_changed(make, runs) -> None:
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    make().fit(*runs)
    assert torch.equal(before[0], torch.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


def test_fitting_leaves_the_number_of_threads_alone(make, runs) -> None:
    before = torch.get_num_threads()
    make().fit(*runs)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("recipe", ["fast", "paper"])
def test_a_weight_equals_repeating_the_row_exactly(make, runs, recipe: str) -> None:
    X, y = runs
    count = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = make(recipe=recipe).fit(X, y, sample_weight=count)
    repeated = make(recipe=recipe).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert weighted.fingerprint_ == repeated.fingerprint_


def test_the_order_of_rows_does_not_matter(make, runs) -> None:
    X, y = runs
    order = np.random.default_rng(1).permutation(len(y))
    np.testing.assert_array_equal(make().fit(X[order], y[order]).predict(X), make().fit(X, y).predict(X))


@pytest.mark.parametrize("prior_scale", [0.0, 0.5])
def test_a_member_does_not_depend_on_how_many_there_are(make, runs, prior_scale: float) -> None:
    tau, Z = torch.tensor([0.1, 0.5]), torch.zeros(4, 2)
    one = make(n_members=1, prior_scale=prior_scale).fit(*runs).network_.quantiles(Z, tau)
    three = make(n_members=3, prior_scale=prior_scale).fit(*runs).network_.quantiles(Z, tau)
    torch.testing.assert_close(one[0], three[0], rtol=1e-3, atol=1e-4)  # batched products may round differently


def test_the_ensemble_is_the_mixture_of_its_members(make, runs) -> None:
    from genbayes.distribution.quantile import GRID
    from genbayes.models.network.ensemble import distribution_of_run, member_quantiles

    model = make(n_members=3).fit(*runs)
    q = member_quantiles(model.network_, model._scaled(runs[0]), model.spread_)
    members = [distribution_of_run(part[None, None], model.response_scaler_) for part in q]
    y = model.predict_quantiles(runs[0], GRID)  # between these levels the pooled distribution is linear
    hair = 1e-5 * np.ptp(y, axis=1, keepdims=True)  # at an atom F jumps
    below, above = (np.mean([member.cdf(y + side) for member in members], axis=0) for side in (-hair, hair))
    assert (below - 5e-5 <= GRID).all()
    assert (above + 5e-5 >= GRID).all()


def test_randomized_priors_make_members_disagree_away_from_the_data(make, runs) -> None:
    X, y = runs
    model = make(n_members=4, prior_scale=1.0, n_epochs=150, n_hidden=32, learning_rate=0.01).fit(X, y)
    near = model.predict_distribution(X, of="mean").std().mean()
    far = model.predict_distribution(np.array([[6.0, 6.0], [-6.0, 6.0], [6.0, -6.0]]), of="mean").std().mean()
    assert far > 3 * near


def test_the_law_of_the_mean_is_narrower_than_that_of_a_run(make) -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(300, 1))
    y = rng.standard_normal(300)
    model = make(n_epochs=40).fit(X, y)
    assert (model.predict_distribution(X, of="mean").std() < model.predict_distribution(X).std()).all()


def test_the_law_of_the_mean_needs_members(make, runs) -> None:
    with pytest.raises(InvalidInput, match="n_members must be at least 2 for of='mean', got 1"):
        make(n_members=1).fit(*runs).predict_distribution(runs[0], of="mean")
    with pytest.raises(InvalidInput, match="of must be one of 'run', 'mean', got 'man'; did you mean 'mean'?"):
        make(n_members=1).fit(*runs).predict_distribution(runs[0], of="man")


@pytest.mark.parametrize("bounds", [(0.0, None), (None, 1.0), (0.0, 1.0)])
def test_bounded_responses_stay_within_their_bounds(make, bounds) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 1))
    y = rng.beta(0.3, 0.3, 100)
    law = make(y_bounds=bounds).fit(X, y).predict_distribution(np.linspace(-3, 4, 50)[:, None])
    draws = law.sample(200, random_state=0)
    lower, upper = bounds
    assert lower is None or min(draws.min(), law.ppf(1e-9).min()) >= lower
    assert upper is None or max(draws.max(), law.ppf(1 - 1e-9).max()) <= upper


def test_extrapolation_is_noticed(fitted) -> None:
    np.testing.assert_array_equal(fitted.extrapolates([[0.0, 0.0], [9.0, 0.0], [0.0, -9.0]]), [False, True, True])


def test_the_weight_rule_follows_the_marginal_distribution(make, runs) -> None:
    X, y = runs
    assert make(weights="auto", n_epochs=1).fit(X, y).weights_ == DEFAULT
    jump = np.where(X[:, 0] > 0, 5.0, 0.0) + y
    assert make(weights="auto", n_epochs=1).fit(X, jump).weights_ == QUANTILE_DOMINANT
    assert make(weights="default", n_epochs=1).fit(X, jump).weights_ == DEFAULT


def test_a_list_of_feature_maps_is_applied_in_turn(make, runs) -> None:
    model = make(features=[Identity(), Identity()]).fit(*runs)
    assert len(model.features_) == 2
    np.testing.assert_array_equal(
        model.predict(runs[0]), make(features=[Identity(), Identity()]).fit(*runs).predict(runs[0])
    )


def test_the_paper_recipe_is_the_paper_to_the_letter(runs) -> None:
    model = QuantileSurrogate(recipe="paper", n_epochs=2, random_state=0).fit(*runs)
    shape, training = model.settings_.shape, model.settings_.training
    assert (shape.n_hidden, shape.n_layers, shape.n_merge, shape.n_cosines, shape.n_members) == (256, 1, 256, 32, 1)
    assert (training.batch_size, training.learning_rate, training.weight_decay, training.warmup) == (None, 1e-3, 0, 0)
    assert model.settings_.n_tau is None  # one level a step
    assert (model.weights_, model.settings_.dropout) == (DEFAULT, 0.0)


class TestFrames:
    @pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def frame(self, request, runs):
        return request.param({"mach": runs[0][:, 0], "alpha": runs[0][:, 1]})

    def test_column_names_are_remembered_and_the_answer_is_that_of_an_array(self, make, runs, frame) -> None:
        model = make().fit(frame, runs[1])
        assert list(model.feature_names_in_) == ["mach", "alpha"]
        np.testing.assert_array_equal(model.predict(frame), make().fit(*runs).predict(runs[0]))

    def test_columns_in_another_order_are_refused(self, make, runs, frame) -> None:
        model = make(n_epochs=1).fit(frame, runs[1])
        with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
            model.predict(frame[["alpha", "mach"]])

    def test_a_missing_column_is_named(self, make, runs, frame) -> None:
        model = make(n_epochs=1).fit(frame, runs[1])
        with pytest.raises(ValueError, match=r"(?s)Feature names seen at fit time, yet now missing:.*alpha"):
            model.predict(frame[["mach"]])

    def test_a_frame_with_categories(self, make, runs, frame) -> None:
        gas = np.where(runs[0][:, 0] > 0, "He", "O2")
        with_gas = frame.assign(gas=gas) if hasattr(frame, "assign") else frame.with_columns(pl.Series("gas", gas))
        model = make(categorical=["gas"]).fit(with_gas, runs[1])
        assert model.predict(with_gas).shape == (60,)
        assert model.coders_[0].levels == ("He", "O2")


class TestCategories:
    @pytest.fixture
    def gases(self):
        rng = np.random.default_rng(0)
        gas = rng.choice(["H", "He", "N2"], 150)
        x = rng.uniform(size=150)
        effect = {"H": 0.0, "He": 5.0, "N2": -5.0}
        y = x + np.array([effect[g] for g in gas]) + 0.01 * rng.standard_normal(150)
        return pd.DataFrame({"x": x, "gas": gas}), y

    def test_text_categories_are_learnt(self, make, gases) -> None:
        X, y = gases
        model = make(categorical=["gas"], n_epochs=100, n_hidden=32, learning_rate=0.01).fit(X, y)
        at = pd.DataFrame({"x": [0.5, 0.5, 0.5], "gas": ["H", "He", "N2"]})
        np.testing.assert_allclose(model.predict(at), [0.5, 5.5, -4.5], atol=1.0)

    def test_categories_by_index_in_an_array_of_objects(self, make, gases) -> None:
        X, y = gases
        by_index = make(categorical=[1]).fit(X.to_numpy(dtype=object), y)
        by_name = make(categorical=["gas"]).fit(X, y)
        np.testing.assert_array_equal(by_index.predict(X.to_numpy(dtype=object)), by_name.predict(X))

    def test_many_categories_are_embedded(self, make) -> None:
        rng = np.random.default_rng(0)
        code = rng.integers(0, 30, 400)
        y = np.sin(code.astype(float)) + 0.01 * rng.standard_normal(400)
        model = make(categorical=[0], n_epochs=60, n_hidden=32, learning_rate=0.01).fit(code[:, None], y)
        assert model.settings_.shape.blocks == ((0, 30, 11),)
        assert np.corrcoef(model.predict(code[:, None]), y)[0, 1] > 0.9

    def test_an_unknown_category_is_named(self, make, gases) -> None:
        X, y = gases
        model = make(categorical=["gas"], n_epochs=1).fit(X, y)
        with pytest.raises(
            InvalidInput, match=r"X\['gas'\] must hold categories seen in fit \('H', 'He', 'N2'\), got 'Xe'"
        ):
            model.predict(pd.DataFrame({"x": [0.1], "gas": ["Xe"]}))

    def test_text_that_is_not_called_categorical_is_refused_by_name(self, make, gases) -> None:
        with pytest.raises(
            InvalidInput, match="must be numeric outside `categorical`, got text in 'gas'; name them in"
        ):
            make().fit(*gases)

    def test_a_misspelt_category_is_corrected(self, make, gases) -> None:
        with pytest.raises(InvalidInput, match="categorical must name columns of X, got 'gass'; did you mean 'gas'?"):
            make(categorical=["gass"]).fit(*gases)

    def test_a_missing_category_is_refused(self, make, gases) -> None:
        X, y = gases
        X = X.copy()
        X.loc[3, "gas"] = None
        with pytest.raises(
            InvalidInput, match=r"X\['gas'\] must not have missing categories, got 1 of 150 rows \(row 3\)"
        ):
            make(categorical=["gas"]).fit(X, y)


class TestScikitLearn:
    def test_cross_val_score_grid_search_and_pipelines(self, make, runs) -> None:
        model = make_pipeline(StandardScaler(), make(n_epochs=3))
        assert len(cross_val_score(model, *runs, cv=2)) == 2
        search = GridSearchCV(make(n_epochs=2), {"n_hidden": [4, 8]}, cv=2).fit(*runs)
        assert search.best_params_["n_hidden"] in (4, 8)

    def test_clone_copies_settings_and_forgets_the_fit(self, fitted) -> None:
        copy = clone(fitted)
        assert copy.get_params() == fitted.get_params()
        with pytest.raises(NotFittedError):
            copy.predict([[0.0, 0.0]])

    def test_metadata_routing_of_weights(self, make, runs) -> None:
        model = make_pipeline(StandardScaler(), make(n_epochs=2))
        model.fit(*runs, quantilesurrogate__sample_weight=np.ones(60))
