"""Tasks of posterior inference: a prior, a simulator, observations, and draws of their true posteriors.

Six tasks of the benchmark sbibm (Lueckmann et al. 2021, "Benchmarking Simulation-Based Inference") and the bimodal
posterior of the paper's Supplement C. Observations 1 to 5 of sbibm with 10,000 reference draws each are read from the
shared folder; where it is absent, tasks whose posterior can be drawn from exactly take observations of their own.
A `Split` of a task has the simulated outputs as X and the parameters as y: parameters are learnt from outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.dynamics import lotka_volterra, sir
from genbayes_bench.problems.problem import Draw, Problem, Protocol, Split
from genbayes_bench.problems.shared import shared_file, shared_path

if TYPE_CHECKING:
    from numpy.random import Generator

STREAM = 1_317  # keeps simulations of these tasks apart from other draws
STREAM_OWN = 1_318  # observations of our own
N_OBSERVATIONS = 5
N_DRAWS = 10_000  # of a posterior, as the reference has
N_DRAWS_EXACT = 100_000  # where errors are taken against a closed form, so that chance is a small part of them
OWN = "observations of our own, since those of sbibm are not in the folder of shared data"
MOON_RADIUS, MOON_SD = 0.1, 0.01
BIMODAL_RUNS = 10  # runs behind the mean that is observed
BIMODAL_AT = (1.0, 4.0, 6.0)

Simulate = Callable[[FloatArray, "Generator"], FloatArray]  # (n, k) -> (n, p)
Exact = Callable[[FloatArray, int, "Generator"], FloatArray]  # one observation (p,) and n -> draws (n, k)


@dataclass(frozen=True)
class Task:
    """What is to be inferred.

    Attributes:
        name: Of its folder in sbibm, and of its problem.
        prior: To a frozen SciPy distribution for each of the k parameters.
        simulate: Parameters, (n, k), and a generator to outputs, (n, p).
        n_outputs: p.
        exact: One observation, (p,), a number and a generator to draws of its posterior; None where only files have
            them.
        observed: Observations that the task fixes, shape (o, p); None for those of sbibm.
        moments: One observation to mean, (k,), and covariance, (k, k), of its posterior; None where unknown.
        quantiles: Of a single parameter, one observation and levels (m,) to quantiles (m,); None where unknown.
    """

    name: str
    prior: Callable[[], tuple[Any, ...]]
    simulate: Simulate
    n_outputs: int
    exact: Exact | None = None
    observed: tuple[tuple[float, ...], ...] | None = None
    moments: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = None
    quantiles: Callable[[FloatArray, FloatArray], FloatArray] | None = None

    def simulations(self, n: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Parameters from the prior, (n, k), and an output each, (n, p); the same for the same n and seed."""
        rng = np.random.default_rng([STREAM, *self.name.encode(), n, seed])
        theta = draw_prior(self.prior(), n, rng)
        return theta, self.simulate(theta, rng)

    def observations(self) -> tuple[FloatArray, FloatArray]:
        """Observations, (o, p), and the parameters behind them, (o, k); NaN where nothing is behind them."""
        if self.observed is not None:
            y = np.array(self.observed)
            return y, np.full((len(y), len(self.prior())), np.nan)
        if self.is_own and self.exact is not None:
            rng = np.random.default_rng([STREAM_OWN, *self.name.encode()])
            theta = draw_prior(self.prior(), N_OBSERVATIONS, rng)
            return self.simulate(theta, rng), theta
        y, theta = (
            np.concatenate([_read(self.name, i, file) for i in range(1, N_OBSERVATIONS + 1)])
            for file in ("observation.csv", "true_parameters.csv")
        )
        return y, theta

    @property
    def is_own(self) -> bool:
        """Whether its observations are ours in place of sbibm's."""
        return self.observed is None and shared_path(_file(self.name, 1, "observation.csv")) is None

    def reference(self, number: int, n: int = N_DRAWS) -> FloatArray:
        """The first n draws of the true posterior of an observation, numbered from 0, shape (n, k)."""
        if self.observed is None and not self.is_own:
            return _read(self.name, number + 1, "reference_posterior_samples.csv.bz2")[:n]
        y, rng = self.observations()[0][number], np.random.default_rng([STREAM_OWN, *self.name.encode(), number])
        assert self.exact is not None  # or its observations would have been refused
        return self.exact(y, n, rng)


def draw_prior(prior: tuple[Any, ...], n: int, rng: Generator) -> FloatArray:
    """Independent draws of each parameter, shape (n, k).

    Example:
        >>> from scipy.stats import uniform
        >>> draw_prior((uniform(0, 1), uniform(5, 1)), 3, np.random.default_rng(0)).shape
        (3, 2)
    """
    return np.column_stack([parameter.rvs(n, random_state=rng) for parameter in prior])


def log_prior(prior: tuple[Any, ...], theta: FloatArray) -> FloatArray:
    """Log density of the prior, (n, k) -> (n,)."""
    return np.asarray(np.sum([p.logpdf(column) for p, column in zip(prior, theta.T, strict=True)], axis=0))


