"""Saved surrogates: equal to the bit after loading, for every option, and format 1 for ever."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genbayes import InvalidInput, QuantileSurrogate, load
from genbayes.errors import UnreadableFile
from genbayes.models.network import plans
from genbayes.models.regimes import Identity
from genbayes.persistence import State, read_state, write_state

FIXTURE = Path(__file__).parents[2] / "data" / "surrogate_format_1.gb"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"recipe": "paper"},
        {"n_members": 3, "prior_scale": 0.5},
        {"y_bounds": (-5.0, None)},
        {"weights": (0.2, 0.2, 0.6)},
        {"weights": "auto", "features": [Identity()]},
        {"random_state": np.random.default_rng(0)},
        {"random_state": np.int64(3), "n_hidden": np.int64(8)},
    ],
)
def test_a_loaded_model_answers_as_the_saved_one(make, runs, tmp_path: Path, settings: dict) -> None:
    model = make(**settings).fit(*runs)
    again = load(model.save(tmp_path / "model.gb"))
    assert type(again) is QuantileSurrogate
    tau = [0.001, 0.05, 0.5, 0.95, 0.999]
    np.testing.assert_array_equal(again.predict_quantiles(runs[0], tau), model.predict_quantiles(runs[0], tau))
    np.testing.assert_array_equal(again.extrapolates(runs[0] * 3), model.extrapolates(runs[0] * 3))
    assert again.summary() == model.summary()
    np.testing.assert_array_equal(again.history_.loss, model.history_.loss)


def test_a_network_with_fourier_features_survives(make, runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    possible = plans.possible_plans
    monkeypatch.setattr(plans, "possible_plans", lambda *given: [plans.fourier_plan(possible(*given), None)])
    model = make(prior_scale=0.5).fit(*runs)
    assert model.summary()["Fourier features"] == str(plans.N_FOURIER)
    path = model.save(tmp_path / "model.gb")
    np.testing.assert_array_equal(load(path).predict(runs[0]), model.predict(runs[0]))
    assert read_state(path).value("settings")["shape"]["n_fourier"] == plans.N_FOURIER


def test_names_and_categories_survive(make, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"größe": rng.uniform(size=50), "gas": rng.choice(["He", "O2"], 50), "stage": rng.choice([1, 2], 50)}
    )
    model = make(categorical=["gas", "stage"]).fit(X, X["größe"])
    again = load(model.save(tmp_path / "model.gb"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert list(again.feature_names_in_) == ["größe", "gas", "stage"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(X.rename(columns={"gas": "fuel"}))


def test_a_loaded_model_can_be_fitted_and_saved_again(make, runs, tmp_path: Path) -> None:
    model = make().fit(*runs)
    again = load(model.save(tmp_path / "a.gb")).fit(*runs)
    np.testing.assert_array_equal(load(again.save(tmp_path / "b.gb")).predict(runs[0]), model.predict(runs[0]))
    state = read_state(tmp_path / "a.gb")
    assert state.value("data_sha256") == model.fingerprint_  # what it was fitted to
    assert state.value("parameters")["n_members"] == 2


def test_a_file_of_format_1_still_loads() -> None:
    q = load(FIXTURE).predict_quantiles(pd.DataFrame({"mach": [0.5, 2.0], "gas": ["He", "O2"]}), [0.05, 0.5, 0.95])
    np.testing.assert_allclose(q, np.loadtxt(FIXTURE.with_suffix(".csv"), delimiter=","), rtol=1e-4)


def huge(settings: dict) -> dict:
    return {**settings, "shape": {**settings["shape"], "n_merge": 10**6}}


def deep(settings: dict) -> dict:
    return {**settings, "shape": {**settings["shape"], "n_layers": 10**12}}


@pytest.mark.parametrize(
    ("values", "arrays", "sentence"),
    [
        *[
            ({}, {name: None}, f"must hold the array '{name}', got none")
            for name in ("center", "network.trained.f_1.weight", "coverage", "history.loss")
        ],
        (
            {},
            {"network.trained.f_1.weight": np.zeros((2, 3, 3), dtype=np.float32)},
            r"must have shape \(2, 8, 8\), got \(2, 3, 3\)",
        ),
        ({"parameters": {"n_members": 2, "backdoor": 1}}, {}, "the model file must"),
        ({"settings": {"shape": {}}}, {}, "the model file must"),
        ({"settings": huge}, {}, r"must have shape \(2, 1000000, 1000000\), got \(2, 8, 8\)"),  # no memory is taken
        ({"settings": deep}, {}, "must have 1000000000000 layers, got fewer"),
        ({"n_features_in": 10**12}, {}, "the scales in the model file must be those of 1000000000000 inputs, got"),
        ({"categorical": [[0, 10**9]]}, {}, "the model file must scale or code each column once"),
        ({"response_scaler": {"center": 0.0, "scale": 0.0}}, {}, "the scale of y in the model file must be positive"),
        ({}, {"coverage": np.zeros((0, 2), np.float32)}, "the model file must keep a training input, got none"),
        ({"radius": -1.0}, {}, "'radius' in the model file must be a number from 0"),
        ({}, {"scale": np.zeros(2)}, "'scale' in the model file must be positive, got 0 to 0"),
        ({}, {"history.epoch": np.zeros(0), "history.loss": np.zeros(0)}, "must have an epoch, got none"),
        ({"spread": -1.0}, {}, "'spread' in the model file must be positive"),
        ({"n_features_in": "two"}, {}, "the value 'n_features_in' in the model file must be a whole number"),
        ({"categories": [[0]]}, {}, "the model file must"),
        ({"map0": {"kind": "os", "values": {}}}, {}, "the model file must"),
    ],
)
def test_a_spoilt_file_is_refused_in_one_sentence(make, runs, tmp_path, values, arrays, sentence: str) -> None:
    state = make(features=Identity()).fit(*runs).to_state()
    spoilt = {name: value(state.values[name]) if callable(value) else value for name, value in values.items()}
    left = {name: value for name, value in {**state.arrays, **arrays}.items() if value is not None}
    path = write_state(tmp_path / "model.gb", State(state.kind, {**state.values, **spoilt}, left))
    with pytest.raises(UnreadableFile, match=sentence):
        load(path)


class Unknown(Identity):
    """A map of the user's own."""


def test_what_could_not_be_loaded_is_not_saved(make, runs, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        make().save(tmp_path / "model.gb")
    with pytest.raises(InvalidInput, match="a feature map must be registered to be saved, got Unknown"):
        make(features=Unknown()).fit(*runs).save(tmp_path / "model.gb")
