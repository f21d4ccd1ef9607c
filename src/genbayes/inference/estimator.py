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
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import ConstantSummaries, DuplicatePairs, InvalidInput, UnreadableFile
from genbayes.inference.chain import Chain
from genbayes.inference.chain_training import fit_chain, n_held_out
from genbayes.inference.checks import CheckedEstimator
from genbayes.inference.named import as_table, names_of
from genbayes.inference.posterior import Posterior
from genbayes.inference.prior import Prior, as_prior
from genbayes.inference.prior_check import warn_unless_from_prior
from genbayes.inference.scalar import (
    MOST_PAIRS,
    N_JUDGES,
    QuantilePosterior,
    fit_quantile_network,
    network_wins,
)
from genbayes.inference.scales import SummaryScale, ThetaScale
from genbayes.inference.sources import PairSources
from genbayes.inference.summaries import LearntSummary, as_summary, restore_summary
from genbayes.inference.summary_networks import Array
from genbayes.inference.summary_training import train_summary
from genbayes.models.base import known_parameters
from genbayes.models.loading import state_of
from genbayes.models.network.surrogate import QuantileSurrogate
from genbayes.persistence import FOREIGN, State, write_state
from genbayes.progress import show_progress
from genbayes.seeding import RandomState, as_generator, torch_generator
from genbayes.threads import fitting_threads
from genbayes.validation import check_choice, check_count

if TYPE_CHECKING:
    from genbayes.inference.rounds import Region

RECIPES = ("fast", "paper")
MOST_ROUNDS_OF_PARTS, MOST_PARTS = 4, 40_000  # how often a set is learnt from in parts, and of how many sets at most
FEWEST_PAIRS = 50  # below, nothing could be held out to judge by