def _file(task: str, number: int, file: str) -> str:
    return f"data/sbibm/{task}/observation_{number}/{file}"


def _read(task: str, number: int, file: str) -> FloatArray:
    return _table(shared_file(_file(task, number, file)))


@cache
def _table(path: Path) -> FloatArray:
    import pandas as pd  # the one reader of tables knows no bz2

    return pd.read_csv(path).to_numpy(dtype=np.float64)


def _uniform(half: float, k: int) -> Callable[[], tuple[Any, ...]]:
    @cache
    def prior() -> tuple[Any, ...]:
        from scipy.stats import uniform  # slow to import

        return (uniform(-half, 2 * half),) * k

    return prior


def _lognormal(*parameters: tuple[float, float]) -> Callable[[], tuple[Any, ...]]:
    """Of the mean and standard deviation of each logarithm."""

    @cache
    def prior() -> tuple[Any, ...]:
        from scipy.stats import lognorm

        return tuple(lognorm(sd, scale=math.exp(mean)) for mean, sd in parameters)

    return prior


@cache
def _prior_of_linear() -> tuple[Any, ...]:
    from scipy.stats import norm

    return (norm(0, math.sqrt(0.1)),) * 10


def _crescent(n: int, rng: Generator) -> tuple[FloatArray, FloatArray]:
    """Points r (cos a, sin a) on a half circle with a thin rim."""
    a, r = rng.uniform(-np.pi / 2, np.pi / 2, n), rng.normal(MOON_RADIUS, MOON_SD, n)
    return r * np.cos(a), r * np.sin(a)


def simulate_two_moons(theta: FloatArray, rng: Generator) -> FloatArray:
    """Y = (r cos a + 0.25 - |theta1 + theta2| / sqrt 2, r sin a + (theta2 - theta1) / sqrt 2), (n, 2) -> (n, 2)."""
    u, v = _crescent(len(theta), rng)
    first, second = theta.T
    return np.column_stack([u + 0.25 - np.abs(first + second) / np.sqrt(2), v + (second - first) / np.sqrt(2)])


def draw_two_moons(y: FloatArray, n: int, rng: Generator) -> FloatArray:
    """Exact: solve for |theta1 + theta2| and theta2 - theta1 at random points of the crescent; either sign will do.

    The map has a constant Jacobian, and the prior is flat, so points that lie in the box are draws of the posterior.
    """

    def propose(m: int) -> FloatArray:
        u, v = _crescent(m, rng)
        total, difference = u + 0.25 - y[0], y[1] - v  # |theta1 + theta2| / sqrt 2 and (theta2 - theta1) / sqrt 2
        signed = np.where(total >= 0, total * rng.choice([-1.0, 1.0], m), np.nan)
        return np.asarray(np.column_stack([signed - difference, signed + difference]) / np.sqrt(2))

    return _accept(propose, 1.0, n)


def simulate_gaussian_mixture(theta: FloatArray, rng: Generator) -> FloatArray:
    """N(theta, I) or N(theta, 0.1^2 I) with equal chance, (n, 2) -> (n, 2)."""
    scale = rng.choice([1.0, 0.1], (len(theta), 1))
    return theta + scale * rng.standard_normal(theta.shape)


def draw_gaussian_mixture(y: FloatArray, n: int, rng: Generator) -> FloatArray:
    """Exact: by symmetry theta given y is the same mixture about y, inside the box."""
    return _accept(lambda m: simulate_gaussian_mixture(np.tile(y, (m, 1)), rng), 10.0, n)


def _accept(propose: Callable[[int], FloatArray], half: float, n: int) -> FloatArray:
    """The first n proposals inside [-half, half]^k."""
    found: list[FloatArray] = []
    while sum(map(len, found)) < n:
        theta = propose(2 * n)
        found.append(theta[(np.abs(theta) <= half).all(axis=1)])  # NaN is never inside
    return np.concatenate(found)[:n]


def simulate_slcp(theta: FloatArray, rng: Generator) -> FloatArray:
    """Four draws of a bivariate normal, one after the other, (n, 5) -> (n, 8).

    Means theta1, theta2; variances theta3^4 + 1e-6, theta4^4 + 1e-6; covariance tanh(theta5) theta3^2 theta4^2.
    """
    mean, s, t = theta[:, None, :2], theta[:, 2] ** 2, theta[:, 3] ** 2
    rho = np.tanh(theta[:, 4])
    z = rng.standard_normal((len(theta), 4, 2))
    first = np.sqrt(s**2 + 1e-6)  # Cholesky of the covariance
    below = rho * s * t / first
    second = np.sqrt(t**2 + 1e-6 - below**2)
    noise = np.stack([first[:, None] * z[..., 0], below[:, None] * z[..., 0] + second[:, None] * z[..., 1]], axis=2)
    return (mean + noise).reshape(len(theta), 8)


