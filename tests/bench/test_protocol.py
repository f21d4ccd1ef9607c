"""Protocols against the paper, methods against their promises."""

from __future__ import annotations

import numpy as np
import pytest

from genbayes.errors import UnreadableFile
from genbayes_bench.methods import METHODS
from genbayes_bench.problems import PROBLEMS, PROTOCOLS
from genbayes_bench.problems.problem import MAIN, Case
from genbayes_bench.registry import load_registry

REGISTRY = load_registry()
# problem: runs to learn from, to test on, replicates; paper sections 5.2 to 6.4
PAPER = {
    "motorcycle": (106, 27, 50),
    "bgp2": (1_600, 400, 20),
    "bgp3": (1_600, 400, 20),
    "bgp4": (1_600, 400, 20),
    "friedman": (2_000, 500, 10),
    "friedman_scaling": (500, 500, 1),
    "phantom": (9_181, 1_020, 20),
    "star": (9_181, 1_020, 20),
    "michalewicz": (90_000, 10_000, 1),
    "exp2d_gbc": (100, 1_000, 30),
    "rocket": (300, 1_000, 30),
    "grace": (500, 500, 10),
    "satmini": (60, 940, 10),
    "proxy7": (70, 1_000, 10),
}


@pytest.mark.parametrize("name", PAPER)
def test_sizes_and_replicates_are_the_papers(name) -> None:
    protocol = REGISTRY.protocol(name, "paper")
    assert (protocol.n_train, protocol.n_test, protocol.n_replicates) == PAPER[name]
    assert protocol.source.startswith("Table")


def test_the_scaling_study_goes_on_beyond_the_paper() -> None:
    sizes = REGISTRY.protocol("friedman_scaling", "paper").sizes
    assert sizes[:6] == (500, 1_000, 2_000, 5_000, 10_000, 20_000)
    assert sizes[-1] == 200_000


def test_the_papers_settings_are_those_it_states() -> None:
    settings = {name: REGISTRY.protocol(name, "paper").paper_settings for name in PAPER}
    assert settings["motorcycle"] == {"n_members": 5, "n_epochs": 5_000}
    assert settings["friedman"] == {"n_epochs": 3_000}
    assert settings["phantom"]["weights"] == settings["michalewicz"]["weights"] == "quantile-dominant"


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_says_where_it_comes_from_and_has_protocols(name) -> None:
    problem = PROBLEMS[name]
    assert problem.name == name
    assert problem.title
    assert problem.source
    assert problem.standin is None or len(problem.standin.split()) > 4
    for protocol in (REGISTRY.protocol(name, "paper"), REGISTRY.protocol(name, "quick")):
        assert set(protocol.methods) <= set(METHODS)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_quick_version_is_smaller(name) -> None:
    paper, quick = REGISTRY.protocol(name, "paper"), REGISTRY.protocol(name, "quick")
    assert quick.name == "quick"
    assert quick.n_replicates == 2
    assert max(quick.sizes) <= min(1_000, max(paper.sizes))
    assert quick.time_limit is None or quick.time_limit <= 10
    assert "gbc-paper" not in quick.methods


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_draw_has_the_size_asked_for_and_repeats(name) -> None:
    problem, quick = PROBLEMS[name], REGISTRY.protocol(name, "quick")
    if problem.absent:
        pytest.skip(problem.absent)
    one, again, other = (problem.draw(r, quick.n_train, quick.n_test) for r in (0, 0, 1))
    assert one.X_train.shape == (quick.n_train, problem.n_inputs)
    assert one.X_test.shape == (quick.n_test, problem.n_inputs)
    assert len(one.y_train) == quick.n_train
    assert one.f_test is None or len(one.f_test) == len(one.y_test) == quick.n_test
    np.testing.assert_array_equal(one.y_train, again.y_train)
    assert not np.array_equal(one.y_train, other.y_train)


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "michalewicz"])
def test_a_full_draw_has_the_protocols_size(name) -> None:
    problem, paper = PROBLEMS[name], REGISTRY.protocol(name, "paper")
    if problem.absent:
        pytest.skip(problem.absent)
    split = problem.draw(0, paper.n_train, paper.n_test)
    assert (len(split.y_train), len(split.y_test)) == (paper.n_train, paper.n_test)


@pytest.mark.parametrize("name", [name for name, problem in PROBLEMS.items() if problem.needs])
def test_a_draw_without_its_data_says_what_to_do(name, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GENBAYES_SHARED", str(tmp_path))
    assert "set GENBAYES_SHARED to that folder" in (PROBLEMS[name].absent or "")
    with pytest.raises(UnreadableFile, match="must be in the folder of shared data, got none; set GENBAYES_SHARED"):
        PROBLEMS[name].draw(0, 20, 20)


def test_the_motorcycle_falls_back_to_seeded_splits_and_says_so(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GENBAYES_SHARED", str(tmp_path))
    split = PROBLEMS["motorcycle"].draw(0, 106, 27)
    assert len(split.y_train) == 106
    assert "seeded splits" in split.note


def test_protocols_name_known_problems() -> None:
    assert {protocol.problem for protocol in PROTOCOLS} == set(PROBLEMS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_makes_a_model_with_the_seed(name) -> None:
    case = Case(PROBLEMS["motorcycle"], REGISTRY.protocol("motorcycle", "paper"), 106)
    model = METHODS[name].make(4, case)
    assert model.get_params()["random_state"] == 4
    assert hasattr(model, "fit")
    assert hasattr(model, "predict_distribution")


def test_the_main_methods_are_known() -> None:
    assert set(MAIN) <= set(METHODS)


def test_the_papers_recipe_takes_the_protocols_settings() -> None:
    case = Case(PROBLEMS["motorcycle"], REGISTRY.protocol("motorcycle", "paper"), 106)
    made, single = (METHODS[name].make(0, case).get_params() for name in ("gbc-paper", "gbc-paper-single"))
    assert (made["recipe"], made["n_members"], made["n_epochs"]) == ("paper", 5, 5_000)
    assert (single["n_members"], single["n_epochs"]) == (1, 5_000)


@pytest.mark.parametrize(
    ("method", "problem", "n_train", "reason"),
    [
        ("gbc-aug", "yacht", 277, "the response does not jump"),
        ("gbc-aug", "phantom", 9_181, None),
        ("jump-gp", "michalewicz", 90_000, "more than 30,000 runs would take too long"),
        ("jump-gp", "amhv", 1_979, None),
        ("het-gp", "phantom", 9_181, "more than 2,500 runs would take too long"),
        ("gbc-paper", "friedman_scaling", 50_000, "the paper learnt from at most 20,000 runs here"),
        ("gbc-paper", "friedman_scaling", 20_000, None),
        ("gbc-paper-single", "bgp2", 1_600, "the paper's recipe has one member here anyway"),
        ("gbc", "michalewicz", 90_000, None),
    ],
)
def test_a_method_says_where_it_does_not_apply(method, problem, n_train, reason) -> None:
    case = Case(PROBLEMS[problem], REGISTRY.protocol(problem, "paper"), n_train)
    assert METHODS[method].why_not(case) == reason


def test_a_method_without_its_engine_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setattr("genbayes_bench.methods.find_spec", lambda name: None)
    case = Case(PROBLEMS["yacht"], REGISTRY.protocol("yacht", "paper"), 277)
    assert METHODS["boosted"].why_not(case) == "lightgbm is not installed; pip install 'genbayes[baselines]'"
