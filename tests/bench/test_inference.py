"""Tasks of inference against their definitions, scores of draws, the methods, and the tables of their records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import kstest, lognorm

from genbayes_bench import inference
from genbayes_bench.inference import INFERRERS, Inferred, by_draws, describe_prior, rank_p_value, score_draws
from genbayes_bench.measure import measure
from genbayes_bench.plan import Job, make_plan
from genbayes_bench.problems import PROBLEMS
from genbayes_bench.problems.dynamics import solve_lotka_volterra, solve_sir
from genbayes_bench.problems.inference import TASKS, Task, draw_prior, log_prior, simulate_slcp
from genbayes_bench.record import Record
from genbayes_bench.registry import load_registry
from genbayes_bench.report import build_report
from genbayes_bench.report.posteriors import c2st_table, calibration_table, closed_form_table, make_duel
from genbayes_bench.rivals.environment import RivalMissing

BY_NAME = {task.name: task for task in TASKS}
SIZES = {
    "two_moons": (2, 2),
    "gaussian_mixture": (2, 2),
    "slcp": (5, 8),
    "sir": (2, 10),
    "lotka_volterra": (4, 20),
    "gaussian_linear": (10, 10),
    "bimodal": (1, 1),
}
EXACT = [task.name for task in TASKS if task.exact is not None]


@pytest.fixture
def nothing_shared(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GENBAYES_SHARED", str(tmp_path))


@pytest.mark.parametrize("name", SIZES)
def test_simulations_have_their_sizes_are_seeded_and_finite(name) -> None:
    theta, y = BY_NAME[name].simulations(20, 3)
    assert (theta.shape[1], y.shape[1]) == SIZES[name]
    assert np.isfinite(y).all()
    assert np.isfinite(log_prior(BY_NAME[name].prior(), theta)).all()
    again, other = BY_NAME[name].simulations(20, 3), BY_NAME[name].simulations(20, 4)
    np.testing.assert_array_equal(again[1], y)
    assert not np.array_equal(other[1], y)


@pytest.mark.parametrize("name", EXACT)
def test_exact_draws_have_uniform_ranks_over_the_prior_predictive(name) -> None:
    task, rng = BY_NAME[name], np.random.default_rng(5)
    assert task.exact is not None
    theta = draw_prior(task.prior(), 300, rng)
    y = task.simulate(theta, rng)
    ranks = np.array([(task.exact(y[i], 60, rng) < theta[i]).sum(axis=0) for i in range(len(y))])
    ranks = (ranks + rng.uniform(size=ranks.shape)) / 61
    assert min(kstest(column, "uniform").pvalue for column in ranks.T) > 1e-3  # false alarm below 1 in 100


def test_the_epidemic_and_the_animals_follow_their_equations() -> None:
    beta, gamma = 0.7, 0.12
    epidemic = solve_ivp(
        lambda t, s: [-beta * s[0] * s[1], beta * s[0] * s[1] - gamma * s[1]], (0, 153), [1 - 1e-6, 1e-6],
        t_eval=17.0 * np.arange(10), rtol=1e-9, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(solve_sir(np.array([[beta, gamma]]))[0], epidemic.y[1], atol=1e-6)
    a, b, c, d = 0.9, 0.06, 0.8, 0.05
    animals = solve_ivp(
        lambda t, s: [a * s[0] - b * s[0] * s[1], -c * s[1] + d * s[0] * s[1]], (0, 19), [30, 1],
        t_eval=2.1 * np.arange(10), rtol=1e-9, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(np.stack(solve_lotka_volterra(np.array([[a, b, c, d]])))[:, 0], animals.y, rtol=1e-5)


def test_slcp_has_the_covariance_of_its_parameters() -> None:
    theta = np.tile([0.5, -1.0, 1.2, -0.9, 0.7], (20_000, 1))
    y = simulate_slcp(theta, np.random.default_rng(0)).reshape(-1, 2)
    s, t, rho = 1.2**2, 0.9**2, np.tanh(0.7)
    np.testing.assert_allclose(y.mean(axis=0), [0.5, -1.0], atol=4 * s / np.sqrt(len(y)))
    np.testing.assert_allclose(np.cov(y.T), [[s * s, rho * s * t], [rho * s * t, t * t]], rtol=0.05)


@pytest.mark.parametrize("name", EXACT)
def test_without_the_shared_folder_observations_are_our_own_and_the_split_says_so(name, nothing_shared) -> None:
    split = PROBLEMS[name].draw(0, 30, 10)
    assert PROBLEMS[name].absent is None
    assert ("of our own" in split.note) is (name != "bimodal")
    assert BY_NAME[name].reference(1, 7).shape == (7, SIZES[name][0])


@pytest.mark.parametrize("name", ["slcp", "sir", "lotka_volterra"])
def test_tasks_whose_posterior_only_files_have_are_left_out_without_them(name, nothing_shared) -> None:
    plan = make_plan(load_registry(), [name], "quick")
    assert not plan.jobs
    assert "GENBAYES_SHARED" in plan.left_out[0].reason


def test_references_in_the_shared_folder_are_read() -> None:
    if BY_NAME["slcp"].is_own:
        pytest.skip("the folder of shared data is absent")
    assert BY_NAME["slcp"].reference(4, 50).shape == (50, 5)
    assert np.isfinite(BY_NAME["slcp"].observations()[1]).all()


def test_true_draws_score_near_the_ideal_and_shifted_ones_do_not(nothing_shared) -> None:
    task = BY_NAME["gaussian_linear"]
    y, _ = task.observations()
    truth = np.stack([task.exact(row, 50, np.random.default_rng(9)) for row in y])
    good, bad = score_draws(task, truth), score_draws(task, truth + 0.5)
    assert good["c2st"] < 0.62 < 0.9 < bad["c2st"]
    assert good["mean_error"] < 0.6 < 1.5 < bad["mean_error"]
    assert {"c2st_1", "c2st_5", "cov_error"} <= set(good)


def test_a_posterior_that_forgets_a_mode_has_the_wrong_mass(nothing_shared) -> None:
    task = BY_NAME["bimodal"]
    tau = (np.arange(300) + 0.5) / 300
    truth = np.stack([task.quantiles(y, tau)[:, None] for y in task.observations()[0]])
    assert score_draws(task, truth)["wasserstein"] < 1e-9
    assert score_draws(task, np.abs(truth))["mass_error"] == pytest.approx(0.5)


def test_ranks_of_a_shifted_truth_are_not_uniform() -> None:
    rng = np.random.default_rng(0)
    draws, truth = rng.normal(size=(200, 99)), rng.normal(size=200)
    assert rank_p_value(draws, truth, rng) > 0.001 > rank_p_value(draws, truth + 0.7, rng)


def test_methods_and_problems_of_another_kind_do_not_meet() -> None:
    plan = make_plan(load_registry(), ["two_moons", "bgp2"], "quick", ["gp", "posterior"])
    assert {(job.problem, job.method) for job in plan.jobs} == {("two_moons", "posterior"), ("bgp2", "gp")}
    assert {left.reason for left in plan.left_out} == {
        "there is nothing to infer",
        "its parameters are to be inferred, which this method cannot",
    }


def test_without_the_rivals_environment_sbi_is_left_out_and_the_reason_names_the_command(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GENBAYES_RIVALS", str(tmp_path))
    plan = make_plan(load_registry(), ["two_moons"], "quick", ["sbi-nsf", "sbi-maf"])
    assert not plan.jobs
    assert all("make rivals" in left.reason for left in plan.left_out)
    with pytest.raises(RivalMissing, match="make rivals"):
        inference.infer_sbi("nsf")(BY_NAME["bimodal"], PROBLEMS["bimodal"].draw(0, 20, 5), 5, 1)


def test_a_record_keeps_scores_of_every_observation_cpu_seconds_and_the_rivals_versions(
    monkeypatch, nothing_shared
) -> None:
    def infer(task: Task, split, n_draws: int, seed: int) -> Inferred:
        draws = np.stack([task.exact(y, n_draws, np.random.default_rng(seed)) for y in split.X_test])
        return Inferred(draws, 12.5, 0.5, {"n_epochs": 7}, {"rival sbi": "1.0"})

    fake = replace(INFERRERS["sbi-nsf"], judge=by_draws(infer), reason=lambda case: None)
    registry = load_registry()
    registry.methods["sbi-nsf"] = fake
    record = measure(Job("two_moons", "quick", "sbi-nsf", 200, 1), registry)
    assert record.error is None, record.error
    assert (record.seed, record.n_train, record.fit_seconds) == (2, 200, 12.5)
    assert {"c2st", "c2st_1", "c2st_5", "cpu_seconds"} <= set(record.scores)
    assert record.versions["rival sbi"] == "1.0"
    assert "of our own" in record.detail["note"]
    assert Record.from_json(record.to_json()).scores == record.scores


def record_of(method: str, n: int = 1_000, seed: int = 0, problem: str = "slcp", **scores: float) -> Record:
    return Record(
        problem, "paper", method, seed, 1 + seed, n, 10_000, 8, scores, scores.get("cpu_seconds", 1.0), 1.0, 1.0,
        {}, {}, {"n_repeats": 500}, None, "2026-01-01T00:00:00+00:00",
    )  # fmt: skip


def c2sts(*values: float, seconds: float) -> dict[str, float]:
    each = {f"c2st_{i}": value for i, value in enumerate(values, start=1)}
    return {"c2st": float(np.mean(values)), **each, "cpu_seconds": seconds}


RECORDS = [
    record_of("posterior", **c2sts(0.80, 0.82, 0.84, seconds=4)),
    record_of("sbi-nsf", **c2sts(0.85, 0.88, 0.85, seconds=40)),
    record_of("sbi-maf", **c2sts(0.90, 0.92, 0.94, seconds=10)),
]


def test_the_duel_is_with_the_better_flow_paired_by_observation() -> None:
    duel = make_duel(RECORDS, "slcp", 1_000)
    assert duel is not None
    assert (duel.verdict, duel.seconds) == ("below", pytest.approx(0.1))
    assert duel.gap == pytest.approx(-0.04)
    assert duel.error == pytest.approx(np.std([-0.05, -0.06, -0.01], ddof=1) / np.sqrt(3))
    assert make_duel(RECORDS[:1], "slcp", 1_000) is None


@pytest.mark.parametrize(
    ("ours", "verdict", "clearly"),
    [((0.995, 0.99, 0.985), "tie", False), ((0.99, 0.99, 0.99), "tie", False), ((0.90, 0.93, 0.90), "above", True)],
)
def test_two_hopeless_posteriors_tie_and_a_clear_loss_is_told(ours, verdict, clearly) -> None:
    theirs = (0.99, 0.985, 0.99) if verdict == "tie" else (0.85, 0.88, 0.86)
    records = [record_of("posterior", **c2sts(*ours, seconds=1)), record_of("sbi-nsf", **c2sts(*theirs, seconds=2))]
    duel = make_duel(records, "slcp", 1_000)
    assert duel is not None
    assert (duel.verdict, duel.is_clearly_above) == (verdict, clearly)
    assert ("SLCP 1,000" in " ".join(c2st_table(records).notes).split("standard errors: ")[1].split(".")[0]) is clearly


def test_tables_tell_scores_seconds_and_what_holm_rejects() -> None:
    table = c2st_table(RECORDS)
    assert table.head[2] == "PosteriorEstimator"
    assert table.rows[0][:2] == ["SLCP", "1,000"]
    assert table.rows[0][2] == "0.820 ± 0.012, 4 s"
    assert "on 1, ties on 0" in table.notes[1]
    known = [record_of("posterior", problem="gaussian_linear", mean_error=0.04, cov_error=0.1)]
    assert closed_form_table(known).rows[0][3:5] == ["0.040", "0.100"]
    checks = record_of("posterior-sbc", p_1=0.4, p_2=0.001, p_joint=0.6, region_50=0.51, region_90=0.9)
    assert calibration_table([checks]).rows[0][2:] == ["0.001", "0.600", "51%", "90%", "–", "1"]
    assert "uniform ranks for: SLCP 2 (p = 0.001)" in calibration_table([checks]).notes[0]


def test_posteriors_stand_in_the_report_and_in_no_contest() -> None:
    report = build_report(RECORDS)
    assert "Posteriors: C2ST against the true posterior" in [table.title for table in report.overview]
    assert not report.lines
    assert not report.problems
    assert report.headline.startswith("Of 1 pairs of task and size among 10, ours has the lower C2ST")


def test_priors_travel_in_plain_words_and_others_do_not() -> None:
    kinds = {part["name"] for task in TASKS for part in describe_prior(task.prior())}
    assert kinds == {"uniform", "normal", "lognormal"}
    with pytest.raises(AssertionError):
        describe_prior((lognorm(1.0, loc=2.0),))


def test_ours_is_asked_as_users_would(monkeypatch) -> None:
    asked: dict[str, object] = {}

    class Estimator:
        def __init__(self, prior, random_state, n_rounds=1) -> None:
            asked["prior"], asked["seed"], asked["rounds"] = prior, random_state, n_rounds

        def fit_simulator(self, simulator, n_simulations, batched, y_observed) -> None:
            theta = draw_prior(BY_NAME["two_moons"].prior(), n_simulations, np.random.default_rng(0))
            assert simulator(theta, np.random.default_rng(0)).shape == (n_simulations, *y_observed.shape)

        def fit(self, theta, y) -> Estimator:
            asked["shapes"] = theta.shape, y.shape
            return self

        def condition(self, y) -> SimpleNamespace:
            many = (len(y),) if y.ndim == 2 else ()
            return SimpleNamespace(sample=lambda n, random_state: np.zeros((*many, n, 2)))

    import genbayes

    monkeypatch.setattr(genbayes, "PosteriorEstimator", Estimator, raising=False)
    split = PROBLEMS["two_moons"].draw(0, 30, 5)
    found = inference.infer_ours(BY_NAME["two_moons"], split, 6, 1)
    assert found.draws.shape == (5, 6, 2)
    assert asked["shapes"] == ((30, 2), (30, 2))
    found = inference.infer_in_rounds(BY_NAME["two_moons"], split, 6, 1)
    assert found.draws.shape == (5, 6, 2)
    assert asked["rounds"] == 3


def test_the_study_of_inference_is_known_by_name() -> None:
    chosen = load_registry().choose(["inference"])
    assert set(chosen) == set(SIZES)
    assert chosen["slcp"][0] == "posterior"
    assert Path(inference.__file__).name == "inference.py"
