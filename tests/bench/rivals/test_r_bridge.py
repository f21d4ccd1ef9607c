"""The bridge to R: with a fake `Rscript` that speaks as R would, then in a real R with stand-ins, then the packages.

The fake is a few lines of Python on the PATH. The stand-ins have the functions and arguments that the packages' manuals
describe and return what they were given, so that a wrong name, a wrong order or a lost digit shows. Tests skip where R
or a package is absent.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genbayes import GenBayesError, InvalidInput
from genbayes.data import load_motorcycle
from genbayes.metrics import crps_normal
from genbayes.models import StationaryGP
from genbayes_bench.rivals.r_bridge import (
    PACKAGES,
    RDeepGP,
    RFailed,
    RHetGP,
    RHomGP,
    RLocalGP,
    RMissing,
    RModel,
    RRobustGaSP,
    RScaledVecchia,
    RTimedOut,
    Spoken,
    available,
    run_r,
    run_script,
)

Runs = tuple[np.ndarray, np.ndarray, np.ndarray]
REFERENCE = Path(__file__).parents[4] / "shared" / "reference"
PRELUDE = """#!{python} -S
import json, os, shutil, sys, time
options = [word for word in sys.argv[1:] if word.startswith("--")]
script, *arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
seen = {seen!r}
def read(name):
    with open(name) as file:
        return [[float(word) for word in line.split(",")] for line in file]
def answer(*rows):
    with open("prediction.csv", "w") as file:
        file.writelines(",".join(map(str, row)) + "\\n" for row in rows)
with open(os.path.join(seen, "call.json"), "w") as file:
    json.dump({{"options": options, "script": script, "arguments": arguments, "folder": os.getcwd()}}, file)
for name in filter(os.path.isfile, os.listdir(".")):
    shutil.copy(name, seen)
"""
# the fake's answer: mean is the sum of the inputs it read, and variances that tell the columns apart
SUMS = "answer(*([sum(row), 0.25, 2.0] for row in read('X_new.csv')))\n"
SLEEP_WITH_A_WORKER = """
import subprocess
worker = subprocess.Popen(["sleep", "30"])
with open(os.path.join(seen, "started"), "w") as file:
    file.write(f"{os.getpid()} {worker.pid}")
os.replace(os.path.join(seen, "started"), os.path.join(seen, "pids"))
time.sleep(30)
"""


@dataclass
class FakeR:
    """What the last call of the fake saw."""

    folder: Path

    @property
    def call(self) -> dict:
        return json.loads(self.text("call.json"))

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    def table(self, name: str) -> np.ndarray:
        return np.loadtxt(self.folder / name, delimiter=",", ndmin=2)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the bridge makes its temporary folders."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def fake_r(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], FakeR]:
    if os.name != "posix":
        pytest.skip("the fake Rscript is a script with a #! line")

    def install(body: str) -> FakeR:
        seen = tmp_path / "seen"
        seen.mkdir()
        put_program(tmp_path, PRELUDE.format(python=sys.executable, seen=str(seen)) + body)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        return FakeR(seen)

    return install


def put_program(folder: Path, text: str) -> None:
    (folder / "Rscript").write_text(text)
    (folder / "Rscript").chmod(0o755)


@pytest.fixture
def only_own_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No R, unless it is put into tmp_path."""
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def runs() -> Runs:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 9, (20, 2)) * [1.0, 1e-7]
    return X, 1e3 + rng.standard_normal(20), X[:5] + 1 / 3


