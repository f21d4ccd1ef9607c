"""The stationary GP from fit to prediction, and its answers for training inputs that are left out."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.metrics import crps_normal
from genbayes.models import StationaryGP
from genbayes.models.gp import KERNELS, FittedGP, Replicates, fit_gp
from genbayes.persistence import State

REFERENCE = Path(__file__).parents[4] / "shared" / "reference"


def fit(runs: Replicates, exact_limit: int = 3000) -> FittedGP:
    return fit_gp(runs, np.random.default_rng(0), exact_limit=exact_limit)


def score_file(path: Path) -> tuple[float, float]:
    """CRPS and 90% coverage on the test rows, from a fit to the scaled training rows."""
    table = pd.read_csv(path)
    train, test = (table[table["set"] == part] for part in ("train", "test"))
    names = [name for name in table.columns if name.startswith("x")]
    X, y = train[names].to_numpy(), train["y"].to_numpy()
    scaled = Replicates.collect((X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std(), np.ones(len(y)))
    mean, latent, noise = fit(scaled).predict((test[names].to_numpy() - X.mean(0)) / X.std(0))
    loc, sd = mean * y.std() + y.mean(), np.sqrt(latent + noise) * y.std()
    seen = test["y"].to_numpy()
    return float(crps_normal(loc, sd, seen).mean()), float((np.abs(seen - loc) < 1.645 * sd).mean())


@pytest.mark.parametrize(("n", "p"), [(30, 1), (30, 2), (30, 7), (30, 20), (2, 2), (3, 2), (10, 2)])
def test_any_number_of_inputs_and_a_handful_of_runs_give_finite_predictions(
    make_runs: Callable[..., Replicates], n: int, p: int
) -> None:
    mean, latent, noise = fit(make_runs(n, p)).predict(np.zeros((3, p)))
    assert mean.shape == latent.shape == noise.shape == (3,)
    assert np.isfinite([mean, latent, noise]).all()
    assert (latent >= 0).all()
    assert (noise > 0).all()


def test_the_only_input_cannot_be_left_out() -> None:
    gp = fit(Replicates.collect(np.zeros((4, 1)), np.arange(4.0), np.ones(4)))
    with pytest.raises(InvalidInput, match="at least two distinct inputs"):
        gp.leave_one_out()


def test_few_runs_of_many_inputs_do_not_claim_to_know() -> None:
    # 15 runs, 6 inputs: maximum likelihood alone declares inputs inert and is sure of it; 25 fits of 20 new runs each
    hits = []
    for rng in np.random.default_rng(5).spawn(25):
        Z, Z_new = rng.normal(size=(15, 6)), rng.normal(size=(20, 6))
        y, y_new = (np.tanh(A[:, 0] + A[:, 1]) + 0.5 * A[:, 2] + 0.2 * rng.normal(size=len(A)) for A in (Z, Z_new))
        mean, latent, noise = fit(Replicates.collect(Z, (y - y.mean()) / y.std(), np.ones(15))).predict(Z_new)
        hits.append((np.abs((y_new - y.mean()) / y.std() - mean) < 1.645 * np.sqrt(latent + noise)).mean())
    assert np.mean(hits) > 0.7


def test_constant_responses_are_predicted_with_certainty() -> None:
    runs = Replicates.collect(np.arange(6.0)[:, None], np.zeros(6), np.ones(6))
    mean, latent, noise = fit(runs).predict(np.array([[2.5]]))
    assert mean[0] == pytest.approx(0.0, abs=1e-9)
    assert latent[0] + noise[0] < 1e-6


def test_noise_free_runs_are_interpolated_to_four_digits() -> None:
    rng = np.random.default_rng(0)
    Z, Z_new = rng.uniform(-1.7, 1.7, size=(80, 2)), rng.uniform(-1.5, 1.5, size=(200, 2))
    f = [np.sin(A[:, 0]) * np.cos(A[:, 1]) for A in (Z, Z_new)]
    mean = fit(Replicates.collect(Z, f[0], np.ones(80))).predict(Z_new)[0]
    assert np.sqrt(np.mean((mean - f[1]) ** 2)) < 1e-3


def test_the_squared_exponential_knows_an_analytic_function_from_fewer_runs() -> None:
    rng = np.random.default_rng(0)
    Z, new = rng.uniform(-1, 1, (40, 2)), rng.uniform(-1, 1, (200, 2))
    f = [np.exp(-(at[:, 0] ** 2)) * np.sin(2 * at[:, 1]) for at in (Z, new)]
    runs = Replicates.collect(Z, f[0], np.ones(40))
    error = {}
    for kernel in KERNELS:
        gp = fit_gp(runs, np.random.default_rng(0), kernel=kernel)
        assert gp.kernel == kernel
        error[kernel] = float(np.abs(gp.predict(new)[0] - f[1]).mean())
    assert error["squared-exponential"] < 0.3 * error["matern52"]


def test_a_kernel_without_an_approximation_is_refused_beyond_the_exact_limit(
    make_runs: Callable[..., Replicates],
) -> None:
    with pytest.raises(InvalidInput, match="kernel must be 'matern52' for more than 20 distinct inputs, got 'squared"):
        fit_gp(make_runs(30, 2), np.random.default_rng(0), exact_limit=20, kernel="squared-exponential")


@pytest.mark.parametrize("kernel", ["matern32", "auto", 0, None])
def test_a_file_that_names_no_kernel_is_refused(make_runs: Callable[..., Replicates], kernel: object) -> None:
    state = fit(make_runs(20, 2)).to_state()
    changed = State(state.kind, {**state.values, "kernel": kernel}, state.arrays)
    with pytest.raises(UnreadableFile, match="kernel' in the model file must be one of matern52, matern52-separable"):
        FittedGP.from_state(changed, 2)


@pytest.mark.parametrize(("exact_limit", "kernel"), [(100, "matern52"), *((3000, kernel) for kernel in KERNELS)])
def test_a_gp_rebuilt_from_its_state_predicts_the_same_to_the_last_bit(
    make_runs: Callable[..., Replicates], exact_limit: int, kernel: str
) -> None:
    runs = make_runs(150, 2, n_copies=10)
    gp = fit_gp(runs, np.random.default_rng(0), exact_limit=exact_limit, kernel=kernel)
    state = gp.to_state()
    for array in state.arrays.values():
        array.flags.writeable = False  # as arrays read from a file may be
    rebuilt = FittedGP.from_state(state, 2)
    new = np.random.default_rng(1).normal(size=(20, 2))
    for ours, theirs in zip(gp.predict(new), rebuilt.predict(new), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(gp.leave_one_out(), rebuilt.leave_one_out(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_beyond_the_exact_limit_predictions_stay_close_to_the_exact_ones(make_runs: Callable[..., Replicates]) -> None:
    runs = make_runs(500, 2)
    exact = fit(runs)
    large = FittedGP.at(exact.parameters, runs, np.random.default_rng(0), exact_limit=100)
    new = np.random.default_rng(1).normal(size=(50, 2))
    (mean, latent, _), (nearly, nearly_latent, _) = exact.predict(new), large.predict(new)
    assert np.sqrt(np.mean((mean - nearly) ** 2 / latent)) < 0.1
    np.testing.assert_allclose(nearly_latent, latent, rtol=0.05)


@pytest.mark.parametrize("exact_limit", [3000, 100])
def test_left_out_runs_are_covered_as_promised(make_runs: Callable[..., Replicates], exact_limit: int) -> None:
    runs = make_runs(400, 2)
    mean, latent, noise = fit(runs, exact_limit).leave_one_out()
    covered = np.abs(runs.mean - mean) < 1.645 * np.sqrt(latent + noise / runs.count)
    assert covered.mean() == pytest.approx(0.9, abs=0.05)  # standard error 0.015


@pytest.mark.slow
@pytest.mark.skipif(not REFERENCE.exists(), reason="needs the reference scores of R's hetGP, which are not shipped")
@pytest.mark.parametrize("d", [2, 3, 4])
def test_as_good_as_mlehomgp_on_its_own_files(d: int) -> None:
    scores = pd.read_csv(REFERENCE / "bgp" / "homgp_per_replicate.csv")
    theirs = float(scores[(scores["d"] == d) & (scores["rep"] == 1)]["crps"].iloc[0])
    crps, coverage = score_file(REFERENCE / "bgp" / f"bgp_d{d}_rep1.csv")
    assert crps < 1.01 * theirs
    assert coverage == pytest.approx(0.9, abs=0.045)  # 400 rows: three standard errors


@pytest.mark.slow
def test_large_fits_learn_friedmans_function() -> None:
    def friedman(X: FloatArray) -> FloatArray:
        bend = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        return np.asarray(bend + 10 * X[:, 3] + 5 * X[:, 4])

    rng = np.random.default_rng(54)
    X, X_new = rng.uniform(size=(4000, 10)), rng.uniform(size=(500, 10))
    y = friedman(X) + rng.normal(size=4000)
    runs = Replicates.collect((X - 0.5) / 0.29, (y - y.mean()) / y.std(), np.ones(4000))
    mean = fit(runs).predict((X_new - 0.5) / 0.29)[0] * y.std() + y.mean()
    assert np.sqrt(np.mean((mean - friedman(X_new)) ** 2)) < 0.16  # noise sd 1; 0.14 is typical of 2,000 exact rows


def test_left_out_answers_are_those_of_a_gp_that_has_not_seen_the_input_in_the_order_asked_for(
    make_runs: Callable[..., Replicates],
) -> None:
    runs = make_runs(40, 1)
    gp, order = fit(runs), np.random.default_rng(1).permutation(40)
    mean, latent, _ = gp.leave_out(runs.Z)
    np.testing.assert_array_equal(gp.leave_out(runs.Z[order])[0], mean[order])
    new = np.vstack([runs.Z[:2], runs.Z[:2] + 0.01, runs.Z[5:6]])  # those that it has not seen are predicted
    np.testing.assert_allclose(gp.leave_out(new)[0], [*mean[:2], *gp.predict(new[2:4])[0], mean[5]])
    assert np.mean((gp.predict(runs.Z)[0] - runs.mean) ** 2) < np.mean((mean - runs.mean) ** 2) < 0.2
    others = FittedGP(gp.parameters, runs.take(np.delete(np.arange(40), 7)))
    # the constant mean is estimated anew without the row, which a GP of given parameters does not do
    np.testing.assert_allclose(mean[7], others.predict(runs.Z[[7]])[0][0], atol=0.02)
    np.testing.assert_allclose(latent[7], others.predict(runs.Z[[7]])[1][0], rtol=0.2)


def test_replicates_are_left_out_together() -> None:
    X = np.repeat(np.linspace(-1, 1, 12), 3)[:, None]
    y = np.sin(3 * X[:, 0]) + np.tile([-0.1, 0.0, 0.1], 12)
    y[15:18] += 5  # an outlying input: the others know nothing of it
    model = StationaryGP(random_state=0).fit(X, y)
    mean = model.response_scaler_.inverse(model.gp_.leave_out(model._scaled(X[15:18]))[0])
    assert (y[15:18] - mean).min() > 3


def test_a_single_input_has_nothing_to_be_left_for() -> None:
    groups = Replicates.collect(np.zeros((5, 1)), np.arange(5.0), np.ones(5))
    gp = fit_gp(groups, np.random.default_rng(0))
    np.testing.assert_array_equal(gp.leave_out(groups.Z), gp.predict(groups.Z))


PATHS = {  # a function each kernel is made for: kinks of the third derivative, inputs that act apart, analytic
    "matern52-separable": lambda Z: np.abs(Z[:, 0]) ** 3 + np.abs(Z[:, 1] - 0.3) ** 3 + np.sin(4 * Z[:, 2]),
    "squared-exponential": lambda Z: np.exp(-(Z[:, 0] ** 2) - Z[:, 1] * Z[:, 2]),
}


@pytest.mark.parametrize("kernel", PATHS)
def test_the_most_probable_kernel_is_chosen_and_beats_the_default_of_old(kernel: str) -> None:
    rng = np.random.default_rng(0)
    Z, new = rng.uniform(-1, 1, (150, 3)), rng.uniform(-1, 1, (200, 3))
    y, f = (PATHS[kernel](at) for at in (Z, new))
    runs = Replicates.collect(Z, (y - y.mean()) / y.std(), np.ones(150))
    chosen, old = (fit_gp(runs, np.random.default_rng(0), kernel=name) for name in ("auto", "matern52"))
    assert chosen.kernel == kernel
    error = [np.abs(gp.predict(new)[0] - (f - y.mean()) / y.std()).mean() for gp in (chosen, old)]
    assert error[0] < 0.8 * error[1]


def test_beyond_the_exact_limit_the_automatic_kernel_is_matern(make_runs: Callable[..., Replicates]) -> None:
    gp = fit_gp(make_runs(60, 2), np.random.default_rng(0), exact_limit=50, kernel="auto")
    assert gp.kernel == "matern52"
    assert gp.large is not None
    assert gp.jitter == 0.0


def test_a_smooth_simulator_without_noise_is_known_beyond_the_nugget_of_old() -> None:
    rng = np.random.default_rng(0)
    Z, new = rng.uniform(-1, 1, (150, 2)), rng.uniform(-0.9, 0.9, (100, 2))
    f = [np.cos(at[:, 0] + 2 * at[:, 1]) for at in (Z, new)]
    gp = fit_gp(Replicates.collect(Z, f[0], np.ones(150)), np.random.default_rng(0), kernel="auto")
    assert gp.parameters.nugget < 1e-9
    assert np.abs(gp.predict(new)[0] - f[1]).mean() < 1e-7


@pytest.mark.parametrize("kernel", ["matern52", "auto"])
def test_a_start_from_a_neighbour_reaches_the_same_maximum_in_fewer_steps(
    make_runs: Callable[..., Replicates], kernel: str
) -> None:
    runs = make_runs(120, 3)
    fewer = runs.take(np.arange(100))
    first = fit_gp(runs, np.random.default_rng(0), kernel=kernel)
    cold_steps: list[float] = []
    warm_steps: list[float] = []
    cold = fit_gp(fewer, np.random.default_rng(0), kernel=kernel, report=lambda *heard: cold_steps.append(heard[0]))
    warm = fit_gp(
        fewer, np.random.default_rng(0), kernel=kernel, start=first.parameters,
        report=lambda stage, stages, _: warm_steps.append(stages - stage),
    )  # fmt: skip
    np.testing.assert_allclose(warm.predict(runs.Z)[0], cold.predict(runs.Z)[0], atol=0.05)
    assert len(warm_steps) < len(cold_steps)
    assert warm_steps[-1] == 0  # the last stage announced is the last heard of


def test_a_gp_fitted_on_that_of_fewer_runs_keeps_the_kernel_and_predicts_as_one_from_scratch() -> None:
    X = np.random.default_rng(0).uniform(size=(60, 2))
    y = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1])
    base = StationaryGP(random_state=0).fit(X[:50], y[:50])
    warm, cold = StationaryGP(random_state=0).fit_on(base, X, y), StationaryGP(random_state=0).fit(X, y)
    assert warm.gp_.kernel == base.gp_.kernel
    assert len(warm.gp_.runs) == 60
    np.testing.assert_allclose(warm.predict(X + 0.01), cold.predict(X + 0.01), atol=1e-4)
    assert not hasattr(warm, "_base") or warm._base is None  # which would keep its runs alive


def test_a_neighbour_of_other_inputs_or_scales_is_no_start() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = np.sin(4 * X[:, 0])
    spread_out = np.column_stack([X[:, 0], 10 ** (6 * X[:, 1])])  # learnt on a logarithmic scale
    y_out = np.sin(4 * X[:, 0]) + X[:, 1]
    other = StationaryGP(random_state=0).fit(spread_out, y_out)
    assert (other.input_scaler_.bend > 0).any()
    for base in (StationaryGP(random_state=0).fit(X[:, :1], y), other):
        model, again = (StationaryGP(random_state=0) for _ in range(2))
        model.fit_on(base, X, y)
        np.testing.assert_array_equal(model.length_scales_, again.fit(X, y).length_scales_)