def simulate_gaussian_linear(theta: FloatArray, rng: Generator) -> FloatArray:
    """N(theta, 0.1 I), (n, 10) -> (n, 10)."""
    return theta + math.sqrt(0.1) * rng.standard_normal(theta.shape)


def moments_of_linear(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Prior and noise have the same variance, so theta given y is N(y / 2, 0.05 I)."""
    return y / 2, 0.05 * np.eye(len(y))


def draw_gaussian_linear(y: FloatArray, n: int, rng: Generator) -> FloatArray:
    """Exact, n draws of N(y / 2, 0.05 I)."""
    return y / 2 + math.sqrt(0.05) * rng.standard_normal((n, len(y)))


def simulate_bimodal(theta: FloatArray, rng: Generator) -> FloatArray:
    """Mean of ten draws of N(theta^2, 1), (n, 1) -> (n, 1)."""
    return theta**2 + rng.standard_normal(theta.shape) / math.sqrt(BIMODAL_RUNS)


def draw_bimodal(y: FloatArray, n: int, rng: Generator) -> FloatArray:
    """Exact: its quantiles at random levels."""
    return quantiles_of_bimodal(y, rng.uniform(size=n))[:, None]


def quantiles_of_bimodal(y: FloatArray, tau: FloatArray) -> FloatArray:
    """Density proportional to exp(-5 (y - theta^2)^2) on (-3, 3), by its integral on a fine grid, (m,) -> (m,)."""
    grid = np.linspace(-3, 3, 60_001)
    density = np.exp(-BIMODAL_RUNS / 2 * (y[0] - grid**2) ** 2)
    mass = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2))
    return np.asarray(np.interp(tau * mass[-1], mass, grid))


TASKS = (
    Task("two_moons", _uniform(1.0, 2), simulate_two_moons, 2, draw_two_moons),
    Task("gaussian_mixture", _uniform(10.0, 2), simulate_gaussian_mixture, 2, draw_gaussian_mixture),
    Task("slcp", _uniform(3.0, 5), simulate_slcp, 8),
    Task("sir", _lognormal((math.log(0.4), 0.5), (math.log(0.125), 0.2)), sir, 10),
    Task("lotka_volterra", _lognormal((-0.125, 0.5), (-3, 0.5), (-0.125, 0.5), (-3, 0.5)), lotka_volterra, 20),
    Task(
        "gaussian_linear",
        _prior_of_linear,
        simulate_gaussian_linear,
        10,
        draw_gaussian_linear,
        moments=moments_of_linear,
    ),
    Task(
        "bimodal",
        _uniform(3.0, 1),
        simulate_bimodal,
        1,
        draw_bimodal,
        observed=tuple((y,) for y in BIMODAL_AT),
        quantiles=quantiles_of_bimodal,
    ),
)
TITLES = {
    "two_moons": "two crescents, two parameters",
    "gaussian_mixture": "two normals of one mean, a wide and a narrow",
    "slcp": "simple likelihood, complex posterior: four normal draws, five parameters",
    "sir": "an epidemic, two rates from ten counts",
    "lotka_volterra": "predators and prey, four rates from twenty counts",
    "gaussian_linear": "a normal mean in ten dimensions",
    "bimodal": "a parameter seen through its square",
}
SIZES = {
    "two_moons": (1_000, 10_000, 100_000),
    "slcp": (1_000, 10_000, 100_000),
    "gaussian_linear": (1_000, 10_000, 50_000),
    "bimodal": (100_000,),
}
INFERRERS = ("posterior", "sbi-nsf", "sbi-maf")


def draws_of_task(task: Task) -> Draw:
    """How a split of a task is drawn: n_train simulations by replicate, and its observations to test on."""

    def draw(replicate: int, n_train: int, n_test: int) -> Split:
        theta, y = task.simulations(n_train, replicate)
        observed, truth = task.observations()
        return Split(y, theta, observed, truth, note=OWN if task.is_own else "")

    return draw


def _problem(task: Task) -> Problem:
    needs = None if task.exact else _file(task.name, 1, "observation.csv")
    return Problem(
        task.name,
        TITLES[task.name],
        n_inputs=task.n_outputs,
        draw=draws_of_task(task),
        source="paper, Supplement C" if task.name == "bimodal" else "sbibm, Lueckmann et al. 2021",
        kind="inference",
        needs=needs,
        inference=task,
    )


PROBLEMS_OF_INFERENCE = tuple(_problem(task) for task in TASKS)
PROTOCOLS_OF_INFERENCE = tuple(
    Protocol(
        task.name,
        n_train=sizes[0],
        n_test=N_DRAWS if task.moments is None and task.quantiles is None else N_DRAWS_EXACT,
        n_replicates=2,
        source="not in the paper" if task.name != "bimodal" else "Supplement C",
        more_n_train=sizes[1:],
        seed=1,
        metrics=("c2st",),
        methods=INFERRERS,
    )
    for task in TASKS
    for sizes in (SIZES.get(task.name, (1_000, 10_000)),)
)
