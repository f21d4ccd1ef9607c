"""Methods that infer the parameters of a simulator: ours and sbi's, on the same simulations, one thread each.

A record keeps for every observation how well a classifier tells the method's draws from the true posterior's (C2ST),
the error of mean and covariance and the distance of margins where the posterior is known in closed form, and cpu
seconds. `posterior-sbc` keeps simulation-based calibration instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.inference import N_DRAWS, Task
from genbayes_bench.problems.problem import PAPER, Case, Split
from genbayes_bench.record import Record

MOST_FOR_FLOW = 10_000  # simulations that sbi's flows learn from within minutes
SAMPLING_SECONDS = 60.0  # for sbi to draw one posterior, which it does by rejection
N_REPEATS, N_RANKED = 500, 999  # of simulation-based calibration: observations, and draws that ranks are among
STREAM_SBC = 1_319
SIZE_OF_SBC = 10_000
LEVELS = (0.5, 0.9, 0.95)  # of conformal regions
N_ROUNDS, SIZE_OF_ROUNDS = 3, 10_000
IN_ROUNDS = ("slcp", "sir", "lotka_volterra")  # tasks whose posterior is much narrower than the prior
NO_TASK = "there is nothing to infer"


@dataclass(frozen=True)
class Inferred:
    """Draws of the posterior of each observation, and what they took.

    Attributes:
        draws: Shape (o, n, k).
        fit_seconds: Cpu seconds to learn.
        draw_seconds: Cpu seconds to draw.
        detail: What the method tells of itself.
        versions: Of what computed it.
    """

    draws: FloatArray
    fit_seconds: float
    draw_seconds: float
    detail: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """What a record keeps of an inference.

    Attributes:
        scores: By name.
        fit_seconds: Cpu seconds to learn.
        detail: What else is to be known.
        versions: Beside those of this process.
    """

    scores: dict[str, float]
    fit_seconds: float
    detail: dict[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)


Judge = Callable[[Task, Split, int, int], Judged]  # task, simulations and observations, draws, seed


@dataclass(frozen=True)
class Inferrer:
    """A method that infers parameters.

    Attributes:
        name: Its key in records and on the command line.
        title: What it is, for people.
        judge: Learns from the simulations of a split and scores what it says of the observations.
        family: "ours" or "baseline".
        reason: Case to a reason why it does not apply to a task, or None if it does.
        most_replicates: Replicates to run unless told otherwise; None for all.
    """

    name: str
    title: str
    judge: Judge
    family: Literal["ours", "baseline"]
    reason: Callable[[Case], str | None] = lambda case: None
    most_replicates: int | None = None

    def sizes(self, case: Case) -> tuple[int, ...]:
        """Numbers of simulations to learn from."""
        return case.protocol.sizes

    def why_not(self, case: Case) -> str | None:
        """Why it does not apply, or None if it does."""
        return NO_TASK if case.problem.inference is None else self.reason(case)


def by_draws(infer: Callable[[Task, Split, int, int], Inferred]) -> Judge:
    """Score draws against those of the true posteriors."""

    def judge(task: Task, split: Split, n_draws: int, seed: int) -> Judged:
        found = infer(task, split, n_draws, seed)
        scores = score_draws(task, found.draws)
        scores["cpu_seconds"], scores["draw_seconds"] = found.fit_seconds, found.draw_seconds
        return Judged(scores, found.fit_seconds, dict(found.detail), found.versions)

    return judge


def score_draws(task: Task, draws: FloatArray) -> dict[str, float]:
    """Scores of draws of the posteriors of a task's observations.

    "c2st" is the mean over observations and "c2st_1", "c2st_2", ... are those of each, against the reference draws (the
    first 10,000 at most). Where mean m and covariance S are known, "mean_error" is the largest |mean - m| over the
    standard deviation and "cov_error" the largest |cov - S| over the product of standard deviations. Where quantiles
    are known, "wasserstein" is the largest distance to the exact posterior and "mass_error" the largest gap between the
    share of draws above 0 and the exact one.

    Args:
        task: The task.
        draws: Shape (o, n, k).
    """
    from genbayes_bench.c2st import c2st_many

    n = min(draws.shape[1], N_DRAWS)
    references = [task.reference(i, n) for i in range(len(draws))]
    c2st = c2st_many([(reference, own[:n]) for reference, own in zip(references, draws, strict=True)])
    scores = {"c2st": float(c2st.mean())} | {f"c2st_{i}": float(value) for i, value in enumerate(c2st, start=1)}
    if task.moments is not None:
        errors = [moment_errors(own, *task.moments(y)) for own, y in zip(draws, task.observations()[0], strict=True)]
        scores["mean_error"], scores["cov_error"] = (max(column) for column in zip(*errors, strict=True))
    if task.quantiles is not None:
        tau = (np.arange(draws.shape[1]) + 0.5) / draws.shape[1]
        exact = np.stack([task.quantiles(y, tau) for y in task.observations()[0]])
        scores["wasserstein"] = float(np.abs(np.sort(draws[..., 0]) - exact).mean(axis=1).max())
        scores["mass_error"] = float(np.abs((draws[..., 0] > 0).mean(axis=1) - (exact > 0).mean(axis=1)).max())
    return scores


def moment_errors(draws: FloatArray, mean: FloatArray, cov: FloatArray) -> tuple[float, float]:
    """Largest error of the mean in standard deviations, and of the covariance in products of them.

    Example:
        >>> moment_errors(np.array([[-1.0], [1.0]]), np.array([0.5]), np.array([[1.0]]))
        (0.5, 1.0)
    """
    sd = np.sqrt(np.diag(cov))
    own = np.cov(draws.T).reshape(cov.shape)
    return float(np.max(np.abs(draws.mean(axis=0) - mean) / sd)), float(np.max(np.abs(own - cov) / np.outer(sd, sd)))


def infer_ours(task: Task, split: Split, n_draws: int, seed: int) -> Inferred:
    """`PosteriorEstimator` with no setting changed."""
    from genbayes import PosteriorEstimator

    started = time.process_time()
    estimator = PosteriorEstimator(prior=task.prior(), random_state=seed).fit(split.y_train, split.X_train)
    fitted = time.process_time()
    draws = estimator.condition(split.X_test).sample(n_draws, random_state=seed)
    return Inferred(draws, fitted - started, time.process_time() - fitted)


def infer_in_rounds(task: Task, split: Split, n_draws: int, seed: int) -> Inferred:
    """`PosteriorEstimator` with three truncated rounds of as many simulations in all, one estimator an observation.

    It simulates for itself; of the split only the number of simulations and the observations are used. Its seconds are
    those of one estimator, the mean over observations, simulations included.
    """
    from genbayes import PosteriorEstimator

    draws, seconds, drawing = [], [], []
    for i, y in enumerate(split.X_test):
        started = time.process_time()
        estimator: Any = PosteriorEstimator(prior=task.prior(), n_rounds=N_ROUNDS, random_state=1_000 * seed + i)
        estimator.fit_simulator(task.simulate, len(split.y_train), batched=True, y_observed=y)
        fitted = time.process_time()
        draws.append(estimator.condition(y).sample(n_draws, random_state=seed))
        seconds.append(fitted - started)
        drawing.append(time.process_time() - fitted)
    return Inferred(np.stack(draws), float(np.mean(seconds)), float(np.mean(drawing)), {"n_rounds": N_ROUNDS})


def infer_sbi(flow: str) -> Callable[[Task, Split, int, int], Inferred]:
    """`sbi`'s neural posterior estimation at its defaults, with a flow of that name."""

    def infer(task: Task, split: Split, n_draws: int, seed: int) -> Inferred:
        from genbayes_bench.rivals.environment import call_rival

        arrays = {"theta": split.y_train, "y": split.X_train, "observed": split.X_test}
        settings = {"seed": seed, "flow": flow, "n_draws": n_draws, "sampling_seconds": SAMPLING_SECONDS}
        answer = call_rival("sbi", "sbi", arrays, {**settings, "prior": describe_prior(task.prior())})
        facts = dict(answer.facts)
        versions = {f"rival {name}": text for name, text in facts.pop("versions").items()}
        return Inferred(
            answer.arrays["draws"], facts.pop("fit_seconds"), facts.pop("draw_seconds"), {**settings, **facts}, versions
        )

    return infer


