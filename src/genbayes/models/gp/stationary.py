"""Fit a stationary GP to runs and predict with it: exactly for some thousand inputs, nearly so beyond.

Matern-5/2 or the smoother squared exponential, one length scale per input, constant mean, Gaussian noise of constant
variance, replicates reduced to their means and counts. Inputs are taken to be of order one and responses to be
standardised; scaling, checks and distributions are left to the estimators on top.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.distribution import Normal
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.gp.estimation import estimate_parameters
from genbayes.models.gp.exact import Kriging
from genbayes.models.gp.kernels import CORRELATIONS
from genbayes.models.gp.large import FullScale
from genbayes.models.gp.likelihood import GPParameters, Replicates
from genbayes.models.protocols import Of
from genbayes.persistence import State
from genbayes.progress import Report, show_progress
from genbayes.seeding import RandomState
from genbayes.validation import check_choice, check_count


class FittedProcess(Protocol):
    """A fitted GP on scaled inputs: all that a baseline needs of it."""

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, variance of the latent function, variance of the noise of one run, (n, p) -> (n,) each."""

    def arrays(self) -> dict[str, FloatArray]:
        """Everything learnt, by name."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """The GP whose arrays these are."""


class GaussianBaseline(ScaledSurrogate):
    """A GP behind the interface of our surrogates: N(mean, latent variance + noise variance) for a new run.

    Attributes:
        gp_: The fitted GP, on scaled inputs and responses.
    """

    process: ClassVar[type[FittedProcess]]  # class of gp_, for reading it back
    verbose: bool
    gp_: FittedProcess

    @abstractmethod
    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedProcess:
        """The GP fitted to scaled runs."""

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        with show_progress(f"fitting {type(self).__name__}", bool(self.verbose)) as report:
            self.gp_ = self._fit_gp(runs, rng, report)

    def _distribution(self, Z: FloatArray, of: Of) -> Normal:
        mean, latent, noise = self.gp_.predict(Z)
        return self._normal(mean, latent if of == "mean" else latent + noise)

    def _keep(self) -> State:
        return State(self.process.__name__, {}, self.gp_.arrays())

    def _restore(self, state: State) -> None:
        self.gp_ = self.process.from_arrays({name: state.array(name) for name in state.arrays})


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


TITLES = {"matern52": "Matern-5/2", "squared-exponential": "squared exponential"}


class StationaryGP(GaussianBaseline):
    """Gaussian process with one length scale per input (ARD), constant mean and nugget.

    Length scales and nugget maximise the marginal likelihood from several starting points; replicates enter by their
    means and counts. Exact to 3,000 distinct inputs; beyond, parameters come from a Vecchia likelihood and predictions
    from inducing points and near neighbours together. Engine: our own BFGS on analytic gradients with one Cholesky
    factor a step (`genbayes.models.gp`), which needs no extra and is faster than the wrappers we measured
    (docs/models/stationary-gp.md).

    Args:
        kernel: "matern52"; or "squared-exponential", for responses that are smooth to any order, to 3,000 inputs.
        n_starts: Starting points of the search for length scales and nugget.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the subsets that the search begins on and of the order in the approximation.

    Attributes:
        gp_: The fitted GP, on scaled inputs and responses.
        length_scales_: Length scale of each scaled input: large where the input hardly matters.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> model = StationaryGP(random_state=0).fit(X, np.sin(6 * X[:, 0]))
        >>> mean, sd = model.predict(np.array([[0.5]]), return_std=True)
        >>> bool(abs(mean[0] - np.sin(3.0)) < 0.01)
        True
    """

    process: ClassVar[type[FittedProcess]] = FittedGP
    gp_: FittedGP

    def __init__(
        self,
        *,
        kernel: str = "matern52",
        n_starts: int = 3,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_starts = n_starts
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    @property
    def length_scales_(self) -> FloatArray:
        """Length scale of each scaled input, shape (p,)."""
        return self.gp_.parameters.length

    def _check_settings(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        check_count(self.n_starts, "n_starts")

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedGP:
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        return fit_gp(groups, rng, n_starts=self.n_starts, kernel=self.kernel, report=report)

    def _facts(self) -> dict[str, str]:
        parameters = self.gp_.parameters
        kind = "exact" if self.gp_.large is None else "Vecchia with inducing points"
        return {
            "kernel": f"{TITLES[self.gp_.kernel]}, one length scale per input",
            "computation": kind,
            "distinct inputs": str(len(self.gp_.runs)),
            "length scales": ", ".join(f"{length:.3g}" for length in parameters.length),
            "noise sd": f"{self.response_scaler_.scale * np.sqrt(parameters.noise):.4g}",
        }
