"""DeepGP: two layers of Gaussian processes, sampled (Sauer, Gramacy & Higdon 2023; paper section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.distribution import Normal
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.gp.deep.layers import KERNELS, NOISE_FREE, DeepGPSettings
from genbayes.models.gp.deep.prediction import DeepGPDraws, alc, predict_deep_gp
from genbayes.models.gp.deep.sampling import sample_deep_gp
from genbayes.models.gp.likelihood import Replicates
from genbayes.models.gp.stationary import fit_gp
from genbayes.models.protocols import Of
from genbayes.persistence import FOREIGN, State
from genbayes.progress import show_progress
from genbayes.seeding import RandomState
from genbayes.validation import check_choice, check_count

MAX_ROWS = 2_000  # a step of the chain costs n^3; beyond, a fit takes hours
# Noise variance over process variance of a stationary GP below which a simulator is taken to be deterministic: what
# it cannot follow of a smooth function lies above rounding and below any noise worth the name.
DETERMINISTIC = 1e-5
NOISES = ("auto", "none", "estimated")


class DeepGP(ScaledSurrogate):
    """Two-layer deep Gaussian process: a GP of a GP's outputs, for responses that vary more in one place than another.

    Hidden layer and parameters are drawn from their posterior, by elliptical slice sampling and Metropolis steps; a
    prediction averages over the draws, N(mean, variance) by the law of total variance. Isotropic within its layers,
    so it cannot drop inputs that do not matter. Engine: our own sampler (`models.gp.deep`), since no Python library
    offers the slice-sampled one.

    Args:
        kernel: "matern52", "squared-exponential", or "auto": the second where the simulator is deterministic.
        noise: "none" for a deterministic simulator, "estimated", or "auto": a stationary GP decides.
        n_samples: Draws kept.
        n_burn_in: Steps of the chain before the first of them.
        thinning: Steps between two of them.
        warm_start: Whether `fit` on a fitted model goes on from its last draw, as sequential design does.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the chain.

    Attributes:
        draws_: Posterior draws, on inputs in [0, 1] and standardised responses.
        low_, span_: Where the unit interval of each scaled input lies, shape (p,) each.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> model = DeepGP(n_samples=20, n_burn_in=50, thinning=1, random_state=0).fit(X, np.sin(6 * X[:, 0]))
        >>> bool(abs(model.predict(np.array([[0.5]]))[0] - np.sin(3.0)) < 0.05)
        True
    """

    draws_: DeepGPDraws
    low_: FloatArray
    span_: FloatArray

    def __init__(
        self,
        *,
        kernel: str = "auto",
        noise: str = "auto",
        n_samples: int = 200,
        n_burn_in: int = 1000,
        thinning: int = 10,
        warm_start: bool = False,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.n_samples = n_samples
        self.n_burn_in = n_burn_in
        self.thinning = thinning
        self.warm_start = warm_start
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def variance_reduction(self, X: ArrayLike, reference: ArrayLike) -> FloatArray:
        """How much a run at each candidate is expected to lower the mean predictive variance over reference inputs.

        Active learning Cohn, averaged over the draws (Sauer, Gramacy & Higdon 2023, section 4).

        Args:
            X: Candidates, shape (c, d).
            reference: Inputs at which the prediction should become sharper, shape (r, d).

        Returns:
            Reductions in units of y squared, shape (c,).
        """
        return self.response_scaler_.scale**2 * alc(
            self.draws_, self._unit(self._scaled(X)), self._unit(self._scaled(reference))
        )

    def _check_settings(self) -> None:
        check_choice(self.kernel, "kernel", ["auto", *KERNELS])
        check_choice(self.noise, "noise", list(NOISES))
        check_count(self.n_samples, "n_samples")
        check_count(self.n_burn_in, "n_burn_in", at_least=0)
        check_count(self.thinning, "thinning")

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        rng_noise, rng_chain = rng.spawn(2)
        is_deterministic = self._is_deterministic(runs, rng_noise)
        Z, y = (runs.Z, runs.y) if is_deterministic else _repeat(runs)
        if len(y) > MAX_ROWS:
            raise InvalidInput(
                f"X must have at most {MAX_ROWS:,} rows for DeepGP, got {len(y):,}; use StationaryGP or SparseGP"
            )
        start = getattr(self, "draws_", None) if self.warm_start else None
        if start is None or start.X.shape[1] != Z.shape[1]:
            start = None
        self.low_ = Z.min(axis=0)
        span = Z.max(axis=0) - self.low_
        self.span_ = np.where(span > 0, span, 1.0)
        kernel = self.kernel
        if kernel == "auto":
            kernel = "squared-exponential" if is_deterministic else "matern52"
        settings = DeepGPSettings(
            kernel=kernel,  # type: ignore[arg-type]
            n_samples=self.n_samples,
            n_burn_in=self.n_burn_in,
            thinning=self.thinning,
            nugget=NOISE_FREE if is_deterministic else None,
        )
        with show_progress("sampling the deep GP", bool(self.verbose)) as report:
            self.draws_ = sample_deep_gp(self._unit(Z), y, settings, rng_chain, start, report)

    def _is_deterministic(self, runs: ScaledRuns, rng: np.random.Generator) -> bool:
        if self.noise != "auto":
            return self.noise == "none"
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        return groups.scatter.max() == 0 and fit_gp(groups, rng).parameters.nugget < DETERMINISTIC

    def _unit(self, Z: FloatArray) -> FloatArray:
        """Scaled inputs to the unit cube that the priors are meant for, (n, p) -> (n, p)."""
        return (Z - self.low_) / self.span_

    def _distribution(self, Z: FloatArray, of: Of) -> Normal:
        moments = predict_deep_gp(self.draws_, self._unit(Z))
        noise = 0.0 if of == "mean" else moments.noise_variance
        return self._normal(moments.mean, moments.latent_variance + noise)

    def _keep(self) -> State:
        arrays = {each.name: getattr(self.draws_, each.name) for each in fields(DeepGPDraws) if each.name != "kernel"}
        return State("DeepGPDraws", {"kernel": self.draws_.kernel}, {**arrays, "low": self.low_, "span": self.span_})

    def _restore(self, state: State) -> None:
        kernel = state.choice("kernel", KERNELS)
        p, y, theta_y = self.input_scaler_.n_outputs, state.array("y", (None,)), state.array("theta_y", (None,))
        n, t = len(y), len(theta_y)
        w = state.array("w", (t, n, None))
        h = w.shape[2]
        if not (1 <= n <= MAX_ROWS and t and h):
            raise UnreadableFile(
                f"the draws in the model file must be of 1 to {MAX_ROWS} rows, got {w.shape}; {FOREIGN}"
            )
        self.draws_ = DeepGPDraws(
            kernel,  # type: ignore[arg-type]
            X=state.array("X", (n, p)),
            y=y,
            w=w,
            theta_y=state.array("theta_y", (t,), positive=True),
            theta_w=state.array("theta_w", (t, h), positive=True),
            xi=state.array("xi", (t, h)),
            nugget=state.array("nugget", (t,), positive=True),
            tau2=state.array("tau2", (t,), at_least=0),
            log_likelihood=state.array("log_likelihood", (t,)),
        )
        self.low_, self.span_ = state.array("low", (p,)), state.array("span", (p,), positive=True)

    def _facts(self) -> dict[str, str]:
        noise_sd = self.response_scaler_.scale * np.sqrt(np.mean(self.draws_.tau2 * self.draws_.nugget))
        return {
            "layers": f"two, {self.draws_.w.shape[2]} hidden columns",
            "kernel": str(self.draws_.kernel),
            "draws": str(len(self.draws_)),
            "noise sd": f"{noise_sd:.4g}",
        }


def _repeat(runs: ScaledRuns) -> tuple[FloatArray, FloatArray]:
    """Every row as often as its weight says."""
    if (runs.weight != np.round(runs.weight)).any():
        raise InvalidInput("sample_weight must be whole numbers for DeepGP, got others; a weight counts equal runs")
    times = runs.weight.astype(np.int64)
    return np.repeat(runs.Z, times, axis=0), np.repeat(runs.y, times)
