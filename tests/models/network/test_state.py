"""Saved surrogates: equal to the bit after loading, for every option, and format 1 for ever."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genbayes import InvalidInput, QuantileSurrogate, load
from genbayes.errors import UnreadableFile
from genbayes.models.network import trials
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
    plans = trials.possible_plans
    monkeypatch.setattr(trials, "possible_plans", lambda *given: [trials.fourier_plan(plans(*given), None)])
    model = make(prior_scale=0.5).fit(*runs)
    assert model.summary()["Fourier features"] == str(trials.N_FOURIER)
    path = model.save(tmp_path / "model.gb")
    np.testing.assert_array_equal(load(path).predict(runs[0]), model.predict(runs[0]))
    assert read_state(path).value("settings")["shape"]["n_fourier"] == trials.N_FOURIER


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
    again = load(make().fit(*runs).save(tmp_path / "a.gb")).fit(*runs)
    np.testing.assert_array_equal(
        load(again.save(tmp_path / "b.gb")).predict(runs[0]), make().fit(*runs).predict(runs[0])
    )


def test_the_file_tells_what_it_was_fitted_to(make, runs, tmp_path: Path) -> None:
    model = make().fit(*runs)
    state = read_state(model.save(tmp_path / "model.gb"))
    assert state.value("data_sha256") == model.fingerprint_
    assert state.value("parameters")["n_members"] == 2


@pytest.mark.parametrize("name", ["center", "network.trained.f_1.weight", "coverage", "history.loss"])
def test_a_file_without_one_of_its_tensors_is_refused(make, runs, tmp_path: Path, name: str) -> None:
    state = make().fit(*runs).to_state()
    arrays = {key: value for key, value in state.arrays.items() if key != name}
    path = write_state(tmp_path / "model.gb", State(state.kind, state.values, arrays))
    with pytest.raises(UnreadableFile, match=f"must hold the array '{name}', got none"):
        load(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parameters", {"n_members": 2, "backdoor": 1}),
        ("settings", {"shape": {}}),
        ("n_features_in", "two"),
        ("categories", [[0]]),
        ("map0", {"kind": "os", "values": {}}),
    ],
)
def test_a_crafted_manifest_is_refused_in_one_sentence(make, runs, tmp_path: Path, key: str, value: object) -> None:
    state = make(features=Identity()).fit(*runs).to_state()
    path = write_state(tmp_path / "model.gb", State(state.kind, {**state.values, key: value}, state.arrays))
    with pytest.raises(UnreadableFile, match="the model file must"):
        load(path)


def test_a_network_of_another_shape_is_refused(make, runs, tmp_path: Path) -> None:
    state = make().fit(*runs).to_state()
    arrays = {**state.arrays, "network.trained.f_1.weight": np.zeros((2, 3, 3), dtype=np.float32)}
    path = write_state(tmp_path / "model.gb", State(state.kind, state.values, arrays))
    with pytest.raises(UnreadableFile, match=r"must have shape \(2, 8, 8\), got \(2, 3, 3\)"):
        load(path)


def test_an_unfitted_model_cannot_be_saved(make, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        make().save(tmp_path / "model.gb")


def test_a_file_of_format_1_still_loads() -> None:
    model = load(FIXTURE)
    X = pd.DataFrame({"mach": [0.5, 2.0], "gas": ["He", "O2"]})
    q = model.predict_quantiles(X, [0.05, 0.5, 0.95])
    expected = np.loadtxt(FIXTURE.with_suffix(".csv"), delimiter=",")
    np.testing.assert_allclose(q, expected, rtol=1e-4)


class Unknown(Identity):
    """A map of the user's own."""


def test_a_map_that_could_not_be_loaded_is_not_saved(make, runs, tmp_path: Path) -> None:
    model = make(features=Unknown()).fit(*runs)
    with pytest.raises(InvalidInput, match="a feature map must be registered to be saved, got Unknown"):
        model.save(tmp_path / "model.gb")


def test_a_manifest_that_claims_a_huge_network_is_refused_before_memory_is_taken(make, runs, tmp_path: Path) -> None:
    state = make().fit(*runs).to_state()
    settings = {**state.values["settings"], "shape": {**state.values["settings"]["shape"], "n_merge": 10**6}}
    path = write_state(tmp_path / "model.gb", State(state.kind, {**state.values, "settings": settings}, state.arrays))
    with pytest.raises(UnreadableFile, match=r"must have shape \(2, 1000000, 1000000\), got \(2, 8, 8\)"):
        load(path)
