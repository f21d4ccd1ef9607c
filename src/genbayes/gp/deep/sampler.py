"""Posterior sampling of a two-layer deep GP: where the chain starts, how long it runs, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.gp.deep.chain import ChainState, TwoLayerChain
from genbayes.gp.deep.draws import DeepGPDraws
from genbayes.gp.deep.layers import DrawnLayers
from genbayes.gp.deep.likelihood import OuterLikelihood
from genbayes.gp.deep.settings import DeepGPSettings
from genbayes.validation import check_array, check_targets

__all__ = ["Report", "sample_deep_gp"]

Report = Callable[[int, int, float], None]  # iteration, length of the chain, log likelihood
SMALLEST_N = 3  # with two responses or fewer the mean of tau2 is infinite under the reference prior
FIRST_THETA, FIRST_NUGGET = 0.1, 0.01  # deepgp's starting values
REPORT_EVERY = 10  # iterations; drawing a progress bar must not cost as much as sampling


def sample_deep_gp(
    X: ArrayLike,
    y: ArrayLike,
    settings: DeepGPSettings,
    rng: np.random.Generator,
    start: DeepGPDraws | None = None,
    report: Report | None = None,
) -> DeepGPDraws:
    """Draws from the posterior of a two-layer deep GP, by Gibbs and elliptical slice sampling.

    y | W ~ N(0, tau2 (K_theta_y(W) + g I)); columns of W independent, w_j | X ~ N(0, K_theta_w_j(X)).
    Source: Sauer, Gramacy & Higdon (2023).

    Args:
        X: Inputs, scaled to about [0, 1] in each column, shape (n, d).
        y: Responses, scaled to mean 0 and variance 1, shape (n,).
        settings: Model and length of the chain.
        rng: Source of all randomness.
        start: Earlier draws; the chain goes on from the last of them. Its inputs may be the first rows of X, the
            others then start where they are predicted, or any others. Without noise a chain that is continued over
            many added runs may stay in a poor mode: choose runs with it, but predict from a fresh one at the end.
        report: Called now and then with the iteration, the length of the chain and the log likelihood.

    Returns:
        `settings.n_samples` draws.

    Example:
        >>> X = np.linspace(0, 1, 8)[:, None]
        >>> settings = DeepGPSettings(n_samples=5, n_burn_in=10, thinning=2)
        >>> draws = sample_deep_gp(X, np.sin(6 * X[:, 0]), settings, np.random.default_rng(0))
        >>> draws.w.shape
        (5, 8, 1)
    """
    X = check_array(X, "X", "(n, d)")
    y = check_targets(y, len(X))
    if len(X) < SMALLEST_N:
        raise InvalidInput(f"X must have at least {SMALLEST_N} rows, got {len(X)}")
    likelihood = OuterLikelihood(y, settings.kernel, settings.scale_prior)
    state = _identity(X, settings) if start is None else _continue(X, settings, start)
    with threadpool_limits(limits=1, user_api="blas"):  # at n = 100 threads cost more than they do
        chain = TwoLayerChain(X, likelihood, settings, state)
        if not np.isfinite(chain.log_likelihood):
            raise InvalidInput(f"nugget must be larger for these {len(X)} rows, got {settings.nugget!r}")
        kept = list(_run(chain, settings, rng, report))
    parts = [np.array(part) for part in zip(*kept, strict=True)]
    return DeepGPDraws(settings.kernel, X, y, *parts)


class _Kept(NamedTuple):
    """One draw, in the order of the fields of `DeepGPDraws`."""

    w: FloatArray
    theta_y: float
    theta_w: FloatArray
    xi: FloatArray
    nugget: float
    tau2: float
    log_likelihood: float


def _run(
    chain: TwoLayerChain, settings: DeepGPSettings, rng: np.random.Generator, report: Report | None
) -> Iterator[_Kept]:
    """Make all iterations and hand out the kept draws."""
    for i in range(1, settings.n_iterations + 1):
        chain.step(rng)
        if report is not None and (i % REPORT_EVERY == 0 or i == settings.n_iterations):
            report(i, settings.n_iterations, chain.log_likelihood)
        since = i - settings.n_burn_in
        if since > 0 and since % settings.thinning == 0:
            xi = rng.standard_normal(len(chain.w))
            w, theta_w = chain.w.T.copy(), chain.theta_w.copy()
            yield _Kept(w, chain.theta_y, theta_w, xi, chain.nugget, chain.tau2, chain.log_likelihood)


def _identity(X: FloatArray, settings: DeepGPSettings) -> ChainState:
    """The paper's start: the hidden layer equals the inputs, repeated or cut to its width."""
    d = X.shape[1]
    h = d if settings.n_hidden is None else settings.n_hidden
    nugget = FIRST_NUGGET if settings.nugget is None else settings.nugget
    return ChainState(X[:, np.arange(h) % d], FIRST_THETA, np.full(h, FIRST_THETA), nugget)


def _continue(X: FloatArray, settings: DeepGPSettings, start: DeepGPDraws) -> ChainState:
    """The last draw, with its hidden layer predicted at inputs that are new."""
    n, d = start.X.shape
    h = d if settings.n_hidden is None else settings.n_hidden
    if (X.shape[1], settings.kernel, h) != (d, start.kernel, start.w.shape[2]):
        raise InvalidInput(
            f"start must have the inputs, kernel and hidden width of the new chain ({X.shape[1]}, "
            f"{settings.kernel}, {h}), got ({d}, {start.kernel}, {start.w.shape[2]})"
        )
    if np.array_equal(X[:n], start.X):
        w = start.w[-1]
        if len(X) > n:
            w = np.vstack([w, DrawnLayers(start, -1).hidden(X[n:], "mean")])
    else:
        w = DrawnLayers(start, -1).hidden(X, "mean")
    nugget = float(start.nugget[-1]) if settings.nugget is None else settings.nugget
    return ChainState(w, float(start.theta_y[-1]), start.theta_w[-1], nugget)
