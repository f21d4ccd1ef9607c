"""Engines are imported only by those who fit with them, and missed politely."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from genbayes import GenBayesError, load
from genbayes.errors import MissingExtra
from genbayes.models import BoostedQuantiles
from genbayes.models.trees import boosted as engine
from genbayes_bench.rivals import NaturalGradientBoosting, QuantileForest

SMALL = {
    "lightgbm": BoostedQuantiles(n_trees=5, n_leaves=4, random_state=0),
    "quantile-forest": QuantileForest(n_trees=5, n_leaf_rows=3, max_features=1.0, random_state=0),
    "ngboost": NaturalGradientBoosting(n_rounds=3, depth=2, random_state=0),
}
PROBE = """
import json, sys
from genbayes import baselines
from genbayes_bench import rivals
names = [getattr(module, name).__name__ for module in (baselines, rivals) for name in dir(module)]
print(json.dumps([names, [name for name in ("lightgbm", "quantile_forest", "ngboost") if name in sys.modules]]))
"""


@pytest.fixture
def without_engines(monkeypatch):
    def refuse(name: str):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(engine, "import_module", refuse)


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    return X, X[:, 0] + 0.1 * rng.standard_normal(40)


@pytest.mark.parametrize("library", SMALL)
def test_a_missing_engine_is_named_with_its_remedy(library: str, runs, without_engines) -> None:
    model = SMALL[library]
    package = "genbayes[baselines]" if library == "lightgbm" else "genbayes-bench[rivals]"
    sentence = f"{library} must be installed for {type(model).__name__}, got none; pip install '{package}'"
    with pytest.raises(MissingExtra, match=re.escape(sentence)):
        model.fit(*runs)


def test_a_missing_engine_is_caught_as_any_import_error_or_as_ours() -> None:
    assert issubclass(MissingExtra, ImportError)
    assert issubclass(MissingExtra, GenBayesError)


@pytest.mark.parametrize("error", [ImportError("libgomp is missing"), OSError("libgomp is missing")])
def test_an_engine_that_does_not_load_is_told_from_one_that_is_absent(monkeypatch, error: Exception) -> None:
    def fail(name: str):
        raise error

    monkeypatch.setattr(engine, "import_module", fail)
    with pytest.raises(MissingExtra, match=r"got one that does not load \(libgomp is missing\)"):
        engine.load_engine("lightgbm", "genbayes[baselines]", "BoostedQuantiles")


@pytest.mark.parametrize("library", SMALL)
def test_a_saved_model_answers_where_its_engine_is_missing(library, runs, tmp_path, monkeypatch) -> None:
    fitted = SMALL[library].fit(*runs)
    path = fitted.save(tmp_path / "model.gb")
    monkeypatch.setattr(engine, "import_module", lambda name: pytest.fail(f"{name} must not be imported"))
    np.testing.assert_array_equal(load(path).predict(runs[0]), fitted.predict(runs[0]))


def test_looking_at_all_baselines_imports_no_engine() -> None:
    out = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    names, loaded = json.loads(out.stdout)
    assert {"BoostedQuantiles", "QuantileForest", "NaturalGradientBoosting", "SparseGP"} <= set(names)
    assert loaded == []


def test_an_unknown_baseline_is_refused_as_usual() -> None:
    import genbayes.baselines

    with pytest.raises(AttributeError, match="no attribute 'RandomGuess'"):
        _ = genbayes.baselines.RandomGuess
