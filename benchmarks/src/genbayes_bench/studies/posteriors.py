"""Our posteriors against exact ones that `genbayes bench run inference` has no rival for, and how quick they are.

Sets of any size, series, observations outside the simulations, importance weights, trials of a campaign, many draws.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from genbayes import PosteriorEstimator
from genbayes.arrays import FloatArray
from genbayes_bench.inference import moment_errors
from genbayes_bench.problems.inference import TASKS, Task, draw_prior
from genbayes_bench.studies.lines import Line, Part, mean_text

BY_NAME = {task.name: task for task in TASKS}
STREAM = 1_320
N_PAIRS, N_TESTS, N_DRAWS = 10_000, 50, 2_000
SIZES = (10_000, 50_000)  # sets or series to learn from: runs that cost nothing
N_LINEAR, N_EXACT = 50_000, 100_000  # pairs, and draws so many that chance errs by less than half a percent
N_GRID = 400  # points of a parameter where a posterior is integrated
N_SERIES = 200  # points of a series
N_OUTSIDE = 1_000  # observations, inside and outside
FAR = 5.0  # standard deviations
N_WEIGHTED = 200_000  # of weighted draws, so that chance alone errs by less than a percent
N_TRIALS, N_INITIAL, N_BATCH = 500, 100, 50  # of a campaign, of its initial design, asked at a time
REACH = 1.3  # of a campaign's space: four standard deviations of the prior

LogDensity = Callable[[FloatArray], FloatArray]  # points (m, 2) to log densities (m,)


def exact_moments(log_density: LogDensity, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations, each (2,), of a density on a box, by sums on two grids, the second where it lies.

    Example:
        >>> mean, sd = exact_moments(lambda t: -0.5 * ((t - 1) ** 2 / 0.01).sum(axis=1), np.zeros(2), np.full(2, 9.0))
        >>> mean.round(3), sd.round(3)
        (array([1., 1.]), array([0.1, 0.1]))
    """
    for _ in range(3):  # each grid reaches twelve standard deviations of the last, at most the box
        axes = [np.linspace(a, b, N_GRID) for a, b in zip(lower, upper, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        log = log_density(points)
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        mean = weight @ points
        sd = np.sqrt(weight @ (points - mean) ** 2)
        reach = 12 * np.maximum(sd, (upper - lower) / N_GRID)
        lower, upper = np.maximum(lower, mean - reach), np.minimum(upper, mean + reach)
    return np.asarray(mean), np.asarray(sd)


def measure_sample() -> Iterator[Line]:
    """A normal sample with unknown mean and log standard deviation: one estimator for 5 to 500 observations."""
    from scipy.stats import uniform

    for n in SIZES:
        rng, prior = np.random.default_rng([STREAM, 1]), (uniform(-3, 6), uniform(-1, 2))
        theta = draw_prior(prior, n, rng)
        sizes = np.exp(rng.uniform(np.log(5), np.log(501), n)).astype(int)
        sets = [_normal_sample(row, m, rng) for row, m in zip(theta, sizes, strict=True)]
        started = time.process_time()
        estimator = PosteriorEstimator(prior, summary="set", random_state=0).fit(theta, sets)
        seconds = time.process_time() - started
        for m in (5, 50, 500):
            truth = draw_prior(prior, N_TESTS, rng)
            tests = [_normal_sample(row, m, rng) for row in truth]
            exact = [exact_moments(_density_of_sample(y[:, 0]), *_ends(prior)) for y in tests]
            what = f"normal sample of {m} from {n:,} sets"
            yield _line(what, estimator, tests, exact, 0.05, f"{seconds:.0f} cpu s")


def _normal_sample(theta: FloatArray, m: int, rng: np.random.Generator) -> FloatArray:
    mean, log_sd = theta
    return np.asarray(mean + np.exp(log_sd) * rng.standard_normal((m, 1)))


def _density_of_sample(y: FloatArray) -> LogDensity:
    """Log-density of m draws of N(mean, sd^2): -m log sd - sum (y - mean)^2 / (2 sd^2)."""
    m, centre, scatter = len(y), y.mean(), ((y - y.mean()) ** 2).sum()

    def log_density(theta: FloatArray) -> FloatArray:
        mean, log_sd = theta.T
        return np.asarray(-m * log_sd - (scatter + m * (mean - centre) ** 2) / (2 * np.exp(2 * log_sd)))

    return log_density


def measure_series() -> Iterator[Line]:
    """Both coefficients of an autoregression of order 2 from 200 points, through the convolution."""
    from scipy.stats import uniform

    for n in SIZES:
        rng, prior = np.random.default_rng([STREAM, 2]), (uniform(-1, 2), uniform(-0.9, 0.9))  # all of it stationary
        theta = draw_prior(prior, n, rng)
        y = autoregression(theta, rng)
        started = time.process_time()
        estimator = PosteriorEstimator(prior, summary="series", random_state=0).fit(theta, y)
        seconds = time.process_time() - started
        tests = autoregression(draw_prior(prior, N_TESTS, rng), rng)
        exact = [exact_moments(_density_of_series(row), *_ends(prior)) for row in tests]
        what = f"AR(2), {N_SERIES} points, from {n:,} series"
        yield _line(what, estimator, tests, exact, 0.10, f"{seconds:.0f} cpu s")


def autoregression(theta: FloatArray, rng: np.random.Generator) -> FloatArray:
    """y_t = a y_{t-1} + b y_{t-2} + N(0, 1) from zeros on, (n, 2) -> (n, 200)."""
    y = np.zeros((len(theta), N_SERIES + 2))
    noise = rng.standard_normal(y.shape)
    for t in range(2, y.shape[1]):
        y[:, t] = theta[:, 0] * y[:, t - 1] + theta[:, 1] * y[:, t - 2] + noise[:, t]
    return y[:, 2:]


def _density_of_series(y: FloatArray) -> LogDensity:
    """Normal errors: a quadratic function of the coefficients."""
    before = np.concatenate([[0.0, 0.0], y])
    X = np.column_stack([before[1:-1], before[:-2]])
    best, precision = np.linalg.lstsq(X, y, rcond=None)[0], X.T @ X

    def log_density(theta: FloatArray) -> FloatArray:
        gap = theta - best
        return np.asarray(-0.5 * np.einsum("ni,ij,nj->n", gap, precision, gap))

    return log_density


def _line(what: str, estimator: Any, tests: Any, exact: list[Any], limit: float, detail: str) -> Line:
    """Root mean squares over observations and parameters of the error of means, in exact sd, and of sd, relative."""
    draws = _condition(estimator, tests).sample(N_DRAWS, random_state=0)
    mean, sd = (np.array([moments[part] for moments in exact]) for part in (0, 1))
    of_mean = np.sqrt(np.mean(((draws.mean(axis=1) - mean) / sd) ** 2))
    of_sd = np.sqrt(np.mean((draws.std(axis=1, ddof=1) / sd - 1) ** 2))
    return Line(
        f"{what}: error of posterior mean (in sd) and sd, root mean square of {len(mean)} observations",
        f"{of_mean:.3f}, {of_sd:.3f}",
        f"at most {limit:g}",
        bool(max(of_mean, of_sd) <= limit),
        f"{detail}; {N_DRAWS:,} draws alone err by {1 / np.sqrt(N_DRAWS):.3f} and {1 / np.sqrt(2 * N_DRAWS):.3f}",
    )


def measure_linear() -> Iterator[Line]:
    """Means and covariances of the linear Gaussian posterior of ten parameters against their closed form."""
    started = time.process_time()
    estimator, task = _fitted("gaussian_linear", N_LINEAR)
    seconds = time.process_time() - started
    assert task.moments is not None
    _, y = task.simulations(5, STREAM)
    for i, row in enumerate(y, start=1):
        draws = _condition(estimator, row).sample(N_EXACT, random_state=0)
        errors = moment_errors(draws, *task.moments(row))
        what = (
            f"gaussian_linear, {N_LINEAR:,} pairs, observation {i}: largest error of mean and covariance, in sd and sd²"
        )
        yield Line(
            what,
            f"{errors[0]:.3f}, {errors[1]:.3f}",
            "at most 0.05",
            max(errors) <= 0.05,
            f"{seconds:.0f} cpu s to learn",
        )


def measure_outside() -> Iterator[Line]:
    """How often `condition` calls an observation outside the simulations, of those it may and may not."""
    for name in ("gaussian_linear", "two_moons", "slcp"):
        estimator, task = _fitted(name, N_PAIRS)
        rng = np.random.default_rng([STREAM, 3])
        _, inside = task.simulations(N_OUTSIDE, STREAM)
        direction = rng.standard_normal(inside.shape)
        direction /= np.abs(direction).max(axis=1, keepdims=True)  # five sd in one output at least
        far = inside.mean(axis=0) + FAR * inside.std(axis=0) * direction
        shares = [_outside_share(estimator, y) for y in (inside, far)]
        what = f"{name}: called outside, of {N_OUTSIDE:,} prior-predictive draws and of as many five sd away"
        met = shares[0] <= 0.01 and shares[1] >= 0.95
        yield Line(what, f"{shares[0]:.1%}, {shares[1]:.1%}", "at most 1%, at least 95%", met)


def _outside_share(estimator: Any, y: FloatArray) -> float:
    """One observation at a time, as a user is warned."""
    from genbayes.errors import OutsideSimulations

    n = 0
    for row in y:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimator.condition(row)
        n += any(issubclass(w.category, OutsideSimulations) for w in caught)
    return n / len(y)


def measure_weights() -> Iterator[Line]:
    """Mean and covariance of the linear Gaussian posterior after importance weights against its likelihood."""
    estimator, task = _fitted("gaussian_linear", N_PAIRS)
    assert task.moments is not None
    _, y = task.simulations(5, STREAM)
    for i, row in enumerate(y, start=1):
        weighted = _condition(estimator, row).reweight(_likelihood_of_linear(row), N_WEIGHTED, random_state=0)
        mean, cov = task.moments(row)
        sd = np.sqrt(np.diag(cov))
        errors = np.abs(weighted.mean() - mean) / sd, np.abs(weighted.cov() - cov) / np.outer(sd, sd)
        worst = [float(np.max(error)) for error in errors]
        what = f"gaussian_linear, observation {i}: largest error of mean (in sd) and covariance (in sd²) after weights"
        detail = f"effective size {weighted.effective_size:,.0f} of {N_WEIGHTED:,}"
        yield Line(what, f"{worst[0]:.3f}, {worst[1]:.3f}", "at most 0.02", max(worst) <= 0.02, detail)


def _likelihood_of_linear(y: FloatArray) -> LogDensity:
    return lambda theta: np.asarray(-0.5 * ((y - theta) ** 2).sum(axis=1) / 0.1)


def measure_campaign() -> Iterator[Line]:
    """90% intervals of the ten means from 500 actively chosen trials of a campaign, which are no prior draws."""
    from genbayes import Box, Campaign

    task, rng = BY_NAME["gaussian_linear"], np.random.default_rng([STREAM, 4])
    names = [f"theta{j}" for j in range(1, 11)]
    space = Box(dict.fromkeys(names, (-REACH, REACH)))

    def simulate(x: Mapping[str, Any]) -> list[float]:
        return [float(value) for value in task.simulate(np.array([[x[name] for name in names]]), rng)[0]]

    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign.create(
            f"sqlite:///{folder}/linear.db", "linear", space, n_initial=min(N_INITIAL, N_TRIALS), random_state=0,
            responses=[f"y{j}" for j in range(1, 11)],
        )  # fmt: skip
        while (n := len(campaign.to_frame())) < N_TRIALS:
            for trial in campaign.ask(min(N_BATCH, N_TRIALS - n)):
                campaign.tell(trial, y=simulate(trial.x))
        estimator: Any = PosteriorEstimator(dict(zip(names, task.prior(), strict=True)), random_state=0)
        started = time.process_time()
        estimator.fit_campaign(campaign)
        seconds = time.process_time() - started
    theta, y = task.simulations(N_OUTSIDE, STREAM)
    lower, upper = _condition(estimator, y).interval(0.9)
    held = ((lower <= theta) & (theta <= upper)).mean(axis=0)
    what = f"gaussian_linear, {N_TRIALS} chosen trials: share of 90% intervals that hold theta, mean of ten margins"
    detail = f"margins {held.min():.3f} to {held.max():.3f}, {N_OUTSIDE:,} pairs; {seconds:.0f} cpu s"
    yield Line(what, f"{held.mean():.3f}", "0.85 to 0.95", bool(0.85 <= held.mean() <= 0.95), detail)


def measure_draws() -> Iterator[Line]:
    """1,000 draws of the posteriors of 1,000 observations, five parameters."""
    estimator, task = _fitted("slcp", 1_000)
    _, y = task.simulations(1_000, STREAM)
    seconds = []
    for seed in range(3):
        started = time.perf_counter()
        _condition(estimator, y).sample(1_000, random_state=seed)
        seconds.append(time.perf_counter() - started)
    what = "SLCP: wall seconds of 1,000 observations x 1,000 draws, k = 5, three times"
    yield Line(what, mean_text(seconds, 1), "under 10", max(seconds) < 10)


def _fitted(name: str, n: int) -> tuple[Any, Task]:
    task = BY_NAME[name]
    theta, y = task.simulations(n, STREAM + 1)
    return PosteriorEstimator(task.prior(), random_state=0).fit(theta, y), task


def _condition(estimator: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of many observations are always outside
        return estimator.condition(y)


def _ends(prior: tuple[Any, ...]) -> tuple[FloatArray, FloatArray]:
    lower, upper = np.array([parameter.support() for parameter in prior]).T
    return lower, upper


PARTS: Mapping[str, Part] = {
    "sample": measure_sample,
    "series": measure_series,
    "linear": measure_linear,
    "outside": measure_outside,
    "weights": measure_weights,
    "campaign": measure_campaign,
    "draws": measure_draws,
}
