from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genbayes import GenBayesError, InvalidInput
from genbayes_bench.rivals.r_bridge import (
    RDeepGP,
    RFailed,
    RHetGP,
    RHomGP,
    RLocalGP,
    RMissing,
    RTimedOut,
    available,
    run_r,
)

# the fake's answer: mean is the sum of the inputs it read, and variances that tell the columns apart
SUMS = "answer(*([sum(row), 0.25, 2.0] for row in read('X_new.csv')))\n"
LOCAL_SUMS = "answer(*([sum(row), 2.25] for row in read('X_new.csv')))\n"


@pytest.fixture
def runs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 9, (20, 2)) * [1.0, 1e-7]
    return X, 1e3 + rng.standard_normal(20), X[:5] + 1 / 3


def read(text: str) -> np.ndarray:
    return np.array([[float(word) for word in line.split(",")] for line in text.splitlines()])


def test_r_gets_every_digit_of_the_numbers_as_they_are(fake_r, runs) -> None:
    X, y, X_new = runs
    seen = fake_r(SUMS)
    run_r(RHomGP(), X, y, X_new, scale=False)
    np.testing.assert_array_equal(read(seen.text("X.csv")), X)
    np.testing.assert_array_equal(read(seen.text("y.csv")), y[:, None])
    np.testing.assert_array_equal(read(seen.text("X_new.csv")), X_new)


def test_r_s_answer_comes_back_to_the_last_digit(fake_r, runs) -> None:
    fake_r("answer(*([repr(sum(row)), 1/3, 2/3] for row in read('X_new.csv')))")
    there = run_r(RHetGP(), *runs, scale=False)
    np.testing.assert_array_equal(there.mean, runs[2].sum(axis=1))
    np.testing.assert_array_equal(there.latent, np.full(5, 1 / 3))
    np.testing.assert_array_equal(there.variance, np.full(5, 1.0))


def test_scaled_runs_fill_the_unit_cube_and_have_unit_variance(fake_r, runs) -> None:
    X, y, X_new = runs
    seen = fake_r(SUMS)
    run_r(RHomGP(), X, y, X_new)
    U, z = read(seen.text("X.csv")), read(seen.text("y.csv"))
    np.testing.assert_array_equal([U.min(axis=0), U.max(axis=0)], [[0, 0], [1, 1]])
    assert z.mean() == pytest.approx(0, abs=1e-12)
    assert z.std() == pytest.approx(1)
    np.testing.assert_allclose(read(seen.text("X_new.csv")), (X_new - X.min(axis=0)) / np.ptp(X, axis=0))


def test_scaled_answers_return_to_the_units_of_y(fake_r, runs) -> None:
    X, y, X_new = runs
    fake_r(SUMS)
    there = run_r(RHomGP(), X, y, X_new)
    U_new = (X_new - X.min(axis=0)) / np.ptp(X, axis=0)
    np.testing.assert_allclose(there.mean, y.mean() + y.std() * U_new.sum(axis=1))
    np.testing.assert_allclose(there.latent, 0.25 * y.var())
    np.testing.assert_allclose(there.variance, 2.25 * y.var())


def test_a_constant_input_is_passed_as_zero(fake_r, runs) -> None:
    X, y, X_new = runs
    X[:, 1] = 5.0
    seen = fake_r(SUMS)
    run_r(RHomGP(), X, y, X_new)
    assert (read(seen.text("X.csv"))[:, 1] == 0).all()


def test_laws_of_a_run_and_of_the_mean_have_their_variances(fake_r, runs) -> None:
    fake_r(SUMS)
    there = run_r(RHomGP(), *runs, scale=False)
    np.testing.assert_array_equal(there.law().mean(), there.mean)
    np.testing.assert_allclose(there.law().std(), 1.5)
    np.testing.assert_allclose(there.law(of="mean").std(), 0.5)
    with pytest.raises(InvalidInput, match="of must be one of 'run', 'mean', got 'median'"):
        there.law(of="median")


def test_a_local_gp_knows_one_variance(fake_r, runs) -> None:
    fake_r(LOCAL_SUMS)
    there = run_r(RLocalGP(), *runs, scale=False)
    np.testing.assert_allclose(there.law().std(), 1.5)
    assert there.latent is None
    with pytest.raises(InvalidInput, match="of must be 'run' for this R model, got 'mean'"):
        there.law(of="mean")


def test_a_deep_gp_s_settings_reach_r(fake_r, runs) -> None:
    seen = fake_r(SUMS)
    run_r(RDeepGP(n_samples=50, kernel="squared-exponential"), *runs)
    assert Path(seen.call["script"]).name == "fit_predict.R"
    assert seen.call["arguments"][1:5] == ["deepgp", "deepgp", "kernel=squared-exponential", "n_samples=50"]


def test_the_seed_is_passed_and_told(fake_r, runs) -> None:
    seen = fake_r(SUMS)
    seeds = []
    for random_state in (0, 0, 1, np.random.default_rng(0)):
        there = run_r(RHomGP(), *runs, random_state=random_state)
        assert seen.call["arguments"][0] == str(there.seed)
        seeds.append(there.seed)
    assert seeds[0] == seeds[1] == seeds[3] != seeds[2]
    assert all(0 <= seed < 2**31 for seed in seeds)  # what R's set.seed takes


def test_warnings_of_r_are_kept(fake_r, runs) -> None:
    fake_r(SUMS + "print('Warning: variances thresholded', file=sys.stderr)")
    assert run_r(RHomGP(), *runs).messages == "Warning: variances thresholded\n"


