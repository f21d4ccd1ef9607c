"""StationaryGP, the default surrogate of the field, fitted as a specialist would (paper section 5.1), and its process.

Of four kernels the one that the runs make most probable, one length scale per input, constant or linear mean, Gaussian
noise of constant variance, replicates reduced to their means and counts. The process is fitted to inputs of order one
and standardised responses: exactly for some thousand inputs, nearly so beyond. `GPSurrogate` is what all surrogates on
a GP share.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution import PredictiveDistribution
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.gp.estimation import EXACT_LIMIT, estimate_parameters, require_slopes
from genbayes.models.gp.exact import Kriging
from genbayes.models.gp.kernels import CORRELATIONS
from genbayes.models.gp.likelihood import GPParameters, Replicates, match_rows
from genbayes.models.gp.refits import are_few, foretell
from genbayes.models.gp.widening import LeavesOut, held_out_spread, optimism, stand_alone
from genbayes.models.protocols import Of
from genbayes.persistence import FOREIGN, State
from genbayes.progress import Report, show_progress
from genbayes.seeding import RandomState
from genbayes.validation import check_choice, check_count

if TYPE_CHECKING:
    from genbayes.models.gp.large import FullScale

KERNELS = {
    "matern52": "Matern-5/2",
    "matern52-separable": "separable Matern-5/2",
    "matern72": "Matern-7/2",
    "squared-exponential": "squared exponential",
}
AUTO = "auto"  # whichever of these the runs make most probable
TRENDS = (AUTO, "constant", "linear")


@dataclass(frozen=True)
class FittedGP:
    """A GP with its training runs, ready to predict.

    Attributes:
        parameters: Length scales, nugget, variance and mean.
        runs: Training runs with u distinct inputs of shape (u, p).
        large: What the approximation for many runs has learnt; None for exact prediction.
        kernel: Name of the correlation, of `KERNELS`.
        unseen: Mean and two variances at each training input by GPs refitted without it, shape (3, u); None where
            runs are not few (`with_refits`).
    """

    parameters: GPParameters
    runs: Replicates
    large: FullScale | None = None
    kernel: str = "matern52"
    unseen: FloatArray | None = None
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
        kernel: str = "matern52",
    ) -> FittedGP:
        """The GP with given parameters; beyond `exact_limit` distinct inputs `rng` chooses inducing points."""
        if len(runs) <= exact_limit:
            return cls(parameters, runs, kernel=kernel)
        assert kernel == "matern52", "the approximation for many runs knows no other kernel"
        from genbayes.models.gp.large import FullScale  # loads torch, which exact GPs do without

        W, noise = runs.Z / parameters.length, parameters.nugget / runs.count
        return cls(parameters, runs, FullScale.learn(W, runs.mean, noise, rng))

    @property
    def length_scales(self) -> FloatArray:
        """Length scales, shape (p,)."""
        return self.parameters.length

    @property
    def distinct_inputs(self) -> FloatArray:
        """Inputs that it was fitted to, shape (u, p)."""
        return self.runs.Z

    @property
    def jitter(self) -> float:
        """What correlations that rounding made singular needed on their diagonal besides the nugget; zero as a rule."""
        return 0.0 if self._exact is None else self._exact.jitter

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A new run at inputs Z, shape (n, p), is normal with this mean and the sum of the two variances.

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

    @property
    def is_refitted(self) -> bool:
        """Whether runs are left out by refits, so that the parameters have not seen them either."""
        return self.unseen is not None

    def leave_out(self, Z: FloatArray, *, by_refits: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `predict`, but at an input that it was fitted to without the runs there.

        By refits where they were made (`with_refits`) and are not asked away; else length scales, nugget and process
        variance stay those of all runs (Dubrule 1983).

        Example:
            >>> Z = np.linspace(-1.5, 1.5, 20)[:, None]
            >>> gp = fit_gp(Replicates.collect(Z, np.sin(2 * Z[:, 0]), np.ones(20)), np.random.default_rng(0))
            >>> bool(gp.leave_out(Z)[1].min() > gp.predict(Z)[1].max())
            True
        """
        row = match_rows(self.runs.Z, Z)
        new = np.flatnonzero(row < 0)
        if len(new) == len(Z) or len(self.runs) < 2:
            return self.predict(Z)
        left_out = self.unseen if by_refits and self.unseen is not None else self._left_out
        moments = [left[row] for left in left_out]
        if len(new):
            for moment, given in zip(moments, self.predict(Z[new]), strict=True):
                moment[new] = given
        mean, latent, noise = moments
        return mean, latent, noise

    @cached_property
    def _left_out(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What `leave_one_out` says, which takes as long as a fit's step and is asked for again and again."""
        return self.leave_one_out()

    def to_state(self) -> State:
        """Everything learnt."""
        parameters, runs = self.parameters, self.runs
        values = {"kernel": self.kernel, "nugget": parameters.nugget, "variance": parameters.variance}
        arrays: dict[str, FloatArray | IntArray] = {"length": parameters.length, "Z": runs.Z, "y": runs.mean}
        arrays |= {"count": runs.count, "scatter": runs.scatter}
        if self.large is not None:
            arrays |= {"order": self.large.order, "coefficients": self.large.coefficients, "factor": self.large.factor}
        if len(parameters.sloped):
            arrays |= {"slope": parameters.slope, "sloped": parameters.sloped}
        if self.unseen is not None:
            arrays |= {"unseen": self.unseen}
        return State("FittedGP", {**values, "mean": parameters.mean}, arrays)

    @classmethod
    def from_state(cls, state: State, p: int) -> FittedGP:
        """The GP of p inputs that a file describes; it predicts the same to the last bit."""
        kernel = state.choice("kernel", KERNELS)
        nugget, variance = (state.number(name, positive=True) for name in ("nugget", "variance"))
        length = state.array("length", (p,), positive=True)
        parameters = GPParameters(length, nugget, variance, state.number("mean"))
        if "slope" in state.arrays:
            slope = state.array("slope", (None,))
            parameters = replace(parameters, slope=slope, sloped=state.whole_array("sloped", slope.shape, below=p))
        Z = state.array("Z", (None, p))
        y, scatter = state.array("y", (len(Z),)), state.array("scatter", (len(Z),), at_least=0)
        runs = Replicates(Z, y, state.array("count", (len(Z),), positive=True), scatter)
        if not 1 <= len(Z) <= (len(Z) if "order" in state.arrays else EXACT_LIMIT):
            raise UnreadableFile(f"an exact GP in a model file must have 1 to {EXACT_LIMIT} inputs, got {len(Z)}")
        if "order" not in state.arrays:
            unseen = state.array("unseen", (3, len(Z))) if "unseen" in state.arrays else None
            if unseen is not None and not ((unseen[1:] >= 0).all() and (unseen[1:].sum(axis=0) > 0).all()):
                raise UnreadableFile(
                    f"variances of unseen runs in the model file must be positive, got others; {FOREIGN}"
                )
            return cls(parameters, runs, kernel=kernel, unseen=unseen)
        from genbayes.models.gp.large import FullScale

        order = state.whole_array("order", (len(Z),), below=len(Z))
        coefficients = state.array("coefficients", (None,))
        factor = state.array("factor", (len(coefficients), len(coefficients)))
        if not 2 <= len(coefficients) <= len(Z) + 1 or len(np.unique(order)) < len(Z) or (factor.diagonal() <= 0).any():
            raise UnreadableFile(f"the inducing points in the model file must be rows of it, got others; {FOREIGN}")
        W, noise = runs.Z / parameters.length, nugget / runs.count
        return cls(parameters, runs, FullScale(W, runs.mean, noise, order, coefficients, factor))


def fit_gp(
    runs: Replicates,
    rng: np.random.Generator,
    *,
    n_starts: int = 3,
    exact_limit: int = EXACT_LIMIT,
    kernel: str = "matern52",
    start: GPParameters | None = None,
    trend: str = "constant",
    report: Report | None = None,
) -> FittedGP:
    """Fit a stationary GP by its largest posterior, under a prior that is weak.

    Args:
        runs: Training runs: inputs of order one, responses standardised.
        rng: Chooses the rows on which the search begins, and the inducing points where runs are many.
        n_starts: Number of starting points, from short to long scales.
        exact_limit: Most distinct inputs for exact likelihood and prediction; beyond, approximations take over.
        kernel: Name of the correlation, of `KERNELS`; or "auto", whichever of them has the largest posterior. Beyond
            `exact_limit` only the first.
        start: Parameters found for nearly the same runs, to climb from instead of searching widely.
        trend: Mean of the process, of `TRENDS`: "constant", "linear" in all inputs, or "auto", the more probable of
            the two; beyond `exact_limit` constant.
        report: Called with (stage, stages, loss) as the search proceeds.

    Example:
        >>> Z = np.linspace(-1.5, 1.5, 20)[:, None]
        >>> runs = Replicates.collect(Z, np.sin(2 * Z[:, 0]), np.ones(20))
        >>> mean, variance, noise = fit_gp(runs, np.random.default_rng(0)).predict(np.array([[0.5]]))
        >>> mean.round(3)
        array([0.841])
    """
    if kernel not in ("matern52", AUTO) and len(runs) > exact_limit:
        raise InvalidInput(
            f"kernel must be 'matern52' for more than {exact_limit:,} distinct inputs, got {kernel!r} for "
            f"{len(runs):,}; the others are exact only"
        )
    if trend == "linear":
        require_slopes(runs, exact_limit)
    names = [kernel] if kernel != AUTO else list(KERNELS) if len(runs) <= exact_limit else ["matern52"]
    estimate = estimate_parameters(
        runs, rng, n_starts=n_starts, exact_limit=exact_limit, kernels=names, start=start, trend=trend, report=report
    )
    return FittedGP.at(estimate.parameters, runs, rng, exact_limit, estimate.kernel)


def with_refits(gp: FittedGP, runs: Replicates, rng: np.random.Generator) -> FittedGP:
    """A fitted GP that leaves runs out by refits with its kernel, where runs are few for their inputs (`are_few`)."""
    if gp.is_refitted or not are_few(runs):
        return gp
    trend = AUTO if len(gp.parameters.sloped) else "constant"
    return replace(gp, unseen=foretell(runs, lambda few: fit_gp(few, rng, kernel=gp.kernel, trend=trend).predict, rng))


def start_from(near: FittedGP | None, runs: Replicates, kernel: str) -> tuple[GPParameters | None, str]:
    """Parameters to start from and the kernel to fit, given the GP of nearly the same runs; as asked for without one.

    Its kernel is taken for "auto": a few runs more or fewer seldom prefer another, and never by much.
    """
    if near is None or len(runs) > EXACT_LIMIT or kernel not in (AUTO, near.kernel):
        return None, kernel
    return near.parameters, near.kernel


class FittedProcess(Protocol):
    """A fitted GP on scaled inputs: all that a surrogate needs of it."""

    def predict(self, Z: FloatArray, /) -> tuple[FloatArray, ...]:
        """Mean, variance of the latent function, variance of the noise of one run, (n, p) -> (n,) each."""

    def to_state(self) -> State:
        """Everything learnt."""

    @classmethod
    def from_state(cls, state: State, p: int) -> Self:
        """The GP of p inputs that a file describes; it predicts the same to the last bit."""


class GPSurrogate(ScaledSurrogate):
    """A GP behind the interface of our surrogates: N(mean, s^2 (latent variance + noise variance)) for a new run.

    Attributes:
        gp_: The fitted GP, on scaled inputs and responses.
        spread_: Factor s by which runs, each left out, ask standard deviations to be multiplied; see `held_out_spread`.
    """

    process: ClassVar[type[FittedProcess]]  # class of gp_, for reading it back
    verbose: bool
    gp_: FittedProcess
    spread_: float
    _base: object = None  # a fitted model whose GP or regimes are used, or begun with, instead of a search from scratch

    def fit_on(self, base: object, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """As `fit`, with what a model of the same runs has found; of nearly the same runs, the search begins there.

        Args:
            base: A fitted model; of use are a `StationaryGP`, and to models of jumps a `RegimeGP`.
            X: Inputs, shape (n, d).
            y: Responses, shape (n,).
            sample_weight: Weights, shape (n,), or None.

        Example:
            >>> X = np.linspace(0, 1, 40)[:, None]
            >>> first = StationaryGP(random_state=0).fit(X[:36], np.sin(6 * X[:36, 0]))
            >>> more = StationaryGP(random_state=0).fit_on(first, X, np.sin(6 * X[:, 0]))
            >>> bool(abs(more.predict(X[-1:])[0] - np.sin(6.0)) < 1e-3)
            True
        """
        self._base = base
        try:
            return self.fit(X, y, sample_weight)
        finally:
            del self._base

    def _given_gp(self) -> FittedGP | None:
        """The GP of all runs that a stationary GP of the same runs has, refits aside: those to come have none."""
        base = self._base
        if isinstance(base, StationaryGP) and base.fingerprint_ == self.fingerprint_:
            return replace(base.gp_, unseen=None)
        return None

    def _neighbour(self) -> FittedGP | None:
        """The exact GP of a stationary GP whose inputs have the same scales but for their size: a point to start."""
        base = self._base
        if not isinstance(base, StationaryGP) or base.gp_.large is not None:
            return None
        ours, theirs = self.input_scaler_, base.input_scaler_
        are_alike = ours.n_outputs == theirs.n_outputs and np.array_equal(ours.bend > 0, theirs.bend > 0)
        return base.gp_ if are_alike else None

    @abstractmethod
    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedProcess:
        """The GP fitted to scaled runs."""

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        with show_progress(f"fitting {type(self).__name__}", bool(self.verbose)) as report:
            self.gp_ = self._fit_gp(runs, rng, report)
        gp = self._leaves_out()
        self.spread_ = 1.0 if gp is None else held_out_spread(gp, runs.Z, runs.y, runs.weight)

    def _distribution(self, Z: FloatArray, of: Of) -> PredictiveDistribution:
        mean, latent, noise = self.gp_.predict(Z)
        return self._normal(mean, self.spread_**2 * (latent if of == "mean" else latent + noise))

    @property
    def spreads_itself(self) -> bool:
        """Whether runs left out have set `spread_`."""
        return self._leaves_out() is not None

    def _leaves_out(self) -> LeavesOut | None:
        """The process whose left-out runs set `spread_`; None where none can."""
        return self.gp_ if isinstance(self.gp_, LeavesOut) else None

    @property
    def knows_out_of_fold(self) -> bool:
        """Whether runs can be left out in closed form."""
        return hasattr(self.process, "leave_out")

    def predict_out_of_fold(self, X: ArrayLike, y: ArrayLike) -> tuple[IntArray, PredictiveDistribution]:
        """All rows, and the distribution of each without the runs at its input (`FittedGP.leave_out`).

        Where runs are few, by GPs refitted without them (`with_refits`). Elsewhere length scales and nugget have seen
        the left-out runs, so that its errors come out too small; see `optimism`.

        Args:
            X: Inputs of `fit`, shape (n, d).
            y: Responses of `fit`, shape (n,).
        """
        Z, t = self._scaled(X), self.response_scaler_.transform(np.asarray(y, dtype=np.float64))
        mean, latent, noise = self.gp_.leave_out(Z)  # type: ignore[attr-defined]
        if not self.gp_.is_refitted:  # type: ignore[attr-defined]
            mean = mean + optimism(Z) * (mean - t)
        return np.arange(len(Z)), self._normal(mean, self.spread_**2 * (latent + noise))

    def _precautions(self, gp: FittedGP) -> dict[str, str]:
        """Lines of `summary` on runs that are hard on a GP, and what was done about them; none as a rule."""
        facts = {}
        Z, columns = gp.runs.Z, self.input_scaler_.numeric
        still = [columns[k] for k in np.flatnonzero(np.ptp(Z[:, : len(columns)], axis=0) == 0)]
        if still:
            names = self._input_names()
            facts["constant inputs"] = f"{', '.join(names[j] for j in still)}; nothing is learnt of them"
        if len(Z) > 1 and (n_twins := int(np.sum(~stand_alone(Z / gp.length_scales)))):
            facts["near twins"] = f"{n_twins} inputs lie almost where another does; they do not set the spread factor"
        if gp.jitter > 0:
            facts["jitter"] = f"{gp.jitter:.0e} of the process variance, so that rounding does no harm"
        return facts

    def _keep(self) -> State:
        state = self.gp_.to_state()
        return State(state.kind, {**state.values, "spread": self.spread_}, state.arrays)

    def _restore(self, state: State) -> None:
        self.gp_ = self.process.from_state(state, self.input_scaler_.n_outputs)
        self.spread_ = state.number("spread", positive=True, at_most=1e9, default=1.0)  # older files have none


class StationaryGP(GPSurrogate):
    """Gaussian process with one length scale per input (ARD), constant or linear mean, and nugget.

    Length scales and nugget maximise the marginal likelihood from several starting points; replicates enter by their
    means and counts. Of several kernels the runs choose the most probable. Exact to 3,000 distinct inputs; beyond,
    parameters come from a Vecchia likelihood and predictions from inducing points and near neighbours together.
    Engine: our own BFGS on analytic gradients with one Cholesky factor a step (`genbayes.models.gp`), which needs no
    extra and is faster than the wrappers we measured (docs/models/stationary-gp.md).

    Args:
        kernel: "auto", whichever of the following has the largest posterior, to 3,000 distinct inputs, and "matern52"
            beyond; "matern52", "matern52-separable" (a product over inputs), "matern72" or "squared-exponential" for
            that one alone, of which beyond 3,000 distinct inputs only "matern52" is had.
        trend: Mean of the process: "constant"; "linear", with a slope in every input (universal kriging), to 3,000
            distinct inputs; or "auto", the more probable of the two.
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
        kernel: str = AUTO,
        trend: str = "constant",
        n_starts: int = 3,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.trend = trend
        self.n_starts = n_starts
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    @property
    def length_scales_(self) -> FloatArray:
        """Length scale of each scaled input, shape (p,)."""
        return self.gp_.parameters.length

    def _check_settings(self) -> object:
        check_choice(self.kernel, "kernel", [AUTO, *KERNELS])
        check_choice(self.trend, "trend", list(TRENDS))
        return check_count(self.n_starts, "n_starts")

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedGP:
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        near = self._neighbour()
        start, kernel = start_from(near, groups, self.kernel)
        gp = fit_gp(groups, rng, n_starts=self.n_starts, kernel=kernel, start=start, trend=self.trend, report=report)
        return with_refits(gp, groups, rng)

    def _facts(self) -> dict[str, str]:
        parameters = self.gp_.parameters
        kind = "exact" if self.gp_.large is None else "Vecchia with inducing points"
        how = ""
        if self.kernel == AUTO:
            most = f"the others take at most {EXACT_LIMIT:,} distinct inputs"
            how = "; the most probable of four" if self.gp_.large is None else f"; {most}"
        facts = {
            "kernel": f"{KERNELS[self.gp_.kernel]}, one length scale per input{how}",
            "computation": kind,
            "distinct inputs": str(len(self.gp_.runs)),
            "length scales": ", ".join(f"{length:.3g}" for length in parameters.length),
            "noise sd": f"{self.response_scaler_.scale * np.sqrt(parameters.noise):.4g}",
            "spread factor": f"{self.spread_:.2f}",
        }
        if self.trend != "constant":
            n_slopes = len(parameters.sloped)
            facts["trend"] = f"linear in {n_slopes} of {len(parameters.length)} inputs" if n_slopes else "constant"
        return {**facts, **self._precautions(self.gp_)}
