"""The bridge to the rivals' environment: with a fake one whose Python is ours, then the real one if it is there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from genbayes_bench.inference import describe_prior
from genbayes_bench.measure import measure
from genbayes_bench.plan import Job, make_plan
from genbayes_bench.problems.inference import TASKS
from genbayes_bench.registry import load_registry
from genbayes_bench.rivals import foreign
from genbayes_bench.rivals.autogluon import AutoGluon
from genbayes_bench.rivals.environment import RivalFailed, RivalMissing, call_rival, why_missing

ECHO = """
import json, os, sys
import numpy as np
given = dict(np.load("in.npz", allow_pickle=False)) if os.path.exists("in.npz") else {}
settings = json.load(open("settings.json"))
{body}
"""
ANSWER = """
np.savez("out.npz", **{name: 2 * value for name, value in given.items()})
json.dump({"settings": settings, "threads": os.environ["OMP_NUM_THREADS"]}, open("facts.json", "w"))
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment that has a package `fake`, whose Python runs a few lines of ours in place of `foreign`."""

    def make(body: str) -> None:
        code = tmp_path / "body.py"
        code.write_text(ECHO.replace("{body}", body))
        (tmp_path / "lib/python3/site-packages/fake").mkdir(parents=True)
        (tmp_path / "lib/python3/site-packages/autogluon").mkdir()
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin/python"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {code} "$3"\n')
        program.chmod(0o755)
        monkeypatch.setenv("GENBAYES_RIVALS", str(tmp_path))

    return make


def test_arrays_and_settings_go_over_and_come_back_on_one_thread(environment) -> None:
    environment(ANSWER)
    answer = call_rival("any", "fake", {"x": np.array([1.0, 2.5])}, {"seed": 3})
    np.testing.assert_array_equal(answer.arrays["x"], [2.0, 5.0])
    assert answer.facts == {"settings": {"seed": 3}, "threads": "1"}


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("raise ValueError('too few rows')", "run to its end, got exit code 1: ValueError: too few rows"),
        ("pass", "answer with out.npz and facts.json"),
        (ANSWER.replace("2 * value", "value * np.nan"), "finite numbers, got NaN or infinity in 'x'"),
        (ANSWER.replace("2 * value", "np.array([object()])"), "answer with out.npz"),
        ("import time; time.sleep(30)", "end within 1 seconds"),
    ],
)
def test_a_rival_that_fails_says_why_in_one_sentence(environment, body, match) -> None:
    environment(body)
    with pytest.raises(RivalFailed, match=match):
        call_rival("any", "fake", {"x": np.ones(2)}, {}, timeout=1 if "sleep" in body else 60)


@pytest.mark.parametrize("package", ["sbi", "autogluon"])
def test_what_is_not_there_is_named_with_the_command_that_installs_it(package, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GENBAYES_RIVALS", str(tmp_path))
    assert why_missing(package) == f"{package} is not in the environment of the rivals; make rivals installs it"
    with pytest.raises(RivalMissing, match="make rivals"):
        call_rival("any", package, {}, {})


def test_autogluon_is_skipped_without_its_environment(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GENBAYES_RIVALS", str(tmp_path))
    plan = make_plan(load_registry(), ["yacht", "bgp2"], "quick", ["autogluon", "autogluon-10"])
    assert not plan.jobs
    assert all("make rivals" in left.reason for left in plan.left_out if left.method)


def test_autogluon_learns_in_one_call_and_predicts_in_another(environment) -> None:
    environment("""
folder = settings["folder"]
if sys.argv[1] == "autogluon-fit":
    os.makedirs(folder)
    np.save(folder + "/levels.npy", given["levels"])
    np.savez("out.npz")
    json.dump({"fit_seconds": 1.5, "models": ["A"], "versions": {}}, open("facts.json", "w"))
else:
    np.savez("out.npz", q=given["X_new"][:, :1] + np.load(folder + "/levels.npy"))
    json.dump({}, open("facts.json", "w"))
""")
    record = measure(Job("bgp2", "quick", "autogluon-10", 200, 0), load_registry())
    assert record.error is None, record.error
    assert record.scores["cpu_seconds"] == 1.5
    assert record.detail["models"] == ["A"]
    assert record.settings["seconds"] == 10
    model = AutoGluon(5, random_state=1).fit(np.zeros((20, 2)), np.arange(20.0))
    place = Path(model._folder)
    assert place.is_dir()
    np.testing.assert_allclose(model.predict_distribution(np.ones((3, 2))).ppf(0.5), 1.5)
    del model
    assert not place.exists()


def test_foreign_reads_and_writes_its_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("in.npz", x=np.ones(2))
    Path("settings.json").write_text("{}")
    monkeypatch.setitem(foreign.RIVALS, "twice", lambda given, settings: ({"x": 2 * given["x"]}, {"n": 1}))
    foreign.main("twice")
    assert json.loads(Path("facts.json").read_text()) == {"n": 1}
    assert np.load("out.npz")["x"].tolist() == [2.0, 2.0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two_moons", "sir", "gaussian_linear"])
def test_sbi_answers_with_draws_inside_the_prior(name) -> None:
    reason = why_missing("sbi")
    if reason:
        pytest.skip(reason)
    task = next(task for task in TASKS if task.name == name)
    theta, y = task.simulations(200, 0)
    settings = {"seed": 1, "flow": "maf", "n_draws": 20, "sampling_seconds": 60.0}
    arrays = {"theta": theta, "y": y, "observed": y[:2]}
    answer = call_rival("sbi", "sbi", arrays, {**settings, "prior": describe_prior(task.prior())})
    draws = answer.arrays["draws"]
    assert draws.shape == (2, 20, theta.shape[1])
    assert all(np.isfinite(p.logpdf(draws[..., j])).all() for j, p in enumerate(task.prior()))
    assert answer.facts["versions"]["sbi"]


@pytest.mark.slow
def test_autogluon_predicts_quantiles() -> None:
    reason = why_missing("autogluon")
    if reason:
        pytest.skip(reason)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 2))
    model = AutoGluon(15, "medium_quality").fit(X, X[:, 0] + 0.1 * rng.standard_normal(100))
    assert model.predict_distribution(X[:4]).crps(X[:4, 0]).mean() < 0.1
