"""The R scripts in a real R, first with stand-ins of the three packages, then with the packages themselves.

The stand-ins have the functions and arguments that the packages' manuals describe and return what they were given, so
that a wrong name, a wrong order or a lost digit shows. Both kinds of test skip where R or a package is absent.
"""

import csv
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from genbayes.data import load_motorcycle
from genbayes.metrics import crps_normal
from genbayes.models.gp.stationary import StationaryGP
from genbayes_bench.rivals.r_bridge import (
    RDeepGP,
    RFailed,
    RHetGP,
    RHomGP,
    RLocalGP,
    RMissing,
    RModel,
    available,
    run_r,
)

REFERENCE = Path(__file__).parents[5] / "shared" / "reference"
needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


def needs(package: str) -> None:
    if package not in available():
        pytest.skip(f"R does not have {package}")


@pytest.fixture
def runs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 2))
    return X, np.sin(4 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(30), rng.uniform(size=(6, 2))


# plain R


@needs_r
@pytest.mark.parametrize("script", ["fit_predict.R", "packages.R"])
def test_a_script_is_good_r(script: str) -> None:
    path = files("genbayes_bench.rivals") / script
    assert path.is_file()
    command = ["Rscript", "-e", f"invisible(parse(file = {str(path)!r}))"]
    parsing = subprocess.run(command, capture_output=True, check=False)
    assert parsing.returncode == 0, parsing.stderr.decode()


class Absent(RModel):
    name = "homgp"
    package = "noSuchPackage"


@needs_r
def test_r_tells_of_a_package_it_does_not_have(runs) -> None:
    with pytest.raises(RMissing, match=r'the R package noSuchPackage must be .*install\.packages\("noSuchPackage"\)'):
        run_r(Absent(), *runs)


class Broken(RModel):
    name = "homgp"
    package = "stats"  # always there, so that it is the unknown kernel which fails


@needs_r
def test_an_error_in_r_is_told_in_one_sentence(runs) -> None:
    with pytest.raises(RFailed, match=r"Broken must run to its end in R, got exit code 1: \S.*$") as caught:
        run_r(Broken(), *runs)
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
    ("model", "noise"),
    [(RHomGP(), 20), (RHetGP(), 200), (RHetGP(kernel="squared-exponential"), 100)],
)
def test_hetgp_is_called_as_its_manual_says(with_stand_ins, runs, model, noise: float) -> None:
    X, y, X_new = runs
    there = run_r(model, X, y, X_new, scale=False, random_state=0)
    draw = there.mean - X_new[:, 0]
    assert np.ptp(draw) < 1e-12
    assert 0 < draw[0] < 1
    np.testing.assert_array_equal(there.latent, y[0] * y[0])
    np.testing.assert_array_equal(there.variance, y[0] * y[0] + noise)
    assert "a stand-in of h" in there.messages


@pytest.mark.slow
def test_a_seed_gives_the_same_answer_again_in_r(with_stand_ins, runs) -> None:
    first, second, other = (run_r(RHomGP(), *runs, random_state=seed).mean for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).all()


@pytest.mark.slow
@pytest.mark.parametrize("tau2", ["tau2", "tau2_y"])
def test_deepgp_is_called_as_its_manuals_say(with_stand_ins, runs, monkeypatch, tau2: str) -> None:
    monkeypatch.setenv("TAU2", tau2)  # its name before version 1.2, and since
    there = run_r(RDeepGP(n_samples=7, n_burn_in=11, thinning=3), *runs, scale=False)
    np.testing.assert_allclose(there.mean, 7.1)
    np.testing.assert_allclose(there.latent, 3 - 2 * 0.5)
    np.testing.assert_allclose(there.variance, 3)


@pytest.mark.slow
def test_deepgp_gets_kernel_and_nugget(with_stand_ins, runs) -> None:
    model = RDeepGP(n_samples=7, n_burn_in=11, thinning=3, kernel="squared-exponential", nugget=0.125)
    there = run_r(model, *runs, scale=False)
    np.testing.assert_allclose(there.mean, 7.2)
    np.testing.assert_allclose(there.latent, 3 - 2 * 0.125)


@pytest.mark.slow
@pytest.mark.parametrize(("n_neighbours", "used"), [(20, 20), (50, 29)])
def test_lagp_is_called_as_its_manual_says(with_stand_ins, runs, n_neighbours: int, used: int) -> None:
    there = run_r(RLocalGP(n_neighbours=n_neighbours), *runs, scale=False)
    np.testing.assert_array_equal(there.mean, runs[2][:, 1])
    np.testing.assert_array_equal(there.variance, used)
    assert there.latent is None


@pytest.mark.slow
def test_one_input_and_one_row_stay_matrices_in_r(with_stand_ins, runs) -> None:
    X, y, X_new = runs
    there = run_r(RHomGP(), X[:, :1], y, X_new[:1, :1], scale=False)
    assert there.mean.shape == (1,)


# the packages themselves


@pytest.mark.slow
def test_hetgp_and_our_stationary_gp_agree(runs) -> None:
    needs("hetGP")
    X, y, X_new = runs
    theirs = run_r(RHomGP(), X, y, X_new, random_state=0)
    mean, sd = StationaryGP(random_state=0).fit(X, y).predict(X_new, return_std=True)
    np.testing.assert_allclose(mean, theirs.mean, atol=0.05)  # the sd of the noise
    np.testing.assert_allclose(sd, theirs.law().std(), rtol=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "method"), [(RHetGP(), "hetGP_default"), (RHomGP(), "homGP")])
def test_a_motorcycle_split_scores_as_measured_before(model, method: str) -> None:
    needs("hetGP")
    if not REFERENCE.exists():
        pytest.skip("the reference splits are not at hand")
    table = load_motorcycle().to_numpy(dtype=np.float64)
    with (REFERENCE / "mcycle_splits.csv").open() as file:
        rows = [(int(row["row"]) - 1, row["set"]) for row in csv.DictReader(file) if row["split"] == "1"]
    train, test = (table[[row for row, place in rows if (place == "train") is wanted]] for wanted in (True, False))
    there = run_r(model, train[:, :1], train[:, 1], test[:, :1], scale=False, random_state=0)
    found = crps_normal(there.mean, there.law().std(), test[:, 1]).mean()
    with (REFERENCE / "mcycle_hetgp_per_split.csv").open() as file:
        scores = [row for row in csv.DictReader(file) if row["split"] == "1" and row["method"] == method]
    assert found == pytest.approx(float(scores[0]["crps"]), rel=0.02)  # versions of the package differ a little


@pytest.mark.slow
@pytest.mark.parametrize("model", [RDeepGP(n_samples=50, n_burn_in=500, thinning=5), RLocalGP()])
def test_the_other_packages_learn_a_smooth_function(runs, model) -> None:
    needs(model.package)
    X, y, X_new = runs
    there = run_r(model, X, y, X_new, random_state=0)
    truth = np.sin(4 * X_new[:, 0]) + X_new[:, 1]
    assert np.sqrt(np.mean((there.mean - truth) ** 2)) < 0.5 * y.std()
    assert (there.law().std() < 2 * y.std()).all()
