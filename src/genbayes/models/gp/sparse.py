"""SparseGP: a variational GP on inducing points, for more runs than an exact GP can take (Titsias 2009).

m inducing points U stand for all runs. With K_uu = L L', A = L^{-1} K_uz W^{1/2} / s, e = W^{1/2} (y - mu) / s for n
inputs with W = diag(count) runs each and noise variance s^2, B = I + A A', c = chol(B)^{-1} A e and N runs:

    bound = -N/2 log(2 pi s^2) - 1/2 log|B| - 1/2 (e'e + scatter / s^2 - c'c) - 1/2 (tr W K_zz / s^2 - tr A A'),
    mean(x) = mu + c'b,   variance(x) = k(x, x) - a'a + b'b,   a = L^{-1} k_u(x),   b = chol(B)^{-1} a.

The bound lies below the log likelihood by the divergence of the best distribution over U, known in closed form, from
the exact posterior, and meets it where U are all inputs. The stochastic bound of Hensman et al. (2013) has to learn
mean and covariance of that distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.optimize import OptimizeResult, minimize
from torch import Tensor
from torch.autograd.function import FunctionCtx

from genbayes.arrays import FloatArray
from genbayes.errors import UnreadableFile
from genbayes.models.base import ScaledRuns
from genbayes.models.gp.kernels import matern52_with_slope, squared_distances
from genbayes.models.gp.likelihood import GPParameters, Replicates
from genbayes.models.gp.stationary import FittedProcess, GPSurrogate, fit_gp
from genbayes.persistence import FOREIGN, State
from genbayes.progress import Report
from genbayes.seeding import RandomState
from genbayes.validation import check_count

N_EXACT = 1_000  # inputs of the exact GP whose parameters the search starts from
N_LEARN = 5_000  # inputs that the bound is maximised on; all of them are conditioned on
LENGTH_BOUNDS = (1e-3, 1e4)  # in standard deviations of an input
VARIANCE_BOUNDS = (1e-4, 1e4)  # in variances of the response
NOISE_BOUNDS = (1e-8, 1e2)
MEAN_BOUNDS = (-3.0, 3.0)
TOLERANCE = 1e-7  # of the bound, relative: below a thousandth of a unit for some thousand runs
JITTER = 1e-7  # on the correlations of the inducing points, which may come close to each other
ROWS_AT_ONCE = 4_000  # of A while conditioning


class SparseParameters(NamedTuple):
    """Everything but the inducing points that a sparse GP is made of, as tensors.

    length (p,), variance of the process (), noise variance of one run (), constant mean ().
    """

    length: Tensor
    variance: Tensor
    noise: Tensor
    mean: Tensor


@dataclass(frozen=True)
class SparseProcess:
    """A sparse GP conditioned on its runs, ready to predict; NumPy only.

    Attributes:
        inducing: Inducing points, shape (m, p).
        length: Length scales, shape (p,).
        variance: Variance of the process.
        noise: Noise variance of one run.
        mean: Constant mean.
        factor: L, the lower Cholesky factor of K_uu, shape (m, m).
        posterior_factor: The lower Cholesky factor of B, shape (m, m).
        coefficients: c, shape (m,).
    """

    inducing: FloatArray
    length: FloatArray
    variance: float
    noise: float
    mean: float
    factor: FloatArray
    posterior_factor: FloatArray
    coefficients: FloatArray

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, variance of the latent function, variance of the noise of one run, (n, p) -> (n,) each."""
        mean, latent = np.empty((2, len(Z)))
        for start in range(0, len(Z), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            s = squared_distances(self.inducing / self.length, Z[part] / self.length)
            k = self.variance * matern52_with_slope(s)[0]
            a = solve_triangular(self.factor, k, lower=True, check_finite=False)
            b = solve_triangular(self.posterior_factor, a, lower=True, check_finite=False)
            mean[part] = self.mean + self.coefficients @ b
            latent[part] = np.maximum(self.variance - (a * a).sum(axis=0) + (b * b).sum(axis=0), 0.0)
        return mean, latent, np.full(len(Z), self.noise)

    def to_state(self) -> State:
        """Everything learnt."""
        values = {"variance": self.variance, "noise": self.noise, "mean": self.mean}
        arrays = {"inducing": self.inducing, "length": self.length, "coefficients": self.coefficients}
        return State(
            "SparseProcess", values, arrays | {"factor": self.factor, "posterior_factor": self.posterior_factor}
        )

    @classmethod
    def from_state(cls, state: State, p: int) -> SparseProcess:
        """The process of p inputs that a file describes, if its parts fit together."""
        inducing = state.array("inducing", (None, p))
        m = len(inducing)
        length, coefficients = state.array("length", (p,), positive=True), state.array("coefficients", (m,))
        factor, posterior_factor = (state.array(name, (m, m)) for name in ("factor", "posterior_factor"))
        variance, noise = (state.number(name, positive=True) for name in ("variance", "noise"))
        if not m or not (np.append(factor.diagonal(), posterior_factor.diagonal()) > 0).all():
            raise UnreadableFile(f"the inducing points in the model file must have factors, got others; {FOREIGN}")
        return cls(inducing, length, variance, noise, state.number("mean"), factor, posterior_factor, coefficients)


def collapsed_bound(parameters: SparseParameters, inducing: Tensor, runs: Replicates) -> Tensor:
    """Lower bound of the log likelihood, differentiable in parameters and inducing points.

    Args:
        parameters: Length scales, variances and mean.
        inducing: Inducing points, shape (m, p).
        runs: Training runs with inputs of shape (n, p).

    Returns:
        The bound, a scalar.

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.ones(2))
        >>> parameters = SparseParameters(*torch.tensor([[1.0], [1.0], [0.5], [0.0]], dtype=torch.float64))
        >>> one, both = (collapsed_bound(parameters, torch.from_numpy(runs.Z[:m]), runs).item() for m in (1, 2))
        >>> one < both  # with all inputs the bound is the log likelihood
        True
    """
    noise, N = parameters.noise, runs.n_runs
    AA, Ae, ee = _statistics(parameters, _factor(parameters, inducing), inducing, runs)
    posterior_factor, c = _solve_posterior(AA, Ae)
    fit = ee + float(runs.scatter.sum()) / noise - c @ c
    gap = N * parameters.variance / noise - AA.trace()
    return -0.5 * (N * torch.log(2 * math.pi * noise) + 2 * posterior_factor.diagonal().log().sum() + fit + gap)


def condition(parameters: SparseParameters, inducing: Tensor, runs: Replicates) -> SparseProcess:
    """The sparse GP given all runs, some rows at a time; arguments as in `collapsed_bound`.

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), np.ones(2))
        >>> parameters = SparseParameters(*torch.tensor([[1.0], [1.0], [1e-3], [0.0]], dtype=torch.float64))
        >>> condition(parameters, torch.from_numpy(runs.Z), runs).predict(np.array([[1.0]]))[0].round(2)
        array([1.])
    """
    with torch.no_grad():
        factor = _factor(parameters, inducing)
        AA, Ae = torch.zeros_like(factor), torch.zeros_like(factor[0])
        for start in range(0, len(runs), ROWS_AT_ONCE):
            part = runs.take(np.arange(start, min(start + ROWS_AT_ONCE, len(runs))))
            more = _statistics(parameters, factor, inducing, part)
            AA, Ae = AA + more[0], Ae + more[1]
        posterior_factor, c = _solve_posterior(AA, Ae)
    return SparseProcess(
        inducing.numpy(), parameters.length.numpy(), float(parameters.variance), float(parameters.noise),
        float(parameters.mean), factor.numpy(), posterior_factor.numpy(), c.numpy(),
    )  # fmt: skip


def choose_inducing(Z: FloatArray, length: FloatArray, nugget: float, n_inducing: int) -> FloatArray:
    """Rows that explain the others best: each next one is the row whose variance given the chosen ones is largest.

    The pivots of an incomplete Cholesky factor of K_zz (Burt, Rasmussen & van der Wilk 2020, section 4.2).

    Args:
        Z: Distinct inputs, shape (n, p).
        length: Length scales, shape (p,).
        nugget: Noise variance over process variance.
        n_inducing: Most rows to choose; fewer once what is left of all rows' variances cannot matter.

    Returns:
        Inducing points, shape (m, p).

    Example:
        >>> choose_inducing(np.array([[0.0], [0.1], [5.0]]), np.ones(1), 0.1, 2).ravel()
        array([0., 5.])
    """
    W, n_most = Z / length, min(n_inducing, len(Z))
    left, explained = np.ones(len(Z)), np.zeros((n_most, len(Z)))
    enough = max(JITTER, nugget / len(Z))  # then the bound is within half a unit of the log likelihood
    chosen = []
    for j in range(n_most):
        i = int(np.argmax(left))
        if left[i] < enough:
            break
        k = matern52_with_slope(squared_distances(W[i : i + 1], W)[0])[0]
        explained[j] = (k - explained[:j, i] @ explained[:j]) / math.sqrt(left[i])
        left -= explained[j] ** 2
        left[i] = 0.0
        chosen.append(i)
    return Z[chosen]


def _factor(parameters: SparseParameters, inducing: Tensor) -> Tensor:
    """L, the lower Cholesky factor of K_uu, shape (m, m)."""
    U = inducing / parameters.length
    correlation: Tensor = _Matern52.apply(U, U) + JITTER * torch.eye(len(U), dtype=U.dtype)
    factor: Tensor = torch.linalg.cholesky(parameters.variance * correlation)
    return factor


def _statistics(
    parameters: SparseParameters, factor: Tensor, inducing: Tensor, runs: Replicates
) -> tuple[Tensor, Tensor, Tensor]:
    """A A', A e and e'e of some rows; shapes (m, m), (m,), ()."""
    Z, y, count = (torch.from_numpy(part) for part in (runs.Z, runs.mean, runs.count))
    root = torch.sqrt(count / parameters.noise)  # W^{1/2} / s
    K = parameters.variance * _Matern52.apply(inducing / parameters.length, Z / parameters.length)
    A = torch.linalg.solve_triangular(factor, K * root, upper=False)
    e = root * (y - parameters.mean)
    return A @ A.T, A @ e, e @ e


def _solve_posterior(AA: Tensor, Ae: Tensor) -> tuple[Tensor, Tensor]:
    """The lower Cholesky factor of B = I + A A', shape (m, m), and c, shape (m,)."""
    posterior_factor = torch.linalg.cholesky(torch.eye(len(AA), dtype=AA.dtype) + AA)
    return posterior_factor, torch.linalg.solve_triangular(posterior_factor, Ae[:, None], upper=False)[:, 0]


class _Matern52(torch.autograd.Function):
    """Matern-5/2 correlations of inputs over length scales, (m, p), (n, p) -> (m, n), by the formulas in NumPy.

    Derivatives are written out: automatic differentiation of sqrt(s) fails at s = 0, where every row meets itself. With
    G_ij = gradient_ij slope_ij and ds_ij / da_i = 2 (a_i - b_j): dA_i = 2 sum_j G_ij (a_i - b_j), and dB likewise.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, A: Tensor, B: Tensor) -> Tensor:
        correlation, slope = matern52_with_slope(squared_distances(A.detach().numpy(), B.detach().numpy()))
        ctx.save_for_backward(A, B, torch.from_numpy(slope))
        return torch.from_numpy(correlation)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        A, B, slope = ctx.saved_tensors
        G = 2 * gradient * slope
        return G.sum(1, keepdim=True) * A - G @ B, G.sum(0).unsqueeze(1) * B - G.T @ A


class SparseGP(GPSurrogate):
    """Sparse variational GP (Titsias 2009): Matern-5/2, one length scale per input, constant mean, Gaussian noise.

    Starts from an exact GP of up to 1,000 inputs, takes as inducing points the inputs that explain the others best
    (Burt et al. 2020), then moves them and all parameters together up Titsias' bound on up to 5,000 inputs by L-BFGS;
    the distribution over the inducing points is the best there is, from all runs. With no more inputs than inducing
    points it is the exact GP. Engine: our own torch; the stochastic bound (Hensman et al. 2013) in GPyTorch, 300
    inducing points and 1,500 steps of Adam, took several times as long to a larger CRPS on two problems.

    Args:
        n_inducing: Most inducing points.
        n_steps: Most steps of L-BFGS up the bound.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the subsets that the parameters are learnt on.

    Attributes:
        gp_: The fitted process, on scaled inputs and responses.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> X = np.linspace(0, 1, 300)[:, None]
        >>> model = SparseGP(n_inducing=15, random_state=0).fit(X, np.sin(6 * X[:, 0]))
        >>> mean, sd = model.predict(np.array([[0.5]]), return_std=True)
        >>> bool(abs(mean[0] - np.sin(3.0)) < 0.01)
        True
    """

    process: ClassVar[type[FittedProcess]] = SparseProcess
    gp_: SparseProcess

    def __init__(
        self,
        *,
        n_inducing: int = 500,
        n_steps: int = 40,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_inducing = n_inducing
        self.n_steps = n_steps
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_count(self.n_inducing, "n_inducing")
        check_count(self.n_steps, "n_steps")

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> SparseProcess:
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        learn = groups.take(np.sort(rng.permutation(len(groups))[:N_LEARN]))
        some = learn.take(np.sort(rng.permutation(len(learn))[:N_EXACT]))
        first = fit_gp(some, rng).parameters
        if len(groups) <= min(self.n_inducing, N_EXACT):  # nothing is left to learn
            parameters, inducing = _unpack(_pack(first, groups.Z), groups.Z.shape[1])
        else:
            U = choose_inducing(learn.Z, first.length, first.nugget, self.n_inducing)
            parameters, inducing = _climb(_pack(first, U), learn, self.n_steps, report)
        return condition(parameters, inducing, groups)

    def _facts(self) -> dict[str, str]:
        gp = self.gp_
        return {
            "kernel": "Matern-5/2, one length scale per input",
            "inducing points": str(len(gp.inducing)),
            "length scales": ", ".join(f"{length:.3g}" for length in gp.length),
            "noise sd": f"{self.response_scaler_.scale * math.sqrt(gp.noise):.4g}",
        }


def _pack(start: GPParameters, inducing: FloatArray) -> FloatArray:
    """Log length scales, log variances, mean and inducing points as one vector, shape (p + 3 + m p,)."""
    logs = [np.log(start.length), [math.log(start.variance), math.log(start.noise), start.mean]]
    return np.concatenate([*logs, inducing.ravel()])


def _unpack(theta: FloatArray | Tensor, p: int) -> tuple[SparseParameters, Tensor]:
    """Parameters and inducing points, shape (m, p), from one vector."""
    theta = torch.as_tensor(theta, dtype=torch.float64)
    variance, noise = theta[p].exp(), theta[p + 1].exp()
    return SparseParameters(theta[:p].exp(), variance, noise, theta[p + 2]), theta[p + 3 :].reshape(-1, p)


def _climb(theta: FloatArray, runs: Replicates, n_steps: int, report: Report | None) -> tuple[SparseParameters, Tensor]:
    """Parameters and inducing points at the top of the bound, or as near as `n_steps` come."""
    p = runs.Z.shape[1]
    scales = [LENGTH_BOUNDS] * p + [VARIANCE_BOUNDS, NOISE_BOUNDS]
    bounds = np.array([*np.log(scales), MEAN_BOUNDS, *[(-np.inf, np.inf)] * (len(theta) - p - 3)])
    n_done = 0

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        point = torch.tensor(at, requires_grad=True)
        value = -collapsed_bound(*_unpack(point, p), runs)
        (slope,) = torch.autograd.grad(value, point)
        return value.item(), slope.numpy()

    def note(intermediate_result: OptimizeResult) -> None:
        nonlocal n_done
        n_done += 1
        if report is not None:
            report(n_done, n_steps, float(intermediate_result.fun) / runs.n_runs)

    found = minimize(
        loss, np.clip(theta, *bounds.T), jac=True, method="L-BFGS-B", bounds=bounds, callback=note,
        options={"maxiter": n_steps, "ftol": TOLERANCE},
    )  # fmt: skip
    return _unpack(found.x, p)