# models


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RHomGP(), ["homgp", "hetGP", "kernel=matern52"]),
        (RHetGP(kernel="squared-exponential"), ["hetgp", "hetGP", "kernel=squared-exponential"]),
        (RLocalGP(n_neighbours=30), ["lagp", "laGP", "n_neighbours=30"]),
        (RRobustGaSP(noise="none"), ["rgasp", "RobustGaSP", "noise=none"]),
        (RScaledVecchia(), ["vecchia", "GpGp"]),
        (RDeepGP(), ["deepgp", "deepgp", "kernel=matern52", "n_samples=200", "n_burn_in=1000", "thinning=10"]),
        (RDeepGP(nugget=1e-8), [*RDeepGP().arguments(), "nugget=1e-08"]),
        (RDeepGP(nugget=1 / 3), [*RDeepGP().arguments(), "nugget=0.33333333333333331"]),  # all its digits
    ],
)
def test_a_model_names_its_package_and_the_settings_that_are_not_left_to_it(model: RModel, words: list[str]) -> None:
    assert model.arguments() == words
    assert model.package in PACKAGES


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RRobustGaSP(noise="some"), "noise must be one of 'estimated', 'none', got 'some'"),
        (lambda: RHomGP(kernel="matern"), "kernel must be one of 'matern52', 'squared-exponential', got 'matern'"),
        (lambda: RHetGP(kernel="x; quit()"), "kernel must be one of"),
        (lambda: RDeepGP(kernel="rbf"), "kernel must be one of"),
        (lambda: RDeepGP(n_samples=1), "n_samples must be a whole number of at least 2, got 1"),
        (lambda: RDeepGP(n_burn_in=0), "n_burn_in must be a whole number of at least 1, got 0"),
        (lambda: RDeepGP(thinning=0.5), "thinning must be a whole number of at least 1, got 0.5"),
        (lambda: RDeepGP(nugget=0), "nugget must be positive and finite, got 0"),
        (lambda: RLocalGP(n_neighbours=6), "n_neighbours must be a whole number of at least 7, got 6"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: Callable[[], RModel], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        make()


# the process


def is_running(pid: str) -> bool:
    """Whether a process still does something; one that has ended may wait to be collected (Z)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_script_gets_its_words_as_they_are_and_reads_no_start_up_files(fake_r, tmp_path: Path) -> None:
    words = ["a b", "$(touch x)", "`id`", "; quit()", "'\""]
    seen = fake_r("")
    assert run_script("packages.R", words, tmp_path, 10).code == 0
    assert seen.call["arguments"] == words
    assert Path(seen.call["script"]).name == "packages.R"
    assert Path(seen.call["folder"]) == tmp_path
    assert {"--no-init-file", "--no-site-file", "--no-restore"} <= set(seen.call["options"])
    assert not {"--no-environ", "--vanilla"} & set(seen.call["options"])  # environment files name R's libraries


def test_r_speaks_english_cannot_ask_and_is_heard_in_any_encoding(fake_r, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LANGUAGE", "fr")
    fake_r("print(os.environ['LANGUAGE'], repr(sys.stdin.read())); sys.stderr.buffer.write(b'caf\\xe9'); sys.exit(7)")
    assert run_script("packages.R", [], tmp_path, 10) == Spoken(7, "en ''\n", "caf\ufffd")


@pytest.mark.parametrize(
    ("messages", "last"),
    [
        ("Warning: a\nsingular matrix\n", "singular matrix"),
        ("Error: bad\n  \nExecution halted\n", "Error: bad"),
        ("Execution halted\n", "no message"),
        ("", "no message"),
    ],
)
def test_the_last_telling_line_is_shown(messages: str, last: str) -> None:
    assert Spoken(1, "", messages).last_message() == last


def test_a_program_that_cannot_start_is_reported(only_own_path, tmp_path: Path) -> None:
    put_program(tmp_path, "#!/no/such/interpreter\n")
    with pytest.raises(RFailed, match=r"Rscript must start, got No such file or directory from '.*Rscript'"):
        run_script("packages.R", [], tmp_path, 10)


def test_time_is_limited(fake_r, tmp_path: Path) -> None:
    fake_r("time.sleep(30)")
    started = time.perf_counter()
    with pytest.raises(RTimedOut, match="timeout must leave R time to finish, got 0.2 seconds; raise it") as caught:
        run_script("packages.R", [], tmp_path, 0.2)
    assert time.perf_counter() - started < 20
    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize("reason", [KeyboardInterrupt("stop"), subprocess.TimeoutExpired("stop", 30)])
def test_r_and_its_workers_are_ended(fake_r, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason, wait_for) -> None:
    seen = fake_r(SLEEP_WITH_A_WORKER)

    def interrupt(process: subprocess.Popen, timeout: float) -> None:
        wait_for((seen.folder / "pids").exists, 10)
        raise reason

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises((KeyboardInterrupt, RTimedOut), match=r"stop|got 30 seconds"):
        run_script("packages.R", [], tmp_path, 30)
    wait_for(lambda: not any(map(is_running, seen.text("pids").split())), 1)


# runs to R and back


def test_numbers_go_and_come_to_the_last_digit(fake_r, runs: Runs, temporary: Path) -> None:
    X, y, X_new = runs
    seen = fake_r("answer(*([repr(sum(row)), 1/3, 2/3] for row in read('X_new.csv')))")
    there = run_r(RHetGP(), X, y, X_new, scale=False)
    for name, values in (("X.csv", X), ("y.csv", y[:, None]), ("X_new.csv", X_new)):
        np.testing.assert_array_equal(seen.table(name), values)
    np.testing.assert_array_equal(there.mean, X_new.sum(axis=1))
    np.testing.assert_array_equal(there.latent, np.full(5, 1 / 3))
    np.testing.assert_array_equal(there.variance, np.full(5, 1.0))
    assert Path(seen.call["folder"]).parent == temporary


def test_r_sees_scaled_runs_and_its_answers_return_to_the_units_of_y(fake_r, runs: Runs) -> None:
    X, y, X_new = runs
    seen = fake_r(SUMS)
    there = run_r(RHomGP(), X, y, X_new)
    U, z, U_new = seen.table("X.csv"), seen.table("y.csv"), (X_new - X.min(axis=0)) / np.ptp(X, axis=0)
    np.testing.assert_array_equal([U.min(axis=0), U.max(axis=0)], [[0, 0], [1, 1]])
    assert (z.mean(), z.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    np.testing.assert_allclose(seen.table("X_new.csv"), U_new)
    np.testing.assert_allclose(there.mean, y.mean() + y.std() * U_new.sum(axis=1))
    np.testing.assert_allclose(there.latent, 0.25 * y.var())
    np.testing.assert_allclose(there.variance, 2.25 * y.var())


def test_a_constant_input_is_passed_as_zero(fake_r, runs: Runs) -> None:
    seen = fake_r(SUMS)
    run_r(RHomGP(), runs[0] * [1.0, 0.0] + 5.0, *runs[1:])
    assert (seen.table("X.csv")[:, 1] == 0).all()


def test_distributions_of_a_run_and_of_the_mean_have_their_variances(fake_r, runs: Runs) -> None:
    fake_r(SUMS)
    there = run_r(RHomGP(), pd.DataFrame(runs[0]), pd.Series(runs[1]), runs[2].tolist(), scale=False)
    np.testing.assert_array_equal(there.distribution().mean(), there.mean)
    np.testing.assert_allclose(there.distribution().std(), 1.5)
    np.testing.assert_allclose(there.distribution(of="mean").std(), 0.5)
    with pytest.raises(InvalidInput, match="of must be one of 'run', 'mean', got 'median'"):
        there.distribution(of="median")


def test_a_local_gp_knows_one_variance(fake_r, runs: Runs) -> None:
    fake_r("answer(*([sum(row), 2.25] for row in read('X_new.csv')))\n")
    there = run_r(RLocalGP(), *runs, scale=False)
    np.testing.assert_allclose(there.distribution().std(), 1.5)
    assert there.latent is None
    with pytest.raises(InvalidInput, match="of must be 'run' for this R model, got 'mean'"):
        there.distribution(of="mean")


def test_settings_and_seed_reach_r_and_its_warnings_are_kept(fake_r, runs: Runs) -> None:
    seen = fake_r(SUMS + "print('Warning: variances thresholded', file=sys.stderr)")
    seeds = []
    for random_state in (0, 0, 1, np.random.default_rng(0)):
        there = run_r(RDeepGP(n_samples=50, kernel="squared-exponential"), *runs, random_state=random_state)
        words = [str(there.seed), "deepgp", "deepgp", "kernel=squared-exponential", "n_samples=50"]
        assert seen.call["arguments"][:5] == words
        assert there.messages == "Warning: variances thresholded\n"
        seeds.append(there.seed)
    assert Path(seen.call["script"]).name == "fit_predict.R"
    assert seeds[0] == seeds[1] == seeds[3] != seeds[2]
    assert all(0 <= seed < 2**31 for seed in seeds)  # what R's set.seed takes


@pytest.mark.parametrize(
    ("body", "model", "error", "sentence"),
    [
        (
            *("print('fitting\\nit is singular', file=sys.stderr); sys.exit(1)", RHetGP(), RFailed),
            "^RHetGP must run to its end in R, got exit code 1: it is singular$",
        ),
        (
            *("sys.exit(3)", RLocalGP(), RMissing),
            r"^the R package laGP must be installed for RLocalGP, got none .*; run install\.packages\(\"laGP\"\) in R$",
        ),
    ],
)
def test_an_error_of_r_is_one_sentence(fake_r, runs: Runs, body: str, model: RModel, error, sentence: str) -> None:
    fake_r(body)
    with pytest.raises(error, match=sentence) as caught:
        run_r(model, *runs)
    assert isinstance(caught.value, GenBayesError)


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
def test_an_answer_that_is_none_is_refused(fake_r, runs: Runs, body: str, got: str) -> None:
    fake_r(body)
    rule = "R must answer 5 rows of 3 finite numbers with variances of at least 0"
    with pytest.raises(RFailed, match=f"{rule}, .*{got}"):
        run_r(RHomGP(), *runs)


@pytest.mark.parametrize("body", [SUMS, "answer([1])", "sys.exit(1)", "time.sleep(30)"])
def test_nothing_is_left_behind(fake_r, runs: Runs, temporary: Path, body: str) -> None:
    fake_r(body)
    with nullcontext() if body == SUMS else pytest.raises((RFailed, RTimedOut), match="R must|in R|leave R"):
        run_r(RHomGP(), *runs, timeout=0.2 if "sleep" in body else 60)
    assert list(temporary.iterdir()) == []


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
def test_bad_values_are_refused_before_r_is_looked_for(only_own_path, runs: Runs, change, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        run_r(**{"model": RHomGP(), **dict(zip(("X", "y", "X_new"), runs, strict=True)), **change})


def test_without_r_nothing_is_available_and_a_run_says_what_to_install(only_own_path, runs: Runs) -> None:
    assert available() == {}
    sentence = (
        r"^Rscript must be on the PATH for genbayes_bench\.rivals\.r.*, got none; install R and the packages hetGP"
    )
    with pytest.raises(RMissing, match=sentence) as caught:
        run_r(RHomGP(), *runs)
    assert isinstance(caught.value, ImportError)


def test_packages_are_listed_with_their_versions(fake_r, temporary: Path) -> None:
    seen = fake_r("print('hetGP 1.1.9 \\nlaGP 1.5.9\\nsome chatter that is none\\nother 1.0')")
    assert available() == {"hetGP": "1.1.9", "laGP": "1.5.9"}
    assert seen.call["arguments"] == ["hetGP", "deepgp", "laGP", "RobustGaSP", "GpGp"]
    assert list(temporary.iterdir()) == []


def test_an_r_that_cannot_list_its_packages_is_reported(fake_r) -> None:
    fake_r("print('R is broken', file=sys.stderr); sys.exit(2)")
    with pytest.raises(RFailed, match="R must list its packages, got exit code 2: R is broken"):
        available()


# a real R


needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


def needs(package: str) -> None:
    if package not in available():
        pytest.skip(f"R does not have {package}")


@pytest.fixture
def few() -> Runs:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 2))
    return X, np.sin(4 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(30), rng.uniform(size=(6, 2))


@needs_r
@pytest.mark.parametrize("script", ["fit_predict.R", "packages.R"])
def test_a_script_is_good_r(script: str) -> None:
    path = files("genbayes_bench.rivals") / script
    assert path.is_file()
    command = ["Rscript", "-e", f"invisible(parse(file = {str(path)!r}))"]
    parsing = subprocess.run(command, capture_output=True, check=False)
    assert parsing.returncode == 0, parsing.stderr.decode()


@needs_r
@pytest.mark.parametrize(
    ("package", "error", "sentence"),
    [
        ("noPackage", RMissing, r'the R package noPackage must be .*install\.packages\("noPackage"\)'),
        ("stats", RFailed, r"Other must run to its end in R, got exit code 1: \S.*$"),  # there, but has no such kernel
    ],
)
def test_a_missing_package_and_an_error_in_r_are_told_in_one_sentence(few, package: str, error, sentence: str) -> None:
    model = type("Other", (RModel,), {"name": "homgp", "package": package})
    with pytest.raises(error, match=sentence) as caught:
        run_r(model(), *few)
    assert "\n" not in str(caught.value)
    assert "Execution halted" not in str(caught.value)


# stand-ins

HETGP = """
fit <- function(class) function(X, Z, lower = NULL, upper = NULL, noiseControl = NULL, settings = NULL,
                                covtype = c("Gaussian", "Matern5_2", "Matern3_2"), maxit = 100, known = NULL,
                                init = NULL, eps = 1e-8) {
  stopifnot(is.matrix(X), is.double(X), is.null(dim(Z)), length(Z) == nrow(X))
  warning("a stand-in of ", class)
  structure(list(Z = Z, kernel = match(match.arg(covtype), c("Gaussian", "Matern5_2")), draw = runif(1)), class = class)
}
mleHomGP <- fit("homGP")
mleHetGP <- fit("hetGP")
answer <- function(object, x, noise) {
  stopifnot(is.matrix(x))
  list(mean = x[, 1] + object$draw, sd2 = rep(object$Z[1]^2, nrow(x)), nugs = rep(noise * object$kernel, nrow(x)))
}
predict.homGP <- function(object, x, xprime = NULL, ...) answer(object, x, 10)
predict.hetGP <- function(object, x, noise.var = FALSE, xprime = NULL, nugs.only = FALSE, ...) answer(object, x, 100)
"""
DEEPGP = """
fit_two_layer <- function(x, y, nmcmc = 10000, D = ncol(x), pmx = FALSE, verb = TRUE, w_0 = NULL, g_0 = 0.01,
                          theta_y_0 = 0.1, theta_w_0 = 0.1, true_g = NULL, settings = NULL, cov = c("matern", "exp2"),
                          v = 2.5, vecchia = FALSE, m = 25, ordering = NULL) {
  stopifnot(is.matrix(x), is.null(dim(y)), !verb, !vecchia)
  g <- if (is.null(true_g)) 0.5 else true_g
  fit <- list(nmcmc = nmcmc, tau2_w = NA, g = rep(g, nmcmc), cov = match(match.arg(cov), c("matern", "exp2")))
  fit[[Sys.getenv("TAU2")]] <- rep(2, nmcmc)
  structure(fit, class = "dgp2")
}
trim <- function(object, burn, thin) UseMethod("trim", object)
trim.dgp2 <- function(object, burn, thin = 1) {
  kept <- seq_len(object$nmcmc)
  kept <- kept[kept > burn & kept %% thin == 0]
  object$nmcmc <- length(kept)
  object$g <- object$g[kept]
  tau2 <- Sys.getenv("TAU2")
  object[[tau2]] <- object[[tau2]][kept]
  object
}
predict.dgp2 <- function(object, x_new, lite = TRUE, store_latent = FALSE, mean_map = TRUE, EI = FALSE, cores = 1,
                         ...) {
  stopifnot(is.matrix(x_new), lite, cores == 1)
  object$mean <- matrix(object$nmcmc + object$cov / 10 + 0 * x_new[, 1])
  object$s2 <- rep(3, nrow(x_new))
  object
}
"""
LAGP = """
garg <- function(g, y) c(g, list(start = y[1]))
aGPsep <- function(X, Z, XX, start = 6, end = 50, d = NULL, g = 1/10000, method = c("alc", "alcray", "nn"),
                   Xi.ret = TRUE, close = nrow(X), numrays = ncol(X), omp.threads = 1, verb = 1) {
  stopifnot(is.matrix(X), is.matrix(XX), g$mle, g$start == Z[1], omp.threads == 1, verb == 0, end < nrow(X))
  list(mean = XX[, 2], var = rep(end, nrow(XX)))
}
"""
STAND_INS = {
    "hetGP": (HETGP, "export(mleHomGP, mleHetGP)\nS3method(predict, homGP)\nS3method(predict, hetGP)\n"),
    "deepgp": (DEEPGP, "export(fit_two_layer, trim)\nS3method(trim, dgp2)\nS3method(predict, dgp2)\n"),
    "laGP": (LAGP, "export(aGPsep, garg)\n"),
}
IMPORTS = "importFrom(stats, predict, runif)\n"


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An R library that holds the three stand-ins, version 9.9."""
    sources, library = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("library")
    for package, (code, namespace) in STAND_INS.items():
        folder = sources / package
        (folder / "R").mkdir(parents=True)
        (folder / "R" / "code.R").write_text(code)
        (folder / "NAMESPACE").write_text(namespace + IMPORTS)
        (folder / "DESCRIPTION").write_text(f"Package: {package}\nVersion: 9.9\nTitle: Stand-in\nImports: stats\n")
    install = ["R", "CMD", "INSTALL", "--no-docs", "--no-test-load", f"--library={library}", *STAND_INS]
    subprocess.run(install, cwd=sources, check=True, capture_output=True)
    return library


@pytest.fixture
def with_stand_ins(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    monkeypatch.setenv("R_LIBS", str(request.getfixturevalue("stand_ins")))
    monkeypatch.setenv("TAU2", "tau2_y")


@pytest.mark.slow
def test_installed_packages_are_found_with_their_versions(with_stand_ins) -> None:
    assert available() == {"hetGP": "9.9", "deepgp": "9.9", "laGP": "9.9"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "noise"), [(RHomGP(), 20), (RHetGP(), 200), (RHetGP(kernel="squared-exponential"), 100)]
)
def test_hetgp_is_called_as_its_manual_says(with_stand_ins, few, model, noise: float) -> None:
    X, y, X_new = few
    there = run_r(model, X, y, X_new, scale=False, random_state=0)
    draw = there.mean - X_new[:, 0]
    assert np.ptp(draw) < 1e-12
    assert 0 < draw[0] < 1
    np.testing.assert_array_equal(there.latent, y[0] * y[0])
    np.testing.assert_array_equal(there.variance, y[0] * y[0] + noise)
    assert "a stand-in of h" in there.messages


@pytest.mark.slow
def test_a_seed_gives_the_same_answer_again_in_r(with_stand_ins, few) -> None:
    first, second, other = (run_r(RHomGP(), *few, random_state=seed).mean for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tau2", "settings", "mean", "nugget"),
    [
        ("tau2", {}, 7.1, 0.5),  # its name before version 1.2
        ("tau2_y", {}, 7.1, 0.5),
        ("tau2_y", {"kernel": "squared-exponential", "nugget": 0.125}, 7.2, 0.125),
    ],
)
def test_deepgp_is_called_as_its_manuals_say(with_stand_ins, few, monkeypatch, tau2, settings, mean, nugget) -> None:
    monkeypatch.setenv("TAU2", tau2)
    there = run_r(RDeepGP(n_samples=7, n_burn_in=11, thinning=3, **settings), *few, scale=False)
    np.testing.assert_allclose(there.mean, mean)
    np.testing.assert_allclose(there.latent, 3 - 2 * nugget)
    np.testing.assert_allclose(there.variance, 3)


@pytest.mark.slow
@pytest.mark.parametrize(("n_neighbours", "used"), [(20, 20), (50, 29)])
def test_lagp_is_called_as_its_manual_says(with_stand_ins, few, n_neighbours: int, used: int) -> None:
    there = run_r(RLocalGP(n_neighbours=n_neighbours), *few, scale=False)
    np.testing.assert_array_equal(there.mean, few[2][:, 1])
    np.testing.assert_array_equal(there.variance, used)
    assert there.latent is None


@pytest.mark.slow
def test_one_input_and_one_row_stay_matrices_in_r(with_stand_ins, few) -> None:
    X, y, X_new = few
    assert run_r(RHomGP(), X[:, :1], y, X_new[:1, :1], scale=False).mean.shape == (1,)


# the packages themselves


@pytest.mark.slow
def test_hetgp_and_our_stationary_gp_agree(few) -> None:
    needs("hetGP")
    X, y, X_new = few
    theirs = run_r(RHomGP(), X, y, X_new, random_state=0)
    mean, sd = StationaryGP(random_state=0).fit(X, y).predict(X_new, return_std=True)
    np.testing.assert_allclose(mean, theirs.mean, atol=0.05)  # the sd of the noise
    np.testing.assert_allclose(sd, theirs.distribution().std(), rtol=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "method"), [(RHetGP(), "hetGP_default"), (RHomGP(), "homGP")])
