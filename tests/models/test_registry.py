"""The registry: what is registered is chosen, saved and loaded; what is not is refused at once and in one sentence."""

import pickle
from importlib import metadata
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import genbayes
from genbayes import AutoSurrogate, ConformalSurrogate, InvalidInput, load, register_model, registered_models
from genbayes.auto.candidates import choose_candidates
from genbayes.errors import GenBayesWarning, UnreadableFile
from genbayes.models import StationaryGP, registry
from genbayes.models.loading import state_of
from genbayes.models.registry import OUR_PARTS, OURS, Facts, RegisteredModel, adopt_models, registered_here
from genbayes.persistence import State, write_state

X = np.linspace(0, 1, 30)[:, None]
Y = np.sin(6 * X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])


class Mine(StationaryGP):
    """A class that nobody has registered."""


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.name)
def test_every_model_of_ours_is_where_the_registry_says_and_says_what_it_assumes(model: RegisteredModel) -> None:
    cls = model.load_class()
    assert f"{cls.__module__}:{cls.__qualname__}" == model.home
    assert all((model.assumes, model.suits))


@pytest.mark.parametrize(("name", "home"), OUR_PARTS.items())
def test_every_part_of_ours_is_where_the_registry_says(name: str, home: str) -> None:
    assert registry.load_class_of(home).__name__ == name


def test_every_class_is_offered_by_the_folder_of_models() -> None:
    wrappers = {"AutoSurrogate", "ConformalSurrogate"}
    assert {m.disk_name for m in OURS} - wrappers >= set(genbayes.models.__all__)
    assert genbayes.models.gp.stationary.StationaryGP is StationaryGP
    with pytest.raises(AttributeError, match="no attribute 'AutoSurrogate'"):
        _ = genbayes.models.AutoSurrogate


@pytest.mark.parametrize("wrap", [lambda m: m, ConformalSurrogate, lambda m: AutoSurrogate(candidates={"mine": m})])
def test_a_model_is_saved_only_once_it_is_registered_and_then_loads_by_its_name_on_disk(wrap, tmp_path: Path) -> None:
    model = wrap(Mine(random_state=0)).fit(X, Y)
    with pytest.raises(InvalidInput, match=r"must be registered to be saved, got Mine; call .*register_model\('mine',"):
        model.save(tmp_path / "model.gb")
    assert not list(tmp_path.iterdir())
    register_model("mine", Mine, disk_name="lab.gp")
    path = model.save(tmp_path / "model.gb")
    assert b'"lab.gp"' in path.read_bytes()
    assert type(load(path)) is type(model)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


def test_a_registered_model_is_a_candidate_by_name_and_unasked_where_it_is_worth_trying() -> None:
    register_model("mine", Mine, title="first")  # registered again, one's own is replaced
    register_model("mine", Mine, title="my GP", worth_trying=lambda facts: facts.n < 20)
    assert AutoSurrogate(candidates=["mine"], random_state=0).fit(X, Y).report_.entries[0].title == "my GP"
    for n in (10, 30):
        tried = [candidate.name for candidate in choose_candidates(None, Facts(n=n, n_regimes=1))]
        assert ("mine" in tried) == (n < 20)
    facts = Facts(n=10, n_regimes=1, categorical=(0,), bounds=(0.0, None))  # a model gets what its constructor takes
    assert repr(registered_models()["gp"].make(facts, 7)) == "StationaryGP(categorical=(0,), random_state=7)"


@pytest.mark.parametrize(
    ("name", "cls", "options", "sentence"),
    [
        ("gp", Mine, {}, "name must be new, got 'gp', which names genbayes"),
        ("", Mine, {}, "name must be text, got ''"),
        (3, Mine, {}, "name must be text, got 3"),
        ("mine", dict, {}, "cls must be a class with fit, predict_distribution, get_params, or 'module:Class', got"),
        ("mine", Mine(), {}, "cls must be a class"),
        ("mine", "Mine", {}, "cls must be a class"),
        ("mine", Mine, {"disk_name": "SparseGP"}, "disk_name must be new, got 'SparseGP', which names .*; pass disk"),
    ],
)
def test_what_cannot_be_registered_is_refused(name, cls, options, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        register_model(name, cls, **options)
    assert "mine" not in registered_models()


def test_a_model_that_cannot_say_what_to_keep_is_refused_by_save() -> None:
    bare = type("Bare", (), {"fit": None, "predict_distribution": None, "get_params": None})
    with pytest.raises(InvalidInput, match="must have to_state and from_state to be saved, got Bare"):
        state_of(bare())
    register_model("bare", bare)
    with pytest.raises(InvalidInput, match="must have to_state and from_state to be saved, got Bare"):
        state_of(bare())


def test_a_file_of_a_plug_in_that_is_missing_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register_model("mine", Mine)
    path = Mine(random_state=0).fit(X, Y).save(tmp_path / "model.gb")
    package = Mine.__module__.partition(".")[0]
    monkeypatch.delitem(registry._models, "mine")
    with pytest.raises(UnreadableFile, match=f"{package} must be installed to load a Mine, got none; install it, or"):
        load(path)
    assert "forest" in registered_models()
    monkeypatch.delitem(registry._models, "forest")
    with pytest.raises(UnreadableFile, match="genbayes_bench must be installed to load a QuantileForest.*benchmarks"):
        load(write_state(tmp_path / "old.gb", State("QuantileForest")))


ENTRY = RegisteredModel("theirs", "their GP", Mine, "Theirs")


def point(**load: object) -> Mock:
    """An entry point, as `importlib.metadata` gives them."""
    return Mock(value="plugin:thing", load=Mock(**load))


@pytest.mark.parametrize("found", [ENTRY, lambda: register_model("theirs", Mine, disk_name="Theirs")])
def test_plug_ins_are_found_by_their_entry_point_and_need_not_travel(found, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entry_points", lambda: [point(return_value=found)])
    assert registered_models()["theirs"].load_class() is Mine
    assert registered_here() == ()


def test_a_broken_plug_in_is_named_once_and_the_rest_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(registry._entry_points()) == set(metadata.entry_points(group="genbayes.models"))
    points = [point(side_effect=ImportError("no such thing")), point(return_value=ENTRY)]
    monkeypatch.setattr(registry, "_entry_points", lambda: points)
    with pytest.warns(GenBayesWarning, match="'plugin:thing' could not be loaded, its models are left out: no such"):
        assert "theirs" in registered_models()
    assert "theirs" in registered_models()  # no second warning


def test_what_is_registered_here_travels_with_an_automatic_surrogate(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = register_model("mine", Mine)
    register_model("other", type("Local", (StationaryGP,), {}), worth_trying=lambda facts: True)  # cannot be pickled
    sent = pickle.dumps(AutoSurrogate(candidates=["mine"]))
    monkeypatch.delitem(registry._models, "mine")
    monkeypatch.setattr(registry, "_own", {})
    assert pickle.loads(sent).candidates == ["mine"]
    assert registered_models()["mine"] == entry
    adopt_models([entry])  # a second time changes nothing
    assert registered_here() == (entry,)
