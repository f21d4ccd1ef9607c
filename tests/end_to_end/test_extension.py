"""A stranger's model, one file and one line of registration, written from docs/adding/model.md alone.

It is a plug-in, found by its entry point: each check runs in a process that has never heard of the file.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import genbayes

PLUGIN = '''
import numpy as np

from genbayes import register_model
from genbayes.models.base import ScaledSurrogate
from genbayes.persistence import State


class Nearest(ScaledSurrogate):
    """The mean of the nearest runs, with normal noise of the size that they disagree by."""

    knows_mean = False

    def __init__(self, *, k=5, categorical=None, verbose=False, random_state=None):
        self.k, self.categorical, self.verbose, self.random_state = k, categorical, verbose, random_state

    def _learn(self, runs, rng):
        self.Z_, self.y_ = runs.Z, runs.y

    def _distribution(self, Z, of):
        near = np.argsort(((Z[:, None] - self.Z_) ** 2).sum(axis=2), axis=1)[:, : self.k]
        return self._normal(self.y_[near].mean(axis=1), self.y_[near].var(axis=1) + 1e-6)

    def _keep(self):
        return State("Nearest", {}, {"Z": self.Z_, "y": self.y_})

    def _restore(self, state):
        self.Z_, self.y_ = state.array("Z", (None, self.input_scaler_.n_outputs)), state.array("y", (None,))


def register():
    register_model("nearest", Nearest, title="nearest runs", worth_trying=lambda facts: facts.n < 100)
'''
WORKERS = """
import sys

import numpy as np
from joblib import Parallel, delayed

from genbayes import AutoSurrogate, load


def ask(model):
    return (load(model) if isinstance(model, str) else model.fit(X, y)).predict(X)


X = np.linspace(0, 1, 40)[:, None]
y = X[:, 0]
jobs = [sys.argv[1], AutoSurrogate(candidates=["nearest"], random_state=0)]
told, fitted = Parallel(n_jobs=2)(delayed(ask)(job) for job in jobs)
assert np.array_equal(told, load(sys.argv[1]).predict(X))
assert np.abs(fitted - y).max() < 0.1
"""
ALIKE = """
import numpy as np
from nearest import Nearest

from genbayes import AutoSurrogate, ConformalSurrogate, load
from genbayes.auto.candidates import choose_candidates
from genbayes.models.registry import Facts

X = np.random.default_rng(0).uniform(size=(80, 1))
y = np.sin(6 * X[:, 0])
for model in (Nearest(k=3), ConformalSurrogate(Nearest(), random_state=0), AutoSurrogate(candidates=["nearest"])):
    again = load(model.fit(X, y).save("again.gb"))
    assert np.array_equal(again.predict(X), model.predict(X))
assert "nearest" in {candidate.name for candidate in choose_candidates(None, Facts(n=80, n_regimes=1))}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plugin")
    about = path / "site" / "nearest-1.0.dist-info"
    about.mkdir(parents=True)
    (path / "site" / "nearest.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: nearest\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[genbayes.models]\nnearest = nearest:register\n")
    x = np.linspace(0, 1, 40)
    pd.DataFrame({"x": x, "y": x}).to_csv(path / "runs.csv", index=False)
    return path


def run(folder: Path, *words: str, plugin: bool = True) -> subprocess.CompletedProcess[str]:
    """A process of its own, in which the plug-in is installed or not."""
    source = str(Path(genbayes.__file__).parents[1])
    places = [str(folder / "site"), source] if plugin else [source]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
    )


@pytest.fixture(scope="module")
def compared(folder: Path) -> subprocess.CompletedProcess[str]:
    words = ["compare", "runs.csv", "--target", "y", "--candidates", "nearest", "-o", "model.gb", "--quiet"]
    return run(folder, "-m", "genbayes", *words)


def test_it_is_compared_by_the_command_line_and_its_file_predicts_in_another_process(folder: Path, compared) -> None:
    assert compared.returncode == 0, compared.stderr
    assert "nearest runs" in compared.stdout
    predicted = run(folder, "-m", "genbayes", "predict", "model.gb", "runs.csv", "-o", "out.csv")
    assert predicted.returncode == 0, predicted.stderr
    assert np.abs(pd.read_csv(folder / "out.csv")["mean"] - pd.read_csv(folder / "runs.csv")["y"]).max() < 0.1


def test_without_the_plug_in_its_file_is_refused_in_a_sentence_that_names_it(folder: Path, compared) -> None:
    result = run(folder, "-m", "genbayes", "predict", "model.gb", "runs.csv", "-o", "none.csv", plugin=False)
    assert result.returncode == 2
    assert "nearest must be installed to load a Nearest, got none; install it" in " ".join(result.stderr.split())


@pytest.mark.parametrize(("code", "words"), [(WORKERS, ["model.gb"]), (ALIKE, [])], ids=["in workers", "in models"])
def test_it_is_fitted_saved_and_loaded_as_ours_are(folder: Path, compared, code: str, words: list[str]) -> None:
    (folder / "script.py").write_text(code)
    result = run(folder, "script.py", *words)
    assert result.returncode == 0, result.stderr