def test_a_motorcycle_split_scores_as_measured_before(model, method: str) -> None:
    needs("hetGP")
    if not REFERENCE.exists():
        pytest.skip("the reference splits are not at hand")
    table = load_motorcycle().to_numpy(dtype=np.float64)
    split = pd.read_csv(REFERENCE / "mcycle_splits.csv").query("split == 1")
    train, test = (table[split["row"][(split["set"] == "train") == wanted] - 1] for wanted in (True, False))
    there = run_r(model, train[:, :1], train[:, 1], test[:, :1], scale=False, random_state=0)
    found = crps_normal(there.mean, there.distribution().std(), test[:, 1]).mean()
    known = pd.read_csv(REFERENCE / "mcycle_hetgp_per_split.csv").query("split == 1 and method == @method")
    assert found == pytest.approx(known["crps"].iloc[0], rel=0.02)  # versions of the package differ a little


@pytest.mark.slow
@pytest.mark.parametrize("model", [RDeepGP(n_samples=50, n_burn_in=500, thinning=5), RLocalGP()])
def test_the_other_packages_learn_a_smooth_function(few, model) -> None:
    needs(model.package)
    X, y, X_new = few
    there = run_r(model, X, y, X_new, random_state=0)
    truth = np.sin(4 * X_new[:, 0]) + X_new[:, 1]
    assert np.sqrt(np.mean((there.mean - truth) ** 2)) < 0.5 * y.std()
    assert (there.distribution().std() < 2 * y.std()).all()
