"""PosteriorEstimator: simulated pairs (theta, y) to the posterior of theta given any observed y.

Paper section 3.1 and Supplements B and C: learn the transport from uniform noise to the posterior once, then condition
on any observation with one pass. `fit` takes pairs through one door, makes summaries of y, holds some pairs out for
checks and trains the chain on the others.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import ConstantSummaries, DuplicatePairs, InvalidInput
from genbayes.inference.chain import Chain, ChainShape
from genbayes.inference.chain_training import ChainSettings, train_chain
from genbayes.inference.checks import CheckedEstimator, HeldOut
from genbayes.inference.novelty import Novelty
from genbayes.inference.posterior import Posterior
from genbayes.inference.prior import Prior, as_prior
from genbayes.inference.prior_check import warn_unless_from_prior
from genbayes.inference.scales import SummaryScale, ThetaScale
from genbayes.models.loading import state_of
from genbayes.persistence import State, write_state
from genbayes.progress import show_progress
from genbayes.seeding import RandomState, as_generator, torch_generator
from genbayes.threads import fitting_threads
from genbayes.validation import check_array, check_choice, check_count, describe_rows

RECIPES = ("fast", "paper")
FEWEST_PAIRS = 50  # below, nothing could be held out to judge by
SHARE_HELD_OUT, MOST_HELD_OUT = 0.1, 2_000  # pairs for checks, and again as many to stop the training by


class PosteriorEstimator(CheckedEstimator, BaseEstimator):
    """The posterior of a simulator's parameters, from simulated pairs, without a likelihood.

    Args:
        prior: Frozen SciPy distributions, one a parameter, a frozen multivariate normal or t, or a `Box`; None for the
            box that theta fills, with a warning.
        recipe: "fast", our own, or "paper", the implicit quantile network to the letter, for a single parameter.
        summary: S(y): None for y itself, or a function of all observations, (n, p) -> (n, q).
        n_rounds: Rounds of simulation of `fit_simulator`.
        verbose: Whether to show a progress bar.
        random_state: Seed of everything random in `fit`.

    Attributes:
        prior_: The prior used.
        chain_: The fitted transport.
        held_out_: Pairs that the fit has not seen.
        report_: Calibration on these, computed when first asked for; print it.
        novelty_: Where the simulations lie.
        history_: Step and held-out loss of each check of the training.
        n_pairs_: Number of distinct pairs.
        seconds_: Time the fit took.

    Example:
        >>> from genbayes import Box
        >>> rng = np.random.default_rng(0)
        >>> theta = rng.uniform(-1, 1, size=(300, 2))
        >>> y = theta + 0.1 * rng.standard_normal((300, 2))
        >>> prior = Box({"a": (-1, 1), "b": (-1, 1)})
        >>> estimator = PosteriorEstimator(prior, random_state=0).fit(theta, y)
        >>> estimator.condition([0.2, -0.4]).sample(100, random_state=0).shape
        (100, 2)
    """

    def __init__(
        self,
        prior: Any = None,
        *,
        recipe: str = "fast",
        summary: str | Callable[[Any], Any] | None = None,
        n_rounds: int = 1,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.prior = prior
        self.recipe = recipe
        self.summary = summary
        self.n_rounds = n_rounds
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, theta: ArrayLike, y: ArrayLike) -> Self:
        """Learn the posterior from simulated pairs, theta drawn from the prior.

        Args:
            theta: Parameters, shape (n, k), or (n,) for one parameter; the columns of a frame name them.
            y: What was simulated with each, shape (n, p), or (n,).

        Returns:
            The fitted estimator.
        """
        check_choice(self.recipe, "recipe", RECIPES)
        check_count(self.n_rounds, "n_rounds")
        started = time.perf_counter()
        self.prior_: Prior = as_prior(self.prior, theta)
        pairs = self._take_pairs(theta, y)
        rng_split, rng_fit, rng_checks = as_generator(self.random_state).spawn(3)
        warn_unless_from_prior(pairs[0], self.prior_, rng_checks)
        n_checks = n_held_out(len(pairs[0]))
        order = rng_split.permutation(len(pairs[0]))
        checks, rest = order[:n_checks], order[n_checks:]
        self.held_out_ = HeldOut.beside(pairs[0][checks], pairs[1][checks], (pairs[0][rest], pairs[1][rest]))
        self.novelty_ = Novelty.fit(pairs[1], rng_checks)
        self.dropped_ = {}
        self._forget_checks()
        with fitting_threads(len(rest), self.prior_.k + self.n_summaries_):
            self._learn(pairs[0][rest], pairs[1][rest], rng_fit)
        self.n_pairs_ = len(order)
        self.seconds_ = time.perf_counter() - started
        return self

    def condition(self, y: ArrayLike, strict: bool = False) -> Posterior:
        """The posterior given one observation (p,), or the posteriors given many (o, p).

        Args:
            y: What was observed.
            strict: Whether to refuse an observation outside what was simulated, instead of a warning.
        """
        check_is_fitted(self, "chain_")
        values = np.asarray(getattr(y, "values", y))
        is_single = values.ndim == 0 or (values.ndim == 1 and not (self.n_inputs_ == 1 and len(values) > 1))
        values = values.reshape(1, -1) if is_single else values.reshape(len(values), -1)
        observed = _check_observations(values, self.n_inputs_)
        s = self._summarise(observed)
        self._warn_outside(s, None, strict)
        return self.condition_on_summaries(s, is_single=is_single)

    def condition_on_summaries(self, s: FloatArray, *, is_single: bool = False) -> Posterior:
        """The posteriors given summaries of y, shape (o, q)."""
        return Posterior(self, self._scaled(s), is_single=is_single)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted estimator to one file without pickle; `genbayes.load` reads it."""
        return write_state(path, state_of(self))

    def _take_pairs(self, theta: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Distinct pairs of parameters (n, k) and summaries (n, q), checked."""
        parameters = self.prior_.take(theta)
        values = np.asarray(getattr(y, "values", y))
        values = check_array(values[:, None] if values.ndim == 1 else values, "y", "(n, p)")
        if len(parameters) != len(values):
            raise InvalidInput(f"theta and y must have as many rows, got {len(parameters)} and {len(values)}")
        n, k = parameters.shape
        self.n_inputs_ = values.shape[1]
        first = np.sort(np.unique(np.hstack([parameters, values]), axis=0, return_index=True)[1])
        fewest = max(FEWEST_PAIRS, k + 1)
        if len(first) < fewest:
            raise InvalidInput(
                f"theta must have at least {fewest} distinct pairs for {k} parameter{'s' if k > 1 else ''}, "
                f"got {len(first)}; simulate more"
            )
        if len(first) < n:
            warnings.warn(
                f"{n - len(first)} of {n} pairs repeat others exactly; each was used once", DuplicatePairs, stacklevel=3
            )
        s = self._summarise(values[first])
        self.kept_ = _varying(s)
        self.n_summaries_ = len(self.kept_)
        return parameters[first], s

    def _summarise(self, y: FloatArray) -> FloatArray:
        """Summaries of observations, (n, p) -> (n, q)."""
        if self.summary is None:
            return y
        if not callable(self.summary):
            raise InvalidInput(f"summary must be None or a function, got {self.summary!r}")
        s = np.asarray(self.summary(y), dtype=np.float64)
        s = s[:, None] if s.ndim == 1 else s
        if s.ndim != 2 or len(s) != len(y):
            raise InvalidInput(f"summary must return one row an observation, ({len(y)}, q), got shape {s.shape}")
        return check_array(s, "summary(y)", "(n, q)")

    def _scaled(self, s: FloatArray) -> FloatArray:
        return np.clip(self.summary_scale_.transform(s[:, self.kept_]), -10.0, 10.0)

    def _learn(self, theta: FloatArray, s: FloatArray, rng: np.random.Generator) -> None:
        """Scales and chain, from parameters (n, k) and summaries (n, q)."""
        self.theta_scale_ = ThetaScale.learn(theta, self.prior_.lower, self.prior_.upper)
        self.summary_scale_ = SummaryScale.learn(s[:, self.kept_])
        t = torch.as_tensor(self.theta_scale_.transform(theta), dtype=torch.float32)
        z = torch.as_tensor(self._scaled(s), dtype=torch.float32)
        shape = ChainShape(self.prior_.k, self.n_summaries_)
        orders = np.arange(shape.k)[None]
        self.chain_ = Chain(shape, *self.theta_scale_.edges, orders, torch_generator(rng))
        stop = rng.permutation(len(t))[: n_held_out(len(t))][None]
        settings = ChainSettings(n_steps=2_000 if len(t) < 5_000 else 3_000)
        with show_progress("learning the posterior", self.verbose) as report:
            self.history_ = train_chain(self.chain_, t, z, stop, settings, rng, report)

    def to_state(self) -> State:
        """What the fitted estimator keeps in its file."""
        check_is_fitted(self, "chain_")
        if callable(self.summary):
            raise InvalidInput(
                "summary must be None or a name to be saved, got a function, which no file can hold; "
                "apply it to y before fit and condition"
            )
        seed = self.random_state if isinstance(self.random_state, int) else None
        values = {
            "parameters": {
                "recipe": self.recipe,
                "summary": self.summary,
                "n_rounds": self.n_rounds,
                "verbose": self.verbose,
                "random_state": seed,
            },
            "prior": self.prior_.to_dict(),
            "n_inputs": self.n_inputs_,
            "n_pairs": self.n_pairs_,
            "seconds": self.seconds_,
            "dropped": dict(self.dropped_),
            "history": [list(check) for check in self.history_],
        }
        held = {f"held_{name}": getattr(self.held_out_, name) for name in ("theta", "summaries", "reference")}
        arrays = {"kept": self.kept_, **held}
        state = State("PosteriorEstimator", values, arrays)
        for name, part in (
            ("theta_scale", self.theta_scale_),
            ("summary_scale", self.summary_scale_),
            ("chain", self.chain_),
            ("novelty", self.novelty_),
        ):
            state = state.with_part(name, part.to_state())
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator that a file describes."""
        prior = Prior.from_dict(state.value("prior"))
        estimator = cls(prior, **state.value("parameters"))
        estimator.prior_ = prior
        estimator.n_inputs_, estimator.n_pairs_ = int(state.value("n_inputs")), int(state.value("n_pairs"))
        estimator.kept_ = state.array("kept", (None,)).astype(np.int64)
        estimator.n_summaries_ = len(estimator.kept_)
        theta = state.array("held_theta", (None, prior.k))
        summaries, reference = (
            state.array("held_summaries", (len(theta), None)),
            state.array("held_reference", theta.shape),
        )
        estimator.held_out_ = HeldOut(theta, summaries, reference)
        estimator.novelty_ = Novelty.from_state(state.nested("novelty"))
        estimator.dropped_ = {str(reason): int(count) for reason, count in state.value("dropped").items()}
        estimator.theta_scale_ = ThetaScale.from_state(state.nested("theta_scale"))
        estimator.summary_scale_ = SummaryScale.from_state(state.nested("summary_scale"))
        estimator.chain_ = Chain.from_state(state.nested("chain"))
        estimator.seconds_ = float(state.value("seconds"))
        estimator.history_ = [(float(step), float(loss)) for step, loss in state.value("history")]
        return estimator


def n_held_out(n: int) -> int:
    """Pairs of n that are held out.

    Example:
        >>> n_held_out(1_000), n_held_out(100_000)
        (100, 2000)
    """
    return min(MOST_HELD_OUT, int(np.ceil(SHARE_HELD_OUT * n)))


def _varying(s: FloatArray) -> IntArray:
    """Numbers of the summaries that vary, with a warning that names the others."""
    varies = s.min(axis=0) < s.max(axis=0)
    constant = ", ".join(str(j) for j in np.flatnonzero(~varies))
    if not varies.any():
        raise InvalidInput("y must vary, got the same values in every simulation; they say nothing of theta")
    if constant:
        warnings.warn(
            f"summaries {constant} of y (counted from 0) are the same in every simulation and were ignored",
            ConstantSummaries,
            stacklevel=4,
        )
    return np.flatnonzero(varies)


def _check_observations(values: FloatArray, p: int) -> FloatArray:
    """Observations of the length of those simulated, (o, p), all finite."""
    if values.shape[1] != p:
        raise InvalidInput(f"y must have {p} value{'s' if p > 1 else ''} as in fit, got {values.shape[1]}")
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"y must be numbers, got {values.dtype}") from error
    bad = np.asarray(~np.isfinite(numbers).all(axis=1))
    if bad.any():
        raise InvalidInput(
            f"y must be finite, got NaN or infinity in {describe_rows(bad)}; "
            "leave the value out of the simulations too, or fill it in"
        )
    return numbers
