"""Without genbayes-bench: `genbayes bench` and `load` say in one sentence how to get it."""

from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from genbayes import load
from genbayes.cli import bench
from genbayes.errors import MissingExtra, UnreadableFile
from genbayes.models import registry
from genbayes_bench.rivals import NaturalGradientBoosting


@pytest.fixture
def without_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genbayes.cli.bench.find_spec", lambda name: None if name == "genbayes_bench" else object())
    assert "ngboost" in registry.registered_models()
    monkeypatch.delitem(registry._models, "ngboost")


@pytest.mark.parametrize("words", [[], ["run", "quick"], ["report", "folder", "-o", "page.html"]])
def test_the_command_says_how_to_get_it(words: list[str], without_bench: None) -> None:
    app = typer.Typer()
    app.command("other")(lambda: None)
    bench.mount(app)
    result = CliRunner().invoke(app, ["bench", *words])
    assert isinstance(result.exception, MissingExtra)
    assert str(result.exception) == (
        "genbayes-bench must be installed for genbayes bench, got none; in a clone of the repository: "
        "pip install -e benchmarks"
    )


def test_a_rival_s_file_names_the_missing_distribution(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    X = np.random.default_rng(0).uniform(size=(30, 1))
    path = NaturalGradientBoosting(n_rounds=3, depth=2, random_state=0).fit(X, X[:, 0]).save(tmp_path / "model.gb")
    request.getfixturevalue("without_bench")
    with pytest.raises(UnreadableFile, match="genbayes_bench must be installed to load a NaturalGradientBoosting"):
        load(path)
