"""Problems against their definitions and the paper, draws that earlier records were made with, methods' promises."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.path import Path as Outline

from genbayes.errors import UnreadableFile
from genbayes_bench.inference import INFERRERS
from genbayes_bench.methods import METHODS
from genbayes_bench.problems import (
    PROBLEMS,
    draw_bgp,
    draw_exp2d,
    draw_phantom,
    draw_star,
    draws_of,
    friedman,
    split_motorcycle,
)
from genbayes_bench.problems.formulas import borehole, michalewicz, side_force, side_force_hl20
from genbayes_bench.problems.jumps import is_above_wave, is_inside_star, jump
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


def test_the_papers_settings_are_those_it_states_and_the_scaling_study_goes_on_beyond() -> None:
    protocols = {name: REGISTRY.protocol(name, "paper") for name in PAPER}
    assert protocols["motorcycle"].paper_settings == {"n_members": 5, "n_epochs": 5_000}
    assert protocols["friedman"].paper_settings == {"n_epochs": 3_000}
    assert {protocols[name].paper_settings["weights"] for name in ("phantom", "michalewicz")} == {"quantile-dominant"}
    sizes = protocols["friedman_scaling"].sizes
    assert (*sizes[:6], sizes[-1]) == (500, 1_000, 2_000, 5_000, 10_000, 20_000, 200_000)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_says_where_it_comes_from_and_has_a_full_and_a_smaller_quick_protocol(name) -> None:
    problem, paper, quick = PROBLEMS[name], REGISTRY.protocol(name, "paper"), REGISTRY.protocol(name, "quick")
    assert problem.name == name
    assert problem.title
    assert problem.source
    assert problem.standin is None or len(problem.standin.split()) > 4
    assert {*paper.methods, *quick.methods} <= set(INFERRERS if problem.inference else METHODS)
    assert (quick.name, quick.n_replicates) == ("quick", 2)
    assert max(quick.sizes) <= min(1_000, max(paper.sizes))
    assert quick.time_limit is None or quick.time_limit <= 10
    assert "gbc-paper" not in quick.methods


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_draw_has_the_size_asked_for_and_repeats(name) -> None:
    problem, paper, quick = PROBLEMS[name], REGISTRY.protocol(name, "paper"), REGISTRY.protocol(name, "quick")
    if problem.absent:
        pytest.skip(problem.absent)
    one, again, other = (problem.draw(r, quick.n_train, quick.n_test) for r in (0, 0, 1))
    assert one.X_train.shape == (quick.n_train, problem.n_inputs)
    n_observed = None if problem.inference is None else len(problem.inference.observations()[0])
    assert one.X_test.shape == (n_observed or quick.n_test, problem.n_inputs)
    assert len(one.y_train) == quick.n_train
    assert one.f_test is None or len(one.f_test) == len(one.y_test) == quick.n_test
    np.testing.assert_array_equal(one.y_train, again.y_train)
    assert not np.array_equal(one.y_train, other.y_train)
    if name != "michalewicz":  # 100,000 runs
        full = problem.draw(0, paper.n_train, paper.n_test)
        assert (len(full.y_train), len(full.y_test)) == (paper.n_train, n_observed or paper.n_test)


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


MOTORCYCLE = REGISTRY.case("motorcycle", "paper", 106)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_makes_a_model_with_the_seed(name) -> None:
    model = METHODS[name].make(4, MOTORCYCLE)
    assert model.get_params()["random_state"] == 4
    assert hasattr(model, "fit")
    assert hasattr(model, "predict_distribution")


@pytest.mark.parametrize(("name", "n_members"), [("gbc-paper", 5), ("gbc-paper-single", 1)])
def test_the_papers_recipe_takes_the_protocols_settings(name, n_members) -> None:
    made = METHODS[name].make(0, MOTORCYCLE).get_params()
    assert (made["recipe"], made["n_members"], made["n_epochs"]) == ("paper", n_members, 5_000)


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
    assert METHODS[method].why_not(REGISTRY.case(problem, "paper", n_train)) == reason


def test_a_method_without_its_engine_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setattr("genbayes_bench.methods.find_spec", lambda name: None)
    told = METHODS["boosted"].why_not(REGISTRY.case("yacht", "paper", 277))
    assert told == "lightgbm is not installed; pip install 'genbayes[baselines]'"


# formulas


def test_michalewicz_has_its_published_minimum_and_a_raised_flat_part_that_is_a_fifth_of_the_box() -> None:
    # -1.8013 at (2.20, 1.57) for d = 2; the other two inputs at 0 add nothing
    assert michalewicz(np.array([[2.2029, 1.5708, 0.0, 0.0]]))[0] == pytest.approx(-1.8013, abs=1e-4)
    X = np.random.default_rng(0).uniform(0, np.pi, (100_000, 4))
    y = michalewicz(X)
    # 20.8% of 100,000 points; standard error 0.0013, four of those
    assert np.mean(y > 0.4) == pytest.approx(0.208, abs=0.0052)
    assert y.max() == pytest.approx(0.5, abs=1e-6)
    assert not ((y > -0.01) & (y < 0.49) & (y != 0)).any()


def test_the_borehole_grows_with_its_radius_and_the_head() -> None:
    X = np.tile([0.1, 25_050.0, 89_335.0, 1_050.0, 89.55, 760.0, 1_400.0, 10_950.0], (3, 1))
    X[1, 0] *= 1.2
    X[2, 3] += 29  # the flow is proportional to Hu - Hl, 290
    base, wider, higher = borehole(X)
    assert higher / base == pytest.approx(1.1)
    assert wider > 1.3 * base


def test_the_side_force_is_nothing_without_sideslip_and_changes_at_mach_one() -> None:
    mach = np.linspace(0.2, 6, 200)
    still, slipping = (side_force(np.column_stack([mach, *np.full((200, 2), at).T])) for at in ((10, 0), (25, 4)))
    np.testing.assert_array_equal(still, 0)
    assert 0.7 < mach[np.abs(np.diff(slipping)).argmax()] < 1.4  # where it is steepest


def test_the_jump_is_two_high_and_at_one_half() -> None:
    below, above = jump(np.array([[0.5], [0.5 + 1e-9]]))
    assert above - below == pytest.approx(2, abs=1e-6)


def test_hl20_matches_its_table_at_the_nodes() -> None:
    if PROBLEMS["rocket_hl20"].absent:
        pytest.skip(PROBLEMS["rocket_hl20"].absent)
    # mach 1.1, alpha 0: CYB_a0 = -0.017436 a degree of sideslip
    assert side_force_hl20(np.array([[1.1, 0.0, 2.0]]))[0] == pytest.approx(2 * -0.017436)


def test_training_inputs_of_a_formula_are_a_latin_hypercube() -> None:
    split = draws_of(lambda X: X.sum(axis=1), [-1.0, 10.0], [1.0, 20.0], stream=1)(0, 50, 30)
    cells = np.floor((split.X_train - [-1, 10]) / [2, 10] * 50)
    np.testing.assert_array_equal(np.sort(cells, axis=0), np.arange(50)[:, None].repeat(2, axis=1))
    assert split.f_test is None


def test_noise_of_a_formula_has_the_stated_size() -> None:
    split = draws_of(lambda X: X[:, 0], [0.0], [1.0], stream=2, noise_sd=0.3)(0, 50, 2_000)
    # sd of 2,000 residuals: standard error 0.3 / sqrt(4,000), four of those
    assert np.std(split.y_test - split.f_test) == pytest.approx(0.3, abs=4 * 0.3 / np.sqrt(4_000))
    assert split.noise_sd == 0.3


def test_draws_that_earlier_records_were_made_with_are_unchanged() -> None:
    split = draw_exp2d(0)
    assert (split.X_train.shape, split.X_test.shape) == ((100, 2), (1_000, 2))
    np.testing.assert_allclose(split.X_train[0], [1.2880856325262657, -1.6821237553302562], rtol=1e-12)
    assert split.y_train[0] == pytest.approx(0.2994473107610641, rel=1e-12)


# jumps


def test_the_star_is_the_polygon_of_its_corners() -> None:
    angle = np.pi / 2 + np.arange(10) * np.pi / 5
    radius = np.where(np.arange(10) % 2 == 0, 1.2, 0.46)
    outline = Outline(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    X = np.random.default_rng(0).uniform(size=(5_000, 2))
    np.testing.assert_array_equal(is_inside_star(X), outline.contains_points(3 * X - 1.5))


def test_the_wave_has_two_periods() -> None:
    x = np.linspace(0.01, 0.99, 99)
    middle = is_above_wave(np.column_stack([x, np.full(99, 0.5)]))
    assert np.sum(np.diff(middle.astype(int)) != 0) == 3


@pytest.mark.parametrize(("draw", "sd"), [(draw_phantom, 0.012), (draw_star, 0.018)])
def test_a_split_uses_every_point_once_and_has_the_stated_noise(draw, sd: float) -> None:
    split = draw(0)
    assert len(np.unique(np.vstack([split.X_train, split.X_test]), axis=0)) == 101**2
    assert set(np.unique(split.f_test)) == {0.2, 0.8}
    # sd of 1,020 residuals: standard error sd / sqrt(2,040); four of those
    assert np.std(split.y_test - split.f_test) == pytest.approx(sd, abs=4 * sd / np.sqrt(2_040))


@pytest.mark.parametrize("d", [2, 3])
def test_bgp_has_two_levels_and_the_stated_noise(d: int) -> None:
    split = draw_bgp(d, 0)
    assert split.X_train.shape == (1_600, d)
    assert np.abs(np.vstack([split.X_train, split.X_test])).max() <= 0.5
    # residual sd of 400 rows: 2 with a standard error of 2 / sqrt(800) = 0.07; four of those
    assert np.std(split.y_test - split.f_test) == pytest.approx(2.0, abs=0.28)
    low, high = np.sort(split.f_test)[[40, -40]]
    assert high - low > 8


def test_friedman_at_known_points_and_it_ignores_the_last_five_inputs() -> None:
    X = np.zeros((2, 10))
    X[1, :5] = [1.0, 0.5, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(friedman(X), [5.0, 10 + 5 + 10 + 5])
    X = np.random.default_rng(0).uniform(size=(5, 10))
    np.testing.assert_array_equal(friedman(X), friedman(np.column_stack([X[:, :5], 1 - X[:, 5:]])))


def test_a_motorcycle_split_uses_every_run_once() -> None:
    split = split_motorcycle(0)
    assert (len(split.y_train), len(split.y_test)) == (106, 27)
    whole = split_motorcycle(0, np.ones(133, dtype=bool))
    np.testing.assert_array_equal(np.sort(np.r_[split.y_train, split.y_test]), np.sort(whole.y_train))