def test_frames_and_lists_are_welcome(fake_r, runs) -> None:
    X, y, X_new = runs
    fake_r(SUMS)
    there = run_r(RHomGP(), pd.DataFrame(X), pd.Series(y), X_new.tolist(), scale=False)
    np.testing.assert_array_equal(there.mean, X_new.sum(axis=1))


def test_an_error_of_r_is_shown_with_its_exit_code(fake_r, runs) -> None:
    fake_r("print('fitting\\nsystem is computationally singular', file=sys.stderr); sys.exit(1)")
    sentence = "^RHetGP must run to its end in R, got exit code 1: system is computationally singular$"
    with pytest.raises(RFailed, match=sentence) as caught:
        run_r(RHetGP(), *runs)
    assert isinstance(caught.value, GenBayesError)
    assert isinstance(caught.value, RuntimeError)


def test_a_missing_package_is_named(fake_r, runs) -> None:
    fake_r("sys.exit(3)")
    sentence = (
        "^the R package laGP must be installed for RLocalGP, got none in R's libraries; "
        r'run install\.packages\("laGP"\) in R$'
    )
    with pytest.raises(RMissing, match=sentence):
        run_r(RLocalGP(), *runs)


@pytest.mark.parametrize(
    ("body", "got"),
    [
        ("", "got no file"),
        ("answer()", r"got shape \(0,\)"),
        ("answer(*[[1, 1, 1]] * 4)", r"got shape \(4, 3\)"),
        ("answer(*[[1, 1]] * 5)", r"got shape \(5, 2\)"),
        ("answer(*[[1, 1, 1]] * 4, [1])", "got a table that is none of numbers"),
        ("answer(*[['NA', 1, 1]] * 5)", "could not convert string to float: 'NA'"),
        ("answer(*[[1, 1, 1]] * 3, *[['NaN', 1, 1]] * 2)", r"got \[nan, 1.0, 1.0\] in row 3; the fit may have failed"),
        ("answer(*[[1, 'Inf', 1]] * 5)", r"got \[1.0, inf, 1.0\] in row 0"),
        ("answer(*[[1, -1e-3, 1]] * 5)", r"got \[1.0, -0.001, 1.0\] in row 0"),
    ],
)
def test_an_answer_that_is_none_is_refused(fake_r, runs, body: str, got: str) -> None:
    fake_r(body)
    with pytest.raises(
        RFailed, match=f"R must answer 5 rows of 3 finite numbers with variances of at least 0, .*{got}"
    ):
        run_r(RHomGP(), *runs)


@pytest.mark.parametrize("body", [SUMS, "answer([1])", "sys.exit(1)", "time.sleep(30)"])
def test_nothing_is_left_behind(fake_r, runs, temporary: Path, body: str) -> None:
    fake_r(body)
    with nullcontext() if body == SUMS else pytest.raises((RFailed, RTimedOut), match="R must|in R|leave R"):
        run_r(RHomGP(), *runs, timeout=0.2 if "sleep" in body else 60)
    assert list(temporary.iterdir()) == []


def test_files_go_to_the_temporary_folder(fake_r, runs, temporary: Path) -> None:
    seen = fake_r(SUMS)
    run_r(RHomGP(), *runs)
    assert Path(seen.call["folder"]).parent == temporary


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": np.ones((9, 2)), "y": np.arange(9.0)}, "X must have at least 10 rows, got 9"),
        ({"X": np.arange(20.0)}, r"X must have shape \(n, d\), got \(20,\)"),
        ({"X": np.full((20, 2), np.nan)}, "X must be finite, got NaN or infinity"),
        ({"X": [["1); quit(", 2.0]] * 20}, "X must be numbers"),
        ({"X_new": np.ones((3, 3))}, r"X_new must have rows of 2 inputs, as X has, got shape \(3, 3\)"),
        ({"X_new": np.ones((0, 2))}, r"X_new must have rows of 2 inputs, as X has, got shape \(0, 2\)"),
        ({"y": np.arange(19.0)}, r"y must have shape \(20,\), one value per row, got \(19,\)"),
        ({"y": np.full(20, 2.5)}, "y must vary, got the constant 2.5 in all 20 rows"),
        ({"model": "hetgp"}, r"model must be an R model such as RHetGP\(\), got 'hetgp'"),
        ({"timeout": 0}, "timeout must be positive and finite, got 0"),
        ({"random_state": -1}, "random_state must be None, a whole number"),
    ],
)
def test_bad_values_are_refused_before_r_is_looked_for(no_r, runs, change: dict, sentence: str) -> None:
    X, y, X_new = runs
    with pytest.raises(InvalidInput, match=sentence):
        run_r(**{"model": RHomGP(), "X": X, "y": y, "X_new": X_new, **change})


def test_without_r_nothing_is_available_and_a_run_says_so(no_r, runs) -> None:
    assert available() == {}
    with pytest.raises(RMissing, match="Rscript must be on the PATH"):
        run_r(RHomGP(), *runs)


def test_packages_are_listed_with_their_versions(fake_r, temporary: Path) -> None:
    seen = fake_r("print('hetGP 1.1.9 \\nlaGP 1.5.9\\nsome chatter that is none\\nother 1.0')")
    assert available() == {"hetGP": "1.1.9", "laGP": "1.5.9"}
    assert seen.call["arguments"] == ["hetGP", "deepgp", "laGP"]
    assert list(temporary.iterdir()) == []


def test_an_r_that_cannot_list_its_packages_is_reported(fake_r) -> None:
    fake_r("print('R is broken', file=sys.stderr); sys.exit(2)")
    with pytest.raises(RFailed, match="R must list its packages, got exit code 2: R is broken"):
        available()
