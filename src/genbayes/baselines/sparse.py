"""SparseGP: a variational GP on inducing points, for more runs than an exact GP can take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.baselines.collapsed import SparseParameters, SparseProcess, choose_inducing, collapsed_bound, condition
from genbayes.baselines.gaussian import FittedProcess, GaussianBaseline
from genbayes.gp import Replicates, fit_gp
from genbayes.gp.profile import GPParameters
from genbayes.seeding import RandomState
from genbayes.tabular import ScaledRuns
from genbayes.training.loop import Report
from genbayes.validation import check_count

__all__ = ["SparseGP"]

N_EXACT = 1_000  # inputs of the exact GP whose parameters the search starts from
N_LEARN = 5_000  # inputs that the bound is maximised on; all of them are conditioned on
LENGTH_BOUNDS = (1e-3, 1e4)  # in standard deviations of an input
VARIANCE_BOUNDS = (1e-4, 1e4)  # in variances of the response
NOISE_BOUNDS = (1e-8, 1e2)
MEAN_BOUNDS = (-3.0, 3.0)
TOLERANCE = 1e-7  # of the bound, relative: below a thousandth of a unit for some thousand runs


class SparseGP(GaussianBaseline):
    """Sparse variational GP (Titsias 2009): Matern-5/2, one length scale per input, constant mean, Gaussian noise.

    Starts from an exact GP of up to 1,000 inputs, takes as inducing points the inputs that explain the others best
    (Burt et al. 2020), then moves them and all parameters together up Titsias' bound on up to 5,000 inputs by L-BFGS;
    the law over the inducing points is the best there is, from all runs. With no more inputs than inducing points it
    is the exact GP. Engine: our own torch; the stochastic bound (Hensman et al. 2013) in GPyTorch, 300 inducing points
    and 1,500 steps of Adam, took several times as long to a larger CRPS on the two problems we compared.

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

    def tell(intermediate_result: Any) -> None:
        nonlocal n_done
        n_done += 1
        if report is not None:
            report(n_done, n_steps, float(intermediate_result.fun) / runs.n_runs)

    found = minimize(
        loss, np.clip(theta, *bounds.T), jac=True, method="L-BFGS-B", bounds=bounds, callback=tell,
        options={"maxiter": n_steps, "ftol": TOLERANCE},
    )  # fmt: skip
    return _unpack(found.x, p)
