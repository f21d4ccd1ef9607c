"""HeteroskedasticGP, a GP whose noise depends on the input, and its process: mean, latent variance, noise variance.

Binois, Gramacy & Ludkovski (2018), "Practical heteroskedastic Gaussian process modeling for large simulation
experiments": a GP for the mean, of the kernel that suits the stationary GP, and a Matern-5/2 one for the log noise,
replicates reduced to sufficient statistics, one joint likelihood. It differs in the penalty of the noise process
(`noise_process`) and in keeping a constant noise unless the runs speak clearly against it: by the posterior, and by
what is said of each run from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import UnreadableFile
from genbayes.models.base import ScaledRuns
from genbayes.models.gp.estimation import EXACT_LIMIT, HARDLY_ANY_NOISE
from genbayes.models.gp.kernels import CORRELATIONS
from genbayes.models.gp.likelihood import GPParameters, Replicates, exact_profile
from genbayes.models.gp.noise_process import NoiseProcess, NoisyGP, climb_jointly, constant_noise, noise_ratios
from genbayes.models.gp.stationary import (
    AUTO,
    KERNELS,
    FittedGP,
    FittedProcess,
    GPSurrogate,
    fit_gp,
    start_from,
    with_refits,
)
from genbayes.persistence import State
from genbayes.progress import Report
from genbayes.seeding import RandomState
from genbayes.validation import check_count

FEW_ROWS = 500  # of the first climb: a tenth of a second a step
JOINT_LIMIT = 700  # distinct inputs of the second climb; beyond, a random subset, which says nearly the same far sooner
MOST_IN_A_FILE = 1500  # of the noise process: earlier versions learnt it from as many
# Akaike's price of the two parameters that a noise process adds, its variance and its length scales' common size.
WORTHWHILE = 2.0
NO_NOISE = 1e-4  # variance of noise over that of y below which it may be what a mean does not follow: 1% of the sd
# The mean of a log-normal variable is exp(variance / 2) times its median. Beyond a variance of 1 the factor is a
# statement about its far tail, of which the runs know nothing.
MAX_LOG_VARIANCE = 1.0


@dataclass(frozen=True)
class FittedHeteroskedasticGP:
    """A heteroskedastic GP with its training runs, ready to predict.

    Attributes:
        latent: The mean process. Where the noise varies, its nugget is 1 and its counts are a_i / lambda_i: a run
            of small noise counts as many.
        noise: The process of the log noise ratio.
    """

    latent: FittedGP
    noise: NoiseProcess

    @property
    def is_homoskedastic(self) -> bool:
        """Whether the noise is the same everywhere."""
        return self.noise.is_constant

    @property
    def length_scales(self) -> FloatArray:
        """Length scales of the mean process, shape (p,)."""
        return self.latent.length_scales

    @property
    def distinct_inputs(self) -> FloatArray:
        """Inputs that it was fitted to, shape (u, p)."""
        return self.latent.distinct_inputs

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A new run at inputs Z, shape (n, p), is normal with this mean and the sum of the two variances.

        The noise variance is nu exp(level + eta + s^2 / 2), the posterior mean given the variance s^2 of the log
        noise, the latter cut at 1; far from all runs it returns to its mean level.

        Returns:
            Mean, variance of the latent function, and variance of the noise of one run, each of shape (n,).
        """
        mean, variance, constant = self.latent.predict(Z)
        if self.is_homoskedastic:
            return mean, variance, constant
        return mean, variance, self._noise_variance(*self.noise.predict(Z))

    @property
    def is_refitted(self) -> bool:
        """Whether runs are left out by refits, as where the noise is the same everywhere."""
        return self.latent.is_refitted

    def leave_out(self, Z: FloatArray, *, by_refits: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `predict`, but at an input that it was fitted to without the runs there, of mean and noise alike.

        By refits where the noise is the same everywhere and runs are few (`FittedGP.leave_out`); else length scales,
        levels and process variances stay those of all runs (Dubrule 1983).
        """
        mean, variance, constant = self.latent.leave_out(Z, by_refits=by_refits)
        if self.is_homoskedastic:
            return mean, variance, constant
        return mean, variance, self._noise_variance(*self.noise.leave_out(Z))

    def _noise_variance(self, log_noise: FloatArray, uncertainty: FloatArray) -> FloatArray:
        """Variance nu exp(level + eta + s^2 / 2) of the noise, s^2 cut, shape (n,)."""
        ratio = noise_ratios(log_noise + np.minimum(uncertainty, MAX_LOG_VARIANCE) / 2)
        return np.asarray(self.latent.parameters.variance * ratio)

    def to_state(self) -> State:
        """Everything learnt."""
        noise = self.noise
        arrays = {"length": noise.length, "Z": noise.Z, "information": noise.information, "weights": noise.weights}
        state = State("FittedHeteroskedasticGP", {"level": noise.level, "variance": noise.variance}, arrays)
        return state.with_part("latent", self.latent.to_state())

    @classmethod
    def from_state(cls, state: State, p: int) -> FittedHeteroskedasticGP:
        """The GP of p inputs that a file describes; it predicts the same to the last bit."""
        level, variance = state.number("level"), state.number("variance", at_least=0)
        length, Z = state.array("length", (p,), positive=True), state.array("Z", (None, p))
        if len(Z) > MOST_IN_A_FILE:
            raise UnreadableFile(f"the noise in a model file must have at most {MOST_IN_A_FILE} inputs, got {len(Z)}")
        information, weights = state.array("information", (len(Z),), positive=True), state.array("weights", (len(Z),))
        noise = NoiseProcess(level, variance, length, Z, information, weights)
        return cls(FittedGP.from_state(state.nested("latent"), p), noise)


def fit_heteroskedastic_gp(
    runs: Replicates,
    rng: np.random.Generator,
    *,
    n_starts: int = 3,
    exact_limit: int = EXACT_LIMIT,
    kernel: str = AUTO,
    start: GPParameters | None = None,
    stationary: FittedGP | None = None,
    report: Report | None = None,
) -> FittedHeteroskedasticGP:
    """Fit mean and noise together, starting from the stationary GP and keeping it where the noise looks constant.

    Beyond 700 distinct inputs both processes are learnt from a random subset of them, and the mean is predicted
    from all runs: exactly, or beyond `exact_limit` by the approximation of the stationary GP.

    Args:
        runs: Training runs: inputs of order one, responses standardised.
        rng: Chooses subsets of rows, and the inducing points where runs are many.
        n_starts: Number of starting points of the stationary GP.
        exact_limit: Most distinct inputs for exact prediction.
        kernel: Of the mean process, as of `fit_gp`; beyond `exact_limit` Matern-5/2 in place of "auto".
        start: Parameters of the stationary GP of nearly the same runs, to climb from instead of searching widely.
        stationary: The stationary GP of these runs, where it is known and exact.
        report: Called with (stage, stages, loss) after the stationary GP and after either climb.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> Z = np.repeat(np.linspace(-1.5, 1.5, 40), 5)[:, None]
        >>> y = np.sin(2 * Z[:, 0]) + np.exp(Z[:, 0] - 2) * rng.standard_normal(200)
        >>> gp = fit_heteroskedastic_gp(Replicates.collect(Z, y, np.ones(200)), rng)
        >>> mean, variance, noise = gp.predict(np.array([[-1.0], [1.0]]))
        >>> np.sqrt(noise).round(2)  # exp(-3) and exp(-1) are 0.05 and 0.37
        array([0.05, 0.36])
    """
    order = rng.permutation(len(runs))
    learnt = runs if len(runs) <= JOINT_LIMIT else runs.take(order[:JOINT_LIMIT])
    kernel = "matern52" if kernel == AUTO and len(runs) > exact_limit else kernel
    if stationary is None or learnt is not runs or stationary.large is not None:
        stationary = fit_gp(learnt, rng, n_starts=n_starts, kernel=kernel, start=start)
    constant = constant_noise(learnt, stationary.parameters, stationary.kernel)
    if learnt is runs and _looks_deterministic(stationary.parameters, runs):
        return FittedHeteroskedasticGP(stationary, constant.noise)
    few = learnt if len(learnt) <= FEW_ROWS else runs.take(order[:FEW_ROWS])

    def reported(stage: int, gp: NoisyGP) -> NoisyGP:
        if report is not None:
            report(stage, 3, -gp.log_posterior)
        return gp

    reported(1, constant)
    found = reported(2, climb_jointly(few, constant))
    found = reported(3, _with_best_kernel(climb_jointly(learnt, found), learnt))
    if found.log_posterior >= constant.log_posterior + WORTHWHILE:
        uneven = FittedHeteroskedasticGP(_condition(found, learnt, learnt, rng, exact_limit), found.noise)
        if _is_clearly_better(uneven, FittedHeteroskedasticGP(stationary, constant.noise), learnt):
            latent = uneven.latent if learnt is runs else _condition(found, runs, learnt, rng, exact_limit)
            return FittedHeteroskedasticGP(latent, found.noise)
    if learnt is runs:
        return FittedHeteroskedasticGP(stationary, constant.noise)
    near, kernel = stationary.parameters, stationary.kernel
    latent = fit_gp(runs, rng, n_starts=n_starts, exact_limit=exact_limit, kernel=kernel, start=near)
    return FittedHeteroskedasticGP(latent, constant.noise)


def _with_best_kernel(found: NoisyGP, runs: Replicates) -> NoisyGP:
    """The same with a Matern-5/2 kernel where that has the higher posterior.

    The kernel that suits the stationary GP had to make do with even noise, which may hide what the mean does.
    """
    if found.kernel == "matern52":
        return found
    return max(found, climb_jointly(runs, replace(found, kernel="matern52")), key=lambda gp: gp.log_posterior)


def _looks_deterministic(parameters: GPParameters, runs: Replicates) -> bool:
    """Whether there is no noise worth a process of its own: hardly any was found, and no replicates disagree.

    Neither posterior nor left-out runs are a guard here: a simulator without noise that is lively in one corner looks
    as if it were noisy there, and a mean that takes it for noise follows it less.
    """
    is_small = parameters.nugget < HARDLY_ANY_NOISE and parameters.noise < NO_NOISE
    return is_small and not runs.scatter.any()


def _is_clearly_better(uneven: FittedHeteroskedasticGP, even: FittedHeteroskedasticGP, runs: Replicates) -> bool:
    """Whether uneven noise says more of runs left out, by the log score, than chance would have it.

    The posterior alone is no guard: of a deterministic simulator it may prefer noise that hides what the mean does
    not follow.
    """
    gain = _left_out_scores(uneven, runs) - _left_out_scores(even, runs)
    weight = runs.count / runs.n_runs
    mean = float(weight @ gain)
    return mean > math.sqrt(float(weight**2 @ (gain - mean) ** 2))  # one standard error


def _left_out_scores(gp: FittedHeteroskedasticGP, runs: Replicates) -> FloatArray:
    """Mean log density of the runs at each input, by the runs at the others, shape (u,)."""
    mean, latent, noise = gp.leave_out(runs.Z, by_refits=False)
    variance = latent + noise
    squares = runs.scatter / runs.count + (runs.mean - mean) ** 2
    return np.asarray(-0.5 * (np.log(2 * math.pi * variance) + squares / variance))


def _condition(
    gp: NoisyGP, runs: Replicates, learnt: Replicates, rng: np.random.Generator, exact_limit: int
) -> FittedGP:
    """The mean process given all runs, each with the noise found for its input.

    Mean and process variance are those of the runs that the noise was learnt from: elsewhere a run may lie beside
    another of hardly any noise and contradict it, which only an immense variance would explain.
    """
    ratios = noise_ratios(gp.noise.predict(learnt.Z)[0])
    profile = exact_profile(learnt, gp.length, ratios, with_gradient=False, correlation=CORRELATIONS[gp.kernel])
    parameters = GPParameters(gp.length, 1.0, profile.variance, profile.mean)
    count = runs.count / noise_ratios(gp.noise.predict(runs.Z)[0])
    return FittedGP.at(parameters, Replicates(runs.Z, runs.mean, count, runs.scatter), rng, exact_limit, gp.kernel)


class HeteroskedasticGP(GPSurrogate):
    """Gaussian process for the mean and another for the logarithm of the noise, learnt by one joint likelihood.

    Replicates enter by sufficient statistics. Where the runs do not speak clearly against constant noise, it stays
    constant and the model is the stationary GP. Engine: our own (see above), since the Python port
    hetgpy was slower and as accurate on the motorcycle splits (docs/models/heteroskedastic-gp.md).

    Args:
        n_starts: Starting points of the stationary GP that the search begins from.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the subsets that the search begins on.

    Attributes:
        gp_: The fitted GP, on scaled inputs and responses.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat(np.linspace(0, 1, 40), 5)[:, None]
        >>> y = np.sin(6 * X[:, 0]) + X[:, 0] * rng.standard_normal(200)
        >>> model = HeteroskedasticGP(random_state=0).fit(X, y)
        >>> quiet, loud = model.predict(np.array([[0.1], [0.9]]), return_std=True)[1]
        >>> bool(loud > 3 * quiet)
        True
    """

    process: ClassVar[type[FittedProcess]] = FittedHeteroskedasticGP
    gp_: FittedHeteroskedasticGP

    def __init__(
        self,
        *,
        n_starts: int = 3,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_starts = n_starts
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> object:
        return check_count(self.n_starts, "n_starts")

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedHeteroskedasticGP:
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        start, kernel = start_from(self._neighbour(), groups, AUTO)
        gp = fit_heteroskedastic_gp(
            groups,
            rng,
            n_starts=self.n_starts,
            kernel=kernel,
            start=start,
            stationary=self._given_gp(),
            report=report,
        )
        return replace(gp, latent=with_refits(gp.latent, groups, rng)) if gp.is_homoskedastic else gp

    def _facts(self) -> dict[str, str]:
        parameters = self.gp_.latent.parameters
        return {
            "kernel": f"{KERNELS[self.gp_.latent.kernel]}, one length scale per input",
            "noise": "the same everywhere" if self.gp_.is_homoskedastic else "a process of its own",
            "length scales": ", ".join(f"{length:.3g}" for length in parameters.length),
            "spread factor": f"{self.spread_:.2f}",
            **self._precautions(self.gp_.latent),
        }