class PosteriorEstimator(PairSources, CheckedEstimator, BaseEstimator):
    """The posterior of a simulator's parameters, from simulated pairs, without a likelihood.

    Args:
        prior: Frozen SciPy distributions, one a parameter, a frozen multivariate normal or t, or a `Box`; None for the
            box that theta fills, with a warning.
        recipe: "fast", our own, or "paper", the implicit quantile network to the letter, for a single parameter.
        summary: S(y): None for y itself, a function of all observations (n, ...) -> (n, q), or a network that is
            learnt: "network" of vectors, "set" of independent observations, sets of any size, "series" of series.
        n_rounds: Rounds of simulation of `fit_simulator`.
        n_members: Chains that are mixed; None leaves it to the recipe.
        verbose: Whether to show a progress bar.
        random_state: Seed of everything random in `fit`.

    Attributes:
        prior_: The prior used.
        chain_: The fitted transport; None where a single parameter has a quantile network.
        network_: That network; None where there is a chain.
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

    chain_: Chain | None
    network_: QuantileSurrogate | None

    def __init__(
        self,
        prior: Any = None,
        *,
        recipe: str = "fast",
        summary: str | Callable[[Any], Any] | None = None,
        n_rounds: int = 1,
        n_members: int | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.prior = prior
        self.recipe = recipe
        self.summary = summary
        self.n_rounds = n_rounds
        self.n_members = n_members
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, theta: ArrayLike, y: ArrayLike) -> Self:
        """Learn the posterior from simulated pairs, theta drawn from the prior.

        Args:
            theta: Parameters, shape (n, k), or (n,) for one parameter; the columns of a frame or the keys of a
                dictionary name them.
            y: What was simulated with each, shape (n, p), or (n,); for summary="series" (n, T) or (n, T, c); for
                summary="set" a list of n sets (m_i, p), or an array (n, m, p) with NaN for missing members.

        Returns:
            The fitted estimator.
        """
        return self.fit_within(theta, y)

    def fit_within(
        self, theta: ArrayLike, y: ArrayLike, region: Region | None = None, prior: Prior | None = None
    ) -> Self:
        """As `fit`, from theta drawn from the prior truncated to a region of its support; None for all of it.

        Args:
            theta: As of `fit`.
            y: As of `fit`.
            region: Where theta was drawn.
            prior: Where theta was drawn from, if not from the estimator's own.
        """
        self._check_settings()
        started = time.perf_counter()
        theta, y = as_table(theta, "theta"), as_table(y, "y")
        self.prior_: Prior = as_prior(self.prior, theta) if prior is None else prior
        if self.recipe == "paper" and self.prior_.k > 1:
            raise InvalidInput(
                f"recipe must be 'fast' for several parameters, got 'paper' for {self.prior_.k}; "
                "the paper's network is the inverse CDF of one"
            )
        self.summary_ = as_summary(self.summary)
        parameters, observations = self._take_pairs(theta, y)
        rng_split, rng_fit, rng_checks, rng_summary = as_generator(self.random_state).spawn(4)
        if region is None:
            warn_unless_from_prior(parameters, self.prior_, rng_checks)
        ends = None if region is None else (region.lower, region.upper)
        n_checks = n_held_out(len(parameters))
        order = rng_split.permutation(len(parameters))
        checks, rest = order[:n_checks], order[n_checks:]
        self.theta_scale_ = ThetaScale.learn(parameters[rest], self.prior_.lower, self.prior_.upper, ends)
        with fitting_threads(len(rest), self.prior_.k):
            s = self._learn_summaries(parameters, observations, rest, rng_summary)
            parts = self._summaries_of_parts(parameters[rest], observations[rest], rng_summary)
            self._learn(parameters[rest], s[rest], parts, rng_fit)
        names, is_plain = names_of(y), self.summary is None
        pairs = (parameters[checks], s[checks]), (parameters[rest], s[rest])
        self._keep_for_checks(*pairs, rng_checks, names if is_plain else [])
        are_of_values = len(names) == self.summary_.tail_[0]  # of a set given as a row they would be its members
        self.observation_names_ = self.response_names_ if is_plain else tuple(names) if are_of_values else ()
        self.n_pairs_ = len(order)
        self.seconds_ = time.perf_counter() - started
        return self

    def _check_settings(self) -> None:
        check_choice(self.recipe, "recipe", RECIPES)
        check_count(self.n_rounds, "n_rounds")
        if self.n_members is not None:
            check_count(self.n_members, "n_members")

    def _fit_in_rounds(self, run: Any, n_simulations: int, y_observed: Any, rng: np.random.Generator) -> None:
        from genbayes.inference.rounds import fit_in_rounds  # which fits estimators

        fit_in_rounds(self, run, n_simulations, y_observed, rng)

    def _make_conditional(self, prior: Any, seed: int) -> PosteriorEstimator:
        return PosteriorEstimator(prior, n_members=1, verbose=self.verbose, random_state=seed)

    def condition(self, y: ArrayLike, strict: bool = False) -> Posterior:
        """The posterior given one observation (p,), or the posteriors given many (o, p).

        Args:
            y: What was observed.
            strict: Whether to refuse an observation outside what was simulated, instead of a warning.
        """
        check_is_fitted(self, "seconds_")
        observed, is_single = self.summary_.read_observed(self._in_order(y))
        s = self.summary_(observed)
        outside = self.warn_outside(s, strict=strict)
        posterior = self.condition_on_summaries(s, is_single=is_single)
        posterior.outside = outside
        return posterior

    def condition_on_summaries(self, s: FloatArray, *, is_single: bool = False) -> Posterior:
        """The posteriors given summaries of y, shape (o, q)."""
        kind = Posterior if self.network_ is None else QuantilePosterior
        return kind(self, self._scaled(s), is_single=is_single)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted estimator to one file without pickle; `genbayes.load` reads it."""
        return write_state(path, state_of(self))

    def _take_pairs(self, theta: ArrayLike, y: Any) -> tuple[FloatArray, Array]:
        """Distinct pairs of parameters (n, k) and observations (n, ...), checked."""
        parameters = self.prior_.take(theta)
        values = self.summary_.read_many(y)
        if len(parameters) != len(values):
            raise InvalidInput(f"theta and y must have as many rows, got {len(parameters)} and {len(values)}")
        n, k = parameters.shape
        first = _distinct(np.hstack([parameters, values.reshape(n, -1)]))
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
        return parameters[first], values[first]

    def _learn_summaries(self, theta: FloatArray, y: Array, rest: IntArray, rng: np.random.Generator) -> FloatArray:
        """Summaries of all observations (n, ...) -> (n, q), where they are learnt from the rows of the fit alone."""
        if isinstance(self.summary_, LearntSummary):
            t = self.theta_scale_.transform(theta[rest])
            with show_progress("learning summaries", self.verbose) as report:
                train_summary(self.summary_, y[rest], t, self.theta_scale_.edges, rng, report)
        s = self.summary_(y)
        self.kept_ = _varying(s, are_ours=isinstance(self.summary_, LearntSummary))
        self.n_summaries_ = len(self.kept_)
        return s

    def _summaries_of_parts(
        self, theta: FloatArray, y: Array, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray] | None:
        """Further pairs: parts of the sets y and their theta, of rows that neither stop the fit nor judge it."""
        summary, n_rounds = self.summary_, min(MOST_ROUNDS_OF_PARTS, MOST_PARTS // len(y))
        if not isinstance(summary, LearntSummary) or summary.smallest_part_ is None or not n_rounds:
            return None
        learnt = slice(n_held_out(len(y)) + self._n_judges(len(y)), None)
        generator = torch_generator(rng)
        s = [summary.of_parts(y[learnt], summary.smallest_part_, generator) for _ in range(n_rounds)]
        return np.tile(theta[learnt], (n_rounds, 1)), np.concatenate(s)

    def _n_judges(self, n: int) -> int:
        """Pairs of n that decide between network and chain where there is one parameter."""
        return 0 if self.recipe == "paper" or self.prior_.k > 1 else min(N_JUDGES, n // 10)

    def _scaled(self, s: FloatArray) -> FloatArray:
        return np.clip(self.summary_scale_.transform(s[:, self.kept_]), -10.0, 10.0)

    def _learn(
        self, theta: FloatArray, s: FloatArray, parts: tuple[FloatArray, FloatArray] | None, rng: np.random.Generator
    ) -> None:
        """Scales and chain, from parameters (n, k) and summaries (n, q), and further pairs like them for the chain."""
        n = len(theta)
        if parts is not None:
            theta, s = (np.concatenate(both) for both in zip((theta, s), parts, strict=True))
        self.summary_scale_ = SummaryScale.learn(
            s[:, self.kept_], may_bend=not isinstance(self.summary_, LearntSummary)
        )
        t = torch.as_tensor(self.theta_scale_.transform(theta), dtype=torch.float32)
        z = torch.as_tensor(self._scaled(s), dtype=torch.float32)
        if self.prior_.k == 1:
            self._learn_scalar(theta, t, z, n, rng)
            return
        self.network_, self.chain_ = None, self._learn_chain(t, z, n_held_out(n), rng)

    def _learn_chain(self, t: torch.Tensor, z: torch.Tensor, n_stop: int, rng: np.random.Generator) -> Chain:
        with show_progress("learning the posterior", self.verbose) as report:
            chain, self.history_ = fit_chain(
                t, z, self.theta_scale_.edges, self.n_members, rng, report, n_stop,
                may_learn_tails=not isinstance(self.summary_, LearntSummary),  # no gain was measured with them
            )  # fmt: skip
        return chain

    def _learn_scalar(
        self, theta: FloatArray, t: torch.Tensor, z: torch.Tensor, n: int, rng: np.random.Generator
    ) -> None:
        """One parameter: the paper's network, or the better of our recipe for it and a chain, on unseen pairs.

        The network learns from the first n pairs, whole observations; the chain from all.
        """
        support = float(self.theta_scale_.lower[0]), float(self.theta_scale_.upper[0])
        self.chain_, self.network_, self.history_ = None, None, []
        n_judges = self._n_judges(n)
        rows = slice(n_judges, n if self.recipe == "paper" else min(n, n_judges + MOST_PAIRS))
        self.network_ = fit_quantile_network(
            self.recipe, z[rows].double().numpy(), theta[rows], support, rng, verbose=self.verbose
        )
        if self.recipe == "paper":
            return
        self.chain_ = self._learn_chain(t[n_judges:], z[n_judges:], n_held_out(n - n_judges), rng)
        unseen = z[:n_judges].double().numpy()
        rivals = QuantilePosterior(self, unseen, is_single=False), Posterior(self, unseen, is_single=False)
        if network_wins(*rivals, theta[:n_judges]):
            self.chain_ = None
        else:
            self.network_ = None

    def to_state(self) -> State:
        """What the fitted estimator keeps in its file."""
        check_is_fitted(self, "seconds_")
        seed = self.random_state if isinstance(self.random_state, int) else None
        values = {
            "parameters": {
                "recipe": self.recipe,
                "summary": self.summary if isinstance(self.summary, str) else None,
                "n_rounds": self.n_rounds,
                "n_members": self.n_members,
                "verbose": self.verbose,
                "random_state": seed,
            },
            "prior": self.prior_.to_dict(),
            "observation_names": list(self.observation_names_),
            "n_pairs": self.n_pairs_,
            "seconds": self.seconds_,
            "history": [list(check) for check in self.history_],
        }
        state = State("PosteriorEstimator", values, {"kept": self.kept_}).with_part("checks", self._checks_to_state())
        for name, part in (
            ("summary", self.summary_),
            ("theta_scale", self.theta_scale_),
            ("summary_scale", self.summary_scale_),
            ("chain", self.chain_),
            ("network", self.network_),
        ):
            state = state if part is None else state.with_part(name, part.to_state())
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator that a file describes."""
        prior = Prior.from_dict(state.value("prior"))
        estimator = cls(**{**known_parameters(cls, state), "prior": prior})
        estimator._check_settings()
        estimator.prior_ = prior
        estimator.n_pairs_ = state.count("n_pairs")
        estimator.summary_ = restore_summary(state.nested("summary"))
        estimator._checks_from_state(state.nested("checks"))
        is_learnt = isinstance(estimator.summary_, LearntSummary)
        estimator.observation_names_ = () if is_learnt else estimator.response_names_
        if "observation_names" in state.values:  # else a file of an older version
            estimator.observation_names_ = state.typed("observation_names", tuple[str, ...])
        estimator.kept_ = state.whole_array("kept", (None,), below=len(estimator.response_names_))
        estimator.n_summaries_ = len(estimator.kept_)
        estimator.theta_scale_ = ThetaScale.from_state(state.nested("theta_scale"))
        estimator.summary_scale_ = SummaryScale.from_state(state.nested("summary_scale"))
        has_network = "network" in state.values
        estimator.network_ = QuantileSurrogate.from_state(state.nested("network")) if has_network else None
        estimator.chain_ = None if has_network else Chain.from_state(state.nested("chain"))
        estimator._require_sizes()
        estimator.seconds_ = state.number("seconds", at_least=0)
        estimator.history_ = state.typed("history", list[tuple[float, float]])
        return estimator

    def _require_sizes(self) -> None:
        """Parts from a file must be of the same parameters and summaries."""
        k, p = self.prior_.k, self.n_summaries_
        learnt = (self.chain_.shape.k, self.chain_.shape.n_summaries) if self.chain_ is not None else (1, p)
        if self.network_ is not None:
            learnt = 1, 0 if self.network_.coders_ else self.network_.n_features_in_
        scales = len(self.theta_scale_.kind), len(self.summary_scale_.center)
        is_summed_up = self.summary_.n_summaries == len(self.response_names_)
        is_named = len(self.observation_names_) in (0, self.summary_.tail_[0])
        if not p or not is_summed_up or not is_named or {learnt, scales} != {(k, p)}:
            raise UnreadableFile(f"the parts of the model file must be of {k} parameters and {p} summaries; {FOREIGN}")


def _varying(s: FloatArray, are_ours: bool) -> IntArray:
    """Numbers of the summaries that vary, with a warning that names the others unless they are those of a network."""
    varies = s.min(axis=0) < s.max(axis=0)
    constant = ", ".join(str(j) for j in np.flatnonzero(~varies))
    if not varies.any():
        raise InvalidInput("y must vary, got the same values in every simulation; they say nothing of theta")
    if constant and not are_ours:
        warnings.warn(
            f"summaries {constant} of y (counted from 0) are the same in every simulation and were ignored",
            ConstantSummaries,
            stacklevel=4,
        )
    return np.flatnonzero(varies)


def _distinct(rows: FloatArray) -> IntArray:
    """Numbers of the first of each group of equal rows, in order, (n, q) -> (m,)."""
    as_bytes = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    return np.sort(np.unique(as_bytes, return_index=True)[1])