def describe_prior(prior: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Frozen SciPy distributions in plain words, which travel to another environment.

    Example:
        >>> from scipy.stats import lognorm, norm, uniform
        >>> describe_prior((uniform(-1, 2), norm(0, 2)))
        [{'name': 'uniform', 'low': -1.0, 'high': 1.0}, {'name': 'normal', 'mean': 0.0, 'sd': 2.0}]
        >>> describe_prior((lognorm(0.5, scale=1),))
        [{'name': 'lognormal', 'mean': 0.0, 'sd': 0.5}]
    """
    found: list[dict[str, Any]] = []
    for parameter in prior:
        shapes, loc, scale = parameter.dist._parse_args(*parameter.args, **parameter.kwds)
        if parameter.dist.name == "uniform":
            found.append({"name": "uniform", "low": float(loc), "high": float(loc + scale)})
        elif parameter.dist.name == "norm":
            found.append({"name": "normal", "mean": float(loc), "sd": float(scale)})
        else:
            assert parameter.dist.name == "lognorm"
            assert loc == 0
            found.append({"name": "lognormal", "mean": float(np.log(scale)), "sd": float(shapes[0])})
    return found


def judge_calibration(task: Task, split: Split, n_draws: int, seed: int) -> Judged:
    """Simulation-based calibration of our estimator, and how often its conformal regions hold theta.

    For 500 pairs of the prior predictive the rank of each parameter, and of its joint density, among draws of its
    posterior should be uniform (Talts et al. 2018): "p_1", ..., "p_k" and "p_joint" are p-values of Kolmogorov and
    Smirnov. "region_50", "region_90" and "region_95" are the shares of regions of these levels that hold theta.
    """
    from genbayes import PosteriorEstimator

    started = time.process_time()
    estimator = PosteriorEstimator(prior=task.prior(), random_state=seed).fit(split.y_train, split.X_train)
    fitted = time.process_time() - started
    rng = np.random.default_rng([STREAM_SBC, *task.name.encode(), seed])
    theta, y = task.simulations(N_REPEATS, STREAM_SBC + seed)
    posterior = estimator.condition(y)
    draws = posterior.sample(N_RANKED, random_state=seed)
    scores = {f"p_{j}": rank_p_value(draws[..., j - 1], theta[:, j - 1], rng) for j in range(1, theta.shape[1] + 1)}
    at_draws, at_truth = posterior.log_prob(draws), posterior.log_prob(theta[:, None])[:, 0]
    scores["p_joint"] = rank_p_value(at_draws, at_truth, rng)
    for level in LEVELS:
        scores[f"region_{100 * level:.0f}"] = float(np.mean(posterior.region(level).contains(theta[:, None])))
    scores["cpu_seconds"] = fitted
    return Judged(scores, fitted, {"n_repeats": N_REPEATS, "n_ranked": N_RANKED})


def rank_p_value(draws: FloatArray, truth: FloatArray, rng: np.random.Generator) -> float:
    """P-value of the ranks of the truth among draws being uniform, ties and steps smoothed at random.

    Args:
        draws: Shape (o, n).
        truth: Shape (o,).
        rng: Where in its step a rank falls.
    """
    from scipy.stats import kstest

    below, equal = (draws < truth[:, None]).sum(axis=1), (draws == truth[:, None]).sum(axis=1)
    rank = (below + (equal + 1) * rng.uniform(size=len(truth))) / (draws.shape[1] + 1)
    return float(kstest(rank, "uniform").pvalue)


def _why_no_sbi(case: Case) -> str | None:
    from genbayes_bench.rivals.environment import why_missing

    if case.n_train > MOST_FOR_FLOW:
        return f"more than {MOST_FOR_FLOW:,} simulations would take too long"
    return why_missing("sbi")


def _why_no_rounds(case: Case) -> str | None:
    if case.n_train != SIZE_OF_ROUNDS and case.protocol.name == PAPER:
        return f"rounds are compared at {SIZE_OF_ROUNDS:,} simulations"
    return None if case.problem.name in IN_ROUNDS else f"rounds are compared on {', '.join(IN_ROUNDS)}"


def _why_no_sbc(case: Case) -> str | None:
    full = case.n_train == SIZE_OF_SBC or case.protocol.name != PAPER
    return None if full else f"calibration is checked at {SIZE_OF_SBC:,} simulations"


_ALL = (
    Inferrer("posterior", "PosteriorEstimator", by_draws(infer_ours), "ours"),
    Inferrer("sbi-nsf", "sbi NPE, spline flow", by_draws(infer_sbi("nsf")), "baseline", _why_no_sbi),
    Inferrer("sbi-maf", "sbi NPE, default flow", by_draws(infer_sbi("maf")), "baseline", _why_no_sbi),
    Inferrer("posterior-rounds", "PosteriorEstimator, 3 rounds", by_draws(infer_in_rounds), "ours", _why_no_rounds),
    Inferrer("posterior-sbc", "PosteriorEstimator, calibration", judge_calibration, "ours", _why_no_sbc, 1),
)
INFERRERS: Mapping[str, Inferrer] = {inferrer.name: inferrer for inferrer in _ALL}


def is_inference(record: Record) -> bool:
    """Whether a record is of a posterior: by its method, or by its score."""
    return record.method in INFERRERS or "c2st" in record.scores
