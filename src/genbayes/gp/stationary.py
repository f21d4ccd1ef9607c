"""Fit a stationary GP to runs and predict with it: exactly for some thousand inputs, nearly so beyond.

Matern-5/2 or the smoother squared exponential, one length scale per input, constant mean, Gaussian noise of constant
variance, replicates reduced to their means and counts. Inputs are taken to be of order one and responses to be
standardised; scaling, checks and distributions are left to the estimators on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.estimation import Report, estimate_parameters
from genbayes.gp.exact import Kriging
from genbayes.gp.fullscale import FullScale
from genbayes.gp.profile import GPParameters
from genbayes.gp.replicates import Replicates

__all__ = ["KERNELS", "FittedGP", "fit_gp"]

KERNELS = ("matern52", "squared-exponential")  # a file names one by its place, so new ones go to the end
EXACT_LIMIT = 3000  # distinct inputs; one step of the exact search then takes about a second and 200 MB


@dataclass(frozen=True)
class FittedGP:
    """A GP with its training runs, ready to predict.

    Attributes:
        parameters: Length scales, nugget, variance and mean.
        runs: Training runs with u distinct inputs of shape (u, p).
        large: What the approximation for many runs has learnt; None for exact prediction.
        kernel: Name of the correlation, of `KERNELS`.
    """

    parameters: GPParameters
    runs: Replicates
    large: FullScale | None = None
    kernel: str = KERNELS[0]
    _exact: Kriging | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        correlation = CORRELATIONS[self.kernel]
        exact = Kriging(self.parameters, self.runs, correlation) if self.large is None else None
        object.__setattr__(self, "_exact", exact)

    @classmethod
    def at(
        cls,
        parameters: GPParameters,
        runs: Replicates,
        rng: np.random.Generator,
        exact_limit: int = EXACT_LIMIT,
        kernel: str = KERNELS[0],
    ) -> FittedGP:
        """The GP with given parameters; beyond `exact_limit` distinct inputs `rng` chooses inducing points."""
        if len(runs) <= exact_limit:
            return cls(parameters, runs, kernel=kernel)
        assert kernel == KERNELS[0], "the approximation for many runs knows no other kernel"
        W, noise = runs.Z / parameters.length, parameters.nugget / runs.count
        return cls(parameters, runs, FullScale.learn(W, runs.mean, noise, rng))

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Law of new runs at inputs Z, shape (n, p): a Gaussian with this mean and the sum of the two variances.

        Returns:
            Mean, variance of the latent function, and variance of the noise of one run, each of shape (n,).
        """
        if self._exact is not None:
            mean, variance = self._exact.predict(Z)
        else:
            assert self.large is not None
            mean, share = self.large.predict(Z / self.parameters.length)
            variance = self.parameters.variance * share
        return mean, variance, np.full(len(Z), self.parameters.noise)

    def leave_one_out(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `predict` at the u training inputs, but each from the runs at the others, at the same parameters."""
        if len(self.runs) < 2:
            raise InvalidInput("runs must have at least two distinct inputs to leave one out, got 1")
        if self._exact is not None:
            mean, variance = self._exact.leave_one_out()
        else:
            assert self.large is not None
            mean, share = self.large.leave_one_out()
            variance = self.parameters.variance * share
        return mean, variance, np.full(len(self.runs), self.parameters.noise)

    def arrays(self) -> dict[str, FloatArray]:
        """Everything learnt, as named arrays of float64; `from_arrays` rebuilds the GP from them."""
        parameters, runs = self.parameters, self.runs
        scalars = np.array([parameters.nugget, parameters.variance, parameters.mean])
        kept = {"length": parameters.length, "scalars": scalars}
        kept |= {"Z": runs.Z, "mean": runs.mean, "count": runs.count, "scatter": runs.scatter}
        if self.kernel != KERNELS[0]:
            kept |= {"kernel": np.array([float(KERNELS.index(self.kernel))])}
        if self.large is not None:
            large = self.large
            kept |= {"order": large.order.astype(np.float64)}
            kept |= {"coefficients": large.coefficients, "factor": large.factor}
        return kept

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> FittedGP:
        """The GP whose `arrays()` these are; it predicts the same to the last bit."""
        parameters = GPParameters(arrays["length"], *(float(value) for value in arrays["scalars"]))
        runs = Replicates(arrays["Z"], arrays["mean"], arrays["count"], arrays["scatter"])
        if "order" not in arrays:
            return cls(parameters, runs, kernel=_kernel_at(arrays["kernel"]) if "kernel" in arrays else KERNELS[0])
        W, noise = runs.Z / parameters.length, parameters.nugget / runs.count
        order = arrays["order"].astype(np.int64)
        return cls(parameters, runs, FullScale(W, runs.mean, noise, order, arrays["coefficients"], arrays["factor"]))


def _kernel_at(place: FloatArray) -> str:
    """The kernel that a file names by its place."""
    if place.shape != (1,) or float(place[0]) not in range(len(KERNELS)):
        raise UnreadableFile(f"the kernel in the model file must be one of {len(KERNELS)} known ones, got {place!r}")
    return KERNELS[int(place[0])]


def fit_gp(
    runs: Replicates,
    rng: np.random.Generator,
    *,
    n_starts: int = 3,
    exact_limit: int = EXACT_LIMIT,
    kernel: str = KERNELS[0],
    report: Report | None = None,
) -> FittedGP:
    """Fit a stationary GP by its largest posterior, under a prior that is weak.

    Args:
        runs: Training runs: inputs of order one, responses standardised.
        rng: Chooses the rows on which the search begins, and the inducing points where runs are many.
        n_starts: Number of starting points, from short to long scales.
        exact_limit: Most distinct inputs for exact likelihood and prediction; beyond, approximations take over.
        kernel: Name of the correlation, of `KERNELS`; beyond `exact_limit` only the first.
        report: Called with (stage, stages, loss) as the search proceeds.

    Example:
        >>> Z = np.linspace(-1.5, 1.5, 20)[:, None]
        >>> runs = Replicates.collect(Z, np.sin(2 * Z[:, 0]), np.ones(20))
        >>> mean, variance, noise = fit_gp(runs, np.random.default_rng(0)).predict(np.array([[0.5]]))
        >>> mean.round(3)
        array([0.841])
    """
    if kernel != KERNELS[0] and len(runs) > exact_limit:
        raise InvalidInput(
            f"kernel must be {KERNELS[0]!r} for more than {exact_limit:,} distinct inputs, got {kernel!r} for "
            f"{len(runs):,}; the others are exact only"
        )
    parameters = estimate_parameters(
        runs, rng, n_starts=n_starts, exact_limit=exact_limit, correlation=CORRELATIONS[kernel], report=report
    )
    return FittedGP.at(parameters, runs, rng, exact_limit, kernel)
